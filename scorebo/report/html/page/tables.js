"use strict";
// Tables: sorted by their heads, made from plain cells, commands that are copied.
const sortValue = (cell) => cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim();
const compare = (a, b, numeric) => {
  // What has no number goes last, whichever way the rest is sorted.
  const [x, y] = [a.value, b.value];
  if (numeric) {
    if (typeof x !== "number" || typeof y !== "number") return typeof x === typeof y ? 0 : typeof x === "number" ? -2 : 2;
    return Math.sign(x - y);
  }
  return String(x).localeCompare(String(y), "en", { numeric: true });
};
function sortable(table) {
  if (!table.tHead || table.dataset.ready) return;
  table.dataset.ready = "yes";
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const words = head.textContent;
    const button = make("button", { type: "button" }, words);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => ({ row, value: sortValue(row.cells[column]) }));
      const numeric = rows.some(({ value }) => typeof value === "number");
      rows.sort((a, b) => { const order = compare(a, b, numeric); return Math.abs(order) === 2 ? order : down ? -order : order; });
      body.append(...rows.map(({ row }) => row));
      say(`Sorted by ${words}, ${down ? "descending" : "ascending"}.`);
    });
  });
}
// A table of plain cells: text, or [text, number it is sorted by].
function plainTable(caption, heads, rows) {
  const numeric = heads.map((_, k) => rows.some((row) => Array.isArray(row[k])));
  const cell = (tag, content, right, more = {}) => {
    const element = make(tag, { class: right ? "number" : null, ...more });
    if (content instanceof Node) element.append(content);
    else if (Array.isArray(content)) {
      element.textContent = content[0];
      if (typeof content[1] === "number") element.dataset.value = content[1];
    } else element.textContent = content;
    return element;
  };
  const table = make("table", { class: "sortable" }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...heads.map((words, k) => cell("th", words, numeric[k], { scope: "col" })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((content, k) =>
      cell(k ? "td" : "th", content, numeric[k], k ? {} : { scope: "row" }))))));
  sortable(table);
  return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption }, table);
}
const commandOf = (text) => make("span", { class: "command" }, make("code", {}, text), make("button", { type: "button", class: "copy" }, "Copy"));
document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const code = button.parentElement.querySelector("code");
  try { await navigator.clipboard.writeText(code.textContent); } catch {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  say("Copied the command.");
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});
