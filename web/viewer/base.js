// The viewer of reports. `viewer.show(report)` draws the JSON of `Model::report`, with the findings of verification; every string
// from a file is put into the page as text, never as markup.
"use strict";
const viewer = { views: [] };

(() => {
  // The colour of each kind of bytes and of each kind of node, the same in every picture.
  viewer.colors = {
    constant: "#8fb8de", initial_state: "#f2c48d", delegate: "#b9aee0", named: "#9fd3c0", external: "#c9d6a3",
    program: "#f0e0a0", header: "#d8b4a0", padding: "#d5dde5", unreferenced: "#e39a9a",
  };
  viewer.nodeColors = {
    input: "#d8ead2", output: "#d8ead2", state: "#fbe5cc", delegate: "#d9d3ec", inside: "#d9d3ec", move: "#f6d3d3", jump: "#f6d3d3",
    kernel: "#dce9f7", unknown: "#dddddd", block: "#e2e6f6",
  };
  // The colours for a small scale, at which boxes have a few pixels.
  viewer.farColors = {
    input: "#6aa84f", output: "#6aa84f", state: "#e69138", delegate: "#8e7cc3", inside: "#8e7cc3", move: "#cc5555", jump: "#cc5555", kernel: "#6a9fd4", unknown: "#999999", block: "#7f8fd0",
  };

  // What each kind of bytes is, for users who do not know the format.
  viewer.kinds = {
    constant: "tensors that methods read", initial_state: "initial content of tensors that methods write", delegate: "what backends run",
    named: "data under a key, for backends and methods", external: "data for programs in other files", program: "tables: methods, operators, values, names of data",
    header: "where the parts of the file are", padding: "empty, so that data is aligned", unreferenced: "nothing in the file refers to it",
  };

  // A page's data: base64 of zlib of JSON.
  viewer.unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return viewer.parse(await new Response(stream).text());
  };

  viewer.parse = (json) => {
    // An integer that JavaScript would round also keeps its digits.
    const exact = (key, value, context) => (Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source ? Object.assign(new Number(value), { digits: context.source }) : value);
    return /[:,[]\s*-?\d{16}/.test(json) ? JSON.parse(json, exact) : JSON.parse(json);
  };

  // An element with attributes, handlers (`onclick`) and children: elements or strings.
  viewer.element = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key === "style") element.style.cssText = value || "";
      else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== undefined && child !== null).map((child) => (child instanceof Node ? child : viewer.text(child))));
    return element;
  };

  // A string from a file: characters that are invisible or change the direction of text are escaped, as on a terminal.
  viewer.text = (text) => String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (character) => (character === "\n" ? "\n" : `\\u{${character.codePointAt(0).toString(16)}}`));

  viewer.cut = (text, most) => {
    const characters = [...viewer.text(text)];
    return characters.length > most ? characters.slice(0, most - 1).join("") + "…" : characters.join("");
  };

  viewer.bytes = (count) => {
    const units = ["KiB", "MiB", "GiB", "TiB"];
    let [rest, unit] = [count, "B"];
    for (const larger of units) {
      if (Math.abs(rest) < 1023.95) break;
      [rest, unit] = [rest / 1024, larger];
    }
    return unit === "B" ? `${count} B` : `${rest.toFixed(1)} ${unit}`;
  };

  viewer.count = (count, what, more = `${what}s`) => `${count.toLocaleString("en")} ${count === 1 ? what : more}`;

  viewer.share = (part, whole) => (part > 0 && part < whole / 2000 ? "< 0.1 %" : `${((100 * part) / (whole || 1)).toFixed(1)} %`);

  // A name, which may be empty, invisible or very long.
  viewer.name = (name) => (String(name).trim() ? viewer.cut(name, 300) : JSON.stringify(name));

  viewer.number = (number) => {
    if (Number.isInteger(number) && Math.abs(number) < 1e9) return number.toLocaleString("en");
    const short = Number(Number(number).toPrecision(4));
    return Math.abs(short) < 1e9 ? String(short) : short.toExponential();
  };

  // Makes an element respond to clicks and to the keyboard.
  viewer.link = (act, ...children) => viewer.element("a", { role: "button", tabindex: 0, onclick: act, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); } } }, ...children);

  const shortTypes = { FLOAT: "f32", HALF: "f16", BFLOAT16: "bf16", DOUBLE: "f64", LONG: "i64", INT: "i32", SHORT: "i16", CHAR: "i8", BYTE: "u8", BOOL: "bool", UINT16: "u16", UINT32: "u32", UINT64: "u64", 8: "complex32", 9: "complex64", 10: "complex128", 18: "bits1x8", 19: "bits2x4", 20: "bits4x2", 21: "bits8" };
  viewer.type = (type) => shortTypes[type] || String(type).toLowerCase();

  // `f32[1, 3]` for anything with a type and sizes.
  viewer.shape = (tensor) => {
    if (!tensor || !tensor.sizes) return "";
    const dynamic = tensor.shape_dynamism;
    const sizes = tensor.sizes.map((size) => (dynamic === "DYNAMIC_BOUND" ? `<=${size}` : dynamic === "DYNAMIC_UNBOUND" ? "?" : size));
    const order = (tensor.dim_order || []).every((dim, index) => dim === index) ? "" : ` dim order ${tensor.dim_order.join(",")}`;
    return `${viewer.type(tensor.scalar_type)}[${sizes.join(", ")}]${order}`;
  };

  // The use of a weight by a node inside a delegate: `XNNConv2d 3: weight`, with its type and shape if requested.
  viewer.inside = (use, shaped) => `${use.operator ? `${use.operator} ${use.node}: ` : ""}${use.role}${shaped ? ` ${viewer.insideShape(use)}` : ""}`;
  viewer.insideShape = (use) => `${use.type}[${use.sizes.join(", ")}]`;

  // What a column is sorted by: its `value`, or else the text of its cell, which is a number if it reads like one.
  const sortKey = (column, row) => {
    if (column.value) return column.value(row);
    const text = viewer.element("span", {}, column.of(row)).textContent.trim();
    const number = text.replace(/,/g, "").replace(/^< /, "").replace(/ %$/, "");
    return number !== "" && Number.isFinite(Number(number)) ? Number(number) : text;
  };
  const compare = (one, other) => (typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true }));

  // A table whose rows are sorted by a click on the head of a column, unless `options.fixed` says that their order has a meaning.
  viewer.table = (columns, rows, options = {}) => {
    const { element } = viewer;
    if (!rows.length) return element("p", { class: "note" }, options.none || "None.");
    const chosen = (row) => ({ class: "link", tabindex: 0, onclick: (event) => options.choose(row, event.currentTarget), onkeydown: (event) => event.key === "Enter" && event.target === event.currentTarget && options.choose(row, event.currentTarget) });
    const line = (row, index) => element("tr", options.choose && (!options.choosable || options.choosable(row)) ? chosen(row) : {},
      columns.map((column) => element("td", { class: column.number ? "number" : `${column.mono ? "mono" : ""} ${column.wide ? "wide" : ""} ${column.words ? "words" : ""}` }, column.of(row, index))));
    let most = options.most || 500;
    let shown = rows;
    const body = element("tbody", {});
    const fill = () => body.replaceChildren(...shown.slice(0, most).map(line));
    // First by the largest number or by the first text, then the other way round, then as it was.
    const sort = (column, head) => {
      const before = head.getAttribute("aria-sort");
      const first = column.number ? "descending" : "ascending";
      const now = before === null ? first : before === first ? (column.number ? "ascending" : "descending") : null;
      for (const other of heads) other.removeAttribute("aria-sort");
      shown = rows;
      if (now) {
        head.setAttribute("aria-sort", now);
        const sign = now === "descending" ? -1 : 1;
        const keyed = rows.map((row) => [sortKey(column, row), row]).sort(([one], [other]) => sign * compare(one, other));
        shown = keyed.map(([, row]) => row);
      }
      fill();
    };
    const sorts = rows.length > 1 && !options.fixed;
    const heads = columns.map((column) => {
      if (!column.name) return element("td");
      const head = element("th", { class: column.number && "number", scope: "col" }, sorts ? element("button", { class: "sort", onclick: () => sort(column, head) }, column.name) : column.name);
      return head;
    });
    fill();
    const table = element("table", { class: columns.length > 6 && "many" }, element("thead", {}, element("tr", {}, heads)), body);
    // All rows, as a sheet takes them.
    const clean = (cell) => viewer.element("span", {}, cell).textContent.replace(/\s+/g, " ").trim();
    const sheet = () => [columns.map((column) => column.name), ...shown.map((row, index) => columns.map((column) => clean(column.of(row, index))))].map((cells) => cells.join("\t")).join("\n");
    const more = rows.length > most ? element("button", { onclick: () => { most = Infinity; fill(); more.remove(); } }, `Show ${(rows.length - most).toLocaleString("en")} more`) : null;
    const copy = rows.length > 3 ? viewer.copy("Copy the table", sheet) : null;
    return element("div", { class: "rows", tabindex: sorts || options.choose ? undefined : 0 }, table, more || copy ? element("p", { class: "tools" }, more, copy) : null);
  };

  // A button that copies a text.
  viewer.copy = (title, text) => {
    const button = viewer.element("button", { class: "copy", onclick: async (event) => {
      event.stopPropagation();
      try {
        await navigator.clipboard.writeText(text());
        button.textContent = "Copied";
      } catch {
        button.textContent = "The browser does not allow it";
      }
      setTimeout(() => { button.textContent = title; }, 1500);
    } }, title);
    return button;
  };

  // A path of modules, shortened from its start.
  viewer.module = (path) => (path === "" ? "the model" : viewer.cut(path, 80));

  // One search for all views: an offset, a value or an instruction, a weight, a node, an operator. It returns where that is.
  viewer.find = (report, text) => {
    const words = text.trim();
    if (!words) return undefined;
    const lower = words.toLowerCase();
    const named = (one) => one !== undefined && one !== null && String(one).toLowerCase() === lower;
    const has = (one) => one !== undefined && one !== null && String(one).toLowerCase().includes(lower);
    const weights = report.weights || [];
const { name } = viewer.weightNames(report);
    if (/^(0x[0-9a-f]+|\d+)$/i.test(words)) {
      if (viewer.has("bytes")) return ["bytes", `${report.main ?? 0}:${Number(words)}`];
      const weight = weights.find((one) => one.offset <= Number(words) && Number(words) < one.offset + one.size);
      return weight && ["weights", name(weight)];
    }
    if (/^(%\d+|instruction \d+|node \d+)$/i.test(words) && viewer.has("graph")) return ["graph", lower];
    const finders = [
      () => { const weight = weights.find((one) => named(one.name) || named(one.key)); return weight && ["weights", name(weight)]; },
      () => report.operators?.operators.some((one) => named(one.name)) && viewer.has("graph") && ["graph", words],
      () => { const weight = weights.find((one) => has(one.name) || has(one.key)); return weight && ["weights", name(weight)]; },
      () => viewer.has("graph") && (report.graphs || []).some((graph) => graph.nodes.some((node) => has(node.label) || has(node.title) || has(node.name) || has(node.module))) && ["graph", words],
    ];
    for (const finder of finders) {
      const found = finder();
      if (found) return found;
    }
    return undefined;
  };

  viewer.tip = (text, event) => {
    if (text && !event) return;
    const tip = document.getElementById("tip");
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = viewer.text(text);
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 16, innerHeight - height - 6))}px`;
  };

  // A canvas that fills its parent. It is redrawn when its size changes, at most once per frame.
  viewer.canvas = (stage, draw) => {
    const canvas = viewer.element("canvas", {});
    stage.append(canvas);
    const context = canvas.getContext("2d");
    let waiting = false;
    const now = () => {
      waiting = false;
      const { width, height } = stage.getBoundingClientRect();
      const scale = devicePixelRatio || 1;
      if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
      }
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, width, height);
      draw(context, width, height);
    };
    const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(now); } };
    new ResizeObserver(redraw).observe(stage);
    return { canvas, redraw, now };
  };

  // Times of traces. A trace does not say how long a tick is: nanoseconds, unless the user knows better.
  viewer.tick = 1;
  viewer.time = (count) => {
    const ticks = count * viewer.tick;
    const [unit, per] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, per]) => ticks >= per) || ["ns", 1];
    return `${Number((ticks / per).toPrecision(3))} ${unit}`;
  };

  // A colour of the style sheet, for canvases.
  viewer.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // The view in the URL: `#graph`, or `#graph=SEARCH`.
  viewer.asked = () => {
    const [name, ...rest] = location.hash.slice(1).split("=");
    const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
    return { name: decode(name), argument: rest.length ? decode(rest.join("=")) : undefined };
  };

  const words = { pte: "ExecuTorch program", ptd: "ExecuTorch tensor data", bpte: "ExecuTorch bundle", etdp: "ExecuTorch trace", xnnpack: "XNNPACK payload" };

  // Shows a report. Its parts in `report.pending` are missing at first: `viewer.update(part)` says that one has arrived.
  viewer.show = (report) => {
    const { element } = viewer;
    document.title = `${viewer.text(report.file)} – pte report`;
    const kind = words[report.summary?.kind] || "File";
    const sought = element("input", { type: "search", placeholder: "Tensor, operator, %12 or offset", "aria-label": "Search in all views: a tensor, an operator, a value such as %12, or an offset in bytes", onkeydown: (event) => {
      if (event.key !== "Enter") return;
      const found = viewer.find(report, sought.value);
      sought.setAttribute("aria-invalid", sought.value.trim() !== "" && !found);
      nowhere.textContent = found || !sought.value.trim() ? "" : "Nothing has that name.";
      if (found) viewer.open(...found);
    } });
    const nowhere = element("span", { class: "note", role: "status" });
    document.getElementById("head").replaceChildren(element("h1", {}, report.file), element("p", {}, `${kind}, ${viewer.bytes(report.file_size)}${report.file_size < 1024 ? "" : ` (${report.file_size.toLocaleString("en")} bytes)`}`), report.summary ? element("p", { class: "tools", role: "search" }, sought, nowhere) : "");
    const tabs = document.getElementById("tabs");
    const main = document.getElementById("main");
    let views = [];
    let current;
    const waits = (view) => view.part !== undefined && report.pending?.has(view.part);
    const draw = () => {
      const { view, argument } = current;
      viewer.tip();
      main.className = view.whole && !waits(view) ? "whole" : "";
      main.replaceChildren();
      main.dataset.view = view.name;
      main.setAttribute("aria-label", view.short || view.title(report));
      if (waits(view)) main.append(element("p", { class: "note", role: "status" }, "Working…"));
      else view.draw(report, main, argument);
      main.prepend(element("h2", { class: "heard" }, view.short || view.title(report)));
    };
    const fill = () => {
      const keys = tabs.contains(document.activeElement);
      views = viewer.views.filter((view) => waits(view) || view.fits(report));
      if (!views.some((view) => view === current?.view)) current = undefined;
      tabs.replaceChildren(...views.map((view) => element("button", { role: "tab", "data-name": view.name, "aria-controls": "main", onclick: () => viewer.open(view.name) }, waits(view) ? view.short : view.title(report))));
      mark();
      if (keys) tabs.querySelector("[aria-selected=true]")?.focus();
    };
    const mark = () => {
      for (const tab of tabs.children) {
        const chosen = tab.dataset.name === current?.view.name;
        tab.setAttribute("aria-selected", chosen);
        tab.tabIndex = chosen ? 0 : -1;
      }
    };
    // Each view is an entry of the browser's history; `again` shows one that is there already.
    viewer.open = (name, argument, again) => {
      const view = views.find((view) => view.name === name) || views[0];
      const lost = name && view.name !== name && !report.pending?.size ? name : undefined;
      current = { view, argument: lost === undefined ? argument : undefined };
      mark();
      place(current.argument, again ? "replaceState" : "pushState");
      draw();
      if (lost !== undefined) main.prepend(element("p", { class: "warning", role: "status" }, `This file has no view “${viewer.cut(lost, 60)}”.`));
    };
    const place = (argument, how) => {
      const hash = `#${current.view.name}${argument === undefined ? "" : `=${encodeURIComponent(argument)}`}`;
      try {
        if (hash !== location.hash) history[how](null, "", hash);
      } catch {
        // The page also works if it is not allowed to change its URL.
      }
    };
    // What is chosen in a view is in its URL, so that a link leads there.
    viewer.chosen = (argument) => place(argument, "replaceState");
    viewer.redraw = () => current && draw();
    viewer.has = (name) => views.some((view) => view.name === name);
    viewer.update = (part) => {
      const before = current?.view;
      fill();
      if (!current) viewer.open(before?.name, undefined, true);
      else if (current.view.part === part || current.view.uses?.includes(part)) draw();
    };
    // Arrow keys move from tab to tab.
    tabs.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      const at = [...tabs.children].indexOf(document.activeElement);
      if (!step || at < 0) return;
      event.preventDefault();
      const count = tabs.children.length;
      const to = Number.isFinite(step) ? (at + step + count) % count : step < 0 ? 0 : count - 1;
      viewer.open(tabs.children[to].dataset.name);
      tabs.children[to].focus();
    };
    fill();
    const asked = viewer.asked();
    viewer.open(asked.name, asked.argument, true);
    requestAnimationFrame(() => { viewer.readyAt = performance.now(); });
  };

  // Canvases take their colours from the style sheet when they are drawn.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => viewer.redraw?.());
  addEventListener("hashchange", () => { if (viewer.open) { const { name, argument } = viewer.asked(); viewer.open(name, argument, true); } });
})();
