"use strict";
(() => {
  const { element, bytes, share, shape } = viewer;

  viewer.views.push({
    name: "size",
    title: () => "Size",
    short: "Size",
    part: "size",
    fits: (report) => report.size,
    uses: ["weights", "modules"],
    draw(report, main, argument) {
      const modules = (report.modules || []).some((module) => module.path) ? report.modules : [];
      const byModule = modules.length > 0 && argument === "module";
      const root = byModule ? moduleTree(report.size, modules, report.weights || []) : tree(report.size, report.weights || []);
      let at = root;
      if (modules.length) {
        const button = (title, to, pressed) => element("button", { "aria-pressed": pressed, onclick: () => viewer.open("size", to) }, title);
        main.append(element("div", { class: "tools" }, button("By kind", undefined, !byModule), button("By module", "module", byModule)));
      }
      const crumbs = element("p", { class: "crumbs" });
      const map = element("div", { class: "treemap" });
      const list = element("div", {});
      main.append(crumbs, map, element("p", { class: "note" }, "The area of a box is its bytes. Click a box or a row to look into it; Escape goes back."), list);
      const zoom = (node) => {
        at = node;
        const keys = list.contains(document.activeElement);
        const ways = [];
        for (let at = node; at; at = at.parent) ways.unshift(at);
        crumbs.replaceChildren(...ways.flatMap((way, index) => [index ? " / " : "", index === ways.length - 1 ? element("b", {}, `${way.name}, ${bytes(way.bytes)}`) : viewer.link(() => zoom(way), way.name)]));
        fill(map, node, root.bytes, zoom);
        const rows = node.children || [node];
        list.replaceChildren(viewer.table([
          { name: "what", wide: true, of: (row) => [element("span", { class: "swatch", style: `background: ${row.color}` }), row.name] },
          { name: "bytes", number: true, of: (row) => row.bytes.toLocaleString("en") },
          { name: "of the file", number: true, of: (row) => share(row.bytes, root.bytes) },
          { name: node === root ? "what it is" : "where", of: (row) => row.note || viewer.count(row.children.length, "piece") },
        ], rows, { choose: (row) => (row.children ? zoom(row) : row.open()), choosable: (row) => row.children || row.open }));
        if (keys) list.querySelector("[tabindex]")?.focus();
      };
      // The handlers are on the view's element, so they are removed with it.
      map.tabIndex = 0;
      for (const part of [map, crumbs, list]) part.addEventListener("keydown", (event) => { if (event.key === "Escape" && at.parent) zoom(at.parent); });
      new ResizeObserver(() => fill(map, at, root.bytes, zoom)).observe(map);
      zoom(root);
      const idle = (kind) => report.size.parts.filter((part) => part.kind === kind).reduce((sum, part) => sum + part.size, 0);
      if (idle("unreferenced") || idle("padding") > root.bytes / 100) {
        main.append(element("p", { class: "note" }, `Nothing refers to ${bytes(idle("unreferenced"))}, and ${bytes(idle("padding"))} align what follows: pte size lists what can be removed, and the command that does it.`));
      }
    },
  });

  // Kinds, then their parts: by delegate or table, by tensor.
  function tree(size, weights) {
    const root = { name: "file", bytes: 0, children: new Map(), color: "#eeeeee" };
    const several = new Set(size.parts.flatMap((part) => (part.users || []).map((user) => user.method)).filter((method) => method !== undefined)).size > 1;
    const user = (user) => user.key ?? (user.method !== undefined ? (user.id !== undefined ? `${several ? `${viewer.name(user.method)} ` : ""}delegate ${user.index}` : `${several ? `${viewer.name(user.method)}:` : ""}%${user.value}`) : "");
    const child = (parent, name, color) => {
      if (!parent.children.has(name)) parent.children.set(name, { name, bytes: 0, children: new Map(), color, parent });
      return parent.children.get(name);
    };
    const add = (parent, key, leaf) => {
      parent.children.set(key, { ...leaf, parent });
      for (let up = parent; up; up = up.parent) up.bytes += leaf.bytes;
    };
    // Data that nodes of a delegate use is in the delegate's box, wherever in the file its bytes are.
    const inside = weights.filter((weight) => weight.inside?.length && weight.offset !== undefined && weight.offset !== null);
    const named = new Map(inside.filter((weight) => weight.kind === "named").map((weight) => [weight.offset, weight]));
    const packed = inside.filter((weight) => weight.kind === "delegate_constant").sort((one, other) => one.offset - other.offset);
    const box = (kind, method, index, id) => {
      const at = child(kind, `${several ? `${viewer.name(method)} ` : ""}delegate ${index}${id ? ` ${id}` : ""}`, kind.color);
      at.note ??= "a delegate, with the weights of its nodes";
      return at;
    };
    const ids = new Map(size.parts.flatMap((part) => (part.kind === "delegate" ? (part.users || []).map((user) => [`${user.method} ${user.index}`, user.id]) : [])));
    const weight = (part, one, parent, key) => {
      const open = viewer.has("weights") && one.name ? () => viewer.open("weights", one.name) : undefined;
      const others = one.inside.length > 1 ? `, ${one.inside.length} uses` : "";
      add(parent, key, { name: one.name ? `${one.name} ${viewer.insideShape(one.inside[0])}` : viewer.inside(one.inside[0], true), open, bytes: one.kind === "named" ? part.size : one.size, color: viewer.colors[one.kind === "named" ? "named" : "delegate"], note: `at byte ${one.offset.toLocaleString("en")}${others}` });
    };
    size.parts.forEach((part, index) => {
      const held = part.kind === "named" && part.offset !== undefined ? named.get(part.offset) : undefined;
      const kind = child(root, held ? "delegate" : part.kind, viewer.colors[held ? "delegate" : part.kind] || "#cccccc");
      kind.note = viewer.kinds[kind.name];
      if (held) {
        const { method, delegate } = held.inside[0];
        weight(part, held, box(kind, method, delegate, ids.get(`${method} ${delegate}`)), `weight ${index}`);
        return;
      }
      const users = part.users || [];
      const of = users[0];
      const what = users.length ? `${of.name ? `${of.name} ` : ""}${user(of)} ${shape(of)}`.trim() : "";
      if (part.kind === "delegate" && of) {
        const at = box(kind, of.method, of.index, part.name);
        let rest = part.size;
        for (const [number, one] of packed.entries()) {
          if (part.offset === undefined || one.offset < part.offset || one.offset + one.size > part.offset + part.size) continue;
          weight(part, one, at, `weight ${index} ${number}`);
          rest -= one.size;
        }
        if (rest > 0) add(at, index, { name: part.detail || "payload", bytes: rest, color: kind.color, note: note(part) });
        return;
      }
      const names = [part.name === what.split(" ")[0] ? "" : part.name, part.detail, what];
      const name = names.filter(Boolean).join(" ") || part.kind;
      add(kind, index, { name, bytes: part.size, color: kind.color, note: note(part) });
    });
    const finish = (node) => {
      if (!node.children) return;
      node.children = [...node.children.values()].sort((one, other) => other.bytes - one.bytes);
      node.children.forEach(finish);
      // A kind with only one piece, which has no name.
      if (node.children.length === 1 && node.children[0].name === node.name) node.children = undefined;
    };
    finish(root);
    return root;
  }

  // Modules, then their weights.
  function moduleTree(size, modules, weights) {
    const root = { name: "file", bytes: size.file_size, children: [], color: "#eeeeee" };
    const own = new Map();
    for (const weight of weights) if (weight.module !== undefined && weight.kind !== "external") own.set(weight.module, [...(own.get(weight.module) || []), weight]);
    const ways = [];
    modules.forEach((module, index) => {
      const parent = module.depth ? ways[module.depth - 1] : root;
      const name = module.path === null ? "of no module, or not known" : module.path || "the modules";
      const box = { name, bytes: module.total, children: [], color: module.path === null ? viewer.colors.padding : `hsl(${(index * 47) % 360} 45% 80%)`, parent, note: module.path === null ? "tables, payloads and padding" : viewer.count(module.count, "blob") };
      ways[module.depth] = box;
      parent.children.push(box);
      let rest = module.own;
      for (const weight of own.get(module.path) || []) {
        if (weight.size > rest) continue;
        rest -= weight.size;
        box.children.push({ name: weight.name || weight.module, bytes: weight.size, color: viewer.colors[weight.kind] || viewer.colors.delegate, note: "a weight", parent: box, open: () => viewer.open("weights", weight.name) });
      }
      if (rest > 0 && box.children.length) box.children.push({ name: "the rest", bytes: rest, color: viewer.colors.program, note: "payloads of its delegates", parent: box });
    });
    const finish = (node) => {
      if (!node.children?.length) { node.children = undefined; return; }
      node.children.sort((one, other) => other.bytes - one.bytes);
      node.children.forEach(finish);
    };
    finish(root);
    return root;
  }

  function note(part) {
    const place = part.offset === undefined ? viewer.count(part.pieces, "place") : `at byte ${part.offset.toLocaleString("en")}`;
    return part.users?.length > 1 ? `${place}, ${part.users.length} users` : place;
  }

  function fill(map, node, whole, zoom) {
    const [width, height] = [map.clientWidth, map.clientHeight];
    if (!width) return;
    // A box of more than an eighth of the view also shows its parts.
    const deeper = (of) => (of.bytes > node.bytes / 8 ? 1 : 0);
    const shown = (of, depth) => ({ of, children: of.children && (depth > 0 || (depth === 0 && deeper(of))) ? of.children.slice(0, 800).map((inner) => shown(inner, depth - 1)) : undefined });
    const hierarchy = d3.hierarchy(shown(node, 2)).sum((box) => (box.children ? 0 : box.of.bytes));
    d3.treemap().size([width, height]).paddingTop((box) => (box.depth > 0 && box.children ? 19 : 0)).paddingInner(1).round(true)(hierarchy);
    const boxes = hierarchy.descendants().filter((box) => box.depth > 0 && box.x1 > box.x0 && box.y1 > box.y0);
    map.replaceChildren(...boxes.map((box) => {
      const { of } = box.data;
      const [w, h] = [box.x1 - box.x0, box.y1 - box.y0];
      const into = of.children ? of : of.parent !== node && of.parent;
      // The number of a value is more useful than the word.
      const full = of.name.replace(/\bvalue (\d+)/, "%$1");
      const label = w < 90 ? full.replace(/^(%\d+) .*/, "$1") : full;
      const line = (text) => element("span", {}, text);
      const lines = w < 44 || h < 17 ? [] : box.children || h < 34 ? [line(w < 90 && !box.children ? label : `${label} ${bytes(of.bytes)}`)] : [line(label), line(bytes(of.bytes))];
      return element("div", {
        class: into || of.open ? "open" : "",
        style: `left: ${box.x0}px; top: ${box.y0}px; width: ${w}px; height: ${h}px; background: ${of.color}${box.children ? "; filter: saturate(0.7)" : ""}`,
        onmousemove: (event) => viewer.tip(`${of.name}\n${bytes(of.bytes)} (${of.bytes.toLocaleString("en")} bytes), ${share(of.bytes, whole)} of the file${of.note ? `\n${of.note}` : ""}`, event),
        onmouseleave: () => viewer.tip(),
        onclick: () => { viewer.tip(); if (of.open) of.open(); else if (into) zoom(into); },
      }, lines);
    }));
  }
})();
