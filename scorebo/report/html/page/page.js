"use strict";
(() => {
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
  const axisOf = (x) => Array.isArray(x) ? x : Array.from({ length: x.count }, (_, k) => x.from + k * x.by);
  const runsAt = (line, k) => Array.isArray(line.n) ? line.n[k] : line.n;
  const colorOf = (figure, line) => line.c ? line.c[dark.matches ? 1 : 0] : figure.series[line.s][dark.matches ? "dark" : "light"];

  // ---- tables ---------------------------------------------------------------------------------------------------
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
        if (Number.isFinite(content[1])) element.dataset.value = content[1];
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

  // ---- figures --------------------------------------------------------------------------------------------------
  const symbolOf = (name) => d3[`symbol${name[0].toUpperCase()}${name.slice(1)}`];
  const isLogged = (panel, state) => state.log === null || panel.fixed ? panel.log || Boolean(panel.power) : state.log;
  const positive = (panel) => panel.lines.every((line) => line.y.every((y) => y === null || y > 0));
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
  const labelOf = (panel, state) => panel.power && !isLogged(panel, state) ? `${panel.power} (geometric mean)` : panel.y;
  const spread = (panel, line, point, state) => {
    if (point.band === null || line.base !== undefined) return "";
    if (panel.power && !isLogged(panel, state)) return ` (${shown(point.low)} to ${shown(point.high)})`;
    return ` ± ${shown(point.band)}`;
  };
  const nearest = (x, at) => { const k = d3.bisectCenter(x, at); return k; };

  const heightOf = (width) => Math.round(Math.min(300, Math.max(180, width * 0.66)));
  function drawPanel(figure, panel, state, width) {
    const logged = isLogged(panel, state);
    const logAxis = logged && !panel.power && positive(panel);
    const lines = panel.lines.filter((line) => !state.hidden.has(line.s)).map((line) => ({ line, points: points(panel, line, state), color: colorOf(figure, line) }));
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
    const x0 = d3.min(all, (p) => p.x) ?? 0, x1 = d3.max(all, (p) => p.x) ?? 1;
    const at = cursorOf(panel, state);
    const format = (v) => shown(v);
    const marks = [
      Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.axisY({ ticks: 5, tickFormat: format, label: null, tickSize: 0, ...(logAxis ? { ticks: width < 320 ? 4 : 6 } : {}) }),
      Plot.axisX({ ticks: 5, tickFormat: (v) => (figure.drawn || Number.isInteger(v) ? shown(v) : ""), label: panel.x, labelAnchor: "center", labelArrow: "none", tickSize: 3 }),
      ...lines.flatMap(({ line, points: own, color }) => line.b || line.base !== undefined
        ? [Plot.areaY(own, { x: "x", y1: (p) => p.low, y2: (p) => p.high, fill: color, fillOpacity: 0.16, clip: true, ariaHidden: "true" })] : []),
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

  function setUp(article) {
    const id = article.id, figure = data.figures[id];
    if (!figure) return;
    const named = Object.entries(figure.series).filter(([, looks]) => looks.label);
    const state = { hidden: new Set(), log: null, share: figure.drawn ? null : 1, drawn: false };
    const place = article.querySelector(".panels"), controls = article.querySelector(".controls");
    if (figure.panels.length <= 2 || figure.drawn) place.classList.add("wide");
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
        const holder = holders[k], width = widthOf(holder);
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
    commands(article, figure);
    new ResizeObserver(debounced(redraw)).observe(place);
    dark.addEventListener("change", redraw);
    return { draw: () => { if (!state.drawn) { state.drawn = true; redraw(); } }, height: () => heightOf(widthOf(holders[0])), reserve, article };
  }
  function swatch(looks) {
    const color = looks[dark.matches ? "dark" : "light"];
    const svg = d3.create("svg").attr("width", 26).attr("height", 12).attr("aria-hidden", "true");
    svg.append("line").attr("x1", 0).attr("x2", 26).attr("y1", 6).attr("y2", 6).attr("stroke", color).attr("stroke-width", 2).attr("stroke-dasharray", looks.dash || null);
    if (!looks.plain) svg.append("path").attr("transform", "translate(13,6)").attr("d", d3.symbol(symbolOf(looks.symbol), 42)()).attr("fill", color);
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
      const rows = figure.panels.flatMap((panel) => panel.lines.filter((line) => !state.hidden.has(line.s)).map((line) => {
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

  // ---- start ----------------------------------------------------------------------------------------------------
  document.querySelectorAll("table.sortable").forEach(sortable);
  const all = [...document.querySelectorAll("article.figure")].map(setUp).filter(Boolean);
  const heights = all.map(({ height }) => height());  // all are measured before any is changed: one layout of the page
  all.forEach(({ reserve }, k) => reserve(heights[k]));
  const byArticle = new Map(all.map((each) => [each.article, each]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { byArticle.get(entry.target).draw(); seen.unobserve(entry.target); }
  }, { rootMargin: "600px 0px" });
  for (const { article } of all) seen.observe(article);
  addEventListener("beforeprint", () => { for (const { draw } of all) draw(); });

  const runs = document.querySelector("details.runs");
  runs.addEventListener("toggle", () => {
    if (runs.querySelector("table")) return;
    runs.append(plainTable(`${data.runs.length} runs`, ["Task", "Model", "Method", "Seed", "Iterations", "Finished", "Sampler", "Run"],
      data.runs.map(([task, model, method, seed, iterations, finished, healthy, id]) =>
        [task, model, method, [String(seed), seed], [String(iterations), iterations], finished ? "yes" : "no", healthy ? "healthy" : "unhealthy", id])));
  });
  // Which part of the page is read, in the contents.
  const links = new Map([...document.querySelectorAll(".contents > ul > li > a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const reading = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach((section) => reading.observe(section));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
