"use strict";
// Draws the figures of a page, in the colors of light or dark, the legend that switches models, and
// the titles of tables, which sort them.
// Scripts of a page may use `figures`: draw(), and place, source and data of each figure.
const figures = (() => {
  const entries = JSON.parse(document.getElementById("legend-entries").textContent);
  const axis = {
    automargin: true,
    gridcolor: "var(--grid)",
    linecolor: "var(--faint)",
    zerolinecolor: "var(--grid)",
    tickcolor: "var(--faint)",
    title: { standoff: 8 },
  };
  const template = { // what figures have in common
    layout: {
      autosize: true,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 13, color: "var(--ink)" },
      margin: { l: 48, r: 12, t: 12, b: 40 },
      showlegend: false,
      modebar: { bgcolor: "var(--paper)", color: "var(--faint)", activecolor: "var(--ink)" },
      hoverlabel: {
        bgcolor: "var(--paper)",
        bordercolor: "var(--faint)",
        font: { color: "var(--ink)" },
        namelength: -1,
      },
      xaxis: axis,
      yaxis: axis,
    },
  };
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
    // hidden or folded: drawn when it is shown
    if (!width || figure.place.closest("details:not([open])")) return;
    const style = getComputedStyle(document.documentElement);
    const data = colored(figure.source.data, style);
    for (const trace of data) {
      if (trace.legendgroup) trace.visible = !hidden.has(trace.legendgroup);
    }
    const layout = colored({ height: 320, ...figure.source.layout, template }, style);
    if (touch) layout.dragmode = false; // or figures would keep a finger from scrolling
    Plotly.react(figure.place, data, layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: touch ? false : "hover",
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
  legend.hidden = !entries.length;
  for (const entry of entries) {
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
      const isAlone = hidden.size === entries.length - 1 && !hidden.has(entry.name);
      for (const { name } of entries) {
        if (isAlone || name === entry.name) hidden.delete(name);
        else hidden.add(name);
      }
      press();
    });
    legend.append(button);
  }
  // Sorts rows by a column, numbers by size and what is unknown last; a second click turns it over.
  function sort(title, place) {
    const table = title.closest("table");
    const isUp = title.ariaSort !== "ascending";
    for (const each of table.querySelectorAll("thead th")) each.removeAttribute("aria-sort");
    title.ariaSort = isUp ? "ascending" : "descending";
    const text = (row) => row.cells[place].textContent;
    const order = (a, b) => {
      const [m, n] = [a, b].map((row) => Number.parseFloat(text(row)));
      if (Number.isNaN(m) && Number.isNaN(n)) return (isUp ? 1 : -1) * text(a).localeCompare(text(b));
      if (Number.isNaN(m) || Number.isNaN(n)) return Number.isNaN(m) ? 1 : -1;
      return isUp ? m - n : n - m;
    };
    const [body] = table.tBodies;
    body.append(...[...body.rows].sort(order));
  }

  for (const title of document.querySelectorAll("thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...title.childNodes);
    button.addEventListener("click", () => sort(title, title.cellIndex));
    title.append(button);
  }
  for (const folded of document.querySelectorAll("details")) {
    folded.addEventListener("toggle", drawAll);
  }
  dark.addEventListener("change", drawAll);
  press();
  return { all, draw, drawAll };
})();
