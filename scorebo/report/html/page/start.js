"use strict";
// Everything is set up, and drawn when it comes near the window.
document.querySelectorAll("table.sortable").forEach(sortable);
const all = [...document.querySelectorAll("article.figure")].map(figureSetUp).filter(Boolean);
const heights = all.map(({ height }) => height());  // all are measured before any is changed: one layout of the page
all.forEach(({ reserve }, k) => reserve(heights[k]));
const byArticle = new Map(all.map((each) => [each.article, each]));
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { byArticle.get(entry.target).draw(); seen.unobserve(entry.target); }
}, { rootMargin: "600px 0px" });
for (const { article } of all) seen.observe(article);
addEventListener("beforeprint", () => { for (const { draw } of all) draw(); });

// Which part of the page is read, in the contents.
const links = new Map([...document.querySelectorAll(".contents > ul > li > a")].map((link) => [link.getAttribute("href").slice(1), link]));
const reading = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) {
    for (const link of links.values()) link.removeAttribute("aria-current");
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-20% 0px -70% 0px" });
document.querySelectorAll("main > section").forEach((section) => reading.observe(section));
runsSetUp();
filtersSetUp(() => {
  for (const { redraw } of all) redraw();
  filterRows();
});
if (data.reload) setTimeout(() => location.reload(), 1000 * data.reload);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
