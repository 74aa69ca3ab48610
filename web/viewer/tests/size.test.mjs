import assert from "node:assert/strict";
import { test } from "node:test";
import { loadViewer } from "./scripts.mjs";

const viewer = loadViewer(["size-tree"], ["weights"]);

const delegate = (method) => ({ method, index: 0, id: "XnnpackBackend" });
const use = { method: "forward", delegate: 0, operator: "XNNConv2d", node: 3, role: "weight", type: "qc8", sizes: [4] };
const tensor = { method: "forward", value: 3, scalar_type: "FLOAT", sizes: [2, 2], dim_order: [0, 1] };
const parts = [
  { kind: "header", size: 40, offset: 0, pieces: 1 },
  { kind: "program", name: "Program", size: 60, offset: 40, pieces: 1 },
  { kind: "program", name: "Tensor", size: 100, pieces: 5 },
  { kind: "constant", size: 16, offset: 200, users: [tensor, tensor] },
  { kind: "delegate", name: "XnnpackBackend", size: 300, offset: 300, users: [delegate("forward")] },
  { kind: "named", name: "ab12", size: 48, offset: 600, users: [{ key: "ab12" }] },
  { kind: "named", name: "other", size: 8, offset: 700, users: [{ key: "other" }] },
];
const weights = [
  { kind: "delegate_constant", offset: 320, size: 20, users: [], inside: [use] },
  { kind: "named", name: "conv.weight", offset: 600, size: 40, users: [{ key: "ab12" }], inside: [use, use] },
];
const total = parts.reduce((sum, part) => sum + part.size, 0);
const child = (box, name) => box.children.find((one) => one.name === name);

// The bytes of the smallest boxes.
const leafBytes = (box) => (box.children ? box.children.reduce((sum, part) => sum + leafBytes(part), 0) : box.bytes);

test("all bytes of the parts are in the boxes, the largest first", () => {
  const root = viewer.kindTree({ parts }, weights);
  assert.equal(root.bytes, total);
  assert.equal(leafBytes(root), total);
  assert.deepEqual(
    root.children.map(({ name, bytes }) => [name, bytes]),
    [
      ["delegate", 348],
      ["program", 160],
      ["header", 40],
      ["constant", 16],
      ["named", 8],
    ],
  );
});

test("weights of a delegate's nodes are in its box, wherever they are stored", () => {
  const box = child(child(viewer.kindTree({ parts }, weights), "delegate"), "delegate 0 XnnpackBackend");
  assert.deepEqual(
    box.children.map(({ name, bytes, note }) => [name, bytes, note]),
    [
      ["payload", 280, "at byte 300"],
      ["conv.weight qc8[4]", 48, "at byte 600, 2 uses"],
      ["XNNConv2d 3: weight qc8[4]", 20, "at byte 320"],
    ],
  );
  assert.equal(typeof child(box, "conv.weight qc8[4]").open, "function");
  assert.equal(child(box, "payload").open, undefined);
});

test("a payload has the weights between its first and its last byte", () => {
  const at = (offset, size) => ({ ...weights[0], offset, size });
  const inPayload = (weight) => {
    const root = viewer.kindTree({ parts }, [weight]);
    const box = child(child(root, "delegate"), "delegate 0 XnnpackBackend");
    return box.children?.some(({ name }) => name.startsWith("XNNConv2d")) || false;
  };
  assert.ok(inPayload(at(300, 20)));
  assert.ok(inPayload(at(580, 20)));
  assert.ok(!inPayload(at(299, 20)));
  assert.ok(!inPayload(at(581, 20)));
  assert.ok(!inPayload(at(null, 20)));
});

test("a kind with one piece that has no name is that piece", () => {
  const root = viewer.kindTree({ parts }, []);
  assert.equal(child(root, "header").children, undefined);
  assert.deepEqual(
    child(root, "constant").children.map(({ name, note }) => [name, note]),
    [["%3 f32[2, 2]", "at byte 200, 2 users"]],
  );
  assert.equal(child(child(root, "program"), "Tensor").note, "5 places");
});

test("names have the method if there are several", () => {
  const second = { ...parts[4], offset: 1000, users: [delegate("encode")] };
  const root = viewer.kindTree({ parts: [...parts, second] }, []);
  const names = child(root, "delegate").children.map(({ name }) => name);
  assert.deepEqual(names, ["forward delegate 0 XnnpackBackend", "encode delegate 0 XnnpackBackend"]);
  assert.ok(child(child(root, "constant"), "forward:%3 f32[2, 2]"));
});

test("modules have their weights, and what is left of their own bytes", () => {
  const modules = [
    { path: "", depth: 0, total: 100, own: 0, count: 3 },
    { path: "layers", depth: 1, total: 70, own: 30, count: 2 },
    { path: "layers.0", depth: 2, total: 40, own: 40, count: 1 },
    { path: null, depth: 0, total: 50, own: 50, count: 0 },
  ];
  const own = [
    { name: "layers.scale", module: "layers", kind: "constant", size: 20, users: [] },
    { name: "layers.0.weight", module: "layers.0", kind: "constant", size: 40, users: [] },
    { name: "layers.0.file", module: "layers.0", kind: "external", size: 40, users: [] },
    { name: "layers.0.shared", module: "layers.0", kind: "constant", size: 40, users: [] },
  ];
  const root = viewer.moduleTree({ file_size: 150 }, modules, own);
  const names = (box) => box.children?.map(({ name, bytes }) => [name, bytes]);
  assert.deepEqual(names(root), [
    ["the modules", 100],
    ["of no module, or not known", 50],
  ]);
  const layers = child(root.children[0], "layers");
  assert.deepEqual(names(layers), [
    ["layers.0", 40],
    ["layers.scale", 20],
    ["the rest", 10],
  ]);
  // A weight of another file has no bytes here, and no box has more bytes than its module.
  assert.deepEqual(names(child(layers, "layers.0")), [["layers.0.weight", 40]]);
  assert.equal(child(root, "of no module, or not known").children, undefined);
});
