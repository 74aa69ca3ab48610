// The bytes of a file, and actions on a range of them.
(() => {
  const { element } = viewer;
  const ROWS = 32;
  const hex = (number, digits) => number.toString(16).padStart(digits, "0");

  // Arguments are strings, since they are part of the URL: FILE:OFFSET+SIZE.
  page.range = (index, offset, size) => `${index}:${offset}${size ? `+${size}` : ""}`;

  viewer.views.push({
    name: "bytes",
    title: () => "Bytes",
    fits: (report) => report.live,
    draw(report, main, argument) {
      const [, index, offset, size] = /^(\d+):(\d+)(?:\+(\d+))?$/.exec(argument || "") || [0, page.roles.main, 0, 0];
      const state = { index: Math.min(index, page.files.length - 1), at: Number(offset) - (Number(offset) % 16), start: Number(offset), size: Number(size || 0) };
      const file = () => page.files[state.index];
      // A truncated file has no bytes at the place of its error: its last bytes are shown.
      state.at = Math.max(0, Math.min(state.at, Math.floor((file().file_size - 1) / 16) * 16));
      const select = element("select", { "aria-label": "File", onchange: () => { Object.assign(state, { index: Number(select.value), at: 0, start: 0, size: 0 }); fill(); } }, page.files.map((file, index) => element("option", { value: index }, viewer.cut(file.file, 40))));
      select.value = state.index;
      const place = element("input", { "aria-label": "Offset in bytes, decimal, or hexadecimal with 0x", placeholder: "Offset: 4096 or 0x1000", onkeydown: (event) => { if (event.key === "Enter") go(); } });
      const go = () => {
        const text = place.value.trim();
        const to = /^0x[0-9a-f]+$/i.test(text) || /^\d+$/.test(text) ? Number(text) : NaN;
        place.setAttribute("aria-invalid", !(to < file().file_size));
        if (to < file().file_size) { Object.assign(state, { at: to - (to % 16), start: to, size: 0 }); fill(); }
      };
      const move = (rows) => { state.at = Math.max(0, Math.min(state.at + rows * 16, Math.floor((file().file_size - 1) / 16) * 16)); fill(); };
      const table = element("pre", { class: "hex", tabindex: 0, "aria-label": "Bytes: arrow keys and page keys move", onkeydown: (event) => {
        const rows = { ArrowUp: -1, ArrowDown: 1, PageUp: -ROWS, PageDown: ROWS }[event.key];
        if (rows) { event.preventDefault(); move(rows); }
      } });
      // A text, or bytes in hexadecimal: the next place after the one that is marked.
      const sought = element("input", { "aria-label": "Text to search for, or bytes such as 45 54 31 32", placeholder: "Text, or bytes: 45 54 31 32", onkeydown: (event) => { if (event.key === "Enter") search(); } });
      const search = async () => {
        const text = sought.value;
        if (!text) return;
        const pattern = /^\s*[0-9a-f]{2}(\s+[0-9a-f]{2})+\s*$/i.test(text) ? Uint8Array.from(text.trim().split(/\s+/), (byte) => parseInt(byte, 16)) : new TextEncoder().encode(text);
        const from = state.start + (state.size ? 1 : 0);
        const at = await page.ask("search", [state.index, pattern, from]) ?? (from ? await page.ask("search", [state.index, pattern, 0]) : null);
        sought.setAttribute("aria-invalid", at === null);
        if (at === null) { note.textContent = "The file does not have that."; return; }
        Object.assign(state, { at: at - (at % 16), start: at, size: pattern.length });
        fill();
      };
      const note = element("p", { class: "note", role: "status" });
      const tools = element("div", {});
      main.append(element("div", { class: "tools" }, select, place, element("button", { onclick: go }, "Go"), element("button", { onclick: () => move(-ROWS) }, "Back"), element("button", { onclick: () => move(ROWS) }, "Forward"), sought, element("button", { onclick: () => search() }, "Find")), note, table, tools);
      const fill = async () => {
        const { at, start, size } = state;
        const { blob } = file();
        const bytes = new Uint8Array(await blob.slice(at, at + ROWS * 16).arrayBuffer());
        // Another view, or none, is shown by now.
        if (!table.isConnected) return;
        const digits = Math.max(8, file().file_size.toString(16).length);
        const marked = (position) => position >= start && position < start + (size || 1);
        const line = (row) => {
          const cells = [];
          let text = "";
          for (let column = 0; column < 16; column += 1) {
            const position = row * 16 + column;
            const byte = bytes[position];
            const shown = byte === undefined ? "  " : hex(byte, 2);
            cells.push(column === 8 ? " " : "", marked(at + position) && byte !== undefined ? element("mark", {}, shown) : shown, " ");
            text += byte === undefined ? " " : byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·";
          }
          return [element("span", { class: "soft" }, `${hex(at + row * 16, digits)}  `), ...cells, ` ${text}\n`];
        };
        table.replaceChildren(...Array.from({ length: Math.ceil(bytes.length / 16) }, (_, row) => line(row)).flat().map((part) => (part instanceof Node ? part : document.createTextNode(part))));
        note.textContent = start >= file().file_size ? `The file ends before byte ${start.toLocaleString("en")}: it has ${file().file_size.toLocaleString("en")} bytes.` : size ? `${size.toLocaleString("en")} bytes from ${start.toLocaleString("en")} on are marked.` : `Byte ${start.toLocaleString("en")} of ${file().file_size.toLocaleString("en")}.`;
        note.append(...page.owner(state.index, start));
        tools.replaceChildren(...(size ? [page.rangeTools(state.index, start, size, "bytes")] : []));
      };
      fill();
    },
  });

  // The part of the file that a byte is in: a weight, or a part that the sizes have.
  page.owner = (index, at) => {
    const { report } = page;
    const offset = index === page.roles.main ? at - (report.program_offset || 0) : at;
    const has = (one) => one.offset !== undefined && one.offset !== null && one.offset <= offset && offset < one.offset + one.size;
    const weight = (report.weights || []).find((one) => (one.index ?? page.roles.main) === index && has(one));
    if (weight) {
const name = viewer.weightNames(report).name(weight);
      return [` It is byte ${(offset - weight.offset).toLocaleString("en")} of `, viewer.link(() => viewer.open("weights", name), name || "a weight"), "."];
    }
    const part = index === page.roles.main ? (report.size?.parts || []).find(has) : undefined;
    return part ? [` It is in ${[part.kind, part.backend, part.detail].filter(Boolean).join(" ")}: ${viewer.kinds[part.kind] || "a part of the file"}.`] : [];
  };

  // The actions on any range of a file: show it, save it, hash it.
  page.rangeTools = (index, start, size, name) => element("div", { class: "actions" },
    element("button", { onclick: () => viewer.open("bytes", page.range(index, start, size)) }, "Bytes"),
    element("button", { onclick: () => page.download(page.files[index].blob.slice(start, start + size), `${page.clean(name)}.bin`) }, "Save these bytes"),
    page.job("SHA-256", (progress) => page.ask("hash", [index, start, size], progress), (answer, box) => box.append(element("code", {}, answer), viewer.copy("Copy", () => answer))));

  // The name of a file to download.
  page.clean = (name) => String(name).replace(/[^\w.-]+/g, "_").replace(/^\.+/, "").slice(0, 100) || "data";

  // The actions on a weight, which the viewer shows below its facts.
  viewer.weightTools = (weight, name, again) => {
    if (!page.files.length || weight.offset === undefined || weight.offset === null) return [];
    const index = weight.index ?? page.roles.main;
    const start = weight.index === undefined || weight.index === null ? page.place(weight.offset) : weight.offset;
    const tools = [page.rangeTools(index, start, weight.size, name)];
    if (weight.users.some(viewer.shape) && weight.kind !== "delegate_constant") {
      const save = (title, safetensors, ending) => page.job(title, (progress) => page.ask("save", [index, start, weight.size, weight.offset, safetensors], progress), (blob) => page.download(blob, `${page.clean(name)}.${ending}`));
      tools.push(element("div", { class: "actions" }, save("Save as .npy", false, "npy"), save("Save as .safetensors", true, "safetensors")));
    }
    if (!weight.histogram && (weight.users.some(viewer.shape) || weight.inside?.length)) {
      tools.push(element("div", { class: "actions" }, page.job("Count its values", (progress) => page.ask("spread", [index, weight.offset], progress), (answer) => {
        weight.histogram = JSON.parse(answer);
        weight.counted = true;
        again();
      })));
    }
    return tools;
  };
})();
