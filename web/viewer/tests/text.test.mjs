import assert from "node:assert/strict";
import { test } from "node:test";
import { loadViewer } from "./scripts.mjs";

const viewer = loadViewer([]);

test("characters that are invisible or change directions are escaped, and line ends stay", () => {
  assert.equal(viewer.text("a\u202eb\u001b[31m\nc"), "a\\u{202e}b\\u{1b}[31m\nc");
  assert.equal(viewer.text("größe 重み 🙂"), "größe 重み 🙂");
  assert.equal(viewer.text(12), "12");
});

test("a text is cut between characters, after it was escaped", () => {
  assert.equal(viewer.cut("abcd", 4), "abcd");
  assert.equal(viewer.cut("abcde", 4), "abc…");
  assert.equal(viewer.cut("🙂🙂🙂", 2), "🙂…");
  assert.equal(viewer.cut("\u202eabc", 6), "\\u{20…");
});

test("bytes have the unit in which they are below 1024, also after rounding", () => {
  assert.equal(viewer.bytes(0), "0 B");
  assert.equal(viewer.bytes(1023), "1023 B");
  assert.equal(viewer.bytes(1024), "1.0 KiB");
  assert.equal(viewer.bytes(1536), "1.5 KiB");
  assert.equal(viewer.bytes(1024 * 1023.96), "1.0 MiB");
  assert.equal(viewer.bytes(5 * 2 ** 40), "5.0 TiB");
  assert.equal(viewer.bytes(-2048), "-2.0 KiB");
});

test("counts have a plural and separated thousands", () => {
  assert.equal(viewer.count(1, "weight"), "1 weight");
  assert.equal(viewer.count(0, "weight"), "0 weights");
  assert.equal(viewer.count(12345, "match", "matches"), "12,345 matches");
});

test("a share that is not zero does not look like zero", () => {
  assert.equal(viewer.share(1, 10000), "< 0.1 %");
  assert.equal(viewer.share(0, 10000), "0.0 %");
  assert.equal(viewer.share(1, 3), "33.3 %");
  assert.equal(viewer.share(0, 0), "0.0 %");
});

test("names that cannot be seen are quoted", () => {
  assert.equal(viewer.name("conv"), "conv");
  assert.equal(viewer.name(""), '""');
  assert.equal(viewer.name("  "), '"  "');
  assert.equal(viewer.module(""), "the model");
  assert.equal(viewer.module("layers.0"), "layers.0");
});

test("numbers have four digits, and integers all", () => {
  assert.equal(viewer.number(1234567), "1,234,567");
  assert.equal(viewer.number(0.123456), "0.1235");
  assert.equal(viewer.number(-1.5), "-1.5");
  assert.equal(viewer.number(123456789012), "1.235e+11");
});

test("times have the unit in which they are at least 1", () => {
  assert.equal(viewer.time(12), "12 ns");
  assert.equal(viewer.time(1234), "1.23 µs");
  assert.equal(viewer.time(2e9), "2 s");
  assert.equal(viewer.time(0), "0 ns");
  viewer.tick = 1e6;
  assert.equal(viewer.time(1.5), "1.5 ms");
  viewer.tick = 1;
});

test("a shape has its type, dynamic sizes, and an unusual order of dimensions", () => {
  const sizes = [1, 3];
  assert.equal(viewer.shape({ scalar_type: "FLOAT", sizes, dim_order: [0, 1] }), "f32[1, 3]");
  assert.equal(viewer.shape({ scalar_type: "LONG", sizes, dim_order: [1, 0] }), "i64[1, 3] dim order 1,0");
  assert.equal(viewer.shape({ scalar_type: "BOOL", sizes, shape_dynamism: "DYNAMIC_BOUND" }), "bool[<=1, <=3]");
  assert.equal(viewer.shape({ scalar_type: 9, sizes: [], shape_dynamism: "DYNAMIC_UNBOUND" }), "complex64[]");
  assert.equal(viewer.shape({ scalar_type: "QINT8", sizes: [2] }), "qint8[2]");
  assert.equal(viewer.shape(undefined), "");
  assert.equal(viewer.shape({ scalar_type: "FLOAT" }), "");
});

test("a use inside a delegate has its node, if there is one", () => {
  const use = { operator: "XNNConv2d", node: 3, role: "weight", type: "qc8", sizes: [8, 3] };
  assert.equal(viewer.inside(use), "XNNConv2d 3: weight");
  assert.equal(viewer.inside({ ...use, operator: undefined }), "weight");
  assert.equal(viewer.insideShape(use), "qc8[8, 3]");
});

test("runs are of neighbours, frequencies of all", () => {
  const texts = ["a", "b", "b", "a", "b"];
  assert.deepEqual(viewer.runs(texts), [
    { text: "a", first: 0, count: 1 },
    { text: "b", first: 1, count: 2 },
    { text: "a", first: 3, count: 1 },
    { text: "b", first: 4, count: 1 },
  ]);
  assert.deepEqual(viewer.frequencies(texts), [
    ["b", 3],
    ["a", 2],
  ]);
  assert.deepEqual(viewer.runs([]), []);
});

test("zero, an empty text and false are known", () => {
  assert.deepEqual([0, "", false, NaN].map(viewer.isKnown), [true, true, true, true]);
  assert.deepEqual([undefined, null].map(viewer.isKnown), [false, false]);
});

test(
  "a report has large integers with all their digits",
  { skip: !hasSource() && "this Node has no JSON source text" },
  () => {
    const { large, small, list } = viewer.parse(
      '{"large": -9223372036854775808, "small": 3, "list": [1234567890123456789]}',
    );
    assert.equal(large.digits, "-9223372036854775808");
    assert.equal(list[0].digits, "1234567890123456789");
    assert.equal(small, 3);
  },
);

function hasSource() {
  let source;
  JSON.parse("1", (key, value, context) => {
    source = context?.source;
  });
  return source === "1";
}

test("a page's data is compressed JSON", async () => {
  const stream = new Blob(['{"file": "größe.pte"}']).stream().pipeThrough(new CompressionStream("deflate"));
  const packed = Buffer.from(await new Response(stream).arrayBuffer()).toString("base64");
  assert.deepEqual(await viewer.unpack(`\n${packed}\n`), { file: "größe.pte" });
});
