// Every file of some folders through the module: it answers each question, or says why not, and never ends; and what the views compute from
// its answers makes sense. node corpus.mjs MODULE FOLDER…, where MODULE is the folder that web/build made.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { load } from "../../viewer/tests/scripts.mjs";
import { checkViews } from "./views.mjs";

const [module, ...folders] = process.argv.slice(2);
// Scripts of the page's worker: each defines names for those after it.
globalThis.self = globalThis;
runInThisContext(readFileSync(join(module, "page.js"), "utf8"));
const { bindings, entriesOf } = load(["page/vendor/fflate.min", "page/zip"], "({ bindings: wasm_bindgen, entriesOf })");
bindings.initSync({ module: readFileSync(join(module, "page_bg.wasm")) });

// All parts except the comparison with a second file.
const PARTS = load(["page/roles"], "page")
  .parts({ summary: { kind: "pte" }, program_offset: 0 }, { others: [0], names: [0], trace: 0 })
  .filter((part) => part !== "compare");

// The report of a file, with the parts that it has.
function reportOf(path) {
  const bytes = readFileSync(path);
  const page = new bindings.Page();
  const ask = (what, question) => {
    try {
      return JSON.parse(question());
    } catch (error) {
      // The module's own errors are texts.
      if (typeof error !== "string") throw new Error(`${path}: ${what}`, { cause: error });
      return undefined;
    }
  };
  const reader = {
    read: (start, size) => bytes.subarray(start, start + size),
    entries: () => entriesOf(bytes, bindings.takes_entry),
  };
  const added = ask("add", () => page.add(path, bytes.length, reader));
  const report = { ...ask("first", () => page.part("first")), isRead: Boolean(added && !added.error) };
  for (const part of PARTS) report[part] = ask(part, () => page.part(part)) ?? undefined;
  ask("branch", () => page.branch(0, "", 0, false));
  page.free();
  return report;
}

const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile()),
);
let read = 0;
for (const path of files) {
  const report = reportOf(path);
  if (report.isRead) read += 1;
  try {
    checkViews(report);
  } catch (error) {
    throw new Error(path, { cause: error });
  }
}
console.log(`${files.length} files: ${read} were read, ${files.length - read} refused`);
assert.ok(read > 0 && read < files.length);
