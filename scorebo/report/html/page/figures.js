"use strict";
// A figure: its panels, legend, scale, slider, paired tests and commands.
function figureSetUp(article) {
  const id = article.id, figure = data.figures[id];
  if (!figure) return;
  const named = Object.entries(figure.series).filter(([, looks]) => looks.label);
  const withRuns = figure.panels.some((panel) => panel.lines.some((line) => line.each));
  const state = { hidden: new Set(), log: null, share: figure.drawn ? null : 1, drawn: false, runs: withRuns };
  const place = article.querySelector(".panels"), controls = article.querySelector(".controls");
  if (figure.columns) {
    place.classList.add("arranged");
    place.style.setProperty("--columns", figure.columns);
    place.style.setProperty("--rows", figure.rows);
  } else if (figure.panels.length <= 2) place.classList.add("wide");
  const holders = figure.panels.map((panel) => {
    const holder = make("div", { class: "panel" }, make("h4", {}, `${panel.title} `, make("span", { class: "unit" })));
    place.append(holder);
    return holder;
  });
  const widthOf = (holder) => Math.max(220, Math.round(holder.clientWidth));
  const entitle = (panel, holder) => { holder.querySelector(".unit").textContent = labelOf(panel, state) === "y" ? "" : labelOf(panel, state); };
  figure.panels.forEach((panel, k) => entitle(panel, holders[k]));
  // As much room as the panels will take: what is drawn on the way to a link's target must not move the target.
  const reserve = (height = heightOf(widthOf(holders[0]))) => {
    for (const holder of holders) {
      holder.querySelector(".reserved")?.remove();
      holder.append(make("div", { class: "reserved", style: `height:${height}px` }));
    }
  };
  const redraw = () => {
    if (!state.drawn) { reserve(); return; }
    figure.panels.forEach((panel, k) => {
      const holder = holders[k];
      holder.hidden = filtered.task.has(panel.task);
      if (holder.hidden) return;
      const width = widthOf(holder);
      entitle(panel, holder);
      holder.querySelector("svg, .reserved")?.remove();
      holder.append(drawPanel(figure, panel, state, width));
    });
    values?.refresh();
  };
  // Legend.
  for (const [name, looks] of named) {
    const button = make("button", { type: "button", class: "method", "aria-pressed": "true", "data-method": name });
    const paint = () => button.replaceChildren(swatch(looks), looks.label);
    paint();
    dark.addEventListener("change", paint);
    button.addEventListener("click", () => {
      const off = !state.hidden.has(name);
      if (off) state.hidden.add(name); else state.hidden.delete(name);
      button.setAttribute("aria-pressed", String(!off));
      say(`${looks.label} ${off ? "hidden" : "shown"}.`);
      redraw();
    });
    controls.append(button);
  }
  if (figure.reference) {
    const line = d3.create("svg").attr("width", 26).attr("height", 12).attr("aria-hidden", "true");
    line.append("line").attr("x1", 0).attr("x2", 26).attr("y1", 6).attr("y2", 6).attr("stroke", "currentColor").attr("stroke-dasharray", "5 4");
    controls.append(make("span", { class: "key-line" }, line.node(), figure.reference));
  }
  if (withRuns) {
    const button = make("button", { type: "button", class: "each", "aria-pressed": "true", title: "Up to 12 runs behind each mean" }, "Single runs");
    button.addEventListener("click", () => {
      state.runs = !state.runs;
      button.setAttribute("aria-pressed", String(state.runs));
      say(`Single runs ${state.runs ? "shown" : "hidden"}.`);
      redraw();
    });
    controls.append(button);
  }
  // Log or linear.
  if (!figure.drawn && figure.panels.some(canSwitch)) {
    const now = isLogged(figure.panels.find(canSwitch), state);
    const group = make("span", { class: "scale", role: "group", "aria-label": "Vertical axis" });
    for (const [words, value] of [["Log", true], ["Linear", false]]) {
      const button = make("button", { type: "button", "aria-pressed": String(now === value), "data-scale": words.toLowerCase() }, words);
      button.addEventListener("click", () => {
        state.log = value;
        for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
        say(`Vertical axes ${words.toLowerCase()}${figure.panels.every(canSwitch) ? "" : ", where all values are positive"}.`);
        redraw();
      });
      group.append(button);
    }
    controls.append(group);
  }
  const values = named.length && !figure.drawn ? slider(article, figure, state, redraw) : null;
  pairedTests(article, figure);
  commands(article, figure);
  new ResizeObserver(debounced(redraw)).observe(place);
  dark.addEventListener("change", redraw);
  return { draw: () => { if (!state.drawn) { state.drawn = true; redraw(); } }, redraw, height: () => heightOf(widthOf(holders[0])), reserve, article };
}
function swatch(looks) {
  const color = looks[dark.matches ? "dark" : "light"];
  const svg = d3.create("svg").attr("width", 26).attr("height", 12).attr("aria-hidden", "true");
  if (!looks.dots) svg.append("line").attr("x1", 0).attr("x2", 26).attr("y1", 6).attr("y2", 6).attr("stroke", color).attr("stroke-width", 2).attr("stroke-dasharray", looks.dash || null);
  if (looks.dots || !looks.plain) svg.append("path").attr("transform", "translate(13,6)").attr("d", d3.symbol(symbolOf(looks.symbol), 42)()).attr("fill", color);
  return svg.node();
}
// The slider moves a line over all panels; the table says what the curves are there.
function slider(article, figure, state, redraw) {
  const ranges = figure.panels.map(rangeOf);
  const same = ranges.every(([a, b]) => a === ranges[0][0] && b === ranges[0][1]);
  const [low, high] = same ? ranges[0] : [0, 100];
  const words = same ? figure.panels[0].x : "Part of the run";
  const input = make("input", { type: "range", min: low, max: high, step: 1, value: high, id: `slide-${article.id}` });
  const told = make("output", { for: input.id });
  const write = () => { told.textContent = same ? `${input.value}` : `${input.value} %`; input.setAttribute("aria-valuetext", same ? `${input.value} ${words}` : `${input.value} per cent of the run`); };
  write();
  article.querySelector(".panels").after(make("div", { class: "slide" }, make("label", { for: input.id }, words), input, told));
  const details = make("details", { class: "values" }, make("summary", {}, "Values at the slider"));
  const refresh = () => {
    if (!details.open) return;
    const rows = figure.panels.flatMap((panel) => (filtered.task.has(panel.task) ? [] : panel.lines).filter((line) => !isHidden(line.s, state)).map((line) => {
      const own = points(panel, line, state), k = nearest(own.map((p) => p.x), cursorOf(panel, state)), point = own[k];
      return [panel.title, figure.series[line.s].label, [shown(point.x), point.x], [shown(point.y), point.y],
        spread(panel, line, point, state).trim() || "–", [line.n === undefined ? "–" : String(runsAt(line, k)), runsAt(line, k)]];
    }));
    const table = plainTable(`${labelOf(figure.panels[0], state)}, by panel and method`, ["Panel", "Method", figure.panels.every((p) => p.x === figure.panels[0].x) ? figure.panels[0].x : "At", "Mean", "Band", "Runs"], rows);
    details.querySelector(".scroll")?.remove();
    details.append(table);
  };
  details.addEventListener("toggle", refresh);
  input.addEventListener("input", () => {
    state.share = (Number(input.value) - low) / (high - low || 1);
    write();
    redraw();
  });
  article.querySelector(".more").append(details);
  return { refresh };
}
// The tests behind the ranks, pair by pair.
function pairedTests(article, figure) {
  if (!figure.tests) return;
  const details = make("details", { class: "tests" }, make("summary", {}, `Paired tests: ${figure.tests.metric}`));
  details.addEventListener("toggle", () => {
    if (details.querySelector("table")) return;
    const { heads, rows, legend, notes } = figure.tests;
    details.append(plainTable(`Differences in ${figure.tests.metric}, paired by seed`, heads, rows),
      make("ul", { class: "notes" }, ...[legend, ...notes].map((words) => make("li", {}, words))));
  });
  article.querySelector(".more").append(details);
}
function commands(article, figure) {
  if (!figure.curves.length) return;
  const details = make("details", { class: "curves" }, make("summary", {}, "The command behind each curve"));
  details.addEventListener("toggle", () => {
    if (details.querySelector("table")) return;
    details.append(plainTable("Commands that compute the runs of a curve, or finish them", ["Task", "Method", "Model", "Command"],
      figure.curves.map(([task, method, model, text]) => [task, method, model, commandOf(text)])));
  });
  article.querySelector(".more").append(details);
}
function debounced(act) {
  let width = null, timer;
  return (entries) => {
    const now = Math.round(entries[0].contentRect.width);
    if (width === null || now === width) { width = now; return; }
    width = now;
    clearTimeout(timer);
    timer = setTimeout(act, 120);
  };
}
