// The worker, with a stand-in for the module, and its ZIP reader.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "../../viewer/tests/scripts.mjs";

const answers = [];
globalThis.postMessage = (message) => answers.push(message);
globalThis.FileReaderSync = class {
  readAsArrayBuffer = (piece) => piece.content;
};

// A file of a browser: its pieces can be read at once or later.
class MemoryFile {
  constructor(bytes) {
    this.bytes = bytes;
    this.size = bytes.length;
    this.name = "file.pte";
  }

  slice(start, end) {
    const content = Uint8Array.from(this.bytes.subarray(start, end)).buffer;
    return { content, arrayBuffer: async () => content };
  }
}

class Page {
  add = (name, size, { read }) => JSON.stringify({ name, size, first: [...read(0, 2)] });
  part = () => {
    throw "the module's error";
  };
  // Two ranges of the second file, and the bytes of them.
  spread = () => {
    const bytes = [];
    return { bytes, parts: () => [1, 0, 10, 1, 20, 30], add: (piece) => bytes.push(...piece) };
  };
  spread_out = ({ bytes }) => bytes.length;
  // A format that converts the tensor's bytes.
  export = (index, offset, size) => ({ header: () => undefined, finish: (bytes) => `${bytes.join(" ")} of ${size}` });
  compare = () => {
    throw new WebAssembly.RuntimeError("unreachable");
  };
}

// The number of bytes that are hashed.
class Hashing {
  count = 0;
  add = (piece) => (this.count += piece.length);
  finish = () => String(this.count);
}

const instance = { memory: { buffer: new ArrayBuffer(8) } };
globalThis.wasm_bindgen = { initSync: () => instance, Page, Hashing };
globalThis.self = globalThis;
globalThis.onmessage = null;
const { entriesOf, receive } = load(
  ["page/vendor/fflate.min", "page/zip", "page/worker"],
  "({ entriesOf, receive: onmessage })",
);
await receive({ data: { module: {} } });

let last = 0;
// Asks a question, and returns all messages about it.
async function ask(ask, values) {
  const id = (last += 1);
  await receive({ data: { id, ask, with: values } });
  return answers.filter((message) => message.id === id);
}

const PIECE = 4 << 20;
const large = new Uint8Array(2 * PIECE + 10);
large.set([1, 2, 3, 4], PIECE - 2);
large.set([1, 2, 3, 4], 2 * PIECE + 6);
const files = [new MemoryFile(Uint8Array.from([80, 84, 69])), new MemoryFile(large)];
for (const file of files) await ask("add", [file]);

test("a file is read in the ranges that the module requests", async () => {
  const [{ answer }] = await ask("add", [files[0]]);
  assert.deepEqual(answer, { name: "file.pte", size: 3, first: [80, 84] });
});

test("a pattern is found across the ends of pieces, and from a place on", async () => {
  const search = async (index, pattern, start) =>
    (await ask("search", [index, Uint8Array.from(pattern), start])).at(-1).answer;
  assert.equal(await search(1, [1, 2, 3, 4], 0), PIECE - 2);
  assert.equal(await search(1, [1, 2, 3, 4], PIECE - 2), PIECE - 2);
  assert.equal(await search(1, [1, 2, 3, 4], PIECE - 1), 2 * PIECE + 6);
  assert.equal(await search(1, [4, 3], 0), null);
  assert.equal(await search(0, [84, 69], 0), 1);
  assert.equal(await search(0, [69, 84], 0), null);
});

test("a hash takes each byte once, and its progress ends at 1", async () => {
  const messages = await ask("hash", [1, 5, PIECE + 5]);
  assert.equal(messages.at(-1).answer, String(PIECE + 5));
  assert.deepEqual(
    messages.slice(0, -1).map(({ share }) => share),
    [PIECE / (PIECE + 5), 1],
  );
});

test("a histogram takes the bytes of all its ranges, with one progress", async () => {
  const messages = await ask("spread", [0, 0]);
  assert.equal(messages.at(-1).answer, 40);
  assert.deepEqual(
    messages.slice(0, -1).map(({ share }) => share),
    [0.25, 1],
  );
});

test("a tensor is converted from its own bytes", async () => {
  const messages = await ask("save", [0, 1, 2, 1, true]);
  assert.equal(await messages.at(-1).answer.text(), "84 69 of 2");
});

test("a job that is ended says so, and the next one runs", async () => {
  const id = (last += 1);
  const job = receive({ data: { id, ask: "hash", with: [1, 0, large.length] } });
  await receive({ data: { end: id } });
  await job;
  assert.deepEqual(answers.filter((message) => message.id === id).at(-1), { id, error: "ended", fatal: false });
  assert.equal((await ask("hash", [0, 0, 3])).at(-1).answer, "3");
});

test("an error of the module is an answer, and a fault of WebAssembly is fatal", async () => {
  const [refused] = await ask("part", ["size"]);
  assert.deepEqual([refused.error, refused.fatal], ["the module's error", false]);
  const [broken] = await ask("compare", []);
  assert.deepEqual([broken.error, broken.fatal], ["unreachable", true]);
});

const record = readFileSync(new URL("../../../tests/data/etrecord/net_portable.etrecord", import.meta.url));

test("entries of a ZIP file are those that the module takes", () => {
  const entries = entriesOf(record, (name) => /map$/.test(name));
  const sizes = entries.map(({ name, content }) => [name, content.length]);
  assert.deepEqual(sizes, [
    ["debug_handle_map", 114],
    ["delegate_map", 15],
    ["instruction_id_to_num_outs_map", 15],
  ]);
  assert.ok(JSON.parse(new TextDecoder().decode(entries[0].content)));
});

test("the module is asked with the size of an entry and of the file", () => {
  const asked = [];
  entriesOf(record, (...question) => asked.push(question) && false);
  assert.equal(asked.length, 13);
  assert.deepEqual(asked[1], ["exported_program", 19564, record.length]);
});

test("an error of a ZIP file, or of the module, is a text", () => {
  const isText = (error) => typeof error === "string" && error.length > 0;
  assert.throws(() => entriesOf(record.subarray(0, 1000), () => true), isText);
  const refuse = () => {
    throw "too large";
  };
  assert.throws(
    () => entriesOf(record, refuse),
    (error) => error === "too large",
  );
});
