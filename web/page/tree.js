// The tree of a file. The children of a node are requested when it is opened.
(() => {
  "use strict";
  const { element, grouped, isKnown } = viewer;

  // The worker returns at most this many children at a time.
  const BRANCH = 200;

  viewer.views.push({
    name: "tree",
    title: () => "Tree",
    fits: (report) => report.live && !report.error,
    draw(report, main, argument) {
      const place = page.parseTreePlace(argument) || { index: page.roles.main, isBundle: false, path: argument || "" };
      const status = element("p", { class: "note", role: "status" });
      const tree = new Tree(place, status);
      main.append(element("div", { class: "tools" }, fileSelect(report, place), status), tree.root);
      (place.path ? tree.reach(place.path) : tree.addChildren(tree.root, "")).catch((error) => {
        status.textContent = error.message;
      });
    },
  });

  // The place in the URL: FILE:PATH, with a `b` after the number of the file for a bundle itself.
  page.parseTreePlace = (text) => {
    const [, index, bundle, path] = /^(\d+)(b?):(.*)$/s.exec(text || "") || [];
    return index === undefined ? undefined : { index: Number(index), isBundle: bundle === "b", path };
  };

  function fileSelect(report, { index, isBundle }) {
    const options = page.files.flatMap((file, at) => {
      if (file.error) return [];
      const isInBundle = report.program_offset !== undefined && at === page.roles.main;
      const bundle = isInBundle ? [element("option", { value: `${at}b` }, "the bundle around it")] : [];
      return [element("option", { value: at }, viewer.cut(file.file, 40)), ...bundle];
    });
    const onchange = () => viewer.open("tree", `${select.value}:`);
    const select = element("select", { "aria-label": "File", onchange }, options);
    select.value = `${index}${isBundle ? "b" : ""}`;
    return select;
  }

  // The start of the branch of children that has the next index of a path, `[12]`.
  page.branchStart = (rest) => {
    const index = Number(/^\[(\d+)\]/.exec(rest)?.[1] ?? 0);
    return index - (index % BRANCH);
  };

  // `true` if a path is that of a node or of something in it.
  page.isWithin = (path, node) => path === node || path.startsWith(`${node}.`) || path.startsWith(`${node}[`);

  class Tree {
    root = element("div", { class: "tree" });

    constructor({ index, isBundle }, status) {
      Object.assign(this, { index, isBundle, status });
    }

    // Adds the children of a node, from one of them on, to its box. Returns the list of them.
    async addChildren(box, path, first = 0) {
      const branch = await page.json("branch", [this.index, path, first, this.isBundle]);
      const list = element(
        "ul",
        {},
        branch.entries.map((entry) => this.item(entry)),
      );
      const end = first + branch.entries.length;
      if (branch.table === null && end < branch.count) {
        const onclick = () => {
          more.remove();
          this.addChildren(box, path, end);
        };
        const more = element("button", { onclick }, `Show ${grouped(branch.count - end)} more`);
        list.append(element("li", { class: "tools" }, more));
      }
      if (first > 0 && !box.querySelector(":scope > ul")) {
        list.prepend(element("li", { class: "note" }, `… ${grouped(first)} before`));
      }
      box.append(list);
      return list;
    }

    item(entry) {
      const hasChildren = entry.table && entry.count !== 0;
      const head = headOf(entry);
      const node = hasChildren ? element("details", {}, element("summary", {}, ...head)) : head;
      const attributes = { "data-path": entry.path, class: !hasChildren && "leaf" };
      if (hasChildren) {
        node.load = () => (node.loaded ||= this.addChildren(node, entry.path));
        node.addEventListener("toggle", () => {
          if (node.open) node.load();
        });
      }
      return element("li", attributes, node, this.placeOf(entry));
    }

    placeOf({ offset, size }) {
      if (!isKnown(offset)) return null;
      const isOfModel = this.index === page.roles.main && !this.isBundle;
      const start = isOfModel ? page.place(offset) : offset;
      const open = () => viewer.open("bytes", page.range(this.index, start, size));
      const link = viewer.link(open, `@${grouped(offset)}, ${viewer.count(size, "byte")}`);
      return element("span", { class: "place" }, link);
    }

    // Opens all nodes on the path to a place.
    async reach(path) {
      let [box, at] = [this.root, ""];
      for (;;) {
        const first = box === this.root ? 0 : page.branchStart(path.slice(at.length));
        const list = await (box.loaded ||= this.addChildren(box, at, first));
        const items = [...list.children].filter((item) => item.dataset.path);
        const found =
          items.find((item) => page.isWithin(path, item.dataset.path)) ||
          items.find((item) => item.dataset.path.startsWith(`${path}.`));
        if (!found) return;
        const own = found.dataset.path;
        const details = found.querySelector(":scope > details");
        if (own === path || !details || own.length > path.length) {
          this.markItem(found, details, path);
          return;
        }
        [box, at] = [details, own];
        details.open = true;
      }
    }

    markItem(item, details, path) {
      item.classList.add("marked");
      (details?.firstChild || item.querySelector("a"))?.focus({ preventScroll: true });
      item.scrollIntoView({ block: "center" });
      this.status.textContent = `At ${path}`;
    }
  }

  function headOf({ name, value, table, count }) {
    const times = isKnown(count) ? ` × ${grouped(count)}` : "";
    return [
      element("b", { class: "mono" }, name),
      " ",
      value ? element("span", { class: "mono value" }, value) : null,
      table ? element("span", { class: "note" }, ` ${table}${times}`) : null,
    ];
  }
})();
