"use strict";
// What all parts of the page share: its data, and small helpers.
const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};
const say = (words) => { document.getElementById("said").textContent = words; };
const shown = (value) => {
  if (value == null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
};
// What the filter of the page hides, by name.
const filtered = { task: new Set(), model: new Set(), method: new Set() };
const axisOf = (x) => Array.isArray(x) ? x : Array.from({ length: x.count }, (_, k) => x.from + k * x.by);
const runsAt = (line, k) => Array.isArray(line.n) ? line.n[k] : line.n;
const colorOf = (figure, line) => line.c ? line.c[dark.matches ? 1 : 0] : figure.series[line.s][dark.matches ? "dark" : "light"];
