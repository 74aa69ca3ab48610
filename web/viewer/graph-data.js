// Answers about the data of a graph: what its texts are, what is connected, and where things are. Nothing here needs a browser.
(() => {
  "use strict";
  const graphs = {};
  viewer.graphs = graphs;

  // A value by its number; values inside a delegate have the delegate's own numbers.
  graphs.value = (number) => (number < 0 ? `id ${-1 - number}` : `%${number}`);

  // The meanings of the kinds of nodes, in the order of the legend.
  graphs.meanings = [
    [["input", "output"], "input or output of the method"],
    [["kernel"], "operator of the runtime"],
    [["delegate", "inside"], "runs in a backend"],
    [["state"], "tensor kept between runs"],
    [["jump", "move"], "jump or move"],
    [["block"], "several nodes: a block, a delegate, states"],
    [["unknown"], "unknown instruction"],
  ];
  graphs.meaning = (kind) => graphs.meanings.find(([kinds]) => kinds.includes(kind))?.[1];

  // The name that the model's author gave to an argument.
  const authorsName = ({ named_by, tensor_name }) =>
    ["file", "record", "state_dict"].includes(named_by) ? tensor_name || "" : "";
  graphs.weightsOf = (node) => node.arguments.filter((argument) => argument.weight && !argument.output);
  graphs.weightText = (argument) => `${authorsName(argument) || argument.name || ""} ${argument.text}`.trim();

  // The type and shape of a node's result.
  graphs.result = (node) => (node.arguments.find((argument) => argument.output) || node.arguments[0])?.text || "";

  // Everything of a node that a search looks at, in lower case.
  graphs.searchText = (node, index) => {
    const ofArgument = (argument) =>
      `${graphs.value(argument.value)} ${authorsName(argument)} ${argument.text} ${argument.place?.external?.key || ""}`;
    const name = node.instruction !== undefined ? node.name : undefined;
    const own = [node.label, name, node.module, node.delegate, node.source];
    const texts = [...own, ...node.arguments.map(ofArgument), node.instruction, index];
    return texts
      .map((text) => text ?? "")
      .join(" ")
      .toLowerCase();
  };

  // `instruction 12`, `node 12` and `%12` are one place each: a function that returns `true` for the nodes there.
  graphs.exactly = (text) => {
    const [, what, digits] = /^\s*(instruction |node |%)(\d+)\s*$/i.exec(text) || [];
    const number = Number(digits);
    if (what === undefined) return undefined;
    if (what === "%") return (node) => node.arguments.some((argument) => argument.value === number);
    if (what.toLowerCase() === "node ") return (_, index) => index === number;
    return (node) => node.instruction === number;
  };

  graphs.words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  // The indices of the nodes that have all words of a search; `texts` are those of `searchText`.
  graphs.matches = (nodes, texts, search) => {
    const words = graphs.words(search);
    const isThere = graphs.exactly(search) || ((_, index) => words.every((word) => texts[index].includes(word)));
    return words.length ? [...nodes.keys()].filter((index) => isThere(nodes[index], index)) : [];
  };

  // Operators with their numbers of calls, the most frequent first: `[label, count]`.
  graphs.operators = (nodes) => {
    const isOperator = ({ kind }) => ["kernel", "delegate", "inside"].includes(kind);
    return viewer.frequencies(nodes.filter(isOperator).map((node) => node.label));
  };

  // The edges into and out of each node, those that are drawn, and the points that some of these pass. An edge that would pass many layers is
  // far: it is not drawn.
  graphs.connections = ({ nodes, edges, layout }) => {
    const far = new Set(layout.far);
    const [into, outOf] = [nodes.map(() => []), nodes.map(() => [])];
    edges.forEach((edge, index) => {
      const connection = { edge, far: far.has(index) };
      into[edge.to].push(connection);
      outOf[edge.from].push(connection);
    });
    const waypoints = new Map(layout.routes.map(({ from, to, points }) => [`${from} ${to}`, points]));
    return { into, outOf, drawn: edges.filter((_, index) => !far.has(index)), waypoints };
  };

  // The start of an edge, and the numbers of each of its curves. It goes from the lower side of a box past some points to the upper side of
  // another; a jump, which may go up or sideways, from side to side.
  graphs.edgePath = (from, points, to) => {
    const start = [from.x + from.width / 2, from.y + from.height];
    const end = [to.x + to.width / 2, to.y];
    return end[1] > start[1] ? pathDown(start, [...points, end]) : pathAcross(from, to);
  };

  function pathDown(start, points) {
    let [x, y] = start;
    const curves = points.map(([toX, toY]) => {
      const bend = x === toX ? 0 : Math.max(12, (toY - y) / 2);
      const curve = [x, y + bend, toX, toY - bend, toX, toY];
      [x, y] = [toX, toY];
      return curve;
    });
    return [start, ...curves];
  }

  function pathAcross(from, to) {
    const [startY, endY] = [from.y + from.height / 2, to.y + to.height / 2];
    const [fromRight, toRight] = [from.x + from.width, to.x + to.width];
    if (fromRight < to.x)
      return [
        [fromRight, startY],
        [fromRight + 20, startY, to.x - 20, endY, to.x, endY],
      ];
    if (toRight < from.x)
      return [
        [from.x, startY],
        [from.x - 20, startY, toRight + 20, endY, toRight, endY],
      ];
    const out = Math.max(fromRight, toRight) + 40;
    return [
      [fromRight, startY],
      [out, startY, out, endY, toRight, endY],
    ];
  }

  // The box at a place or, within a distance, the nearest one; -1 if none is there.
  graphs.boxAt = (boxes, [x, y], distance) => {
    let [best, least] = [-1, distance];
    boxes.forEach((box, index) => {
      const dx = Math.max(box.x - x, 0, x - box.x - box.width);
      const dy = Math.max(box.y - y, 0, y - box.y - box.height);
      const away = Math.hypot(dx, dy);
      if (away <= least && (best < 0 || away < least)) [best, least] = [index, away];
    });
    return best;
  };

  const center = (box) => [box.x + box.width / 2, box.y + box.height / 2];

  // The nearest of some boxes on one side of another. `isBeside` takes the distances in x and y with their signs, `distance` without.
  function nearest(boxes, at, candidates, isBeside, distance) {
    const [x, y] = center(boxes[at]);
    let [best, least] = [undefined, Infinity];
    for (const index of candidates) {
      const [otherX, otherY] = center(boxes[index]);
      const [dx, dy] = [otherX - x, otherY - y];
      const away = distance(Math.abs(dx), Math.abs(dy));
      if (isBeside(dx, dy) && away < least) [best, least] = [index, away];
    }
    return best;
  }

  // The box that an arrow key leads to: up to where a value comes from, down to where it goes, or to the left and right.
  graphs.nextBox = (boxes, { into, outOf }, at, key) => {
    const all = [...boxes.keys()];
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const isBeside = key === "ArrowLeft" ? (dx) => dx < 0 : (dx) => dx > 0;
      return nearest(boxes, at, all, isBeside, (dx, dy) => dx + 4 * dy);
    }
    const isUp = key === "ArrowUp";
    const connected = isUp ? into[at].map(({ edge }) => edge.from) : outOf[at].map(({ edge }) => edge.to);
    const isBeside = isUp ? (dx, dy) => dy < 0 : (dx, dy) => dy > 0;
    return (
      nearest(boxes, at, connected, isBeside, (dx, dy) => dy + 0.2 * dx) ??
      nearest(boxes, at, all, isBeside, (dx, dy) => dy + 4 * dx)
    );
  };

  // The views of a picture, as a scale `k` and an offset `x`, `y`, in a window of some size: the whole graph, …
  graphs.wholeView = (layout, width, height) => {
    const k = Math.min(1, (width - 40) / layout.width, (height - 40) / layout.height);
    return { x: (width - layout.width * k) / 2, y: 20, k };
  };

  // … the start of the method at a readable size, …
  graphs.startView = ({ nodes, layout }, { outOf }, width) => {
    const boxes = layout.nodes;
    const input = nodes.findIndex((node) => node.kind === "input");
    const first = input < 0 ? boxes.reduce((best, box) => (box.y < best.y ? box : best), boxes[0]) : boxes[input];
    const k = Math.min(1, Math.max(0.75, (width - 40) / layout.width));
    const isWide = layout.width * k > width;
    if (!isWide) return { x: width / 2 - (layout.width / 2) * k, y: 20, k };
    // In a wide graph, the users of the input are shown rather than the input.
    const next = boxes[outOf[input]?.find((connection) => !connection.far)?.edge.to] || first;
    const [left, right] = [Math.min(first.x, next.x), Math.max(first.x + first.width, next.x + next.width)];
    const around = (right - left) * k < width ? (left + right) / 2 : center(next)[0];
    // Without empty space beside the graph.
    const half = (width / 2 - 20) / k;
    const middle = Math.max(half, Math.min(around, layout.width - half));
    return { x: width / 2 - middle * k, y: 20 - first.y * k, k };
  };

  // … and a box in the middle.
  graphs.boxView = (box, k, width, height) => ({
    x: width / 2 - center(box)[0] * k,
    y: height / 2 - box.y * k,
    k,
  });

  // The place of an argument's data, as text.
  graphs.placeText = (place) => {
    if (place === "runtime") return "given at run time";
    const [[kind, where]] = Object.entries(place);
    const planned = () => `buffer ${where.buffer} at ${viewer.grouped(where.offset)}`;
    if (kind === "planned") return planned();
    if (kind === "constant") return `constant ${where.index}`;
    if (kind === "initial_state") return `initial state ${where.index}, ${planned()}`;
    return `external ${where.key}`;
  };
})();
