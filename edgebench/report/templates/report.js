"use strict";
(() => {
  const FILTER_FROM = 10; // rows from which a table has a box of its own
  const create = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Sorting: by the number of a cell where its column holds figures, else by its text; what is missing is last.
  const collator = new Intl.Collator(undefined, { numeric: true });
  const keyOf = (row, place) => {
    const cell = row.cells[place];
    if (cell.dataset.value) return cell.dataset.value.split(" ").map(Number);
    const text = cell.textContent.trim();
    return text === "" || text === "-" ? null : text;
  };
  const compare = (a, b, direction) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (!Array.isArray(a) || !Array.isArray(b)) return direction * collator.compare(a, b);
    const place = a.findIndex((value, at) => value !== b[at]);
    return place < 0 ? 0 : direction * (a[place] - (b[place] ?? Infinity));
  };
  const sort = (table, place, direction) => {
    const rows = direction
      ? table.original.map((row) => [keyOf(row, place), row]).sort((a, b) => compare(a[0], b[0], direction))
          .map((pair) => pair[1])
      : table.original;
    table.tBodies[0].append(...rows);
    all("thead th", table).forEach((heading, at) => {
      heading.removeAttribute("aria-sort");
      if (at === place && direction)
        heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    });
  };

  // Filtering: every word has to occur; in the row, or for the page's own box in the trial's name.
  const everywhere = create("input", { type: "search", id: "everywhere", placeholder: "Show trials: board, model" });
  const wordsOf = (box) => (box ? box.value.toLowerCase().split(/\s+/).filter(Boolean) : []);
  const contains = (text, words) => words.every((word) => text.toLowerCase().includes(word));
  const ofSeveral = /^(all|both) |\(all but /; // a row of so many trials stays, whichever are looked for
  const filter = (table) => {
    const own = wordsOf(table.box);
    const trial = table.tHead.rows[0].cells[0].textContent.trim().toLowerCase() === "trial" ? wordsOf(everywhere) : [];
    let shown = 0;
    for (const row of table.original) {
      const name = row.cells[0].textContent;
      row.hidden = !contains(row.textContent, own) || !(ofSeveral.test(name) || contains(name, trial));
      shown += !row.hidden;
    }
    const isFiltered = own.length + trial.length > 0;
    table.count.textContent = isFiltered ? `${shown} of ${table.original.length} rows` : "";
  };

  const tables = all("table.rows").filter((table) => table.tBodies[0].rows.length > 1);
  tables.forEach((table, number) => {
    table.original = [...table.tBodies[0].rows];
    const headings = [...table.tHead.rows[0].cells];
    const choice = create("select", {}, create("option", { value: "", textContent: "Sort: as measured" }));
    headings.forEach((heading, place) => {
      const name = heading.textContent.trim();
      const button = create("button", { type: "button" }, ...heading.childNodes);
      if (heading.title) button.dataset.tip = heading.title;
      heading.removeAttribute("title");
      heading.append(button);
      button.addEventListener("click", () => {
        const now = heading.getAttribute("aria-sort");
        sort(table, place, now === "ascending" ? -1 : now === "descending" ? 0 : 1);
        choice.value = "";
      });
      choice.append(
        create("option", { value: `${place} 1`, textContent: `${name}, rising` }),
        create("option", { value: `${place} -1`, textContent: `${name}, falling` }),
      );
    });
    choice.addEventListener("change", () => {
      const [place, direction] = choice.value.split(" ").map(Number);
      sort(table, place, direction || 0);
    });
    const region = table.parentElement;
    const title = region.getAttribute("aria-label");
    table.count = create("output", {});
    table.count.setAttribute("aria-live", "polite");
    const tools = create("div", { className: "tools" });
    if (table.original.length >= FILTER_FROM && !region.matches("main > .table")) {
      table.box = create("input", { type: "search", placeholder: "Filter rows" });
      table.box.setAttribute("aria-label", `Filter the rows of ${title}`);
      table.box.addEventListener("input", () => filter(table));
      tools.append(table.box);
    }
    choice.setAttribute("aria-label", `Sort ${title} by`);
    tools.append(choice, table.count);
    region.before(tools);
  });
  const matrix = document.querySelector("main > .table");
  if (matrix && matrix.firstElementChild.original && matrix.firstElementChild.original.length >= FILTER_FROM) {
    everywhere.addEventListener("input", () => tables.forEach(filter));
    everywhere.setAttribute("aria-label", "Show trials");
    matrix.previousElementSibling.prepend(everywhere);
  }

  // Tooltips: on what points, has the focus or is touched; Escape closes.
  const tip = create("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  let holder = null;
  const hide = () => {
    tip.hidden = true;
    if (holder) holder.removeAttribute("aria-describedby");
    holder = null;
  };
  const show = (element, box = element.getBoundingClientRect()) => {
    hide();
    tip.textContent = element.dataset.tip;
    tip.hidden = false;
    holder = element;
    element.setAttribute("aria-describedby", "tip");
    const left = Math.min(Math.max(box.left + box.width / 2 - tip.offsetWidth / 2, 8), innerWidth - tip.offsetWidth - 8);
    const below = box.bottom + 8 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(left, 8)}px`;
    tip.style.top = `${below ? box.bottom + 8 : Math.max(box.top - tip.offsetHeight - 8, 8)}px`;
  };
  all("[title]").forEach((element) => {
    element.dataset.tip = element.title;
    element.removeAttribute("title");
  });
  all("svg .mark").forEach((mark) => {
    const title = mark.querySelector("title");
    mark.dataset.tip = title.textContent;
    title.remove(); // else the browser shows its own beside
  });
  const tipped = (event) => event.target.closest("[data-tip]");
  document.addEventListener("pointerover", (event) => (tipped(event) ? show(tipped(event)) : hide()));
  document.addEventListener("focusin", (event) => (tipped(event) ? show(tipped(event)) : hide()));
  document.addEventListener("focusout", hide);
  const follow = () => holder && (holder === document.activeElement ? show(holder) : hide());
  document.addEventListener("scroll", follow, { passive: true, capture: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());

  // A figure's points one after another by the arrow keys.
  all("figure .drawing").forEach((drawing) => {
    const marks = all(".mark", drawing);
    if (!marks.length) return;
    const said = create("output", { className: "unseen" });
    said.setAttribute("aria-live", "polite");
    drawing.after(said);
    drawing.tabIndex = 0;
    drawing.setAttribute("role", "group");
    drawing.setAttribute("aria-label", `Figure with ${marks.length} values: the arrow keys read them`);
    let at = -1;
    const leave = () => marks[at] && marks[at].classList.remove("current");
    drawing.addEventListener("blur", leave);
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      leave();
      at = (at + step + marks.length + (at < 0 && step < 0)) % marks.length;
      marks[at].classList.add("current");
      said.textContent = marks[at].dataset.tip;
      show(marks[at]);
    });
  });
  // Where there is no room a figure is shown whole, and at its full size at a press.
  all("figure .drawing").forEach((drawing) => {
    const button = create("button", { type: "button", className: "enlarge", textContent: "Enlarge" });
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const isLarge = drawing.classList.toggle("large");
      button.setAttribute("aria-pressed", isLarge);
      drawing.tabIndex = isLarge || drawing.querySelector(".mark") ? 0 : -1;
    });
    drawing.before(button);
  });
})();
