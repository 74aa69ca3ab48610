"use strict";
(() => {
  const { element, bytes, shape } = viewer;

  viewer.views.push({
    name: "size",
    title: () => "Size",
    fits: (report) => report.size,
    draw(report, main) {
      const root = tree(report.size);
      const crumbs = element("p", { class: "crumbs" });
      const map = element("div", { class: "treemap" });
      const list = element("div", {});
      main.append(crumbs, map, element("p", { class: "note" }, "The area of a box is its bytes. Click a box to look into it."), list);
      const zoom = (node) => {
        const ways = [];
        for (let at = node; at; at = at.parent) ways.unshift(at);
        crumbs.replaceChildren(...ways.flatMap((way, index) => [index ? " / " : "", index === ways.length - 1 ? element("b", {}, `${way.name}, ${bytes(way.bytes)}`) : element("a", { onclick: () => zoom(way) }, way.name)]));
        fill(map, node, root.bytes, zoom);
        const rows = node.children || [node];
        list.replaceChildren(viewer.table([
          { name: "what", of: (row) => [element("span", { class: "swatch", style: `background: ${row.color}` }), row.name] },
          { name: "bytes", number: true, of: (row) => row.bytes.toLocaleString("en") },
          { name: "of the file", number: true, of: (row) => `${((100 * row.bytes) / root.bytes).toFixed(1)} %` },
          { name: "", of: (row) => row.note || "" },
        ], rows, { choose: (row) => row.children && zoom(row) }));
      };
      zoom(root);
      if (report.size.waste.length) {
        main.append(element("h2", {}, "What the file could do without"), viewer.table([
          { name: "what", of: (row) => row.kind.replaceAll("_", " ") }, { name: "pieces", number: true, of: (row) => row.count }, { name: "bytes", number: true, of: (row) => row.bytes.toLocaleString("en") },
        ], report.size.waste));
      }
    },
  });

  const user = (user) => user.key ?? (user.method !== undefined ? `${user.method} ${user.id !== undefined ? `delegate ${user.index} ${user.id}` : `value ${user.value}`}` : "");

  // Kinds, then what is inside: by backend or table, by tensor.
  function tree(size) {
    const root = { name: "file", bytes: 0, children: new Map(), color: "#eeeeee" };
    const child = (parent, name, color) => {
      if (!parent.children.has(name)) parent.children.set(name, { name, bytes: 0, children: new Map(), color, parent });
      return parent.children.get(name);
    };
    size.parts.forEach((part, index) => {
      const kind = child(root, part.kind, viewer.colors[part.kind] || "#cccccc");
      const users = part.users || [];
      let at = kind;
      if (part.kind === "delegate" && part.name) at = child(at, part.name, kind.color);
      const of = users[0];
      const what = users.length ? `${user(of)} ${shape(of)}`.trim() : "";
      const name = [part.kind === "delegate" ? "" : part.name, part.detail, part.kind === "named" && what === part.name ? "" : what].filter(Boolean).join(" ") || part.kind;
      const leaf = { name, bytes: part.bytes, color: kind.color, parent: at, note: note(part) };
      at.children.set(index, leaf);
      for (let up = at; up; up = up.parent) up.bytes += part.bytes;
    });
    const finish = (node) => {
      if (!node.children) return;
      node.children = [...node.children.values()].sort((one, other) => other.bytes - one.bytes);
      node.children.forEach(finish);
    };
    finish(root);
    return root;
  }

  function note(part) {
    const place = part.offset === undefined ? `${viewer.count(part.pieces, "piece")}` : `at ${part.offset}`;
    return part.users?.length > 1 ? `${place}, ${part.users.length} users` : place;
  }

  function fill(map, node, whole, zoom) {
    const { width, height } = map.getBoundingClientRect();
    const shown = (parent, depth) => ({ of: parent, children: depth > 0 && parent.children ? parent.children.slice(0, 800).map((inner) => shown(inner, depth - 1)) : undefined });
    const hierarchy = d3.hierarchy(shown(node, node.parent ? 2 : 2)).sum((box) => (box.children ? 0 : box.of.bytes));
    d3.treemap().size([width, height]).paddingTop((box) => (box.depth === 1 && box.children ? 19 : 0)).paddingInner(1).round(true)(hierarchy);
    const boxes = hierarchy.descendants().filter((box) => box.depth > 0 && box.x1 > box.x0 && box.y1 > box.y0);
    map.replaceChildren(...boxes.map((box) => {
      const { of } = box.data;
      const [w, h] = [box.x1 - box.x0, box.y1 - box.y0];
      const into = of.children ? of : of.parent !== node && of.parent;
      return element("div", {
        class: into ? "open" : "",
        style: `left: ${box.x0}px; top: ${box.y0}px; width: ${w}px; height: ${h}px; background: ${of.color}${box.depth === 1 && box.children ? "; filter: saturate(0.7)" : ""}`,
        onmousemove: (event) => viewer.tip(`${of.name}\n${bytes(of.bytes)} (${of.bytes.toLocaleString("en")} bytes), ${((100 * of.bytes) / whole).toFixed(1)} % of the file${of.note ? `\n${of.note}` : ""}`, event),
        onmouseleave: () => viewer.tip(),
        onclick: () => { viewer.tip(); if (into) zoom(into); },
      }, w > 46 && h > 16 ? `${viewer.cut(of.name, Math.floor(w / 6.5))}${h > 32 || box.children ? ` ${bytes(of.bytes)}` : ""}` : undefined);
    }));
  }
})();
