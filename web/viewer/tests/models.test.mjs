// Files beside each other, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadViewer } from "./scripts.mjs";

const viewer = loadViewer(["memory-plan", "operators", "releases", "overview", "models"]);

const model = (file, more = {}) => ({
  file,
  file_size: 2048,
  loads_in: { outcome: "loads", ranges: [["1.0", "1.5"]], kernels: [] },
  verdict: { outcome: "runs", because: [] },
  macs: [{ name: "forward", macs: 40, parameters: 45, parameters_are: "about" }],
  methods: [
    {
      name: "forward",
      inputs: [],
      outputs: [],
      operators: [{ name: "aten::add.out", calls: 2 }],
      delegates: [{ id: "XnnpackBackend", delegates: 1 }],
      planned_memory: { size: 128 },
      run_memory: { planned: 128, total: 128 },
    },
  ],
  ...more,
});
const cells = (models, name) => viewer.modelRows(models).find((row) => row.name === name);

test("rows say where files differ", () => {
  const models = [model("a.pte"), model("b.pte", { file_size: 100 })];
  assert.deepEqual(cells(models, "size"), {
    name: "size",
    cells: ["2.0 KiB (2,048 bytes)", "100 B (100 bytes)"],
    same: false,
  });
  assert.equal(cells(models, "backends").cells[0], "XnnpackBackend: 1 delegate");
  assert.equal(cells(models, "parameters").cells[0], "about 45");
  assert.ok(cells(models, "parameters").same);
  assert.equal(cells(models, "operators").cells[1], "2 calls\naten::add.out ×2");
});

test("a number that is not known is not 0, and a method that is missing has none", () => {
  const unknown = model("a.pte", {
    macs: [{ name: "forward", macs: null, parameters: null, parameters_are: "unknown" }],
  });
  const other = { ...model("b.pte").methods[0], name: "encode" };
  const models = [unknown, model("b.pte", { methods: [other] })];
  assert.deepEqual(cells(models, "forward: parameters").cells, ["not known", "–"]);
  assert.deepEqual(cells(models, "forward: multiply-accumulates").cells, ["not known", "–"]);
});

test("files of one name are told apart by their folders", () => {
  const names = (...files) => viewer.modelNames(files.map((file) => ({ file })));
  assert.deepEqual(names("x/a.pte", "x/b.pte"), ["a.pte", "b.pte"]);
  assert.deepEqual(names("x/y/m.pte", "x/z/m.pte"), ["y/m.pte", "z/m.pte"]);
});
