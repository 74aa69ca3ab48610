// Checks what the views compute from a report, of any file.
import assert from "node:assert/strict";
import { load, loadViewer } from "../../viewer/tests/scripts.mjs";

const viewer = loadViewer([
  "names",
  "size-tree",
  "memory-plan",
  "graph-data",
  "operators",
  "weights",
  "findings",
  "releases",
]);
globalThis.page = {};
const page = load(["page/payloads"], "page");
const { graphs } = viewer;

// A text that shows a mistake of a script.
const MISTAKE = /undefined|NaN|\[object/;
const isText = (text) => assert.ok(typeof text === "string" && !MISTAKE.test(text), String(text));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

export function checkViews(report) {
  if (report.size) checkSize(report);
  for (const method of report.memory?.methods || []) checkMemory(method);
  for (const graph of report.graphs || []) checkGraph(graph);
  if (report.weights) checkWeights(report);
  for (const { kernels } of report.operators?.operators || []) {
    for (const { tensors } of kernels) isText(viewer.kernelText(tensors));
  }
  for (const finding of report.findings || []) isText(viewer.treePlace(report, finding));
  if (report.releases?.loads_in) {
    isText(viewer.releasesText(report.releases.loads_in));
    isText(viewer.kernelsText(report.releases.loads_in.kernels));
  }
}

// The names and the bytes of the smallest boxes.
const leaves = (box) => (box.children ? box.children.flatMap(leaves) : [box]);

function checkSize({ size, modules, weights = [] }) {
  const total = sum(size.parts.map((part) => part.size));
  const trees = [viewer.kindTree(size, weights)];
  assert.equal(trees[0].bytes, total);
  assert.equal(sum(leaves(trees[0]).map((box) => box.bytes)), total);
  if (modules?.length) trees.push(viewer.moduleTree(size, modules, weights));
  for (const box of trees.flatMap(leaves)) {
    assert.ok(box.bytes >= 0 && box.color, box.name);
    isText(box.name);
    if (box.note !== undefined) isText(box.note);
  }
  for (const { kind } of size.parts) assert.ok(viewer.colors[kind] && viewer.kinds[kind], kind);
  const end = Math.max(0, ...size.parts.map((part) => (part.offset ?? 0) + part.size));
  for (const payload of page.payloads(size.parts)) assert.ok(payload.start + payload.size <= end, payload.name);
}

function checkMemory(method) {
  for (const reported of method.buffers) {
    const buffer = viewer.timedBuffer(reported);
    isText(viewer.bufferText(method, buffer));
    for (const tensor of buffer.tensors.slice(0, 50)) isText(viewer.plannedText(tensor, method));
    const needed = viewer.neededAt(buffer.tensors, buffer.needed_at);
    assert.ok(sum(needed.map((tensor) => tensor.size)) >= buffer.needed, "the tensors at the peak are smaller than it");
    if (buffer.size) assert.ok(viewer.roundAddresses(buffer.size).length <= 7);
  }
}

function checkGraph(graph) {
  const { nodes, layout } = graph;
  const { into, outOf, drawn, waypoints } = graphs.connections(graph);
  for (const { from, to } of drawn) {
    const points = waypoints.get(`${from} ${to}`) || [];
    const numbers = graphs.edgePath(layout.nodes[from], points, layout.nodes[to]).flat();
    assert.ok(numbers.every(Number.isFinite), `${from} to ${to}`);
  }
  const texts = nodes.map(graphs.searchText);
  for (const [index, node] of [...nodes.entries()].slice(0, 50)) {
    isText(texts[index]);
    isText(graphs.result(node));
    assert.ok(graphs.meaning(node.kind), node.kind);
    assert.ok(graphs.matches(nodes, texts, `node ${index}`).includes(index));
    for (const { place } of node.arguments) if (place) isText(graphs.placeText(place));
    for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) {
      const next = graphs.nextBox(layout.nodes, { into, outOf }, index, key);
      assert.ok(next === undefined || (nodes[next] && next !== index), `${key} from ${index} to ${next}`);
    }
  }
  if (!nodes.length) return;
  const views = [graphs.wholeView(layout, 800, 600), graphs.startView(graph, { outOf }, 800)];
  for (const view of views) assert.ok(Object.values(view).every(Number.isFinite), JSON.stringify(view));
}

function checkWeights(report) {
  const names = viewer.weightNames(report);
  for (const weight of report.weights) {
    isText(names.name(weight));
    isText(names.form(weight));
    isText(viewer.noHistogram(weight));
    const found = viewer.filteredWeights(report.weights.slice(0, 100), names, names.name(weight));
    assert.ok(found.includes(weight) || report.weights.length > 100, names.name(weight));
  }
}
