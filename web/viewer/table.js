// Tables whose rows can be sorted, chosen and copied.
(() => {
  "use strict";

  // The text of a cell.
  const textOf = (column, row, index) =>
    viewer.element("span", {}, column.of(row, index)).textContent.replace(/\s+/g, " ").trim();

  // A text as a key to sort by: a number if it reads like one.
  const keyOf = (text) => {
    const number = text.replace(/,/g, "").replace(/^< /, "").replace(/ %$/, "");
    return number !== "" && Number.isFinite(Number(number)) ? Number(number) : text;
  };

  const compare = (left, right) =>
    typeof left === "number" && typeof right === "number"
      ? left - right
      : String(left).localeCompare(String(right), "en", { numeric: true });

  // Rows in an order: `ascending` or `descending`, by the column's `value` or else by the text of its cells.
  viewer.sorted = (column, rows, order) => {
    const key = column.value || ((row) => keyOf(textOf(column, row)));
    const sign = order === "descending" ? -1 : 1;
    const keyed = rows.map((row) => [key(row), row]).sort(([left], [right]) => sign * compare(left, right));
    return keyed.map(([, row]) => row);
  };

  // The order after one more click: numbers from the largest and texts from the first, then the other way round, then none.
  viewer.nextOrder = (column, order) => {
    const [first, second] = column.number ? ["descending", "ascending"] : ["ascending", "descending"];
    return order === null ? first : order === first ? second : null;
  };

  // The lines of a table as spreadsheets take them.
  const sheet = (columns, rows) => {
    const lines = rows.map((row, index) => columns.map((column) => textOf(column, row, index)));
    return [columns.map((column) => column.name), ...lines].map((cells) => cells.join("\t")).join("\n");
  };

  const line = (columns, options) => (row, index) => {
    const { element } = viewer;
    const choose = (event) => options.choose(row, event.currentTarget);
    const onkeydown = (event) => event.key === "Enter" && event.target === event.currentTarget && choose(event);
    const canChoose = options.choose && (!options.choosable || options.choosable(row));
    const kind = ({ number, mono, wide, words }) =>
      number ? "number" : `${mono ? "mono" : ""} ${wide ? "wide" : ""} ${words ? "words" : ""}`;
    return element(
      "tr",
      canChoose ? { class: "link", tabindex: 0, onclick: choose, onkeydown } : {},
      columns.map((column) => element("td", { class: kind(column) }, column.of(row, index))),
    );
  };

  // The heads of columns; `sort` is called with a column and its new order.
  const headsOf = (columns, sort) => {
    const { element } = viewer;
    const heads = columns.map((column) => {
      if (!column.name) return element("td");
      const onclick = () => {
        const order = viewer.nextOrder(column, head.getAttribute("aria-sort"));
        for (const other of heads) other.removeAttribute("aria-sort");
        if (order) head.setAttribute("aria-sort", order);
        sort(column, order);
      };
      const title = sort ? element("button", { class: "sort", onclick }, column.name) : column.name;
      const head = element("th", { class: column.number && "number", scope: "col" }, title);
      return head;
    });
    return heads;
  };

  // The number of rows that are shown first.
  const MAX_SHOWN = 500;

  // A table whose rows are sorted by a click on the head of a column, unless `options.fixed`: their order has a meaning.
  viewer.table = (columns, rows, options = {}) => {
    const { element } = viewer;
    if (!rows.length) return viewer.note(options.none || "None.");
    let limit = MAX_SHOWN;
    let shown = rows;
    const body = element("tbody", {});
    const fill = () => body.replaceChildren(...shown.slice(0, limit).map(line(columns, options)));
    const sort = (column, order) => {
      shown = order ? viewer.sorted(column, rows, order) : rows;
      fill();
    };
    const canSort = rows.length > 1 && !options.fixed;
    const heads = headsOf(columns, canSort ? sort : undefined);
    fill();
    const head = element("thead", {}, element("tr", {}, heads));
    const table = element("table", { class: columns.length > 6 && "many" }, head, body);
    const all = () => {
      limit = Infinity;
      fill();
      more.remove();
    };
    const more =
      rows.length > limit
        ? element("button", { onclick: all }, `Show ${viewer.grouped(rows.length - limit)} more`)
        : null;
    const copy = rows.length > 3 ? viewer.copy("Copy the table", () => sheet(columns, shown)) : null;
    const tools = more || copy ? element("p", { class: "tools" }, more, copy) : null;
    return element("div", { class: "rows", tabindex: canSort || options.choose ? undefined : 0 }, table, tools);
  };
})();
