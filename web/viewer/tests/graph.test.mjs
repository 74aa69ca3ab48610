import assert from "node:assert/strict";
import { test } from "node:test";
import { loadViewer } from "./scripts.mjs";

const { graphs, nodeColors } = loadViewer(["graph-data"]);

const argument = (value, text, more = {}) => ({ value, text, ...more });
const nodes = [
  { kind: "input", label: "input 0", arguments: [argument(0, "f32[2]", { output: true })] },
  {
    kind: "kernel",
    label: "aten::mm.out",
    name: "mm.0",
    module: "layers.0",
    instruction: 0,
    arguments: [
      argument(0, "f32[2]"),
      argument(1, "f32[2, 2]", { weight: true, name: "mat2", tensor_name: "layers.0.weight", named_by: "record" }),
      argument(2, "f32[2]", { output: true }),
    ],
  },
  { kind: "kernel", label: "aten::add.out", instruction: 1, arguments: [argument(12, "f32[3]", { output: true })] },
  { kind: "output", label: "output 0", arguments: [argument(12, "f32[3]")] },
];
const box = (x, y) => ({ x, y, width: 100, height: 40 });
const layout = {
  nodes: [box(0, 0), box(0, 100), box(200, 110), box(0, 200)],
  far: [2],
  routes: [{ from: 0, to: 1, points: [[70, 60]] }],
  width: 300,
  height: 240,
};
const edges = [
  { from: 0, to: 1, value: 0 },
  { from: 1, to: 3, value: 2 },
  { from: 0, to: 3, value: 0 },
];
const graph = { nodes, edges, layout };
const texts = nodes.map(graphs.searchText);
const found = (search) => graphs.matches(nodes, texts, search);

test("a search has all its words, in any part of a node", () => {
  assert.deepEqual(found("aten"), [1, 2]);
  assert.deepEqual(found("ATEN layers.0"), [1]);
  assert.deepEqual(found("layers.0.weight"), [1]);
  assert.deepEqual(found("f32[3]"), [2, 3]);
  assert.deepEqual(found("nowhere"), []);
  assert.deepEqual(found(""), []);
  assert.deepEqual(found("undefined"), []);
});

test("a number of a value, an instruction or a node is exact", () => {
  assert.deepEqual(found("%1"), [1]);
  assert.deepEqual(found("%12"), [2, 3]);
  assert.deepEqual(found(" instruction 1 "), [2]);
  assert.deepEqual(found("Node 3"), [3]);
  assert.deepEqual(found("%99"), []);
  assert.equal(graphs.exactly("instruction one"), undefined);
});

test("an input's name that its operator gives is no name of the author", () => {
  const named = (named_by) => graphs.weightText({ name: "mat2", text: "f32[2]", tensor_name: "mm.0 mat2", named_by });
  assert.equal(named("record"), "mm.0 mat2 f32[2]");
  assert.equal(named("operator"), "mat2 f32[2]");
});

test("values of a delegate have ids of its own", () => {
  assert.equal(graphs.value(4), "%4");
  assert.equal(graphs.value(-1), "id 0");
  assert.equal(graphs.value(-6), "id 5");
});

test("every kind of node with a colour has a meaning", () => {
  for (const kind of Object.keys(nodeColors)) assert.ok(graphs.meaning(kind), kind);
});

test("a result is the output, or else the first argument", () => {
  assert.deepEqual(nodes.map(graphs.result), ["f32[2]", "f32[2]", "f32[3]", "f32[3]"]);
  assert.equal(graphs.result({ arguments: [] }), "");
});

test("operators are counted, and inputs are none", () => {
  assert.deepEqual(graphs.operators([...nodes, nodes[2]]), [
    ["aten::add.out", 2],
    ["aten::mm.out", 1],
  ]);
});

test("a far edge is connected, but not drawn", () => {
  const { into, outOf, drawn, waypoints } = graphs.connections(graph);
  assert.deepEqual(drawn, edges.slice(0, 2));
  assert.deepEqual([...waypoints], [["0 1", [[70, 60]]]]);
  assert.deepEqual(
    into[3].map(({ edge, far }) => [edge.from, far]),
    [
      [1, false],
      [0, true],
    ],
  );
  assert.deepEqual(
    outOf.map((list) => list.length),
    [2, 1, 0, 0],
  );
});

test("an edge goes down through its points", () => {
  const down = (points, to) => graphs.edgePath(box(0, 0), points, to);
  assert.deepEqual(down([], box(100, 100)), [
    [50, 40],
    [50, 70, 150, 70, 150, 100],
  ]);
  assert.deepEqual(down([[70, 60]], box(100, 100)), [
    [50, 40],
    [50, 52, 70, 48, 70, 60],
    [70, 80, 150, 80, 150, 100],
  ]);
  // Straight down, nothing bends; over a short way, an edge still does.
  assert.deepEqual(down([], box(0, 100))[1], [50, 40, 50, 100, 50, 100]);
  assert.deepEqual(down([], box(100, 41))[1], [50, 52, 150, 29, 150, 41]);
});

test("a jump goes from side to side, or around the right side of boxes above each other", () => {
  const across = (from, to) => graphs.edgePath(from, [[1, 1]], to);
  assert.deepEqual(across(box(0, 100), box(200, 0)), [
    [100, 120],
    [120, 120, 180, 20, 200, 20],
  ]);
  assert.deepEqual(across(box(200, 100), box(0, 0)), [
    [200, 120],
    [180, 120, 120, 20, 100, 20],
  ]);
  assert.deepEqual(across(box(0, 100), box(20, 0)), [
    [100, 120],
    [160, 120, 160, 20, 120, 20],
  ]);
  // A box that starts where the other ends is not below it.
  assert.deepEqual(across(box(0, 0), box(0, 40))[0], [100, 20]);
});

test("a place is that of the box there, or of one close to it", () => {
  assert.equal(graphs.boxAt(layout.nodes, [10, 10], 0), 0);
  assert.equal(graphs.boxAt(layout.nodes, [110, 10], 0), -1);
  assert.equal(graphs.boxAt(layout.nodes, [110, 10], 10), 0);
  assert.equal(graphs.boxAt(layout.nodes, [195, 120], 200), 2);
});

test("arrow keys follow edges up and down, and go to neighbours sideways", () => {
  const connections = graphs.connections(graph);
  const next = (at, key) => graphs.nextBox(layout.nodes, connections, at, key);
  assert.equal(next(0, "ArrowDown"), 1);
  assert.equal(next(1, "ArrowUp"), 0);
  assert.equal(next(1, "ArrowDown"), 3);
  assert.equal(next(1, "ArrowRight"), 2);
  assert.equal(next(2, "ArrowLeft"), 1);
  // Without an edge, the nearest box.
  assert.equal(next(2, "ArrowDown"), 3);
  assert.equal(next(0, "ArrowUp"), undefined);
  assert.equal(next(0, "ArrowLeft"), undefined);
});

test("the whole graph is in the window, at no more than its own size", () => {
  assert.equal(graphs.wholeView(layout, 1000, 1000).k, 1);
  assert.deepEqual(graphs.wholeView(layout, 160, 1000), { x: 20, y: 20, k: 0.4 });
  assert.deepEqual(graphs.wholeView(layout, 1000, 64), { x: 485, y: 20, k: 0.1 });
});

test("a graph that fits starts in the middle, at a readable size", () => {
  const connections = graphs.connections(graph);
  assert.deepEqual(graphs.startView(graph, connections, 800), { x: 250, y: 20, k: 1 });
  assert.deepEqual(graphs.startView(graph, connections, 300), { x: 20, y: 20, k: 260 / 300 });
});

test("a wide graph starts at its input or the users of it, without empty space beside the graph", () => {
  const connections = graphs.connections(graph);
  const start = (boxes, kinds = nodes) => {
    const wide = { nodes: kinds, layout: { ...layout, width: 5000, nodes: boxes } };
    return graphs.startView(wide, connections, 800);
  };
  const rest = layout.nodes.slice(2);
  // Both are in the window: the middle between them is in its middle.
  assert.deepEqual(start([box(1000, 300), box(1200, 400), ...rest]), { x: 400 - 1150 * 0.75, y: -205, k: 0.75 });
  // They are far apart: the user is in the middle.
  assert.deepEqual(start([box(1000, 300), box(3000, 400), ...rest]).x, 400 - 3050 * 0.75);
  // At the ends of the graph, its margin is that of the window.
  assert.ok(Math.abs(start([box(0, 300), box(100, 400), ...rest]).x - 20) < 1e-9);
  assert.ok(Math.abs(start([box(4900, 0), box(4800, 100), ...rest]).x + 5000 * 0.75 - 780) < 1e-9);
  // Without an input, the highest box is the start.
  const kernels = nodes.map((node) => ({ ...node, kind: "kernel" }));
  assert.equal(start([box(1000, 300), box(3000, 200), box(2000, 400), box(0, 400)], kernels).x, 400 - 3050 * 0.75);
});

test("a box is shown in the middle", () => {
  assert.deepEqual(graphs.boxView(box(100, 50), 2, 800, 600), { x: 100, y: 200, k: 2 });
});

test("places have their buffers, indices and keys", () => {
  assert.equal(graphs.placeText("runtime"), "given at run time");
  assert.equal(graphs.placeText({ planned: { buffer: 1, offset: 2304 } }), "buffer 1 at 2,304");
  assert.equal(graphs.placeText({ constant: { index: 3 } }), "constant 3");
  assert.equal(
    graphs.placeText({ initial_state: { index: 2, buffer: 1, offset: 0 } }),
    "initial state 2, buffer 1 at 0",
  );
  assert.equal(graphs.placeText({ external: { key: "w" } }), "external w");
});
