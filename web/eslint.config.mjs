// Run from the root of the repository: `npm --prefix web run lint`.
import js from "@eslint/js";
import globals from "globals";

// Scripts of one page share names: each is defined by one of them and only read by the others.
const shared = (...names) => Object.fromEntries(names.map((name) => [name, "readonly"]));
const scripts = (files, names) => ({ files, languageOptions: { sourceType: "script", globals: names } });

export default [
  { ignores: ["**/vendor/**", "**/node_modules/**"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024 },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      complexity: ["error", 16],
      eqeqeq: "error",
      "max-depth": ["error", 4],
      "max-len": [
        "error",
        { code: 160, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true },
      ],
      "max-lines": ["error", 600],
      "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
      "no-implicit-globals": ["error", { lexicalBindings: false }],
      "no-unused-vars": ["error", { caughtErrors: "all" }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  scripts(["web/viewer/*.js"], { ...globals.browser, ...shared("d3", "viewer") }),
  scripts(["web/page/*.js"], {
    ...globals.browser,
    ...shared("page", "packedModule", "sampleFiles", "viewer", "workerSource"),
  }),
  scripts(["web/page/worker.js", "web/page/zip.js"], {
    ...globals.worker,
    ...shared("entriesOf", "fflate", "wasm_bindgen"),
  }),
  // These define what the others share.
  {
    files: ["web/viewer/base.js", "web/page/start.js", "web/page/zip.js"],
    rules: { "no-redeclare": ["error", { builtinGlobals: false }] },
  },
  { files: ["web/viewer/*.js", "web/page/*.js"], rules: { strict: ["error", "function"] } },
  { files: ["web/npm/*.js"], languageOptions: { sourceType: "module", globals: globals["shared-node-browser"] } },
  { files: ["**/*.mjs", "web/npm/node.js"], languageOptions: { globals: globals.node } },
];
