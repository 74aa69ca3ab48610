// Draws a graph on a canvas. A picture has the graph, what is computed from it, and what is chosen and found; see graph.js.
(() => {
  "use strict";
  const { graphs } = viewer;

  // Below these scales: boxes without text, boxes of one colour, no names of groups.
  const TEXT_SCALE = 0.35;
  const FAR_SCALE = 0.2;
  const NAMES_SCALE = 0.12;

  viewer.drawGraph = (context, width, height, picture) => {
    const { k, x, y } = picture.view;
    const names = ["accent", "edge", "box", "band", "other", "delegate", "soft", "paper"];
    const ink = Object.fromEntries(names.map((name) => [name, viewer.css(name)]));
    const bounds = { left: -x / k, top: -y / k, right: (width - x) / k, bottom: (height - y) / k };
    const scene = { ...picture, context, k, ink, bounds, lineScale: Math.min(1, k * 1.4) };
    context.translate(x, y);
    context.scale(k, k);
    context.lineWidth = Math.max(1, 0.7 / k);
    drawBands(scene);
    for (const edge of picture.drawn) drawEdge(scene, edge);
    context.setLineDash([]);
    context.globalAlpha = 1;
    // Names of groups are over the edges, with a margin in the colour of the paper.
    if (k > NAMES_SCALE) drawGroupNames(scene);
    context.textAlign = "center";
    for (const index of drawingOrder(scene)) drawNode(scene, index);
    if (picture.cursor >= 0) drawCursor(scene, picture.layout.nodes[picture.cursor]);
  };

  // Matches of the search, and the chosen node, are on top.
  function drawingOrder({ k, order, matches, nodes, chosen }) {
    const all = [...nodes.keys()];
    const matchesOnTop = [...all.filter((index) => !matches.has(index)), ...order];
    return [...(k < FAR_SCALE ? matchesOnTop : all), ...(chosen < 0 ? [] : [chosen])];
  }

  function isOutside({ left, top, right, bottom }, box, margin) {
    const { x, y, width, height } = box;
    return y - margin > bottom || y + height + margin < top || x - margin > right || x + width + margin < left;
  }

  // Each group of nodes is on a band.
  function drawBands({ context, ink, bounds, groups, layout }) {
    for (const [index, group] of groups.entries()) {
      if (group.kind === "states") continue;
      const out = group.kind === "block" ? 18 : 14;
      context.fillStyle = group.kind === "delegate" ? ink.delegate : index % 2 ? ink.band : ink.other;
      for (const box of layout.nodes.slice(group.first, group.first + group.count)) {
        if (isOutside(bounds, box, out)) continue;
        context.fillRect(box.x - out, box.y - out, box.width + 2 * out, box.height + 2 * out);
      }
    }
  }

  function drawEdge(scene, edge) {
    const { context, k, ink, bounds, layout, waypoints, chosen } = scene;
    const [from, to] = [layout.nodes[edge.from], layout.nodes[edge.to]];
    const [start, ...curves] = graphs.edgePath(from, waypoints.get(`${edge.from} ${edge.to}`) || [], to);
    const end = curves.at(-1).slice(4);
    const [x, y] = [Math.min(start[0], end[0]), Math.min(start[1], end[1])];
    const extent = { x, y, width: Math.abs(start[0] - end[0]), height: Math.abs(start[1] - end[1]) };
    if (isOutside(bounds, extent, 0)) return;
    const isOn = edge.from === chosen || edge.to === chosen;
    context.strokeStyle = isOn ? ink.accent : ink.edge;
    context.lineWidth = (isOn ? 2 : 1) / scene.lineScale;
    context.setLineDash(edge.value === undefined ? [4, 3] : edge.view ? [1, 3] : []);
    // From one column to another: over all that is between.
    context.globalAlpha = isOn || edge.value === undefined || end[1] > start[1] ? 1 : 0.35;
    context.beginPath();
    context.moveTo(...start);
    for (const curve of curves) context.bezierCurveTo(...curve);
    context.stroke();
    if (k > TEXT_SCALE) drawArrowhead(context, end, Math.sign(curves.at(-1)[2] - end[0]));
  }

  // The head of an arrow that comes from above, or from the side `-1` or `1`.
  function drawArrowhead(context, [x, y], side) {
    context.fillStyle = context.strokeStyle;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(...(side ? [x + 7 * side, y - 4] : [x - 4, y - 7]));
    context.lineTo(...(side ? [x + 7 * side, y + 4] : [x + 4, y - 7]));
    context.fill();
  }

  function drawGroupNames({ context, k, ink, bounds, groups, layout }) {
    context.fillStyle = ink.soft;
    context.strokeStyle = ink.paper;
    context.lineWidth = 4 / Math.min(1, k);
    context.lineJoin = "round";
    context.textAlign = "left";
    context.font = `${Math.min(60, 11 / Math.min(1, k))}px system-ui, sans-serif`;
    for (const group of groups) {
      const box = layout.nodes[group.first];
      if (group.kind === "states" || box.y <= bounds.top - 40 || box.y >= bounds.bottom + 40) continue;
      const label = [viewer.cut(group.label, 40), box.x - 12, box.y - (group.kind === "block" ? 20 : 16)];
      context.strokeText(...label);
      context.fillText(...label);
    }
  }

  function drawNode(scene, index) {
    const { context, k, ink, matches, chosen } = scene;
    const { kind } = scene.nodes[index];
    const box = scene.layout.nodes[index];
    if (isOutside(scene.bounds, box, 0)) return;
    const isMarked = index === chosen || matches.has(index);
    context.fillStyle = viewer.nodeColors[kind] || "#dddddd";
    context.strokeStyle = index === chosen ? ink.accent : isMarked ? "#c46a00" : ink.box;
    context.lineWidth = (isMarked ? 3 : 1) / scene.lineScale;
    if (k < FAR_SCALE) {
      context.fillStyle = index === chosen ? "#1f6fb2" : isMarked ? "#e07b00" : viewer.farColors[kind] || "#aaaaaa";
    }
    if (k < TEXT_SCALE) {
      drawFarNode(scene, box, isMarked);
      return;
    }
    viewer.drawOutline(context, kind, box.x, box.y, box.width, box.height);
    drawNodeTexts(scene, index, box);
  }

  // At a small scale, a box has a minimum size.
  function drawFarNode({ context, k }, box, isMarked) {
    const least = isMarked ? 3 : 1;
    const [width, height] = [Math.max(box.width, (3 * least) / k), Math.max(box.height, (1.5 * least) / k)];
    context.fillRect(box.x + (box.width - width) / 2, box.y, width, height);
    if (k >= FAR_SCALE) context.strokeRect(box.x, box.y, box.width, box.height);
  }

  function drawNodeTexts({ context, nodes, results, into }, index, box) {
    const node = nodes[index];
    const middle = box.x + box.width / 2;
    const text = (text, size, color, y) => {
      context.font = `${size}px system-ui, sans-serif`;
      context.fillStyle = color;
      // About as many characters as fit.
      const limit = Math.floor((box.width - 8) / (size === 10 ? 5.4 : 6.2));
      context.fillText(viewer.cut(text, limit), middle, box.y + y);
    };
    text(node.label, 12, "#1d2b3a", 17);
    text(results[index], 11, "#465769", 32);
    const weights = graphs.weightsOf(node).slice(0, 4);
    weights.forEach((weight, row) => text(graphs.weightText(weight), 10, "#1f5a45", 46 + 15 * row));
    const far = into[index].filter((connection) => connection.far);
    if (!far.length) return;
    const sources = far.map(({ edge }) => nodes[edge.from].label).join(", ");
    text(`also from ${sources}`, 10, "#704800", 46 + 15 * weights.length);
  }

  // The box that the keyboard is at.
  function drawCursor({ context, k, ink }, box) {
    const gap = 4 / Math.min(1, k);
    context.strokeStyle = ink.accent;
    context.lineWidth = 2 / Math.min(1, k);
    context.setLineDash([5 / k, 3 / k]);
    context.strokeRect(box.x - gap, box.y - gap, box.width + 2 * gap, box.height + 2 * gap);
    context.setLineDash([]);
  }

  // The outline of a box. Kinds differ in shape too, not only in colour.
  viewer.drawOutline = (context, kind, x, y, width, height) => {
    context.beginPath();
    if (kind === "input" || kind === "output") context.roundRect(x, y, width, height, height / 2);
    else if (kind === "jump" || kind === "move") hexagon(context, x, y, width, height);
    else context.roundRect(x, y, width, height, kind === "state" ? 0 : Math.min(5, height / 4));
    context.fill();
    if (kind === "unknown") context.setLineDash([3, 2]);
    context.stroke();
    context.setLineDash([]);
    const inset = Math.min(4, height / 4);
    context.beginPath();
    if (kind === "block") {
      context.roundRect(x + inset, y + inset, width - 2 * inset, height - 2 * inset, Math.min(3, height / 8));
    } else if (kind === "delegate" || kind === "inside") {
      for (const lineX of [x + inset, x + width - inset]) line(context, lineX, y, lineX, y + height);
    } else if (kind === "state") {
      for (const lineY of [y + inset, y + height - inset]) line(context, x, lineY, x + width, lineY);
    }
    context.stroke();
  };

  function line(context, fromX, fromY, toX, toY) {
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
  }

  function hexagon(context, x, y, width, height) {
    const tip = Math.min(8, height / 2);
    context.moveTo(x + tip, y);
    context.lineTo(x + width - tip, y);
    context.lineTo(x + width, y + height / 2);
    context.lineTo(x + width - tip, y + height);
    context.lineTo(x + tip, y + height);
    context.lineTo(x, y + height / 2);
    context.closePath();
  }

  // A box as an entry of a legend.
  viewer.swatch = (kind) => {
    const style = "width: 26px; height: 16px; vertical-align: -3px; margin-right: 6px";
    const canvas = viewer.element("canvas", { width: 52, height: 32, style, "aria-hidden": "true" });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.fillStyle = viewer.nodeColors[kind];
    context.strokeStyle = "#8595a5";
    viewer.drawOutline(context, kind, 0.5, 0.5, 25, 15);
    return canvas;
  };
})();
