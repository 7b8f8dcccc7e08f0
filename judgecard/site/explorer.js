// Filters, pages through and shows the judgments of the page's data block. Texts of data only ever become text nodes.
"use strict";
(async () => {
  const [INPUT, SYSTEM, ASPECT, HUMAN, VALUE, STATUS, REASON, GAP, SOURCE, REFERENCE, OUTPUT, TURNS]
    = Array(12).keys();
  const HEADS = {"input": INPUT, "system": SYSTEM, "aspect": ASPECT, "human": HUMAN, "judge": VALUE, "gap": GAP,
    "status": STATUS};
  const SIZE = 25;
  const packed = atob(JSON.parse(document.getElementById("data").textContent));
  const stream = new Blob([Uint8Array.from(packed, (letter) => letter.charCodeAt(0))]).stream();
  const {texts, rows} = await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).json();
  const form = document.getElementById("filters"), one = document.getElementById("one");
  const body = document.querySelector("tbody"), given = new URLSearchParams(location.hash.slice(1));
  let page = 0, chosen = null;

  function made(tag, text, where, more = {}) {
    const node = Object.assign(document.createElement(tag), more);
    node.append(text);
    if (where) where.append(node);
    return node;
  }
  function control(name, title, node) {
    node.name = name;
    const label = made("label", title + " ", form);
    label.append(node);
    if (given.has(name)) node.value = given.get(name);
    node.addEventListener("input", () => { page = 0; list(); });
  }
  function choice(name, title, place) {
    const select = document.createElement("select");
    const there = [...new Set(rows.map((row) => row[place]))].sort();
    made("option", "all", select, {value: ""});
    for (const text of there) made("option", text || "(none)", select, {value: text});
    control(name, title, select);
  }
  choice("system", "System", SYSTEM);
  choice("aspect", "Aspect", ASPECT);
  choice("status", "Status", STATUS);
  control("gap", "Ranks apart by at least", made("input", "", null, {type: "number", min: 0, max: 1, step: 0.1}));
  control("text", "Words", made("input", "", null, {type: "search"}));
  const order = document.createElement("select");
  for (const [value, title] of [["", "as recorded"], ["gap", "largest disagreement first"], ["value", "lowest score first"]])
    made("option", title, order, {value});
  control("order", "Order", order);
  for (const name of Object.keys(HEADS)) made("th", name, document.querySelector("thead tr"), {scope: "col"});

  function shown(value) { return typeof value === "number" ? String(+value.toFixed(3)) : value ?? "–"; }
  function hits() {
    const asked = Object.fromEntries(new FormData(form));
    const words = asked.text.toLowerCase();
    const found = rows.filter((row) => (!asked.system || row[SYSTEM] === asked.system)
      && (!asked.aspect || row[ASPECT] === asked.aspect) && (!asked.status || row[STATUS] === asked.status)
      && (!asked.gap || (row[GAP] !== null && row[GAP] >= +asked.gap))
      && (!words || [row[INPUT], row[REASON], texts[row[SOURCE]], texts[row[OUTPUT]],
        ...row[TURNS].map((turn) => texts[turn[2]])].some((text) => text.toLowerCase().includes(words))));
    const last = Infinity;
    if (asked.order === "gap") found.sort((a, b) => (b[GAP] ?? -1) - (a[GAP] ?? -1));
    if (asked.order === "value") found.sort((a, b) => (a[VALUE] ?? last) - (b[VALUE] ?? last));
    return found;
  }
  function list() {
    const found = hits(), pages = Math.max(1, Math.ceil(found.length / SIZE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const status = document.getElementById("count");
    status.replaceChildren(`${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}; `
      + `page ${page + 1} of ${pages.toLocaleString("en")} `);
    for (const [title, step] of [["Previous", -1], ["Next", 1]])
      made("button", title, status, {type: "button", disabled: page + step < 0 || page + step >= pages,
        onclick: () => { page += step; list(); }});
    body.replaceChildren(...found.slice(page * SIZE, (page + 1) * SIZE).map((row) => {
      const line = document.createElement("tr");
      for (const place of Object.values(HEADS)) {
        const td = made("td", "", line);
        if (place !== INPUT) td.textContent = shown(row[place]);
        else made("button", row[INPUT], td, {type: "button", onclick: () => { show(row); one.focus(); }});
      }
      line.classList.toggle("chosen", row === chosen);
      return line;
    }));
    if (!found.includes(chosen)) found.length ? show(found[0]) : one.replaceChildren();
  }
  function section(title, text, where = one) {
    if (!text) return null;
    made("h3", title, where);
    return made("pre", text, where, {tabIndex: 0});  // it scrolls, so keys must reach it
  }
  function fold(title, text) {
    if (!text) return;
    const folded = made("details", "", one);
    made("summary", title, folded);
    made("pre", text, folded, {tabIndex: 0});
  }
  function show(row) {
    chosen = row;
    [...body.children].forEach((line) => line.classList.remove("chosen"));
    one.replaceChildren();
    made("h2", [row[INPUT], row[SYSTEM], row[ASPECT]].filter(Boolean).join(" / "), one);
    const gap = row[GAP] === null ? "" : `; their ranks are ${shown(row[GAP])} apart`;
    made("p", `human ${shown(row[HUMAN])}, judge ${shown(row[VALUE])} (${row[STATUS]})${gap}`, one);
    section("Why", row[REASON]);
    section("Input", texts[row[SOURCE]]);
    section("Output", texts[row[OUTPUT]]);
    section("Reference", texts[row[REFERENCE]]);
    if (!row[TURNS].length) made("p", "Prompt and answer were not kept; there is the score alone.", one);
    let before = null;
    row[TURNS].forEach(([about, prompt, answer, trace, reasoning], number) => {
      if (prompt !== before) section("Prompt", texts[prompt]);
      before = prompt;
      const many = row[TURNS].length > 1 ? ` ${number + 1} of ${row[TURNS].length}` : "";
      fold("Reasoning, from which no score is read", texts[reasoning]);
      section(`Answer${many}${about ? `: ${about}` : ""}`, texts[answer]);
      fold("How the parser read it", texts[trace]);
    });
  }
  list();
})();
