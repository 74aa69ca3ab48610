// The bytes of a file.
(() => {
  "use strict";
  const { element, grouped } = viewer;
  const WIDTH = 16;
  const ROWS = 32;

  // An offset that a user types, decimal or hexadecimal; `NaN` if it is neither.
  page.parseOffset = (text) => (/^(0x[0-9a-f]+|\d+)$/i.test(text.trim()) ? Number(text.trim()) : NaN);

  // The bytes to search for: those of a text, or two or more in hexadecimal.
  page.parsePattern = (text) => {
    const isHexadecimal = /^\s*[0-9a-f]{2}(\s+[0-9a-f]{2})+\s*$/i.test(text);
    if (!isHexadecimal) return new TextEncoder().encode(text);
    return Uint8Array.from(text.trim().split(/\s+/), (byte) => parseInt(byte, 16));
  };

  const hexadecimal = (number, digits) => number.toString(16).padStart(digits, "0");

  // A row of bytes: `{ offset, cells, text }`, where a cell is `{ text, isMarked }` for each byte.
  page.hexRow = (bytes, row, first, digits, isMarked) => {
    const own = bytes.subarray(row * WIDTH, (row + 1) * WIDTH);
    const cells = Array.from({ length: WIDTH }, (_, column) => {
      if (column >= own.length) return { text: "  ", isMarked: false };
      return { text: hexadecimal(own[column], 2), isMarked: isMarked(first + row * WIDTH + column) };
    });
    const character = (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·");
    const text = Array.from(own, character).join("").padEnd(WIDTH);
    return { offset: hexadecimal(first + row * WIDTH, digits), cells, text };
  };

  function rowElements({ offset, cells, text }) {
    const cell = ({ text, isMarked }, column) => [
      column === 8 ? " " : "",
      isMarked ? element("mark", {}, text) : text,
      " ",
    ];
    return [element("span", { class: "soft" }, `${offset}  `), ...cells.flatMap(cell), ` ${text}\n`];
  }

  viewer.views.push({
    name: "bytes",
    title: () => "Bytes",
    fits: (report) => report.live,
    draw: (_, main, argument) => new Bytes(argument).show(main),
  });

  // The view of some rows, in which a range from `start` is marked.
  class Bytes {
    note = element("p", { class: "note", role: "status" });
    tools = element("div", {});
    table = element("pre", {
      class: "hex",
      tabindex: 0,
      "aria-label": "Bytes: arrow keys and page keys move",
      onkeydown: (event) => {
        const rows = { ArrowUp: -1, ArrowDown: 1, PageUp: -ROWS, PageDown: ROWS }[event.key];
        if (!rows) return;
        event.preventDefault();
        this.move(rows);
      },
    });

    constructor(argument) {
      const { index, start, size } = page.parseRange(argument) || { index: page.roles.main, start: 0, size: 0 };
      this.index = Math.min(index, page.files.length - 1);
      // A truncated file has no bytes at the place of its error: its last bytes are shown.
      this.mark(start, size);
    }

    get file() {
      return page.files[this.index];
    }

    // Goes to the row of a range, and marks it.
    mark(start, size) {
      Object.assign(this, { start, size });
      this.at = this.rowAt(start);
    }

    // The start of the row with an offset, or of the nearest one.
    rowAt(offset) {
      const last = this.file.file_size - 1;
      return Math.max(0, Math.floor(Math.min(offset, last) / WIDTH) * WIDTH);
    }

    move(rows) {
      this.at = this.rowAt(Math.max(0, this.at + rows * WIDTH));
      this.fill();
    }

    show(main) {
      const button = (title, onclick) => element("button", { onclick }, title);
      const [select, place, sought] = [this.fileSelect(), this.placeInput(), this.searchInput()];
      const tools = [
        select,
        place,
        button("Go", () => this.go(place)),
        button("Back", () => this.move(-ROWS)),
        button("Forward", () => this.move(ROWS)),
        sought,
        button("Find", () => this.search(sought)),
      ];
      main.append(element("div", { class: "tools" }, tools), this.note, this.table, this.tools);
      this.fill();
    }

    fileSelect() {
      const options = page.files.map((file, index) => element("option", { value: index }, viewer.cut(file.file, 40)));
      const onchange = () => {
        this.index = Number(select.value);
        this.mark(0, 0);
        this.fill();
      };
      const select = element("select", { "aria-label": "File", onchange }, options);
      select.value = this.index;
      return select;
    }

    placeInput() {
      const input = element("input", {
        "aria-label": "Offset in bytes, decimal, or hexadecimal with 0x",
        placeholder: "Offset: 4096 or 0x1000",
        onkeydown: (event) => event.key === "Enter" && this.go(input),
      });
      return input;
    }

    searchInput() {
      const input = element("input", {
        "aria-label": "Text to search for, or bytes such as 45 54 31 32",
        placeholder: "Text, or bytes: 45 54 31 32",
        onkeydown: (event) => event.key === "Enter" && this.search(input),
      });
      return input;
    }

    go(input) {
      const offset = page.parseOffset(input.value);
      const isThere = offset < this.file.file_size;
      input.setAttribute("aria-invalid", !isThere);
      if (!isThere) return;
      this.mark(offset, 0);
      this.fill();
    }

    // Goes to the next place after the marked one, or else to the first.
    async search(input) {
      if (!input.value) return;
      const pattern = page.parsePattern(input.value);
      const from = this.start + (this.size ? 1 : 0);
      let at = await page.ask("search", [this.index, pattern, from]);
      if (at === null && from) at = await page.ask("search", [this.index, pattern, 0]);
      input.setAttribute("aria-invalid", at === null);
      if (at === null) {
        this.note.textContent = "Not found in the file.";
        return;
      }
      this.mark(at, pattern.length);
      this.fill();
    }

    async fill() {
      const { at, start, size, index, table, note, tools } = this;
      const { blob, file_size } = this.file;
      const bytes = new Uint8Array(await blob.slice(at, at + ROWS * WIDTH).arrayBuffer());
      // Another view, or none, is shown by now.
      if (!table.isConnected) return;
      const digits = Math.max(8, file_size.toString(16).length);
      const isMarked = (offset) => offset >= start && offset < start + (size || 1);
      const rows = Array.from({ length: Math.ceil(bytes.length / WIDTH) }, (_, row) =>
        rowElements(page.hexRow(bytes, row, at, digits, isMarked)),
      );
      table.replaceChildren(...rows.flat());
      note.textContent = page.rangeText(start, size, file_size);
      note.append(...page.owner(index, start));
      tools.replaceChildren(...(size ? [page.rangeTools(index, start, size, "bytes")] : []));
    }
  }

  page.rangeText = (start, size, file_size) => {
    if (start >= file_size) return `The file ends before byte ${grouped(start)}: it has ${grouped(file_size)} bytes.`;
    if (size) return `${grouped(size)} bytes from ${grouped(start)} are marked.`;
    return `Byte ${grouped(start)} of ${grouped(file_size)}.`;
  };

  // The part of the file that a byte is in, as text with links: a weight, or a part that the sizes have.
  page.owner = (index, at) => {
    const { report } = page;
    const offset = index === page.roles.main ? at - (report.program_offset || 0) : at;
    const contains = (range) =>
      viewer.isKnown(range.offset) && range.offset <= offset && offset < range.offset + range.size;
    const isInFile = (weight) => (weight.index ?? page.roles.main) === index;
    const weight = (report.weights || []).find((weight) => isInFile(weight) && contains(weight));
    if (weight) {
      const name = viewer.weightNames(report).name(weight);
      const link = viewer.link(() => viewer.open("weights", name), name || "a weight");
      return [` It is byte ${grouped(offset - weight.offset)} of `, link, "."];
    }
    const part = index === page.roles.main ? (report.size?.parts || []).find(contains) : undefined;
    if (!part) return [];
    const names = [part.kind, part.backend, part.detail].filter(Boolean).join(" ");
    return [` It is in ${names}: ${viewer.kinds[part.kind] || "a part of the file"}.`];
  };
})();
