// Weights, operators, findings, tables and the search of all views.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadViewer } from "./scripts.mjs";

// `show.js` listens for changes when it is loaded.
globalThis.addEventListener = () => {};
globalThis.matchMedia = () => ({ addEventListener() {} });
const scripts = ["names", "search", "table", "show", "operators", "weights", "findings"];
const viewer = loadViewer(scripts, ["graph", "weights"]);

const tensor = (value, method = "forward") => ({
  method,
  value,
  scalar_type: "FLOAT",
  sizes: [2, 2],
  dim_order: [0, 1],
});
const use = (delegate, node) => ({
  method: "forward",
  delegate,
  operator: "XNNConv2d",
  node,
  role: "weight",
  type: "qc8",
  sizes: [4],
});
const weights = [
  {
    name: "layers.0.weight",
    named_by: "record",
    module: "layers.0",
    kind: "constant",
    offset: 100,
    size: 50,
    users: [tensor(3)],
  },
  { kind: "constant", offset: 200, size: 16, users: [tensor(7)] },
  { kind: "named", key: "ab12", offset: 300, size: 4, users: [{ key: "ab12" }], inside: [use(0, 3), use(0, 4)] },
  { kind: "named", offset: 400, size: 8, users: [{ key: "blob" }] },
];
const report = {
  weights,
  operators: { operators: [{ name: "aten::mm.out" }] },
  graphs: [{ nodes: [{ label: "aten::mm.out", title: "mm", name: "mm.0", module: "head.linear" }] }],
};

test("multiply-accumulates are said to be bounds, or not all", () => {
  const row = { macs: 300774272, parameters: 1, parameters_are: "exact", is_bound: false, is_complete: true };
  assert.equal(viewer.macsText(row), "300,774,272 multiply-accumulates, 1 parameter");
  assert.equal(
    viewer.macsText({ ...row, macs: 5, parameters: 2, is_bound: true, is_complete: false }),
    "at most (dynamic shapes at their bounds, caches full) 5 multiply-accumulates (not all are known), 2 parameters",
  );
  const unknown = { ...row, macs: null, parameters: null, parameters_are: "unknown", is_complete: false };
  assert.equal(viewer.macsText(unknown), "multiply-accumulates not known, parameters not known");
  const about = { ...row, parameters_are: "about", parameters: 2 };
  assert.equal(viewer.macsText(about), "300,774,272 multiply-accumulates, about 2 parameters");
});

test("a weight has the model's name, or else one by its use", () => {
  const names = viewer.weightNames(report);
  assert.deepEqual(weights.map(names.name), ["layers.0.weight", "%7", "XNNConv2d 3: weight", "blob"]);
  assert.deepEqual(weights.map(names.alias), ["%3", undefined, undefined, undefined]);
  assert.deepEqual(weights.map(names.key), [undefined, undefined, "ab12", undefined]);
  assert.deepEqual(weights.map(names.form), ["f32[2, 2]", "f32[2, 2]", "qc8[4]", "blob"]);
});

test("names have the method or the delegate if there are several", () => {
  const second = { ...weights[1], users: [tensor(9, "encode")] };
  const other = { ...weights[2], inside: [use(1, 0)] };
  const names = viewer.weightNames({ weights: [...weights, second, other] });
  assert.equal(names.name(second), "encode:%9");
  assert.equal(names.name(other), "forward delegate 1 XNNConv2d 0: weight");
});

test("weights are filtered by name, module, shape and key, whatever the case", () => {
  const names = viewer.weightNames(report);
  const filtered = (text) => viewer.filteredWeights(weights, names, text).map((weight) => weights.indexOf(weight));
  assert.deepEqual(filtered(""), [0, 1, 2, 3]);
  assert.deepEqual(filtered("LAYERS.0"), [0]);
  assert.deepEqual(filtered("%3"), [0]);
  assert.deepEqual(filtered("qc8"), [2]);
  assert.deepEqual(filtered("AB12"), [2]);
  assert.deepEqual(filtered("undefined"), []);
});

test("a weight without a histogram has the reason", () => {
  assert.match(viewer.noHistogram({ kind: "external", users: [tensor(1)] }), /in that file/);
  assert.match(viewer.noHistogram({ kind: "constant", counted: true, users: [tensor(1)] }), /finite/);
  assert.match(viewer.noHistogram({ kind: "constant", users: [tensor(1)] }), /too large/);
  assert.match(viewer.noHistogram({ kind: "named", users: [{ key: "blob" }] }), /no type/);
});

test("a search finds exact names before parts of names, and weights before nodes", () => {
  const find = (text) => viewer.find(report, text);
  assert.deepEqual(find("Layers.0.Weight"), ["weights", "layers.0.weight"]);
  assert.deepEqual(find("aten::mm.out"), ["graph", "aten::mm.out"]);
  assert.deepEqual(find("layers"), ["weights", "layers.0.weight"]);
  assert.deepEqual(find("head"), ["graph", "head"]);
  assert.deepEqual(find("ab12"), ["weights", "XNNConv2d 3: weight"]);
  assert.deepEqual(find(" %7 "), ["graph", "%7"]);
  assert.deepEqual(find("Instruction 3"), ["graph", "instruction 3"]);
  assert.equal(find("nowhere"), undefined);
  assert.equal(find("  "), undefined);
});

test("an offset is that of a weight, or of a byte if the page has the file", (context) => {
  assert.deepEqual(viewer.find(report, "0x64"), ["weights", "layers.0.weight"]);
  assert.deepEqual(viewer.find(report, "149"), ["weights", "layers.0.weight"]);
  assert.equal(viewer.find(report, "150"), undefined);
  context.mock.method(viewer, "has", () => true);
  assert.deepEqual(viewer.find({ ...report, main: 1 }, "150"), ["bytes", "1:150"]);
});

test("rows are sorted as numbers or as texts, and a third click restores their order", () => {
  const numbers = { number: true, value: (row) => row };
  assert.deepEqual(viewer.sorted(numbers, [10, 9, 100], "ascending"), [9, 10, 100]);
  assert.deepEqual(viewer.sorted(numbers, [10, 9, 100], "descending"), [100, 10, 9]);
  assert.deepEqual(viewer.sorted(numbers, [-1, 2, -10], "ascending"), [-10, -1, 2]);
  const texts = { value: (row) => row };
  assert.deepEqual(viewer.sorted(texts, ["%10", "%9", "a"], "ascending"), ["%9", "%10", "a"]);
  const orders = (column) => [null, "descending", "ascending"].map((order) => viewer.nextOrder(column, order));
  assert.deepEqual(orders(numbers), ["descending", "ascending", null]);
  assert.deepEqual(orders(texts), ["ascending", null, "descending"]);
});

test("a column without a value is sorted by the numbers that its cells show", () => {
  viewer.element = (name, attributes, ...children) => ({ textContent: children.join("") });
  const cells = { number: true, of: (row) => row };
  const rows = ["1,000", "< 0.1 %", "20.5 %", "3"];
  assert.deepEqual(viewer.sorted(cells, rows, "ascending"), ["< 0.1 %", "3", "20.5 %", "1,000"]);
});

test("a view and its argument are read from the URL as they were written", () => {
  for (const argument of [undefined, "%12", "a=b", "instruction 3", "重み/#?", "100%"]) {
    assert.deepEqual(viewer.asked(viewer.hash("graph", argument)), { name: "graph", argument });
  }
  assert.deepEqual(viewer.asked("#graph=100%"), { name: "graph", argument: "100%" });
  assert.deepEqual(viewer.asked(""), { name: "", argument: undefined });
});

test("arrow keys go around the tabs", () => {
  assert.equal(viewer.nextTab("ArrowRight", 2, 3), 0);
  assert.equal(viewer.nextTab("ArrowLeft", 0, 3), 2);
  assert.equal(viewer.nextTab("ArrowLeft", 2, 3), 1);
  assert.equal(viewer.nextTab("Home", 2, 3), 0);
  assert.equal(viewer.nextTab("End", 0, 3), 2);
  assert.equal(viewer.nextTab("a", 0, 3), undefined);
});

test("equal neighbours among a kernel's tensors are counted", () => {
  const matrix = { scalar_type: "FLOAT", dim_order: [0, 1] };
  const last = { scalar_type: "CHAR", dim_order: [0, 2, 3, 1] };
  assert.equal(viewer.kernelText([matrix, matrix, last]), "2 × f32 2D, i8 4D (0,2,3,1)");
  assert.equal(viewer.kernelText([]), "no tensors");
});

test("errors come first, and findings of one severity stay in order", () => {
  const findings = ["note", "warning", "error", "warning"].map((severity, index) => ({ severity, index }));
  assert.deepEqual(
    viewer.bySeverity(findings).map(({ index }) => index),
    [2, 1, 3, 0],
  );
});

test("a finding's place is in its own file, and in the bundle or the program inside it", () => {
  const place = (report, finding) => viewer.treePlace(report, finding);
  assert.equal(place({ main: 1 }, { path: "segments[0]" }), "1:segments[0]");
  assert.equal(place({ main: 1 }, { path: "segments[0]", of: { index: 0 } }), "0:segments[0]");
  const bundle = { main: 0, program_offset: 64 };
  assert.equal(place(bundle, { path: "program.segments[0]" }), "0:segments[0]");
  assert.equal(place(bundle, { path: "method_test_suites[0]" }), "0b:method_test_suites[0]");
  assert.equal(place(bundle, { path: "program.x", of: { index: 2 } }), "2:program.x");
});
