import assert from "node:assert/strict";
import { test } from "node:test";
import { loadViewer } from "./scripts.mjs";

const viewer = loadViewer(["memory-plan"]);

const method = { instructions: 4 };
const tensor = (value, first, last, size, more = {}) => ({ value, first, last, size, offset: 0, ...more });
const reported = {
  size: 100,
  needed: 70,
  needed_at: 1,
  lost: 30,
  tensors: [tensor(0, -1, 0, 10), tensor(1, 0, 2, 40), tensor(2, -1, 4, 30, { idle: [{ first: 2, last: 3 }] })],
};
const buffer = viewer.timedBuffer(reported);

test("times are those of the report plus 1, and the report stays as it is", () => {
  assert.deepEqual(
    buffer.tensors.map(({ first, last }) => [first, last]),
    [
      [0, 1],
      [1, 3],
      [0, 5],
    ],
  );
  assert.deepEqual(buffer.tensors[2].idle, [{ first: 3, last: 4 }]);
  assert.equal(buffer.needed_at, 2);
  assert.equal(reported.tensors[0].first, -1);
});

test("the first time is that of the inputs, the last that of the outputs", () => {
  const moments = [0, 1, 4, 5].map((time) => viewer.moment(time, method));
  assert.deepEqual(moments, ["the inputs", "instruction 0", "instruction 3", "the outputs"]);
});

test("a tensor is needed from its first to its last time, except while it is idle", () => {
  const needed = (time) => viewer.neededAt(buffer.tensors, time).map(({ value }) => value);
  assert.deepEqual(needed(0), [2, 0]);
  assert.deepEqual(needed(1), [1, 2, 0]);
  assert.deepEqual(needed(2), [1, 2]);
  assert.deepEqual(needed(3), [1]);
  assert.deepEqual(needed(5), [2]);
});

test("the text of a buffer has the peak, the loss and the doubts", () => {
  const text = viewer.bufferText(method, buffer);
  assert.equal(text, "Peak: 70 B (instruction 1). The buffer has 100 B, 30 B more. 3 tensors.");
  const doubtful = { ...method, assumed: true, jumps: true };
  assert.match(viewer.bufferText(doubtful, buffer), /about 70 B .* jumps: .* instructions\.$/);
});

test("the memory of a run has a total, its parts and what is not known", () => {
  const run = { program: 1024, weights_in_place: 0, planned: 2048, method: 100, total: 5120, at_most: true };
  const xnnpack = { delegates: 1, workspace: 1024, tables: null, packed: 0 };
  assert.deepEqual(viewer.runText(run), ["at most 5.0 KiB: planned 2.0 KiB, method 100 B, program 1.0 KiB"]);
  assert.deepEqual(viewer.runText({ ...run, xnnpack, not_known: ["tables"] }), [
    "at least 5.0 KiB: planned 2.0 KiB, method 100 B, XNNPACK workspace 1.0 KiB, XNNPACK tables not known, program 1.0 KiB",
    "not known, not counted: tables",
  ]);
});

test("the text of a tensor has only lines that are known", () => {
  const planned = { ...buffer.tensors[0], scalar_type: "FLOAT", sizes: [2], dim_order: [0] };
  const lines = (tensor) => viewer.plannedText(tensor, method).split("\n");
  assert.deepEqual(lines(planned), ["%0: f32[2]", "10 B at address 0", "needed from the inputs to instruction 0"]);
  assert.equal(lines({ ...planned, kept: true, module: "layers.0" }).length, 5);
});

test("addresses are round and at most seven", () => {
  assert.deepEqual(viewer.roundAddresses(100), [0, 32, 64, 96]);
  for (let size = 1; size < 5000; size += 1) {
    const addresses = viewer.roundAddresses(size);
    assert.ok(addresses.length > 0 && addresses.length <= 7 && addresses.at(-1) < size, `${size}: ${addresses}`);
  }
});

test("labels of times have 70 pixels each, and both ends have one", () => {
  assert.deepEqual(viewer.labelledTimes(5, 70), [0, 1, 2, 3, 4, 5]);
  // Every tenth instruction: the time of instruction 10 is 11.
  assert.deepEqual(viewer.labelledTimes(21, 10), [0, 11, 21]);
  assert.deepEqual(viewer.labelledTimes(30, 10), [0, 11, 30]);
  assert.deepEqual(viewer.labelledTimes(31, 10), [0, 11, 21, 31]);
  assert.deepEqual(viewer.labelledTimes(100, 1e-5), [0, 100]);
  for (const [end, width] of [
    [13, 50],
    [454, 1.6],
    [100000, 0.01],
    [7, 12],
  ]) {
    const times = viewer.labelledTimes(end, width);
    assert.deepEqual([times[0], times.at(-1)], [0, end]);
    const gaps = times.slice(2, -1).map((time, index) => (time - times[index + 1]) * width);
    assert.ok(
      gaps.every((gap) => gap >= 70),
      `${end}: ${times}`,
    );
  }
});
