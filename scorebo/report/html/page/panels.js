"use strict";
// One panel: lines, bands and single runs, drawn by Observable Plot.
const symbolOf = (name) => d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`];
const isLogged = (panel, state) => state.log === null || panel.fixed ? panel.log || Boolean(panel.power) : state.log;
const positive = (panel) => panel.lines.every((line) => line.y.every((y) => y === null || y > 0));
// Hidden in the legend of a figure, or by the filter of the whole page.
const isHidden = (method, state) => state.hidden.has(method) || filtered.method.has(method.split("@")[0]) || filtered.model.has(method.split("@")[1]);
const canSwitch = (panel) => !panel.fixed && (Boolean(panel.power) || positive(panel));

// The numbers of a panel as they are drawn: logarithms that were averaged become powers on a linear axis.
function points(panel, line, state) {
  const linear = panel.power && !isLogged(panel, state);
  const change = linear ? (v) => (v === null ? null : 10 ** v) : (v) => v;
  const x = axisOf(line.x);
  return line.y.map((y, k) => {
    const band = line.b ? line.b[k] : null;
    return { x: x[k], y: change(y), k, low: line.base !== undefined ? line.base : band === null || y === null ? null : change(y - band),
      high: line.base !== undefined ? change(y) : band === null || y === null ? null : change(y + band), band, raw: y };
  });
}
// The runs behind a mean: two letters a value, of as many levels between the panel's least and greatest value.
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
function runCurves(panel, line, state) {
  if (!line.each) return [];
  const [low, high, logged] = panel.levels, x = axisOf(line.x), most = LETTERS.length ** 2 - 2;
  const change = logged || (panel.power && !isLogged(panel, state)) ? (v) => 10 ** v : (v) => v;
  return line.each.flatMap((text, z) => Array.from({ length: text.length / 2 }, (_, k) => {
    const level = 64 * LETTERS.indexOf(text[2 * k]) + LETTERS.indexOf(text[2 * k + 1]);
    return { x: x[line.at ? line.at[k] : k], y: level ? change(low + ((level - 1) / most) * (high - low)) : null, z };
  }));
}
const labelOf = (panel, state) => panel.power && !isLogged(panel, state) ? `${panel.power} (geometric mean)` : panel.y;
const spread = (panel, line, point, state) => {
  if (point.band === null || line.base !== undefined) return "";
  if (panel.power && !isLogged(panel, state)) return ` (${shown(point.low)} to ${shown(point.high)})`;
  return ` ± ${shown(point.band)}`;
};
const nearest = (x, at) => { const k = d3.bisectCenter(x, at); return k; };

// A few labels on a logarithmic axis: even steps within a decade, otherwise 1, 2 and 5 or powers of ten.
function logTicks(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))], decades = Math.log10(high / low);
  if (decades < 1.1) return d3.ticks(low, high, 5);
  const powers = d3.range(first, last + 1, Math.ceil(decades / 6)), parts = decades < 2.2 ? [1, 2, 5] : [1];
  return powers.flatMap((power) => parts.map((part) => part * 10 ** power)).filter((value) => value >= low && value <= high);
}
const heightOf = (width) => Math.round(Math.min(300, Math.max(180, width * 0.66)));
function drawPanel(figure, panel, state, width) {
  const logged = isLogged(panel, state);
  const logAxis = logged && !panel.power && positive(panel);
  const lines = panel.lines.filter((line) => !isHidden(line.s, state)).map((line) => ({ line, points: points(panel, line, state), color: colorOf(figure, line) }));
  const all = lines.flatMap(({ line, points: own, color }) => own.map((point) => ({ ...point, line, color })));
  const finite = all.filter((point) => point.y !== null);
  let domain;
  if (logAxis) {
    const least = d3.min(finite, (p) => p.y), most = d3.max(finite, (p) => Math.max(p.y, p.high ?? p.y));
    domain = finite.length ? [Math.max(least / 2, d3.min(finite, (p) => (p.low > 0 ? p.low : p.y))) / 1.05, most * 1.08] : undefined;
  } else if (panel.power && !logged) {
    const values = finite.map((p) => p.y).sort(d3.ascending);
    domain = [0, 1.08 * Math.min(d3.max(values) ?? 1, 4 * (d3.quantileSorted(values, 0.9) ?? 1))];
  } else domain = panel.limits;
  const ticks = { ticks: logAxis && finite.length ? logTicks(...domain) : 5 };
  const x0 = d3.min(all, (p) => p.x) ?? 0, x1 = d3.max(all, (p) => p.x) ?? 1;
  const at = cursorOf(panel, state);
  const format = (v) => shown(v);
  const marks = [
    Plot.gridY({ ...ticks, stroke: "var(--line)", strokeOpacity: 1 }),
    Plot.axisY({ ...ticks, tickFormat: format, label: null, tickSize: 0 }),
    Plot.axisX({ ticks: 5, tickFormat: (v) => (figure.drawn || Number.isInteger(v) ? shown(v) : ""), label: panel.x, labelAnchor: "center", labelArrow: "none", tickSize: 3 }),
    ...lines.flatMap(({ line, points: own, color }) => line.b || line.base !== undefined
      ? [Plot.areaY(own, { x: "x", y1: (p) => p.low, y2: (p) => p.high, fill: color, fillOpacity: 0.16, clip: true, ariaHidden: "true" })] : []),
    ...(state.runs ? lines.filter(({ line }) => line.each) : []).map(({ line, color }) => Plot.line(runCurves(panel, line, state),
      { x: "x", y: "y", z: "z", stroke: color, strokeWidth: 0.8, strokeOpacity: 0.3, clip: true, ariaHidden: "true" })),
    ...(panel.around === undefined ? [] : [Plot.rect([panel.around.map((v) => (panel.power && !logged ? 10 ** v : v))],
      { x1: x0, x2: x1, y1: (edges) => edges[0], y2: (edges) => edges[1], fill: "currentColor", fillOpacity: 0.1, clip: true, ariaHidden: "true" })]),
    ...(panel.reference === undefined ? [] : [Plot.ruleY([panel.power && !logged ? 10 ** panel.reference : panel.reference],
      { stroke: "currentColor", strokeOpacity: 0.75, strokeDasharray: "5 4" })]),
    ...(at === null || state.share === 1 ? [] : [Plot.ruleX([at], { stroke: "var(--accent)", strokeOpacity: 0.8 })]),
    ...lines.map(({ line, points: own, color }) => figure.series[line.s].dots
      ? Plot.dot(own, { x: "x", y: "y", fill: color, r: 3.2, symbol: symbolOf(figure.series[line.s].symbol), ariaLabel: null })
      : Plot.line(own, { x: "x", y: "y", stroke: color, strokeWidth: 1.5 * (figure.series[line.s].width || 1.1), strokeDasharray: figure.series[line.s].dash || null, clip: true })),
    ...lines.filter(({ line }) => figure.series[line.s].label && !line.c).map(({ line, points: own, color }, number) => {
      // About four marks a line, shifted from line to line, so that lines are told apart without color.
      const step = Math.max(1, Math.floor(own.length / 4)), first = Math.floor((step * (2 * number + 1)) / (2 * lines.length));
      return Plot.dot(own.filter((p, k) => p.y !== null && (own.length <= 12 || (k - first) % step === 0) && p.y >= domain[0] && p.y <= domain[1]),
        { x: "x", y: "y", r: 3.4, symbol: symbolOf(figure.series[line.s].symbol), fill: color, stroke: "var(--card)", strokeWidth: 0.7 });
    }),
    Plot.dot(finite, Plot.pointer({ x: "x", y: "y", r: 4.5, stroke: "color", fill: "var(--card)", strokeWidth: 2, maxRadius: 60 })),
    Plot.tip(finite, Plot.pointer({ lineWidth: 40, x: "x", y: (p) => Math.min(Math.max(p.y, domain[0]), domain[1]), maxRadius: 60, title: (p) => [
      figure.series[p.line.s].label || panel.title, `${panel.x}: ${shown(p.x)}`,
      `${labelOf(panel, state) || "Value"}: ${shown(p.y)}${spread(panel, p.line, p, state)}`,
      ...(p.line.n === undefined ? [] : [`${runsAt(p.line, p.k)} run${runsAt(p.line, p.k) === 1 ? "" : "s"}`])].join("\n") })),
  ];
  const svg = Plot.plot({
    width, height: heightOf(width), marginLeft: 46, marginRight: 8, marginTop: 8, marginBottom: 34,
    style: { background: "none", color: "var(--ink)", overflow: "visible" },
    x: { domain: [x0, x1], nice: false }, y: { type: logAxis ? "log" : "linear", domain, nice: false, label: null },
    color: { type: "identity" }, symbol: { type: "identity" }, marks,
  });
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", describe(figure, panel, lines, state, at));
  return svg;
}
// What a panel shows, in words: the values at the slider.
function describe(figure, panel, lines, state, at) {
  const values = lines.filter(({ line }) => figure.series[line.s].label).map(({ line, points: own }) => {
    const point = own[at === null ? own.length - 1 : nearest(own.map((p) => p.x), at)];
    return `${figure.series[line.s].label} ${shown(point.y)}`;
  });
  const where = at === null ? "" : ` at ${shown(at)}`;
  return `${panel.title}: ${labelOf(panel, state) || "curves"} against ${panel.x.toLowerCase()}.${values.length ? ` Values${where}: ${values.join(", ")}.` : ""}`;
}
const rangeOf = (panel) => {
  const xs = panel.lines.map((line) => axisOf(line.x));
  return [d3.min(xs, (x) => x[0]), d3.max(xs, (x) => x[x.length - 1])];
};
const cursorOf = (panel, state) => {
  if (state.share === null) return null;
  const [first, last] = rangeOf(panel);
  return first + Math.round((last - first) * state.share);
};
