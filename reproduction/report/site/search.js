// Finds the pages that have every word, those with the words in their titles first. Texts only ever become text nodes.
"use strict";
(async () => {
  const packed = atob(JSON.parse(document.getElementById("data").textContent));
  const stream = new Blob([Uint8Array.from(packed, (letter) => letter.charCodeAt(0))]).stream();
  const pages = (await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).json())
    .map(([place, title, text]) => ({place, title, text, lower: text.toLowerCase(), head: title.toLowerCase()}));
  const input = document.querySelector("#search input"), status = document.getElementById("count");
  const list = document.getElementById("hits");
  const times = (text, word) => text.split(word).length - 1;
  function score(page, words) {
    let sum = 0;
    for (const word of words) {
      const count = times(page.lower, word) + 50 * times(page.head, word);
      if (!count) return 0;
      sum += Math.log1p(count);
    }
    return sum;
  }
  function around(page, words) {
    const at = Math.max(0, Math.min(...words.map((word) => page.lower.indexOf(word)).filter((place) => place >= 0)) - 60);
    return Number.isFinite(at) ? `${at ? "… " : ""}${page.text.slice(at, at + 200)} …` : "";
  }
  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? pages.map((page) => [score(page, words), page]).filter(([sum]) => sum > 0) : [];
    hits.sort(([a], [b]) => b - a);
    status.textContent = words.length ? `${hits.length} of ${pages.length} pages` : `${pages.length} pages`;
    list.replaceChildren(...hits.slice(0, 50).map(([, page]) => {
      const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("div");
      link.href = page.place;
      link.append(page.title);
      text.append(around(page, words));
      text.className = "small";
      item.append(link, text);
      return item;
    }));
    history.replaceState(null, "", `#${new URLSearchParams({q: input.value})}`);
  }
  document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
  input.value = new URLSearchParams(location.hash.slice(1)).get("q") ?? "";
  input.addEventListener("input", search);
  search();
  input.focus();
})();
