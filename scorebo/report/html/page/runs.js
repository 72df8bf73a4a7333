"use strict";
// The runs: a table of all of them, views of single ones, and the filters of the whole page.
const nameOf = (axis, name) => data.names[axis][name] ?? name;
const drawGroup = (figure) => {
  const place = make("div", { class: "panels" });
  const state = { hidden: new Set(), log: null, share: null, runs: false };
  const holders = figure.panels.map((panel) => make("div", { class: "panel" }, make("h5", {}, panel.title)));
  place.append(...holders);
  const draw = () => figure.panels.forEach((panel, k) => {
    holders[k].querySelector("svg")?.remove();
    holders[k].append(drawPanel(figure, panel, state, Math.max(220, Math.round(holders[k].clientWidth))));
  });
  return { place, draw };
};

// The view of one run, in the place above the table.
function showRun(row) {
  const [task, model, method, seed, iterations, finished, healthy, id] = row, view = data.views[id];
  const holder = document.getElementById("run-view");
  const facts = `${nameOf("model", model)}, ${iterations} iterations, ${finished ? "finished" : "not finished"}, sampler ${healthy ? "healthy" : "unhealthy"}, run ${id}`;
  const article = make("article", { class: "figure", id: `run-${id}`, tabindex: "-1" },
    make("h3", {}, `${nameOf("method", method)} on ${nameOf("task", task)}, seed ${seed}`),
    make("p", { class: "state" }, facts, ...(view.folder ? [make("br"), make("code", {}, view.folder)] : [])));
  const groups = Object.entries(view.groups).map(([words, figure]) => ({ words, ...drawGroup(figure) }));
  for (const { words, place } of groups) article.append(make("h4", {}, words), place);
  article.append(make("h4", {}, "Ledger"));
  if (view.ledger.length) {
    article.append(plainTable(`${view.entries} entries${view.entries > view.ledger.length ? `, the first ${view.ledger.length}` : ""}`,
      ["Iteration", "What", "Reason", "Times"], view.ledger.map(([at, kind, reason, count]) => [[String(at), at], kind, reason, [String(count), count]])));
  } else article.append(make("p", { class: "state" }, "Nothing failed or fell back."));
  if (view.command) article.append(commandOf(view.command));
  holder.replaceChildren(article);
  const draw = () => { if (article.isConnected) for (const group of groups) group.draw(); };
  draw();
  dark.addEventListener("change", draw);
  new ResizeObserver(debounced(draw)).observe(article);
  for (const button of document.querySelectorAll(".runs .view")) button.setAttribute("aria-pressed", String(button.dataset.run === id));
  return article;
}

function runsSetUp() {
  const details = document.querySelector("details.runs");
  const button = (row) => {
    const id = row[7], found = make("button", { type: "button", class: "view", "data-run": id, "aria-pressed": "false", "aria-label": `View of run ${id}` }, "View");
    found.addEventListener("click", () => {
      history.replaceState(null, "", `#run-${id}`);
      const article = showRun(row);
      article.scrollIntoView();
      article.focus({ preventScroll: true });
    });
    return found;
  };
  const fill = () => {
    if (!details.open || details.querySelector("table")) return;
    const some = Object.keys(data.views).length > 0;
    details.append(plainTable(`${data.runs.length} runs`, ["Task", "Model", "Method", "Seed", "Iterations", "Finished", "Sampler", "Run", ...(some ? ["View"] : [])],
      data.runs.map((row) => {
        const [task, model, method, seed, iterations, finished, healthy, id] = row;
        return [nameOf("task", task), model, nameOf("method", method), [String(seed), seed], [String(iterations), iterations], finished ? "yes" : "no",
          healthy ? "healthy" : "unhealthy", id, ...(some ? [data.views[id] ? button(row) : ""] : [])];
      })));
    details.querySelectorAll("tbody tr").forEach((element, k) => {
      const [task, model, method] = data.runs[k];
      Object.assign(element.cells[0].dataset, { task, model, method });
    });
    filterRows();
  };
  details.addEventListener("toggle", fill);
  fill();
  const asked = () => {
    const row = data.runs.find((each) => `#run-${each[7]}` === location.hash);
    if (row && data.views[row[7]]) showRun(row).scrollIntoView();
  };
  addEventListener("hashchange", asked);
  asked();
}

// ---- filters of the whole page ----------------------------------------------------------------------------------
function filterRows() {
  for (const cell of document.querySelectorAll("[data-task]")) {
    cell.closest("tr").hidden = Object.entries(filtered).some(([axis, hidden]) => hidden.has(cell.dataset[axis]));
  }
}
function filtersSetUp(act) {
  const place = document.querySelector(".filters"), words = { task: "Tasks", model: "Models", method: "Methods" };
  const axes = Object.keys(words).filter((axis) => Object.keys(data.names[axis]).length > 1);
  if (!axes.length) return;
  const details = make("details", {}, make("summary", {}, "Filter the page"));
  const buttons = [];
  for (const axis of axes) {
    const group = make("div", { class: "controls", role: "group", "aria-label": words[axis] }, make("span", { class: "key-line" }, words[axis]));
    for (const [name, label] of Object.entries(data.names[axis])) {
      const button = make("button", { type: "button", class: "method", "aria-pressed": "true", "data-axis": axis, "data-name": name }, label);
      button.addEventListener("click", () => {
        const off = !filtered[axis].has(name);
        if (off) filtered[axis].add(name); else filtered[axis].delete(name);
        button.setAttribute("aria-pressed", String(!off));
        write();
        say(`${label} ${off ? "hidden" : "shown"}.`);
        act();
      });
      buttons.push(button);
      group.append(button);
    }
    details.append(group);
  }
  const everything = make("button", { type: "button", class: "view" }, "Show everything");
  everything.addEventListener("click", () => {
    for (const hidden of Object.values(filtered)) hidden.clear();
    for (const button of buttons) button.setAttribute("aria-pressed", "true");
    write();
    act();
  });
  const write = () => {
    const hidden = d3.sum(Object.values(filtered), (each) => each.size);
    details.querySelector("summary").textContent = hidden ? `Filter the page (${hidden} hidden)` : "Filter the page";
    everything.disabled = !hidden;
  };
  details.append(everything, make("p", { class: "state" }, "In all figures, and in the rows of tables. Means, ranks and tests stay those of all runs."));
  write();
  place.append(details);
  place.hidden = document.querySelector(".to-filters").hidden = false;
}
