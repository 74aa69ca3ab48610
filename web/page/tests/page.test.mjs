// Files and their roles, ranges of bytes, and what views compute.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadPage } from "../../viewer/tests/scripts.mjs";

const { page, viewer } = loadPage(["roles", "ranges", "bytes", "fault", "compare", "payloads", "tree"]);

test("programs are opened first, whatever the order of files", () => {
  const files = ["w.ptd", "a.PTE", "t.etdp", "b.bpte"].map((name) => ({ name }));
  const sorted = page.programsFirst(files).map(({ name }) => name);
  assert.deepEqual(sorted, ["a.PTE", "b.bpte", "w.ptd", "t.etdp"]);
  assert.equal(files[0].name, "w.ptd");
});

test("each file has one role", () => {
  const roles = { main: 0, others: [1, 6], data: [2], trace: 3, names: [4] };
  const text = (index, file) => page.roleText({ file, kind: "pte" }, index, roles);
  assert.equal(text(0, "a.pte"), "shown");
  assert.equal(page.roleText({ file: "a.pte", error: {} }, 0, roles), "not readable");
  assert.equal(text(1, "b.pte"), "compared with the shown file");
  assert.equal(text(6, "c.pte"), "beside the shown file");
  assert.equal(text(2, "w.ptd"), "weights of the program");
  assert.equal(text(3, "t.etdp"), "times of the program");
  assert.equal(text(4, "n.etrecord"), "names for the program");
  assert.equal(text(5, "c.pte"), "not used");
  assert.match(text(5, "x.ptd"), /Start over/);
});

test("a file that is not used has its error or its misfit", () => {
  const roles = { main: 0, names: [2] };
  assert.equal(page.fault({ error: { message: "broken" } }, 0, roles), undefined);
  assert.equal(page.fault({ error: { message: "broken" } }, 1, roles), "broken");
  assert.equal(page.fault({ error: { message: "no kind" } }, 2, roles, ["of another program"]), "of another program");
  assert.equal(page.fault({ error: { message: "no kind" } }, 2, roles), undefined);
});

test("parts are requested that a file has, in the order of their views", () => {
  const parts = (kind, report = {}, roles = {}) =>
    page.parts({ summary: { kind }, ...report }, { others: [], trace: null, ...roles });
  assert.deepEqual(parts("ptd"), ["size", "findings", "weights", "releases"]);
  assert.deepEqual(parts("pte", { program_offset: 0 }, { others: [1], names: [2], trace: 3 }), [
    "compare",
    "names",
    "size",
    "modules",
    "memory",
    "operators",
    "macs",
    "findings",
    "weights",
    "graphs",
    "releases",
    "models",
    "cases",
    "profile",
  ]);
  assert.deepEqual(parts("etdp"), ["size", "findings", "weights", "profile"]);
  assert.deepEqual(page.parts({ error: {} }, {}), ["findings", "releases"]);
});

test("external weights are in the data files that can be read", () => {
  const files = [{ file: "a.pte" }, { file: "broken.ptd", error: {} }, { file: "b.ptd" }];
  const weights = [{ data: 0 }, { name: "inside" }];
  page.locate(weights, files, { data: [1, 2] });
  assert.deepEqual(weights, [{ data: 0, index: 2, file: "b.ptd" }, { name: "inside" }]);
});

test("a range is read as it was written", () => {
  assert.deepEqual(page.parseRange(page.range(1, 4096, 16)), { index: 1, start: 4096, size: 16 });
  assert.deepEqual(page.parseRange(page.range(0, 7)), { index: 0, start: 7, size: 0 });
  for (const text of [undefined, "", "1:", "1:2+", "1:-2", "1:2+3x"])
    assert.equal(page.parseRange(text), undefined, text);
});

test("offsets are decimal or hexadecimal", () => {
  assert.equal(page.parseOffset(" 4096 "), 4096);
  assert.equal(page.parseOffset("0X1f"), 31);
  for (const text of ["", "1f", "-1", "1.5", "1e3"]) assert.ok(Number.isNaN(page.parseOffset(text)), text);
});

test("a pattern is a text, or at least two bytes in hexadecimal", () => {
  const bytes = (text) => [...page.parsePattern(text)];
  assert.deepEqual(bytes("45 54 31 32"), [0x45, 0x54, 0x31, 0x32]);
  assert.deepEqual(bytes(" ff\t00 "), [255, 0]);
  assert.deepEqual(bytes("ET12"), [0x45, 0x54, 0x31, 0x32]);
  assert.deepEqual(bytes("45"), [0x34, 0x35]);
  assert.deepEqual(bytes("µ"), [0xc2, 0xb5]);
});

test("a row has 16 cells, and its text, also at the end of a file", () => {
  const bytes = Uint8Array.from([...Array(16).keys(), 0x41, 0x7f, 0xff]);
  const { offset, cells, text } = page.hexRow(bytes, 1, 32, 8, (at) => at === 49);
  assert.equal(offset, "00000030");
  assert.equal(cells.length, 16);
  assert.deepEqual(cells.slice(0, 4), [
    { text: "41", isMarked: false },
    { text: "7f", isMarked: true },
    { text: "ff", isMarked: false },
    { text: "  ", isMarked: false },
  ]);
  assert.equal(text, `A··${" ".repeat(13)}`);
});

test("a range is described, also one that the file does not have", () => {
  assert.equal(page.rangeText(10, 0, 2000), "Byte 10 of 2,000.");
  assert.equal(page.rangeText(10, 1000, 2000), "1,000 bytes from 10 are marked.");
  assert.equal(page.rangeText(2000, 1, 2000), "The file ends before byte 2,000: it has 2,000 bytes.");
});

test("a byte is of a weight in its own file, or else of a part", () => {
  viewer.link = (act, text) => text;
  page.roles = { main: 0 };
  page.report = {
    program_offset: 1000,
    weights: [
      { name: "w", offset: 64, size: 8, users: [] },
      { name: "x", index: 1, offset: 64, size: 8, users: [] },
    ],
    size: { parts: [{ kind: "padding", offset: 72, size: 8 }] },
  };
  const owner = (index, at) => page.owner(index, at).join("");
  assert.equal(owner(0, 1067), " It is byte 3 of w.");
  assert.equal(owner(1, 67), " It is byte 3 of x.");
  assert.equal(owner(0, 1072), " It is in padding: unused bytes that align the data.");
  assert.equal(owner(1, 72), "");
  assert.equal(owner(0, 67), "");
});

test("the name of a download is one of a file, whatever the weight is called", () => {
  assert.equal(page.clean("layers.0/weight <1>"), "layers.0_weight_1_");
  assert.equal(page.clean("../../.profile"), "_.._.profile");
  assert.equal(page.clean("..."), "data");
  assert.equal(page.clean(""), "data");
  assert.equal(page.clean("a".repeat(200)).length, 100);
});

test("differences are filtered by subject and by any column", () => {
  const rows = [
    { subject: "metadata_value", kind: "changed", method: "forward", name: "x", before: "1", after: "7" },
    { subject: "weight", kind: "changed", name: "w", distance: { changed: 2, elements: 10, absolute: 0.5 } },
  ];
  const filtered = (subject, text) => page.filteredDifferences(rows, subject, text).map((row) => row.name);
  assert.deepEqual(filtered("", ""), ["x", "w"]);
  assert.deepEqual(filtered("weight", ""), ["w"]);
  assert.deepEqual(filtered("", "METADATA VALUE"), ["x"]);
  assert.deepEqual(filtered("", "by up to 0.5"), ["w"]);
  assert.deepEqual(filtered("weight", "forward"), []);
});

test("a damaged file says what happened to it, or else the error", () => {
  const error = { message: "truncated: …" };
  const text = (more) => page.explanation({ error, ...more });
  assert.equal(
    text({ kind: ".pte", damage: "the file is incomplete: fetch it again" }),
    "The file is incomplete: fetch it again.",
  );
  assert.equal(text({ kind: ".pte" }), "It cannot be read: truncated: ….");
  assert.equal(text({ error: { message: "not a .pte file: a web page" } }), "Not a .pte file: a web page.");
});

test("differences come by their meaning, and those whose names mean nothing are folded", () => {
  const hash = "a".repeat(64);
  const rows = [
    { subject: "key", kind: "changed", name: hash },
    { subject: "key", kind: "added", name: "grammar" },
    { subject: "payload", kind: "changed", name: "0 xnodes" },
    { subject: "weight", kind: "changed", name: "%3" },
    { subject: "weight", kind: "changed", name: "%4", tensor_name: "head.weight" },
    { subject: "metadata", kind: "changed", name: "get_eos_ids" },
    { subject: "operator", kind: "removed", name: "aten::mul.out" },
    { subject: "input", kind: "changed", name: "0" },
    { subject: "unused_value", kind: "added", name: "%9" },
  ];
  const { shown, folded } = page.byMeaning(rows);
  const names = shown.map((row) => row.tensor_name ?? row.name);
  assert.deepEqual(names, ["0", "get_eos_ids", "aten::mul.out", "head.weight", "%3", "grammar"]);
  const groups = folded.map(([name, rows]) => [name, rows.length]);
  assert.deepEqual(groups, [
    ["fields inside payloads", 1],
    ["values without users", 1],
    ["keys that are hashes", 1],
  ]);
  assert.deepEqual(page.changeCounts(rows.slice(3)), [
    "1 input changed",
    "1 metadata changed",
    "1 operator removed",
    "2 weights changed",
    "1 unused value added",
  ]);
  assert.deepEqual(page.changeCounts([...rows.slice(0, 1), ...rows.slice(0, 1)]), ["2 keys changed"]);
});

test("the parts of a payload are one, in the order of the file", () => {
  const users = (index) => [{ method: "forward", index }];
  const parts = [
    { kind: "delegate", name: "B", offset: 500, size: 10, users: users(1) },
    { kind: "constant", offset: 0, size: 4, users: [] },
    { kind: "delegate", name: "A", offset: 120, size: 30, users: users(0) },
    { kind: "delegate", name: "A", offset: 100, size: 20, users: users(0) },
    { kind: "delegate", name: "C", size: 20, users: users(2) },
  ];
  const found = page.payloads(parts).map(({ name, start, size }) => [name, start, size]);
  assert.deepEqual(found, [
    ["A", 100, 50],
    ["B", 500, 10],
  ]);
});

test("releases are ranges, and a reason is its message or its parts", () => {
  assert.equal(viewer.releasesText({ outcome: "none" }), "no release of ExecuTorch");
  assert.equal(viewer.releasesText({ outcome: "unknown" }), "not known");
  const ranges = [
    ["0.4", "0.6"],
    ["1.5", "1.5"],
  ];
  assert.equal(viewer.releasesText({ outcome: "some", ranges }), "0.4 to 0.6, 1.5");
  const kernels = [
    { library: "cortex_m", operators: ["a", "b"], count: 7 },
    { library: "x", operators: ["c"], count: 1 },
  ];
  assert.equal(viewer.kernelsText(kernels), "cortex_m: a, b, … (7); x: c");
  assert.equal(viewer.reason("no header"), "no header");
  assert.equal(viewer.reason({ message: "broken", path: "x" }), "broken");
  assert.equal(viewer.reason({ path: "x", found: 3 }), "x: 3");
});

test("a place of the tree is of a file, or of the bundle around a program", () => {
  assert.deepEqual(page.parseTreePlace("2:a[0].b"), { index: 2, isBundle: false, path: "a[0].b" });
  assert.deepEqual(page.parseTreePlace("0b:"), { index: 0, isBundle: true, path: "" });
  assert.equal(page.parseTreePlace("a[0]"), undefined);
  assert.equal(page.parseTreePlace(undefined), undefined);
});

test("a path leads through nodes, not through names that start alike", () => {
  assert.ok(page.isWithin("a.values[3]", "a.values"));
  assert.ok(page.isWithin("a.values[3]", "a"));
  assert.ok(page.isWithin("a", "a"));
  assert.ok(!page.isWithin("a.values[3]", "a.val"));
  assert.ok(!page.isWithin("a.values[31]", "a.values[3]"));
});

test("a branch starts at a multiple of what the worker returns", () => {
  assert.equal(page.branchStart("[399].x"), 200);
  assert.equal(page.branchStart("[400]"), 400);
  assert.equal(page.branchStart("[5]"), 0);
  assert.equal(page.branchStart(".name"), 0);
});
