// Tests the package on the test files, the malformed corpus and the fuzzers' regressions: node --test web/npm/test.mjs, with the folder of the package
// in PACKAGE.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const data = join(root, "tests/data");
const fixture = (name) => join(data, name);
const { FileError, open, verify } = await import(pathToFileURL(join(process.env.PACKAGE, "node.js")));

test("a path, a URL, bytes and a Blob give the same answers", async () => {
  const path = fixture("1.5.1/multi_method/multi_method.pte");
  const bytes = readFileSync(path);
  const sources = [
    path,
    pathToFileURL(path),
    bytes,
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    new Blob([bytes]),
  ];
  const answers = [];
  for (const source of sources) {
    const model = await open(source);
    answers.push(
      JSON.stringify([
        model.summary.methods,
        model.size.parts,
        model.memory,
        model.operators,
        model.releases,
        model.tensors,
        model.verify(),
      ]),
    );
    assert.ok(model.graphs.length > 0);
    model.close();
  }
  assert.equal(new Set(answers).size, 1);
  await assert.rejects(open(42), TypeError);
  await assert.rejects(open(fixture("no-such-file.pte")), { code: "ENOENT" });
  await assert.rejects(open(data), TypeError);
});

test("integers keep all their digits", async () => {
  const model = await open(fixture("1.5.1/multi_method/multi_method.pte"));
  const value = model.summary.metadata.find(({ name }) => name === "get_neg").value;
  assert.equal(value, -9223372036854775808n);
  model.close();
});

test("tensors are bytes and NumPy files, also of .ptd files and bundles", async () => {
  const program = fixture("1.5.1/add_mul_external/add_mul_external.pte");
  const weights = fixture("1.5.1/add_mul_external/_default_external_constant.ptd");
  const model = await open(program, { data: [weights] });
  const external = model.tensors.filter(({ key }) => key !== undefined);
  assert.ok(external.length > 0);
  const file = readFileSync(weights);
  for (const tensor of external) {
    assert.deepEqual(Buffer.from(model.bytes(tensor)), file.subarray(tensor.offset, tensor.offset + tensor.size));
    const npy = Buffer.from(model.npy(tensor));
    assert.equal(npy.subarray(1, 6).toString(), "NUMPY");
    assert.deepEqual(npy.subarray(-tensor.size), Buffer.from(model.bytes(tensor)));
  }
  model.close();
  assert.throws(() => model.bytes(external[0]), /closed/);
  model.close();

  const alone = await open(program);
  assert.throws(() => alone.bytes(alone.tensors.find(({ key }) => key !== undefined)), /no file/);
  alone.close();
  await assert.rejects(open(weights, { data: [program] }), TypeError);

  const bundle = await open(fixture("1.5.1/bundled/bundled.bpte"));
  for (const tensor of bundle.tensors) assert.equal(bundle.bytes(tensor).length, tensor.size);
  bundle.close();
});

test("a device lacks what it does not have", async () => {
  const model = await open(fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte"));
  const { needs, ...fit } = model.fit({ runtime: "1.5", backends: ["XnnpackBackend"], libraries: ["portable"] });
  assert.deepEqual(fit, { kernels: [], missing: [], unknown: [], verdict: { outcome: "runs", because: [] } });
  assert.deepEqual(
    needs.methods.map((method) => [method.name, method.backends.map((backend) => backend.name)]),
    [["forward", ["XnnpackBackend"]]],
  );
  assert.ok(model.fit({ backends: [], arena: "1 B" }).missing.length >= 2);
  assert.throws(() => model.fit({ arenas: 1 }), /target: unknown field/);
  model.close();
});

test("a damaged file is an error with a finding, and verify lists it", async () => {
  const bytes = readFileSync(fixture("1.5.1/add/add.pte")).subarray(0, 300);
  await assert.rejects(
    open(bytes, { name: "upload.pte" }),
    (error) =>
      error instanceof FileError && error.finding.severity === "error" && error.message.startsWith("upload.pte: "),
  );
  const [finding] = await verify(bytes);
  assert.ok(finding.rule && finding.message);
  const overflow = await verify(fixture("malformed/CVE-2025-30404.pte"));
  assert.ok(overflow.some(({ rule, cve }) => rule === "planned-memory-overflow" && cve));
  assert.deepEqual(await verify(fixture("1.5.1/add/add.pte")), []);
});

test("every file of the corpus is answered or refused", async () => {
  const folders = [data, join(root, "fuzz/regressions")];
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile()),
  );
  let read = 0;
  for (const path of files) {
    try {
      const model = await open(path);
      read += 1;
      for (const part of ["summary", "size", "memory", "operators", "releases", "tensors"])
        assert.notEqual(model[part], undefined, `${path}: ${part}`);
      model.verify();
      model.close();
    } catch (error) {
      assert.ok(error instanceof FileError, `${path}: ${error.stack}`);
      assert.ok((await verify(path)).length > 0, path);
    }
  }
  assert.ok(read > 400 && read < files.length, `${read} of ${files.length} files`);
});
