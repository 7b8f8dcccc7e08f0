// Tables are sorted by a click on a column's head and, where they are long, filtered by words.
// What is not for scripts stands in the page without them.
"use strict";
for (const table of document.querySelectorAll("table.nlgeval, table.sorted")) {
  const body = table.tBodies[0], heads = table.tHead?.rows[table.tHead.rows.length - 1];
  if (!body || !heads || body.rows.length < 4) continue;
  const shown = (row, column) => {
    let at = 0;
    for (const cell of row.cells) {
      if (column < at + cell.colSpan) return (cell.firstChild?.textContent ?? "").trim() || cell.textContent.trim();
      at += cell.colSpan;
    }
    return "";
  };
  // a label that stands for several rows stands in each of them once they are moved
  const repeated = () => [...body.rows].forEach((row, number) => [...row.cells].forEach((cell, column) => {
    const above = body.rows[number - 1]?.cells[column];
    if (cell.tagName === "TH" && !cell.textContent && above?.tagName === "TH") cell.textContent = above.textContent;
  }));
  const number = (text) => /^[^\w.+−-]*[+−-]?(\d|\.\d)/.test(text) ? parseFloat(text.replace(/[,\s]/g, "").replace("−", "-")) : NaN;
  let at = 0;
  for (const head of heads.cells) {
    const column = at;
    at += head.colSpan;
    if (!head.textContent.trim()) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      repeated();
      const rows = [...body.rows].map((row) => [row, shown(row, column)]);
      const told = rows.filter(([, text]) => text && !text.startsWith("–"));
      const numeric = told.every(([, text]) => !Number.isNaN(number(text)));
      const order = (a, b) => numeric ? number(a) - number(b) : a.localeCompare(b, "en", {numeric: true});
      told.sort(([, a], [, b]) => down ? order(b, a) : order(a, b));
      body.append(...told.map(([row]) => row), ...rows.filter((one) => !told.includes(one)).map(([row]) => row));
    });
  }
  if (body.rows.length < 8) continue;
  const label = document.createElement("label"), input = document.createElement("input");
  input.type = "search";
  label.className = "filter";
  label.append("Filter rows ", input);
  (table.closest(".nlgeval-box, .wide") ?? table).before(label);
  input.addEventListener("input", () => {
    repeated();
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
// what scrolls sideways can be reached by keys, in folded parts once they are open
const reachable = () => {
  for (const box of document.querySelectorAll(".nlgeval-box:not([tabindex]), .output_area:not([tabindex])")) {
    if (box.scrollWidth <= box.clientWidth) continue;
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", box.querySelector("caption")?.textContent.trim() || "Table");
  }
};
reachable();
document.addEventListener("toggle", reachable, true);
