// Tables are sorted by a click on a column's head and, where they are long, filtered by words; a number that a judge
// gave leads to the items behind it. Tables in groups have one filter, by words and by one column. What is not for scripts stands in the page without them.
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
  if (body.rows.length < 8 || table.closest(".groups")) continue;
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
for (const groups of document.querySelectorAll(".groups")) {
  const folds = [...groups.querySelectorAll(":scope > details")];
  const column = (table) => [...table.tHead.rows[0].cells].findIndex((head) => head.textContent.trim() === groups.dataset.column);
  const lines = folds.flatMap((fold) => [...fold.querySelectorAll("tbody tr")].map((row) => {
    const value = row.cells[column(row.closest("table"))]?.textContent.trim() ?? "";
    return {fold, row, value, text: row.textContent.toLowerCase()};
  }));
  const form = document.createElement("form"), words = document.createElement("input"), chosen = document.createElement("select");
  const label = (text, input) => {
    const outer = document.createElement("label");
    outer.append(`${text} `, input);
    return outer;
  };
  const option = (text, value) => chosen.append(new Option(text, value));
  option("any answer", "");
  for (const value of new Set(lines.map((line) => line.value))) option(value, value);
  words.type = "search";
  const count = document.createElement("output");
  form.append(label("Words", words), label(groups.dataset.column.replace(/^./, (first) => first.toUpperCase()), chosen), count);
  groups.before(form);
  const titles = new Map(folds.map((fold) => [fold, fold.querySelector("summary").textContent]));
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), all = !wanted.length && !chosen.value;
    for (const line of lines) line.row.hidden = !((!chosen.value || line.value === chosen.value) && wanted.every((word) => line.text.includes(word)));
    for (const fold of folds) {
      const shown = lines.filter((line) => line.fold === fold && !line.row.hidden).length;
      fold.open = !all && shown > 0;
      fold.querySelector("summary").textContent = titles.get(fold) + (all ? "" : ` (${shown} shown)`);
    }
    const papers = lines.filter((line) => line.fold !== folds[0] && !line.row.hidden).length;
    count.textContent = all ? "" : `${papers} claims`;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", filter);
  chosen.addEventListener("input", filter);
  // a link may ask: meta_claims.html#words=kendall&answer=no
  const asked = new URLSearchParams(location.hash.slice(1));
  words.value = asked.get("words") ?? "";
  chosen.value = asked.get("answer") ?? "";
  if (words.value || chosen.value) filter();
}
const judges = [...document.querySelectorAll("a.judge")];
for (const cell of judges.length ? document.querySelectorAll("#answer td[title]") : []) {
  if (!/(^|; )(recorded|run|public)(;|$)/.test(cell.title) || cell.classList.contains("missing")) continue;
  const table = cell.closest("table"), rows = [...table.tHead.rows];
  const labels = [...cell.parentElement.querySelectorAll("th")].map((one) => one.textContent);
  const start = (of, row) => [...row.cells].slice(0, [...row.cells].indexOf(of)).reduce((sum, one) => sum + one.colSpan, 0);
  const column = start(cell, cell.parentElement);
  for (const row of rows) {
    const head = [...row.cells].find((one) => start(one, row) <= column && column < start(one, row) + one.colSpan);
    if (head) labels.push(head.textContent);
  }
  const words = labels.join(" ").toLowerCase().match(/[a-z0-9.]+/g) ?? [];
  const near = (judge) => words.filter((word) => judge.textContent.toLowerCase().includes(word)).length;
  const judge = judges.reduce((best, one) => near(one) > near(best) ? one : best);
  if (!near(judge)) continue;
  const link = document.createElement("a");
  const place = judge.getAttribute("href");
  link.href = `${place}${place.includes("#") ? "&" : "#"}${new URLSearchParams({cell: labels.join(" ")})}`;
  link.append(cell.firstChild);
  cell.prepend(link);
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
