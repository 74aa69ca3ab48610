// Loads scripts of the viewer and of the page for tests in Node, as a page does: one after the other, with common global names.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runInThisContext } from "node:vm";

const web = new URL("../../", import.meta.url);

// Runs scripts such as `viewer/text`, and returns the value of an expression after them.
export function load(names, expression) {
  for (const name of names) {
    const file = new URL(`${name}.js`, web);
    runInThisContext(readFileSync(file, "utf8"), { filename: fileURLToPath(file) });
  }
  return runInThisContext(expression);
}

// The viewer after some of its scripts, which follow those that all need. Its page has the views `views`.
export function loadViewer(names, views = []) {
  const viewer = load(
    ["base", "text", ...names].map((name) => `viewer/${name}`),
    "viewer",
  );
  viewer.has = (name) => views.includes(name);
  return viewer;
}

// The names that scripts of the page share, after some of them.
export function loadPage(names) {
  globalThis.page = {};
  loadViewer(["names", "releases"]);
  return load(
    names.map((name) => `page/${name}`),
    "({ page, viewer })",
  );
}
