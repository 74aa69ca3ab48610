"use strict";
(() => {
  const { element } = viewer;

  viewer.views.push({
    name: "graph",
    title: () => "Graph",
    short: "Graph",
    part: "graphs",
    fits: (report) => report.graphs?.some((graph) => graph.nodes.length),
    whole: true,
    draw(report, main, argument) {
      const select = element("select", { "aria-label": "Method", onchange: () => start(report.graphs[select.value]) }, report.graphs.map((graph, index) => element("option", { value: index }, `${viewer.cut(viewer.name(graph.method), 40)}: ${viewer.count(graph.nodes.length, "node")}`)));
      const search = element("input", { class: "grow", type: "search", placeholder: "Search: operator, name, module, type, instruction 12, %12…", "aria-label": "Search the graph" });
      const found = element("span", { class: "note", role: "status" });
      const fit = element("button", { title: "Show the whole graph" }, "Whole graph");
      const read = element("button", { title: "Show the start, large enough to be read" }, "Start");
      const fold = element("button", { "aria-pressed": false }, "Blocks");
      const stage = element("div", { class: "stage" });
      const side = element("div", { class: "side", tabindex: 0, role: "region", "aria-label": "Details" });
      main.append(element("div", { class: "tools" }, select, search, found, read, fit, fold), element("div", { class: "split" }, stage, side));
      // A large graph is first shown as its outline, in which a block or a delegate is one box.
      let shown;
      const draw = (graph, folded, at) => {
        shown = { graph, folded };
        fold.hidden = !graph.outline;
        fold.setAttribute("aria-pressed", folded);
        fold.title = folded ? "Show every node" : "Show a block or a delegate as one box";
        stage.replaceChildren();
        const inside = (box) => { const [first, count] = graph.outline.members[box]; return { count, open: () => { const keys = stage.contains(document.activeElement); draw(graph, false, first); if (keys) stage.querySelector("canvas").focus(); } }; };
        picture(folded ? graph.outline : graph, { stage, side, search, found, fit, read, groups: folded ? [] : graph.groups || [], inside: folded ? inside : undefined, whole: graph });
        if (at !== undefined) viewer.graph.go(at);
      };
      fold.onclick = () => draw(shown.graph, !shown.folded);
      const start = (graph) => draw(graph, !!graph.outline && graph.nodes.length > LARGE && !search.value);
      // The argument is a search, in the first method with a match.
      const exact = exactly(argument || "");
      const has = exact || ((node) => node.label === argument || node.label.startsWith(`${argument} `));
      const first = argument === undefined ? -1 : report.graphs.findIndex((graph) => graph.nodes.some(has));
      select.value = Math.max(0, first);
      search.value = first < 0 || exact ? "" : argument;
      const graph = report.graphs[select.value];
      if (exact && first >= 0) draw(graph, false, graph.nodes.findIndex(has));
      else start(graph);
    },
  });

  // `instruction 12`, `node 12` and `%12` are one place each: what says whether a node is there.
  function exactly(text) {
    const [, what, number] = /^\s*(instruction |node |%)(\d+)\s*$/i.exec(text) || [];
    if (what === undefined) return undefined;
    if (what === "%") return (node) => node.arguments.some((argument) => argument.value === Number(number));
    return what.toLowerCase() === "node " ? (node, index) => index === Number(number) : (node) => node.instruction === Number(number);
  }

  // A graph with more nodes is first shown as its outline.
  const LARGE = 400;

  // A value by its number; values inside a delegate have the delegate's own numbers.
  const value = (number) => (number < 0 ? `id ${-1 - number}` : `%${number}`);

  const meanings = [
    [["input", "output"], "input or output of the method"], [["kernel"], "operator of the runtime"], [["delegate", "inside"], "runs in a backend"],
    [["state"], "tensor that keeps its content"], [["jump", "move"], "jump or move"], [["block"], "several nodes: a block, a delegate, states"], [["unknown"], "unknown instruction"],
  ];

  // The weights that a node takes, by the model's names of them or by the arguments.
  const weightsOf = (node) => node.arguments.filter((argument) => argument.weight && !argument.output);
  const given = (named_by) => ["file", "record", "state_dict"].includes(named_by);
  const weightText = (argument) => `${(given(argument.named_by) && argument.tensor_name) || argument.name || ""} ${argument.text}`.trim();

  // Kinds differ in shape too, not only in colour.
  function outline(context, kind, x, y, width, height) {
    context.beginPath();
    if (kind === "input" || kind === "output") context.roundRect(x, y, width, height, height / 2);
    else if (kind === "jump" || kind === "move") {
      const tip = Math.min(8, height / 2);
      context.moveTo(x + tip, y);
      for (const [px, py] of [[x + width - tip, y], [x + width, y + height / 2], [x + width - tip, y + height], [x + tip, y + height], [x, y + height / 2]]) context.lineTo(px, py);
      context.closePath();
    } else context.roundRect(x, y, width, height, kind === "state" ? 0 : Math.min(5, height / 4));
    context.fill();
    if (kind === "unknown") context.setLineDash([3, 2]);
    context.stroke();
    context.setLineDash([]);
    const inset = Math.min(4, height / 4);
    context.beginPath();
    if (kind === "block") {
      context.roundRect(x + inset, y + inset, width - 2 * inset, height - 2 * inset, Math.min(3, height / 8));
    } else if (kind === "delegate" || kind === "inside") {
      for (const at of [x + inset, x + width - inset]) { context.moveTo(at, y); context.lineTo(at, y + height); }
    } else if (kind === "state") {
      for (const at of [y + inset, y + height - inset]) { context.moveTo(x, at); context.lineTo(x + width, at); }
    }
    context.stroke();
  }

  // An edge goes from the lower side of a box past some points to the upper side of another; a jump, which may go up or sideways, from side to
  // side. The start, and the numbers of each curve.
  function path(from, points, to) {
    const [x0, x1] = [from.x + from.width / 2, to.x + to.width / 2];
    const [y0, y1] = [from.y + from.height, to.y];
    if (y1 > y0) {
      let [x, y] = [x0, y0];
      return [[x0, y0], ...[...points, [x1, y1]].map(([toX, toY]) => {
        const bend = x === toX ? 0 : Math.max(12, (toY - y) / 2);
        const curve = [x, y + bend, toX, toY - bend, toX, toY];
        [x, y] = [toX, toY];
        return curve;
      })];
    }
    const [middle0, middle1] = [from.y + from.height / 2, to.y + to.height / 2];
    if (from.x + from.width < to.x) return [[from.x + from.width, middle0], [from.x + from.width + 20, middle0, to.x - 20, middle1, to.x, middle1]];
    if (to.x + to.width < from.x) return [[from.x, middle0], [from.x - 20, middle0, to.x + to.width + 20, middle1, to.x + to.width, middle1]];
    const out = Math.max(from.x + from.width, to.x + to.width) + 40;
    return [[from.x + from.width, middle0], [out, middle0, out, middle1, to.x + to.width, middle1]];
  }

  function swatch(kind) {
    const canvas = element("canvas", { width: 52, height: 32, style: "width: 26px; height: 16px; vertical-align: -3px; margin-right: 6px", "aria-hidden": "true" });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.fillStyle = viewer.nodeColors[kind];
    context.strokeStyle = "#8595a5";
    outline(context, kind, 0.5, 0.5, 25, 15);
    return canvas;
  }

  function picture(graph, { stage, side, search, found, fit, read, groups, inside, whole: all_nodes }) {
    const { nodes, edges, layout } = graph;
    const far = new Set(layout.far);
    const past = new Map(layout.routes.map((route) => [`${route.from} ${route.to}`, route.points]));
    const [into, outOf] = [nodes.map(() => []), nodes.map(() => [])];
    edges.forEach((edge, index) => {
      into[edge.to].push({ edge, far: far.has(index) });
      outOf[edge.from].push({ edge, far: far.has(index) });
    });
    const drawn = edges.filter((_, index) => !far.has(index));
    const results = nodes.map((node) => (node.arguments.find((argument) => argument.output) || node.arguments[0])?.text || "");
    const texts = nodes.map((node, index) => `${node.label} ${(node.instruction !== undefined && node.name) || ""} ${node.module ?? ""} ${node.delegate ?? ""} ${node.source ?? ""} ${node.arguments.map((argument) => `${value(argument.value)} ${(given(argument.named_by) && argument.tensor_name) || ""} ${argument.text} ${argument.place?.external?.key || ""}`).join(" ")} ${node.instruction ?? ""} ${index}`.toLowerCase());
    let view = d3.zoomIdentity;
    let chosen = -1;
    // The box that the keyboard is at.
    let cursor = -1;
    let matches = new Set();
    let order = [];
    const all = nodes.map((_, index) => index);
    let rest = all;
    const canvas = viewer.canvas(stage, draw);
    const heard = element("p", { class: "heard", role: "status" });
    stage.append(heard);

    function draw(context, width, height) {
      const { k, x, y } = view;
      const ink = Object.fromEntries(["accent", "edge", "box", "band", "other", "delegate", "soft", "paper"].map((name) => [name, viewer.css(name)]));
      const [left, top, right, bottom] = [-x / k, -y / k, (width - x) / k, (height - y) / k];
      context.translate(x, y);
      context.scale(k, k);
      context.lineWidth = Math.max(1, 0.7 / k);
      // Each group of nodes is on a band.
      for (const [index, group] of groups.entries()) {
        context.fillStyle = index % 2 ? ink.band : ink.other;
        if (group.kind === "states") continue;
        const out = group.kind === "block" ? 18 : 14;
        if (group.kind === "delegate") context.fillStyle = ink.delegate;
        for (let node = group.first; node < group.first + group.count; node += 1) {
          const box = layout.nodes[node];
          if (box.y - out > bottom || box.y + box.height + out < top || box.x - out > right || box.x + box.width + out < left) continue;
          context.fillRect(box.x - out, box.y - out, box.width + 2 * out, box.height + 2 * out);
        }
      }
      for (const edge of drawn) {
        const [from, to] = [layout.nodes[edge.from], layout.nodes[edge.to]];
        const [[x0, y0], ...curves] = path(from, past.get(`${edge.from} ${edge.to}`) || [], to);
        const last = curves.at(-1);
        const [x1, y1] = last.slice(4);
        if (Math.max(y0, y1) < top || Math.min(y0, y1) > bottom || Math.max(x0, x1) < left || Math.min(x0, x1) > right) continue;
        const on = edge.from === chosen || edge.to === chosen;
        context.strokeStyle = on ? ink.accent : ink.edge;
        context.lineWidth = (on ? 2 : 1) / Math.min(1, k * 1.4);
        context.setLineDash(edge.value === undefined ? [4, 3] : edge.view ? [1, 3] : []);
        // From one column to another: over all that is between.
        context.globalAlpha = on || edge.value === undefined || y1 > y0 ? 1 : 0.35;
        context.beginPath();
        context.moveTo(x0, y0);
        for (const curve of curves) context.bezierCurveTo(...curve);
        context.stroke();
        if (k > 0.35) {
          const side = Math.sign(last[2] - x1);
          context.fillStyle = context.strokeStyle;
          context.beginPath();
          context.moveTo(x1, y1);
          context.lineTo(...(side ? [x1 + 7 * side, y1 - 4] : [x1 - 4, y1 - 7]));
          context.lineTo(...(side ? [x1 + 7 * side, y1 + 4] : [x1 + 4, y1 - 7]));
          context.fill();
        }
      }
      context.setLineDash([]);
      context.globalAlpha = 1;
      // Names of groups are over the edges, with a margin in the colour of the paper.
      if (k > 0.12) {
        context.fillStyle = ink.soft;
        context.strokeStyle = ink.paper;
        context.lineWidth = 4 / Math.min(1, k);
        context.lineJoin = "round";
        context.textAlign = "left";
        context.font = `${Math.min(60, 11 / Math.min(1, k))}px system-ui, sans-serif`;
        for (const group of groups) {
          const box = layout.nodes[group.first];
          if (group.kind === "states" || box.y <= top - 40 || box.y >= bottom + 40) continue;
          const at = [viewer.cut(group.label, 40), box.x - 12, box.y - (group.kind === "block" ? 20 : 16)];
          context.strokeText(...at);
          context.fillText(...at);
        }
      }
      context.textAlign = "center";
      // Matches of the search are drawn on top.
      for (const index of [...(k < 0.2 ? rest : all), ...(k < 0.2 ? order : []), ...(chosen < 0 ? [] : [chosen])]) {
        const node = nodes[index];
        const box = layout.nodes[index];
        if (box.y > bottom || box.y + box.height < top || box.x > right || box.x + box.width < left) continue;
        context.fillStyle = viewer.nodeColors[node.kind] || "#dddddd";
        context.strokeStyle = index === chosen ? ink.accent : matches.has(index) ? "#c46a00" : ink.box;
        context.lineWidth = (index === chosen || matches.has(index) ? 3 : 1) / Math.min(1, k * 1.4);
        if (k < 0.35) {
          // At a small scale a box has one colour, and a minimum size.
          if (k < 0.2) context.fillStyle = index === chosen ? "#1f6fb2" : matches.has(index) ? "#e07b00" : viewer.farColors[node.kind] || "#aaaaaa";
          const least = index === chosen || matches.has(index) ? 3 : 1;
          const [width, height] = [Math.max(box.width, (3 * least) / k), Math.max(box.height, (1.5 * least) / k)];
          context.fillRect(box.x + (box.width - width) / 2, box.y, width, height);
          if (k >= 0.2) context.strokeRect(box.x, box.y, box.width, box.height);
          continue;
        }
        outline(context, node.kind, box.x, box.y, box.width, box.height);
        const middle = box.x + box.width / 2;
        const most = Math.floor((box.width - 8) / 6.2);
        context.fillStyle = "#1d2b3a";
        context.font = "12px system-ui, sans-serif";
        context.fillText(viewer.cut(node.label, most), middle, box.y + 17);
        context.fillStyle = "#465769";
        context.font = "11px system-ui, sans-serif";
        context.fillText(viewer.cut(results[index], most), middle, box.y + 32);
        context.font = "10px system-ui, sans-serif";
        const small = Math.floor((box.width - 8) / 5.4);
        let line = box.y + 46;
        context.fillStyle = "#1f5a45";
        for (const weight of weightsOf(node).slice(0, 4)) {
          context.fillText(viewer.cut(weightText(weight), small), middle, line);
          line += 15;
        }
        const from = into[index].filter((way) => way.far);
        if (from.length) {
          context.fillStyle = "#704800";
          context.fillText(viewer.cut(`also from ${from.map((way) => nodes[way.edge.from].label).join(", ")}`, small), middle, line);
        }
      }
      if (cursor >= 0) {
        const box = layout.nodes[cursor];
        const gap = 4 / Math.min(1, k);
        context.strokeStyle = ink.accent;
        context.lineWidth = 2 / Math.min(1, k);
        context.setLineDash([5 / k, 3 / k]);
        context.strokeRect(box.x - gap, box.y - gap, box.width + 2 * gap, box.height + 2 * gap);
        context.setLineDash([]);
      }
    }

    const zoom = d3.zoom().scaleExtent([0.02, 3]).on("zoom", (event) => { view = event.transform; canvas.redraw(); });
    const target = d3.select(canvas.canvas).call(zoom).on("dblclick.zoom", null);
    const extent = () => stage.getBoundingClientRect();
    const whole = () => {
      const { width, height } = extent();
      const k = Math.min(1, (width - 40) / layout.width, (height - 40) / layout.height);
      target.call(zoom.transform, d3.zoomIdentity.translate((width - layout.width * k) / 2, 20).scale(k));
    };
    // The start of the method, large enough to be read.
    const beginning = () => {
      const { width } = extent();
      const input = nodes.findIndex((node) => node.kind === "input");
      const first = input < 0 ? layout.nodes.reduce((best, box) => (box.y < best.y ? box : best), layout.nodes[0]) : layout.nodes[input];
      const k = Math.min(1, Math.max(0.75, (width - 40) / layout.width));
      // In a wide graph, the users of the input are shown rather than the input.
      const next = layout.nodes[outOf[input]?.find((way) => !way.far)?.edge.to] || first;
      const [from, to] = [Math.min(first.x, next.x), Math.max(first.x + first.width, next.x + next.width)];
      const around = (to - from) * k < width ? (from + to) / 2 : next.x + next.width / 2;
      // No empty space beside a graph that is wider than the view.
      const half = (width / 2 - 20) / k;
      const center = layout.width * k <= width ? layout.width / 2 : Math.max(half, Math.min(around, layout.width - half));
      target.call(zoom.transform, d3.zoomIdentity.translate(width / 2 - center * k, 20 - (layout.width * k <= width ? 0 : first.y * k)).scale(k));
    };
    const go = (index) => {
      choose(index);
      look(index);
    };
    const look = (index) => {
      const { width, height } = extent();
      const box = layout.nodes[index];
      const k = Math.max(view.k, 0.8);
      target.call(zoom.transform, d3.zoomIdentity.translate(width / 2 - (box.x + box.width / 2) * k, height / 2 - box.y * k).scale(k));
    };
    const hit = (event) => {
      const { left, top } = extent();
      const [px, py] = view.invert([event.clientX - left, event.clientY - top]);
      // At a small scale, a few pixels next to a box still count as the box.
      let [best, least] = [-1, view.k < 0.35 ? 5 / view.k : 0];
      layout.nodes.forEach((box, index) => {
        const away = Math.hypot(Math.max(box.x - px, 0, px - box.x - box.width), Math.max(box.y - py, 0, py - box.y - box.height));
        if (away <= least && (best < 0 || away < least)) [best, least] = [index, away];
      });
      return best;
    };
    const choose = (index) => { chosen = index; viewer.chosen(index < 0 || graph !== all_nodes ? undefined : `node ${index}`); panel(); canvas.redraw(); };
    canvas.canvas.addEventListener("click", (event) => { cursor = -1; choose(hit(event)); });
    canvas.canvas.addEventListener("mousemove", (event) => {
      const index = hit(event);
      viewer.tip(index >= 0 && (view.k < 0.5 || nodes[index].module) ? [nodes[index].label, results[index], nodes[index].module, ...(view.k < 0.5 ? weightsOf(nodes[index]).map(weightText) : [])].filter(Boolean).join("\n") : "", event);
    });
    canvas.canvas.addEventListener("mouseleave", () => viewer.tip());
    fit.onclick = whole;
    read.onclick = beginning;

    let at = -1;
    const many = (count) => viewer.count(count, "match", "matches");
    // Marks the matches, and scrolls to the first one if none is visible.
    const find = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const exact = exactly(search.value);
      order = exact ? all.filter((index) => exact(nodes[index], index)) : words.length ? all.filter((index) => words.every((word) => texts[index].includes(word))) : [];
      matches = new Set(order);
      rest = all.filter((index) => !matches.has(index));
      at = -1;
      found.textContent = !words.length ? "" : order.length ? `${many(order.length)}; Enter shows the next` : "No match";
      found.classList.toggle("warning", words.length > 0 && !order.length);
      const { width, height } = extent();
      const seen = (index) => {
        const { x, y } = layout.nodes[index];
        const [px, py] = view.apply([x, y]);
        return px > 0 && px < width && py > 0 && py < height;
      };
      if (order.length && !order.some(seen)) look(order[0]);
      canvas.redraw();
    };
    search.oninput = find;
    search.onkeydown = (event) => {
      if (event.key !== "Enter" || !order.length) return;
      at = (at + (event.shiftKey ? order.length - 1 : 1)) % order.length;
      go(order[at]);
      found.textContent = `${at + 1} of ${many(order.length)}`;
    };
    // Arrow keys go from box to box: up to where a value comes from, down to where it goes, or to the left and right. What a box is, is said.
    const step = (key) => {
      const at = layout.nodes[cursor];
      const [x, y] = [at.x + at.width / 2, at.y + at.height / 2];
      const away = (index) => {
        const box = layout.nodes[index];
        return [box.x + box.width / 2 - x, box.y + box.height / 2 - y];
      };
      const near = (list, side, along, across) => list.filter((index) => side(away(index))).reduce((best, index) => {
        const [dx, dy] = away(index);
        const far = Math.abs(along === 0 ? dx : dy) + across * Math.abs(along === 0 ? dy : dx);
        return best && best[1] <= far ? best : [index, far];
      }, undefined)?.[0];
      if (key === "ArrowLeft") return near(all, ([dx]) => dx < 0, 0, 4);
      if (key === "ArrowRight") return near(all, ([dx]) => dx > 0, 0, 4);
      const ways = key === "ArrowUp" ? into[cursor].map((way) => way.edge.from) : outOf[cursor].map((way) => way.edge.to);
      const side = key === "ArrowUp" ? ([, dy]) => dy < 0 : ([, dy]) => dy > 0;
      return near(ways, side, 1, 0.2) ?? near(all, side, 1, 4);
    };
    const visible = (index) => {
      const box = layout.nodes[index];
      const { width, height } = extent();
      const [[x0, y0], [x1, y1]] = [view.apply([box.x, box.y]), view.apply([box.x + box.width, box.y + box.height])];
      return x0 >= 0 && y0 >= 0 && x1 <= width && y1 <= height;
    };
    const walk = (key) => {
      if (cursor < 0) cursor = chosen;
      const to = cursor < 0 ? Math.max(0, nodes.findIndex((node) => node.kind === "input")) : step(key);
      if (to === undefined) {
        heard.textContent = "No box there.";
        return;
      }
      cursor = to;
      if (!visible(cursor)) look(cursor);
      const meaning = meanings.find(([of]) => of.includes(nodes[cursor].kind))?.[1] ?? "";
      heard.textContent = viewer.text(`${nodes[cursor].label} ${results[cursor]}, ${meaning}, from ${into[cursor].length}, to ${outOf[cursor].length}`);
      canvas.redraw();
    };
    const enter = () => {
      if (cursor < 0) return;
      if (chosen === cursor && nodes[cursor].kind === "block" && inside) inside(cursor).open();
      else choose(cursor);
    };
    const pan = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
    const keys = { "+": () => zoom.scaleBy(target, 1.4), "-": () => zoom.scaleBy(target, 1 / 1.4), Enter: enter };
    canvas.canvas.tabIndex = 0;
    canvas.canvas.setAttribute("role", "application");
    canvas.canvas.setAttribute("aria-label", "The graph: arrow keys go from box to box, Enter says more of one and opens a double one, arrow keys with Shift move the picture, plus and minus zoom, Escape goes back");
    canvas.canvas.addEventListener("keydown", (event) => {
      const [dx, dy] = pan[event.key] || [];
      if (dx === undefined && !keys[event.key]) return;
      event.preventDefault();
      if (dx === undefined) keys[event.key]();
      else if (event.shiftKey) zoom.translateBy(target, dx / view.k, dy / view.k);
      else walk(event.key);
    });
    for (const part of [canvas.canvas, side]) part.onkeydown = (event) => { if (event.key === "Escape") { cursor = -1; choose(-1); } };

    const memory = (place) => {
      if (place === "runtime") return "given at run time";
      const [[kind, where]] = Object.entries(place);
      if (kind === "planned") return `buffer ${where.buffer} at ${where.offset.toLocaleString("en")}`;
      if (kind === "constant") return `constant ${where.index}`;
      if (kind === "initial_state") return `initial state ${where.index}, buffer ${where.buffer} at ${where.offset.toLocaleString("en")}`;
      return `external ${where.key}`;
    };
    const ways = (title, list, end) => {
      if (!list.length) return [];
      const link = ({ edge }) => {
        const other = nodes[edge[end]];
        const number = other.instruction === undefined || other.delegate !== undefined ? "" : `, instruction ${other.instruction}`;
        return element("li", {}, viewer.link(() => go(edge[end]), other.label), `${number}${edge.value === undefined ? ", by a jump" : `, ${value(edge.value)}`}`);
      };
      return [element("h4", {}, title), element("ul", {}, list.slice(0, 100).map(link)), ...(list.length > 100 ? [element("p", { class: "note" }, `… ${list.length - 100} more`)] : [])];
    };
    // The keyboard focus moves to the start of the new content.
    function panel() {
      const keys = side.contains(document.activeElement);
      side.replaceChildren(...facts());
      side.scrollTop = 0;
      if (keys) side.querySelector("a")?.focus();
    }
    function facts() {
      const node = nodes[chosen];
      if (!node) {
        const counts = new Map();
        for (const { label, kind } of all_nodes.nodes) if (["kernel", "delegate", "inside"].includes(kind)) counts.set(label, (counts.get(label) || 0) + 1);
        const rows = [...counts].sort((one, other) => other[1] - one[1]);
        const kinds = new Set(nodes.map((node) => node.kind));
        const present = meanings.map(([of, meaning]) => [of.find((kind) => kinds.has(kind)), meaning]).filter(([kind]) => kind);
        return [element("h3", {}, `Method ${viewer.name(graph.method)}`),
          element("p", { class: "note" }, "Drag to move, scroll to zoom, click a box for what it takes and gives; or with the keyboard: arrow keys, plus and minus, Enter. The second line of a box is the type and shape of its result. A line that would pass many layers is not drawn: the box says where else it takes from.", kinds.has("jump") ? " A dashed line is a jump." : null),
          element("ul", { class: "plain" }, present.map(([kind, meaning]) => element("li", {}, swatch(kind), meaning))),
          ...(graph.incomplete ? [element("p", { class: "warning" }, graph.incomplete)] : []),
          ...(graph !== all_nodes ? [element("p", { class: "note" }, `A double box stands for several nodes: click it, then “Show its nodes”, or press “Blocks” to see all ${all_nodes.nodes.length.toLocaleString("en")}.`)] : []),
          element("h4", {}, "Operators"), element("ul", {}, rows.map(([label, count]) => element("li", {}, viewer.link(() => { search.value = label; find(); }, label), ` ×${count.toLocaleString("en")}`)))];
      }
      const where = (argument) => (argument.place ? `, ${memory(argument.place)}` : "");
      const named = (argument) => {
        if (!argument.tensor_name) return "";
        const open = argument.weight && viewer.has("weights") ? () => viewer.open("weights", argument.tensor_name) : argument.place?.planned && viewer.has("memory") ? () => viewer.open("memory", `%${argument.value}`) : undefined;
        return open ? viewer.link(open, argument.tensor_name) : argument.tensor_name;
      };
      const line = (argument) => element("li", {}, `${argument.name ? `${argument.name} ` : ""}`, named(argument), " ", element("b", { class: "mono" }, argument.text), element("small", {}, ` ${value(argument.value)}${where(argument)}`));
      const part = (title, list) => (list.length ? [element("h4", {}, title), element("ul", {}, list.map(line))] : []);
      const meaning = meanings.find(([of]) => of.includes(node.kind))?.[1] || node.kind;
      const place = node.instruction === undefined ? "" : `instruction ${node.instruction}${node.chain ? ` of chain ${node.chain}` : ""}`;
      const box = node.kind === "block" && inside ? inside(chosen) : undefined;
      const groupsOf = groups.filter((group) => chosen >= group.first && chosen < group.first + group.count);
      return [element("p", { class: "back" }, viewer.link(() => choose(-1), "← the whole method")), element("h3", {}, node.label), node.name ? element("p", { class: "mono" }, node.name) : "",
        node.module === undefined ? "" : element("p", {}, "Module ", node.module ? viewer.link(() => { search.value = node.module; find(); }, node.module) : "the model itself"),
        box ? element("p", {}, viewer.link(box.open, `Show its ${viewer.count(box.count, "node")}`)) : "",
        node.time !== undefined ? element("p", {}, `${viewer.time(node.time)} in one run`) : "", node.source ? element("p", { class: "mono" }, node.source) : "",
        ...groupsOf.map((group) => element("p", { class: "note" }, `In ${group.label}${group.kind === "delegate" ? `, a delegate with ${viewer.count(group.count, "node")}` : ""}.`)),
        element("p", { class: "note" }, node.delegate === undefined ? [meaning, place].filter(Boolean).join(", ") : `Inside ${node.delegate}, which ${place} runs. An id is a value of the delegate's own.`),
        ...part("Takes", node.arguments.filter((argument) => !argument.output)), ...part("Gives", node.arguments.filter((argument) => argument.output)),
        ...ways("From", into[chosen], "from"), ...ways("To", outOf[chosen], "to")];
    }

    panel();
    beginning();
    find();
    canvas.now();
    viewer.graphAt = performance.now();
    viewer.graph = { go, nodes, box: (index) => { const { left, top } = extent(); const box = layout.nodes[index]; const [px, py] = view.apply([box.x + box.width / 2, box.y + box.height / 2]); return [left + px, top + py]; }, chosen: () => chosen, heard: () => heard.textContent };
  }
})();
