// The graph of a method: a picture that can be moved, searched and walked with keys, with facts about its nodes beside it.
(() => {
  "use strict";
  const { element, graphs } = viewer;

  // A graph with more nodes is first shown as its outline, in which a block or a delegate is one box.
  const LARGE = 400;

  viewer.views.push({
    name: "graph",
    title: () => "Graph",
    short: "Graph",
    part: "graphs",
    fits: (report) => report.graphs?.some((graph) => graph.nodes.length || graph.incomplete),
    whole: true,
    draw(report, main, argument) {
      const parts = elementsOf(report.graphs);
      const { select, search, found, whole, start, fold, stage, side } = parts;
      main.append(
        element("div", { class: "tools" }, select, search, found, start, whole, fold),
        element("div", { class: "split" }, stage, side),
      );
      let shown;
      const draw = (graph, isFolded, at) => {
        shown = { graph, isFolded };
        fold.hidden = !graph.outline;
        fold.setAttribute("aria-pressed", isFolded);
        fold.title = isFolded ? "Show every node" : "Show a block or a delegate as one box";
        stage.replaceChildren();
        // A graph that is too large has no nodes.
        if (!graph.nodes.length) {
          side.replaceChildren(element("p", { class: "note" }, `No graph: ${graph.incomplete || "no nodes"}.`));
          return;
        }
        const inside = (box) => insideOf(graph, box, stage, draw);
        if (isFolded) showPicture(graph.outline, graph, parts, { groups: [], inside });
        else showPicture(graph, graph, parts, { groups: graph.groups || [] });
        if (at !== undefined) viewer.graph.go(at);
      };
      const open = (graph) => draw(graph, !!graph.outline && graph.nodes.length > LARGE && !search.value);
      fold.onclick = () => draw(shown.graph, !shown.isFolded);
      select.onchange = () => open(report.graphs[select.value]);
      // The argument is a search, in the first method with a match.
      const exact = graphs.exactly(argument || "");
      const isThere = exact || (({ label }) => label === argument || label.startsWith(`${argument} `));
      const first = argument === undefined ? -1 : report.graphs.findIndex((graph) => graph.nodes.some(isThere));
      select.value = Math.max(0, first);
      search.value = first < 0 || exact ? "" : argument;
      const graph = report.graphs[select.value];
      if (exact && first >= 0) draw(graph, false, graph.nodes.findIndex(isThere));
      else open(graph);
    },
  });

  function elementsOf(drawings) {
    const title = (graph) =>
      `${viewer.cut(viewer.name(graph.method), 40)}: ${viewer.count(graph.nodes.length, "node")}`;
    const options = drawings.map((graph, index) => element("option", { value: index }, title(graph)));
    return {
      select: element("select", { "aria-label": "Method" }, options),
      search: element("input", {
        class: "grow",
        type: "search",
        placeholder: "Search: operator, name, module, type, instruction 12, %12…",
        "aria-label": "Search the graph",
      }),
      found: element("span", { class: "note", role: "status" }),
      start: element("button", { title: "Show the start at a readable size" }, "Start"),
      whole: element("button", { title: "Show the whole graph" }, "Whole graph"),
      fold: element("button", { "aria-pressed": false }, "Blocks"),
      stage: element("div", { class: "stage" }),
      side: viewer.side(),
    };
  }

  // The nodes that a box of the outline stands for. The focus stays in the picture.
  function insideOf(graph, box, stage, draw) {
    const [first, count] = graph.outline.members[box];
    const open = () => {
      const hasFocus = stage.contains(document.activeElement);
      draw(graph, false, first);
      if (hasFocus) stage.querySelector("canvas").focus();
    };
    return { count, open };
  }

  // The picture of a graph, which may be the outline of another, `whole`.
  class Picture {
    view = d3.zoomIdentity;
    chosen = -1;
    // The box that the keyboard is at.
    cursor = -1;
    // The nodes that the search found, in their order and as a set, and the place of the one that was shown last.
    order = [];
    matches = new Set();
    shownMatch = -1;

    constructor(graph, whole, parts, { groups, inside }) {
      const { nodes, layout } = graph;
      Object.assign(this, { graph, whole, parts, groups, inside, nodes, layout }, graphs.connections(graph));
      this.results = nodes.map(graphs.result);
      this.texts = nodes.map(graphs.searchText);
      this.canvas = viewer.canvas(parts.stage, (context, width, height) =>
        viewer.drawGraph(context, width, height, this),
      );
      this.heard = element("p", { class: "heard", role: "status" });
      parts.stage.append(this.heard);
      this.zoom = d3
        .zoom()
        .scaleExtent([0.02, 3])
        .on("zoom", (event) => {
          this.view = event.transform;
          this.canvas.redraw();
        });
      this.target = d3.select(this.canvas.canvas).call(this.zoom).on("dblclick.zoom", null);
    }

    get extent() {
      return this.parts.stage.getBoundingClientRect();
    }

    show({ x, y, k }) {
      this.target.call(this.zoom.transform, d3.zoomIdentity.translate(x, y).scale(k));
    }

    showWhole() {
      const { width, height } = this.extent;
      this.show(graphs.wholeView(this.layout, width, height));
    }

    showStart() {
      this.show(graphs.startView(this.graph, this, this.extent.width));
    }

    showBox(index) {
      const { width, height } = this.extent;
      this.show(graphs.boxView(this.layout.nodes[index], Math.max(this.view.k, 0.8), width, height));
    }

    // The upper left and the lower right corner of a box, from those of the stage.
    corners(index) {
      const { x, y, width, height } = this.layout.nodes[index];
      return [this.view.apply([x, y]), this.view.apply([x + width, y + height])];
    }

    isVisible(index) {
      const { width, height } = this.extent;
      const [[left, top], [right, bottom]] = this.corners(index);
      return left >= 0 && top >= 0 && right <= width && bottom <= height;
    }

    // At a small scale, a few pixels next to a box still count as the box.
    hit(event) {
      const { left, top } = this.extent;
      const place = this.view.invert([event.clientX - left, event.clientY - top]);
      return graphs.boxAt(this.layout.nodes, place, this.view.k < 0.35 ? 5 / this.view.k : 0);
    }

    choose = (index) => {
      this.chosen = index;
      viewer.chosen(index < 0 || this.graph !== this.whole ? undefined : `node ${index}`);
      this.fillSide();
      this.canvas.redraw();
    };

    go = (index) => {
      this.choose(index);
      this.showBox(index);
    };

    // The keyboard focus moves to the start of the new content.
    fillSide() {
      const { side } = this.parts;
      const hasFocus = side.contains(document.activeElement);
      side.replaceChildren(...viewer.graphFacts(this));
      side.scrollTop = 0;
      if (hasFocus) side.querySelector("a")?.focus();
    }

    searchFor = (text) => {
      this.parts.search.value = text;
      this.find();
    };

    // Marks the matches of the search, and scrolls to the first one if none is visible.
    find() {
      const { search, found } = this.parts;
      const isEmpty = !graphs.words(search.value).length;
      this.order = graphs.matches(this.nodes, this.texts, search.value);
      this.matches = new Set(this.order);
      this.shownMatch = -1;
      const count = viewer.count(this.order.length, "match", "matches");
      found.textContent = isEmpty ? "" : this.order.length ? `${count}; Enter shows the next` : "No match";
      found.classList.toggle("warning", !isEmpty && !this.order.length);
      const { width, height } = this.extent;
      const isSeen = (index) => {
        const [[x, y]] = this.corners(index);
        return x > 0 && x < width && y > 0 && y < height;
      };
      if (this.order.length && !this.order.some(isSeen)) this.showBox(this.order[0]);
      this.canvas.redraw();
    }

    showNextMatch(isBackward) {
      const count = this.order.length;
      if (!count) return;
      this.shownMatch = (this.shownMatch + (isBackward ? count - 1 : 1)) % count;
      this.go(this.order[this.shownMatch]);
      this.parts.found.textContent = `${this.shownMatch + 1} of ${viewer.count(count, "match", "matches")}`;
    }

    // Moves the cursor by an arrow key, and says what is there.
    walk(key) {
      if (this.cursor < 0) this.cursor = this.chosen;
      const input = () =>
        Math.max(
          0,
          this.nodes.findIndex((node) => node.kind === "input"),
        );
      const next = this.cursor < 0 ? input() : graphs.nextBox(this.layout.nodes, this, this.cursor, key);
      if (next === undefined) {
        this.heard.textContent = "No box in that direction.";
        return;
      }
      this.cursor = next;
      if (!this.isVisible(next)) this.showBox(next);
      const { label, kind } = this.nodes[next];
      const connections = `from ${this.into[next].length}, to ${this.outOf[next].length}`;
      const text = `${label} ${this.results[next]}, ${graphs.meaning(kind) ?? ""}, ${connections}`;
      this.heard.textContent = viewer.text(text);
      this.canvas.redraw();
    }

    // Shows the facts of the box at the cursor, or else opens it.
    enter() {
      const { cursor } = this;
      if (cursor < 0) return;
      if (this.chosen === cursor && this.nodes[cursor].kind === "block" && this.inside) this.inside(cursor).open();
      else this.choose(cursor);
    }

    leave() {
      this.cursor = -1;
      this.choose(-1);
    }

    tip(event) {
      const index = this.hit(event);
      const node = this.nodes[index];
      const isSmall = this.view.k < 0.5;
      if (!node || (!isSmall && !node.module)) {
        viewer.tip("", event);
        return;
      }
      const weights = isSmall ? graphs.weightsOf(node).map(graphs.weightText) : [];
      viewer.tip([node.label, this.results[index], node.module, ...weights].filter(Boolean).join("\n"), event);
    }
  }

  const CANVAS_LABEL =
    "Graph. Arrow keys move from box to box, Enter shows the facts of a box and opens a double box, arrow keys with Shift move the picture, plus and minus zoom, Escape goes back.";
  const MOVES = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };

  function listen(picture) {
    const { canvas } = picture.canvas;
    const { search, whole, start, side } = picture.parts;
    const actions = {
      "+": () => picture.zoom.scaleBy(picture.target, 1.4),
      "-": () => picture.zoom.scaleBy(picture.target, 1 / 1.4),
      Enter: () => picture.enter(),
    };
    whole.onclick = () => picture.showWhole();
    start.onclick = () => picture.showStart();
    search.oninput = () => picture.find();
    search.onkeydown = (event) => event.key === "Enter" && picture.showNextMatch(event.shiftKey);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", CANVAS_LABEL);
    canvas.addEventListener("click", (event) => {
      picture.cursor = -1;
      picture.choose(picture.hit(event));
    });
    canvas.addEventListener("mousemove", (event) => picture.tip(event));
    canvas.addEventListener("mouseleave", () => viewer.tip());
    canvas.addEventListener("keydown", (event) => {
      const move = MOVES[event.key];
      if (!move && !actions[event.key]) return;
      event.preventDefault();
      if (!move) actions[event.key]();
      else if (event.shiftKey) picture.zoom.translateBy(picture.target, ...move.map((way) => way / picture.view.k));
      else picture.walk(event.key);
    });
    const onkeydown = (event) => {
      if (event.key === "Escape") picture.leave();
    };
    for (const part of [canvas, side]) part.onkeydown = onkeydown;
  }

  function showPicture(graph, whole, parts, options) {
    const picture = new Picture(graph, whole, parts, options);
    listen(picture);
    picture.fillSide();
    picture.showStart();
    picture.find();
    picture.canvas.now();
    viewer.graphAt = performance.now();
    // For links from other views, and for tests.
    viewer.graph = {
      go: picture.go,
      nodes: picture.nodes,
      box: (index) => {
        const { left, top } = picture.extent;
        const [[x0, y0], [x1, y1]] = picture.corners(index);
        return [left + (x0 + x1) / 2, top + (y0 + y1) / 2];
      },
      chosen: () => picture.chosen,
      heard: () => picture.heard.textContent,
    };
  }
})();
