// The size of a file: a treemap of its boxes, and the parts of one box as a table.
(() => {
  "use strict";
  const { element, bytes, grouped, share } = viewer;

  viewer.views.push({
    name: "size",
    title: () => "Size",
    short: "Size",
    part: "size",
    fits: (report) => report.size,
    uses: ["weights", "modules"],
    draw(report, main, argument) {
      const { size, weights = [] } = report;
      const modules = (report.modules || []).some((module) => module.path) ? report.modules : [];
      const byModule = modules.length > 0 && argument === "module";
      const root = byModule ? viewer.moduleTree(size, modules, weights) : viewer.kindTree(size, weights);
      if (modules.length) main.append(modeButtons(byModule));
      browse(root, main);
      const savings = savingsText(size.parts, root.bytes);
      if (savings) main.append(viewer.note(savings));
    },
  });

  function modeButtons(byModule) {
    const button = (title, argument, pressed) =>
      element("button", { "aria-pressed": pressed, onclick: () => viewer.open("size", argument) }, title);
    const buttons = [button("By kind", undefined, !byModule), button("By module", "module", byModule)];
    return element("div", { class: "tools" }, buttons);
  }

  function savingsText(parts, total) {
    const of = (kind) => parts.filter((part) => part.kind === kind).reduce((sum, part) => sum + part.size, 0);
    const [unused, padding] = [of("unreferenced"), of("padding")];
    if (!unused && padding <= total / 100) return undefined;
    return `${bytes(unused)} are unreferenced and ${bytes(padding)} are padding. pte size lists what can be removed, with the command that does it.`;
  }

  // The crumbs, the treemap and the table of a box, which can be changed by clicks and keys.
  function browse(root, main) {
    const crumbs = element("p", { class: "crumbs" });
    const map = element("div", { class: "treemap", tabindex: 0 });
    const list = element("div", {});
    let current = root;
    const zoom = (box) => {
      current = box;
      const hasFocus = list.contains(document.activeElement);
      crumbs.replaceChildren(...crumbsOf(box, zoom));
      fillMap(map, box, root.bytes, zoom);
      list.replaceChildren(partsTable(box, root, zoom));
      if (hasFocus) list.querySelector("[tabindex]")?.focus();
    };
    // The handlers are on the view's elements, so they are removed with it.
    const back = (event) => {
      if (event.key === "Escape" && current.parent) zoom(current.parent);
    };
    for (const part of [map, crumbs, list]) part.addEventListener("keydown", back);
    new ResizeObserver(() => fillMap(map, current, root.bytes, zoom)).observe(map);
    const help = "The area of a box is its size in bytes. Click a box or a row to see its parts; Escape goes back.";
    main.append(crumbs, map, viewer.note(help), list);
    zoom(root);
  }

  // The boxes around a box, from the outermost, as links.
  function crumbsOf(box, zoom) {
    const links = [element("b", {}, `${box.name}, ${bytes(box.bytes)}`)];
    for (let outer = box.parent; outer; outer = outer.parent) {
      const target = outer;
      links.unshift(
        viewer.link(() => zoom(target), target.name),
        " / ",
      );
    }
    return links;
  }

  function partsTable(box, root, zoom) {
    const swatch = (row) => element("span", { class: "swatch", style: `background: ${row.color}` });
    const columns = [
      { name: "part", wide: true, of: (row) => [swatch(row), row.name] },
      { name: "bytes", number: true, of: (row) => grouped(row.bytes) },
      { name: "of the file", number: true, of: (row) => share(row.bytes, root.bytes) },
      {
        name: box === root ? "meaning" : "place",
        of: (row) => row.note || viewer.count(row.children.length, "piece"),
      },
    ];
    return viewer.table(columns, box.children || [box], {
      choose: (row) => (row.children ? zoom(row) : row.open()),
      choosable: (row) => row.children || row.open,
    });
  }

  // Boxes with their parts, as far as the map of a box shows them. A part of more than an eighth of the box also shows its own parts.
  function shownParts(box, whole, depth = 2) {
    const isShown = depth > 0 || (depth === 0 && box.bytes > whole.bytes / 8);
    const children = isShown ? box.children?.slice(0, 800) : undefined;
    return { of: box, children: children?.map((child) => shownParts(child, whole, depth - 1)) };
  }

  function fillMap(map, box, total, zoom) {
    const [width, height] = [map.clientWidth, map.clientHeight];
    if (!width) return;
    const hierarchy = d3.hierarchy(shownParts(box, box)).sum((part) => (part.children ? 0 : part.of.bytes));
    const titleHeight = (part) => (part.depth > 0 && part.children ? 19 : 0);
    d3.treemap().size([width, height]).paddingTop(titleHeight).paddingInner(1).round(true)(hierarchy);
    const isVisible = (part) => part.depth > 0 && part.x1 > part.x0 && part.y1 > part.y0;
    const parts = hierarchy.descendants().filter(isVisible);
    map.replaceChildren(...parts.map((part) => mapBox(part, box, total, zoom)));
  }

  // The lines of text for which a box has space.
  function mapLines(part) {
    const box = part.data.of;
    const [width, height] = [part.x1 - part.x0, part.y1 - part.y0];
    if (width < 44 || height < 17) return [];
    // The number of a value is more useful than the word.
    const full = box.name.replace(/\bvalue (\d+)/, "%$1");
    const name = width < 90 ? full.replace(/^(%\d+) .*/, "$1") : full;
    if (!part.children && height >= 34) return [name, bytes(box.bytes)];
    return [width < 90 && !part.children ? name : `${name} ${bytes(box.bytes)}`];
  }

  function mapBox(part, current, total, zoom) {
    const { of: box } = part.data;
    const target = box.children ? box : box.parent !== current && box.parent;
    const place = `left: ${part.x0}px; top: ${part.y0}px; width: ${part.x1 - part.x0}px; height: ${part.y1 - part.y0}px`;
    const tip = () =>
      `${box.name}\n${bytes(box.bytes)} (${grouped(box.bytes)} bytes), ${share(box.bytes, total)} of the file${box.note ? `\n${box.note}` : ""}`;
    const attributes = {
      class: target || box.open ? "open" : "",
      style: `${place}; background: ${box.color}${part.children ? "; filter: saturate(0.7)" : ""}`,
      ...viewer.tipped(tip),
      onclick: () => {
        viewer.tip();
        if (box.open) box.open();
        else if (target) zoom(target);
      },
    };
    return element(
      "div",
      attributes,
      mapLines(part).map((line) => element("span", {}, line)),
    );
  }
})();
