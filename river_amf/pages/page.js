"use strict";
// Draws the figures of a page, in the colors of light or dark, and the legend that switches models.
// Scripts of a page may use `figures`: draw(), and place, source and data of each figure.
const figures = (() => {
  const page = JSON.parse(document.getElementById("page").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const hidden = new Set();
  const all = [...document.querySelectorAll(".plot")].map((place) => ({
    place,
    frame: place.closest(".figure"),
    source: JSON.parse(place.nextElementSibling.textContent),
  }));

  // Figures name variables of the style sheet in place of colors: "var(--ink)".
  function colored(value, style) {
    if (typeof value === "string") {
      const named = /^var\((--[\w-]+)\)$/.exec(value);
      return named ? style.getPropertyValue(named[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((each) => colored(each, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, colored(each, style)]),
    );
  }

  function draw(figure) {
    const width = figure.place.offsetWidth;
    if (!width) return; // hidden: drawn when it is shown
    const style = getComputedStyle(document.documentElement);
    const data = colored(figure.source.data, style);
    for (const trace of data) {
      if (trace.legendgroup) trace.visible = !hidden.has(trace.legendgroup);
    }
    const layout = colored({ height: 320, ...figure.source.layout, template: page.template }, style);
    if (touch) layout.dragmode = false; // or figures would keep a finger from scrolling
    Plotly.react(figure.place, data, layout, {
      responsive: true,
      displaylogo: false,
      modeBarButtonsToRemove: ["lasso2d", "select2d"],
    });
    // a figure that was hidden does not hear of a new width of the window
    if (figure.width !== undefined && figure.width !== width) Plotly.Plots.resize(figure.place);
    figure.width = width;
  }

  function drawAll() {
    for (const figure of all) {
      const { group } = figure.frame.dataset;
      figure.frame.hidden = group !== undefined && hidden.has(group);
      draw(figure);
    }
  }

  function sample(entry) {
    const dashes = { dash: "6 3", dot: "2 3" }[entry.dash] ?? "none";
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [key, value] of Object.entries({ x1: 0, x2: 26, y1: 5, y2: 5 })) {
      line.setAttribute(key, value);
    }
    line.style.cssText = `stroke: ${entry.color}; stroke-width: 3; stroke-dasharray: ${dashes}`;
    svg.append(line);
    return svg;
  }

  function press() {
    for (const button of document.querySelectorAll("#legend button")) {
      button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.name)));
    }
    drawAll();
  }

  const legend = document.getElementById("legend");
  legend.hidden = !page.legend.length;
  for (const entry of page.legend) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.name = entry.name;
    button.title = "click: show or hide; double click: show this one alone, or all";
    button.append(sample(entry), entry.name);
    button.addEventListener("click", () => {
      if (!hidden.delete(entry.name)) hidden.add(entry.name);
      press();
    });
    button.addEventListener("dblclick", () => {
      const isAlone = hidden.size === page.legend.length - 1 && !hidden.has(entry.name);
      for (const { name } of page.legend) {
        if (isAlone || name === entry.name) hidden.delete(name);
        else hidden.add(name);
      }
      press();
    });
    legend.append(button);
  }
  dark.addEventListener("change", drawAll);
  press();
  return { all, draw, drawAll };
})();
