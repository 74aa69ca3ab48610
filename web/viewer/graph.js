"use strict";
(() => {
  const { element } = viewer;

  viewer.views.push({
    name: "graph",
    title: () => "Graph",
    fits: (report) => report.graphs.some((graph) => graph.nodes.length),
    whole: true,
    draw(report, main, argument) {
      const select = element("select", { onchange: () => start(report.graphs[select.value]) }, report.graphs.map((graph, index) => element("option", { value: index }, `${viewer.cut(graph.method, 40)}: ${viewer.count(graph.nodes.length, "node")}`)));
      const search = element("input", { class: "grow", type: "search", placeholder: "Search: operator, type, instruction, %value…", "aria-label": "Search the graph" });
      const found = element("span", { class: "note" });
      const fit = element("button", { title: "Show the whole graph" }, "All");
      const read = element("button", { title: "Show the start, large enough to be read" }, "Start");
      const stage = element("div", { class: "stage" });
      const side = element("div", { class: "side" });
      main.append(element("div", { class: "tools" }, select, search, found, read, fit), element("div", { class: "split" }, stage, side));
      const start = (graph) => { stage.replaceChildren(); picture(graph, { stage, side, search, found, fit, read }); };
      start(report.graphs[0]);
    },
  });

  // A value by its number; one inside a delegate has a number of its own there.
  const value = (number) => (number < 0 ? `%id ${-1 - number}` : `%${number}`);

  const meanings = [
    ["input", "input or output of the method"], ["kernel", "operator that the runtime has"], ["delegate", "runs in a backend"],
    ["state", "tensor that keeps its content"], ["jump", "jump or move"],
  ];

  function picture(graph, { stage, side, search, found, fit, read }) {
    const { nodes, edges, layout } = graph;
    const far = new Set(layout.far);
    const [into, outOf] = [nodes.map(() => []), nodes.map(() => [])];
    edges.forEach((edge, index) => {
      into[edge.to].push({ edge, far: far.has(index) });
      outOf[edge.from].push({ edge, far: far.has(index) });
    });
    const drawn = edges.filter((_, index) => !far.has(index));
    const results = nodes.map((node) => (node.arguments.find((argument) => argument.output) || node.arguments[0])?.text || "");
    const texts = nodes.map((node, index) => `${node.label} ${node.delegate ?? ""} ${node.arguments.map((argument) => `${value(argument.value)} ${argument.text} ${argument.place?.external?.key || ""}`).join(" ")} ${node.instruction ?? ""} ${index}`.toLowerCase());
    let view = d3.zoomIdentity;
    let chosen = -1;
    let matches = new Set();
    const canvas = viewer.canvas(stage, draw);

    function draw(context, width, height) {
      const { k, x, y } = view;
      const [left, top, right, bottom] = [-x / k, -y / k, (width - x) / k, (height - y) / k];
      context.translate(x, y);
      context.scale(k, k);
      context.lineWidth = Math.max(1, 0.7 / k);
      for (const edge of drawn) {
        const [from, to] = [layout.nodes[edge.from], layout.nodes[edge.to]];
        const [y0, y1] = [from.y + from.height, to.y];
        if (Math.max(y0, y1) < top || Math.min(y0, y1) > bottom) continue;
        const [x0, x1] = [from.x + from.width / 2, to.x + to.width / 2];
        if (Math.max(x0, x1) < left || Math.min(x0, x1) > right) continue;
        const on = edge.from === chosen || edge.to === chosen;
        context.strokeStyle = on ? "#1f6fb2" : "#a3b1be";
        context.lineWidth = (on ? 2 : 1) / Math.min(1, k * 1.4);
        context.setLineDash(edge.value === undefined ? [4, 3] : []);
        const bend = Math.max(12, (y1 - y0) / 2);
        context.beginPath();
        context.moveTo(x0, y0);
        context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
        context.stroke();
        if (k > 0.35) {
          context.fillStyle = context.strokeStyle;
          context.beginPath();
          context.moveTo(x1, y1);
          context.lineTo(x1 - 4, y1 - 7);
          context.lineTo(x1 + 4, y1 - 7);
          context.fill();
        }
      }
      context.setLineDash([]);
      context.textAlign = "center";
      nodes.forEach((node, index) => {
        const box = layout.nodes[index];
        if (box.y > bottom || box.y + box.height < top || box.x > right || box.x + box.width < left) return;
        context.fillStyle = viewer.nodeColors[node.kind] || "#dddddd";
        context.strokeStyle = index === chosen ? "#1f6fb2" : matches.has(index) ? "#c46a00" : "#8595a5";
        context.lineWidth = (index === chosen || matches.has(index) ? 3 : 1) / Math.min(1, k * 1.4);
        context.beginPath();
        if (k > 0.35) context.roundRect(box.x, box.y, box.width, box.height, 5);
        else context.rect(box.x, box.y, box.width, box.height);
        context.fill();
        if (k > 0.1 || index === chosen || matches.has(index)) context.stroke();
        if (k < 0.35) return;
        const middle = box.x + box.width / 2;
        const most = Math.floor((box.width - 8) / 6.2);
        context.fillStyle = "#1d2b3a";
        context.font = "12px system-ui, sans-serif";
        context.fillText(viewer.cut(node.label, most), middle, box.y + 17);
        context.fillStyle = "#5a6b7c";
        context.font = "11px system-ui, sans-serif";
        context.fillText(viewer.cut(results[index], most), middle, box.y + 32);
        const from = into[index].filter((way) => way.far);
        if (from.length) {
          context.fillStyle = "#8a5a00";
          context.font = "10px system-ui, sans-serif";
          context.fillText(viewer.cut(`also from ${from.map((way) => nodes[way.edge.from].label).join(", ")}`, most + 4), middle, box.y + 46);
        }
      });
    }

    const zoom = d3.zoom().scaleExtent([0.02, 3]).on("zoom", (event) => { view = event.transform; canvas.redraw(); });
    const target = d3.select(canvas.canvas).call(zoom).on("dblclick.zoom", null);
    const extent = () => stage.getBoundingClientRect();
    const whole = () => {
      const { width, height } = extent();
      const k = Math.min(1, (width - 40) / layout.width, (height - 40) / layout.height);
      target.call(zoom.transform, d3.zoomIdentity.translate((width - layout.width * k) / 2, 20).scale(k));
    };
    // Where the method starts, large enough to be read.
    const beginning = () => {
      const { width } = extent();
      const first = layout.nodes.reduce((best, box) => (box.y < best.y ? box : best), layout.nodes[0]);
      const k = Math.min(1, Math.max(0.75, (width - 40) / layout.width));
      const center = layout.width * k <= width ? layout.width / 2 : first.x + first.width / 2;
      target.call(zoom.transform, d3.zoomIdentity.translate(width / 2 - center * k, 20).scale(k));
    };
    const go = (index) => {
      choose(index);
      const { width, height } = extent();
      const box = layout.nodes[index];
      const k = Math.max(view.k, 0.8);
      target.call(zoom.transform, d3.zoomIdentity.translate(width / 2 - (box.x + box.width / 2) * k, height / 2 - box.y * k).scale(k));
    };
    const hit = (event) => {
      const { left, top } = extent();
      const [px, py] = view.invert([event.clientX - left, event.clientY - top]);
      return layout.nodes.findIndex((box) => box.x <= px && px <= box.x + box.width && box.y <= py && py <= box.y + box.height);
    };
    const choose = (index) => { chosen = index; panel(); canvas.redraw(); };
    canvas.canvas.addEventListener("click", (event) => choose(hit(event)));
    canvas.canvas.addEventListener("mousemove", (event) => {
      const index = hit(event);
      viewer.tip(index >= 0 && view.k < 0.5 ? `${nodes[index].label}\n${results[index]}` : "", event);
    });
    canvas.canvas.addEventListener("mouseleave", () => viewer.tip());
    fit.onclick = whole;
    read.onclick = beginning;

    let order = [];
    let at = -1;
    const find = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      order = words.length ? nodes.map((_, index) => index).filter((index) => words.every((word) => texts[index].includes(word))) : [];
      matches = new Set(order);
      at = -1;
      found.textContent = words.length ? `${viewer.count(order.length, "match").replace(/matchs$/, "matches")}${order.length ? " (Enter: next)" : ""}` : "";
      canvas.redraw();
    };
    search.oninput = find;
    search.onkeydown = (event) => {
      if (event.key !== "Enter" || !order.length) return;
      at = (at + (event.shiftKey ? order.length - 1 : 1)) % order.length;
      go(order[at]);
    };

    const place = (place) => {
      if (!place) return "";
      if (place === "runtime") return "given at run time";
      const [[kind, where]] = Object.entries(place);
      if (kind === "planned") return `buffer ${where.buffer} at ${where.offset}`;
      if (kind === "constant") return `constant ${where.index}`;
      if (kind === "mutable") return `initial state ${where.index}, buffer ${where.buffer} at ${where.offset}`;
      return `external ${where.key}`;
    };
    const ways = (title, list, end) => {
      if (!list.length) return [];
      const link = ({ edge }) => {
        const other = nodes[edge[end]];
        const number = other.instruction === undefined ? "" : ` (${other.instruction})`;
        return element("li", {}, element("a", { onclick: () => go(edge[end]) }, `${other.label}${number}`), edge.value === undefined ? " by a jump" : ` ${value(edge.value)}`);
      };
      return [element("h4", {}, title), element("ul", {}, list.slice(0, 100).map(link)), ...(list.length > 100 ? [element("p", { class: "note" }, `… ${list.length - 100} more`)] : [])];
    };
    function panel() {
      const node = nodes[chosen];
      if (!node) {
        const counts = new Map();
        for (const { label, kind } of nodes) if (["kernel", "delegate", "inside"].includes(kind)) counts.set(label, (counts.get(label) || 0) + 1);
        const rows = [...counts].sort((one, other) => other[1] - one[1]);
        side.replaceChildren(element("h3", {}, `Method ${graph.method}`),
          element("p", { class: "note" }, "Drag to move, scroll to zoom, click a node for what it takes and gives. A box is an instruction; its second line is the type and shape of its result. An edge that would pass many layers is not drawn: the box says where else it takes from."),
          element("ul", { class: "plain" }, meanings.map(([kind, meaning]) => element("li", {}, element("span", { class: "swatch", style: `background: ${viewer.nodeColors[kind]}` }), meaning))),
          ...(graph.incomplete ? [element("p", { class: "warning" }, graph.incomplete)] : []),
          element("h4", {}, "Operators"), element("ul", {}, rows.map(([label, count]) => element("li", {}, element("a", { onclick: () => { search.value = label; find(); } }, label), ` ×${count}`))));
        return;
      }
      const line = (argument) => element("li", {}, `${argument.name ? `${argument.name} ` : ""}`, element("b", { class: "mono" }, argument.text), ` ${value(argument.value)}${argument.place ? `, ${place(argument.place)}` : ""}`);
      const part = (title, list) => (list.length ? [element("h4", {}, title), element("ul", {}, list.map(line))] : []);
      side.replaceChildren(element("h3", {}, node.label),
        element("p", { class: "note" }, node.instruction === undefined ? node.kind : `${node.delegate === undefined ? node.kind : `inside ${node.delegate}`}, instruction ${node.instruction}${node.chain ? ` of chain ${node.chain}` : ""}`),
        ...part("Takes", node.arguments.filter((argument) => !argument.output)), ...part("Gives", node.arguments.filter((argument) => argument.output)),
        ...ways("From", into[chosen], "from"), ...ways("To", outOf[chosen], "to"));
    }

    panel();
    beginning();
    canvas.now();
    viewer.graphAt = performance.now();
    viewer.graph = { go, nodes, box: (index) => { const { left, top } = extent(); const box = layout.nodes[index]; const [px, py] = view.apply([box.x + box.width / 2, box.y + box.height / 2]); return [left + px, top + py]; }, chosen: () => chosen };
  }
})();
