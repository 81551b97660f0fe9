"use strict";
// Steps through the snapshots of a playground: the slider and the switches choose one, and its
// arrays are drawn into the figures of the page. `page.js` gives `figures`, playground.py the rest.
(async () => {
  const scene = JSON.parse(document.getElementById("scene").textContent);
  const pool = await unpacked(scene.pool);
  const byName = Object.fromEntries(figures.all.map((figure) => [figure.place.id, figure]));
  const element = (id) => document.getElementById(id);
  const slider = element("step");
  const last = scene.steps.length - 1;
  const [left, right, bottom, top] = scene.view;
  const STRONGEST = 0.75; // opacity of the surface, so that points of the same color stand out
  const TONES = 10; // of a label's color in cells
  const PAUSE = 220; // milliseconds between steps
  let timer = null; // of the next step, while playing

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  const bytes = (place, length) => new Uint8Array(pool, place, length);
  const fine = (place, length) => new Uint16Array(pool, place, length);
  const across = (part) => left + (part / scene.fine) * (right - left);
  const up = (part) => bottom + (part / scene.fine) * (top - bottom);
  const percent = (share) => `${(100 * share).toFixed(share < 1 ? 1 : 0)} %`;

  // A byte says which label is the most probable, and how far that is from chance (0) to certain.
  function read(byte) {
    const label = Math.min(Math.floor(byte / scene.levels), scene.labels.length - 1);
    const certainty = (byte - label * scene.levels) / (scene.levels - 1);
    const chance = 1 / scene.labels.length;
    return { label, certainty, probability: chance + certainty * (1 - chance) };
  }

  const written = document.createElement("span"); // plotly reads a few tags of HTML in texts
  const names = scene.labels.map((label) => {
    written.textContent = label;
    return written.innerHTML;
  });
  const texts = Array.from({ length: 256 }, (_, byte) => {
    const { label, probability } = read(byte);
    return `${names[label]}: ${percent(probability)}`;
  });

  const painted = (label, share) =>
    scene.colors[label] + Math.round(255 * STRONGEST * share).toString(16).padStart(2, "0");

  // What the frames of the figures lack: the features, their ranges, depths, and a trace a label.
  function prepare() {
    for (const figure of [byName.surface, byName.cells]) {
      const axis = (k, range) =>
        ({ title: { text: scene.features[k] }, range, zeroline: false, showgrid: false });
      figure.source.layout.xaxis = axis(0, [left, right]);
      figure.source.layout.yaxis = axis(1, [bottom, top]);
    }
    const [heatmap] = byName.surface.source.data;
    heatmap.colorscale = scene.colors.flatMap((_, label) =>
      [0, 1].map((share) => {
        const byte = label * scene.levels + share * (scene.levels - 1);
        return [byte / 255, painted(label, share)];
      }),
    );
    heatmap.colorscale.push([1, painted(scene.colors.length - 1, 1)]);
    byName.surface.source.data.push(
      ...names.map((name, label) => ({
        type: "scatter",
        mode: "markers",
        name,
        marker: { color: scene.colors[label], line: { color: "#ffffff", width: 0.6 } },
        hoverinfo: "skip",
      })),
    );
    const depths = Array.from({ length: scene.depths }, (_, depth) => String(depth));
    depths[scene.depths - 1] += "+";
    byName.mass.source.data[0].x = depths;
    byName.accuracy.source.layout.xaxis.range = [0, 1.02 * scene.steps[last]];
    for (const input of document.querySelectorAll(".switches input")) {
      const isThere = Object.keys(scene.runs).some((key) => key.split("|").includes(input.value));
      input.parentElement.hidden = !isThere;
    }
  }

  const chosen = () => [...document.querySelectorAll(".switches input:checked")];

  // Smaller where there is little room, or many points would hide the surface.
  function markerSize(figure) {
    return Math.min(7, Math.max(4.5, figure.place.clientWidth / 110));
  }

  function drawSurface(run, step) {
    const [heatmap, ...labels] = byName.surface.source.data;
    const [height, width] = scene.shape;
    const all = bytes(run.surface[step], height * width);
    heatmap.z = Array.from({ length: height }, (_, row) =>
      Array.from(all.subarray(row * width, (row + 1) * width)),
    );
    heatmap.text = heatmap.z.map((row) => row.map((byte) => texts[byte]));
    Object.assign(heatmap, { x0: left, dx: (right - left) / (width - 1) });
    Object.assign(heatmap, { y0: bottom, dy: (top - bottom) / (height - 1) });
    const n = scene.steps[step];
    const points = fine(run.points, 2 * n);
    const codes = bytes(run.codes, n);
    for (const trace of labels) {
      Object.assign(trace, { x: [], y: [] });
      trace.marker.size = markerSize(byName.surface);
    }
    for (let i = n > run.start ? run.start : 0; i < n; i++) {
      labels[codes[i]].x.push(across(points[2 * i]));
      labels[codes[i]].y.push(up(points[2 * i + 1]));
    }
    figures.draw(byName.surface);
  }

  // Cells of one tone are one trace, whose rectangles are divided by gaps.
  function drawCells(run, step) {
    const n = run.cells[step];
    const boxes = fine(run.boxes[step], 4 * n);
    const paints = bytes(run.paints[step], n);
    const traces = new Map();
    for (let i = 0; i < n; i++) {
      const { label, certainty } = read(paints[i]);
      const tone = Math.round(certainty * TONES) / TONES;
      const key = `${label} ${tone}`;
      if (!traces.has(key)) traces.set(key, cellsOf(label, tone));
      const [west, east, south, north] = boxes.subarray(4 * i, 4 * i + 4);
      traces.get(key).x.push(...[west, east, east, west, west].map(across), null);
      traces.get(key).y.push(...[south, south, north, north, south].map(up), null);
    }
    byName.cells.source.data = [...traces.values()];
    figures.draw(byName.cells);
  }

  function cellsOf(label, tone) {
    const chance = 1 / scene.labels.length;
    return {
      type: "scatter",
      mode: "lines",
      fill: "toself",
      hoveron: "fills",
      hoverinfo: "text",
      text: `${names[label]}: about ${Math.round(100 * (chance + tone * (1 - chance)))} %`,
      fillcolor: painted(label, tone),
      line: { color: "var(--soft)", width: 0.6 },
      x: [],
      y: [],
    };
  }

  function massOf(run, step) {
    return Array.from(fine(run.mass[step], scene.depths), (part) => part / scene.fine);
  }

  function drawMass(run, step) {
    const { data, layout } = byName.mass.source;
    data[0].y = massOf(run, step);
    const highest = Math.max(...data[0].y);
    layout.yaxis.range = [0, [0.25, 0.5, 1].find((end) => highest <= end)]; // jumps seldom
    figures.draw(byName.mass);
  }

  function drawAccuracy(run, choice, step) {
    const [drift, faint, strong, mark] = byName.accuracy.source.data;
    const [kind, ...rest] = choice.map((input) => input.value);
    const other = kind === "plain" ? "adaptive" : "plain";
    const curve = (value, until) => ({
      name: value,
      x: scene.steps.slice(0, until),
      y: scene.runs[[value, ...rest].join("|")].accuracy.slice(0, until),
    });
    const at = run.start && scene.steps[step] > run.start ? [run.start, run.start] : [];
    Object.assign(drift, { x: at, y: [0, 1] });
    Object.assign(faint, curve(other, step + 1));
    Object.assign(strong, curve(kind, step + 1));
    Object.assign(mark, { x: strong.x.slice(-1), y: strong.y.slice(-1) });
    figures.draw(byName.accuracy);
  }

  function tell(run, choice, step) {
    const n = scene.steps[step];
    const depth = massOf(run, step).reduce((sum, mass, level) => sum + mass * level, 0);
    const counted = Math.min(n, scene.window);
    const right = Math.round(run.accuracy[step] * counted);
    const when = run.start && n > run.start ? `, ${n - run.start} of them since the drift` : "";
    element("count").value = `${n} of ${scene.steps[last]}`;
    slider.setAttribute("aria-valuetext", `${n} samples`);
    element("told").textContent =
      `After ${n} samples${when}: ${right} of the last ${counted} predictions were right. There are ` +
      `${run.nodes[step]} nodes, and on average the answers come from depth ${depth.toFixed(1)}.`;
    element("explained").replaceChildren(
      ...choice.map((input) => {
        const line = document.createElement("li");
        line.textContent = input.dataset.text;
        return line;
      }),
    );
  }

  function draw() {
    const step = Number(slider.value);
    const choice = chosen();
    const run = scene.runs[choice.map((input) => input.value).join("|")];
    tell(run, choice, step);
    drawSurface(run, step);
    drawCells(run, step);
    drawMass(run, step);
    drawAccuracy(run, choice, step);
  }

  function pause() {
    clearTimeout(timer);
    timer = null;
    element("play").textContent = "Play";
  }

  function play() {
    if (Number(slider.value) === last) slider.value = 0;
    else slider.value = Number(slider.value) + 1;
    draw();
    element("play").textContent = "Pause";
    timer = setTimeout(Number(slider.value) < last ? play : pause, PAUSE);
  }

  element("play").addEventListener("click", () => (timer === null ? play() : pause()));
  slider.addEventListener("input", () => {
    pause();
    draw();
  });
  for (const input of document.querySelectorAll(".switches input")) {
    input.addEventListener("change", draw);
  }
  prepare();
  draw();
})();
