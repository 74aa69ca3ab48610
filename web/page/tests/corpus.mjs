// Every file of some folders through the module: it answers each question, or says why not, and never ends.
// node corpus.mjs MODULE FOLDER…, where MODULE is the folder that web/build made.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const [module, ...folders] = process.argv.slice(2);
// Scripts of the page's worker: each defines names for those after it.
const script = (...path) => readFileSync(join(import.meta.dirname ?? ".", ...path), "utf8");
const scripts = [readFileSync(join(module, "page.js"), "utf8"), script("../vendor/fflate.min.js"), script("../zip.js")];
const { bindings, entriesOf } = new Function(
  "self",
  `${scripts.join(";\n")}; const fflate = self.fflate; return { bindings: wasm_bindgen, entriesOf };`,
)({});
bindings.initSync({ module: readFileSync(join(module, "page_bg.wasm")) });
const { Page, takes_entry } = bindings;
const parts = [
  "first",
  "size",
  "modules",
  "memory",
  "operators",
  "findings",
  "weights",
  "graphs",
  "names",
  "releases",
  "cases",
  "profile",
];
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile()),
);
let [read, refused] = [0, 0];
for (const path of files) {
  const bytes = readFileSync(path);
  const page = new Page();
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
    entries: () => entriesOf(bytes, takes_entry),
  };
  const added = ask("add", () => page.add(path, bytes.length, reader));
  if (added && !added.error) read += 1;
  else refused += 1;
  for (const part of parts) ask(part, () => page.part(part));
  ask("branch", () => page.branch(0, "", 0, false));
  page.free();
}
console.log(`${files.length} files: ${read} were read, ${refused} refused`);
if (!read || !refused) process.exit(1);
