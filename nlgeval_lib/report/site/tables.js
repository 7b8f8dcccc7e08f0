// Tables are sorted by a click on a column's head and, where they are long, filtered by words; a number that a judge
// gave leads to the items behind it. What is not for scripts stands in the page without them.
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
const judges = [...document.querySelectorAll("a.judge")];
for (const cell of judges.length ? document.querySelectorAll("#answer td[title]") : []) {
  if (!/(^|; )(recorded|run|public)(;|$)/.test(cell.title) || cell.classList.contains("missing")) continue;
  const table = cell.closest("table"), rows = [...table.tHead.rows];
  const labels = [...cell.parentElement.querySelectorAll("th")].map((one) => one.textContent);
  const place = (of, row) => [...row.cells].slice(0, [...row.cells].indexOf(of)).reduce((sum, one) => sum + one.colSpan, 0);
  const column = place(cell, cell.parentElement);
  for (const row of rows) {
    const head = [...row.cells].find((one) => place(one, row) <= column && column < place(one, row) + one.colSpan);
    if (head) labels.push(head.textContent);
  }
  const words = labels.join(" ").toLowerCase().match(/[a-z0-9.]+/g) ?? [];
  const near = (judge) => words.filter((word) => judge.textContent.toLowerCase().includes(word)).length;
  const judge = judges.reduce((best, one) => near(one) > near(best) ? one : best);
  if (!near(judge)) continue;
  const link = document.createElement("a");
  link.href = `${judge.getAttribute("href")}#${new URLSearchParams({cell: labels.join(" ")})}`;
  link.append(cell.firstChild);
  cell.prepend(link);
}
