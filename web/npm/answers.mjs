// Writes the types of answers, from the JSON Schemas of the command: node answers.mjs SCHEMAS > answers.d.ts, where SCHEMAS is docs/schema.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "json-schema-to-typescript";

const folder = process.argv[2];
const read = (name) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")).$defs;
const definitions = { ...read("info"), ...read("fit"), ...read("report") };
// Parts of these that are not answers here.
const { missing, unknown } = definitions.Verdict.properties;
const { findings, graphs, memory, operators, size, summary, weights } = definitions.Page.properties;
for (const name of ["Page", "Failed", "Info", "Verdict"]) delete definitions[name];
const object = (title, properties) => ({
  title,
  type: "object",
  additionalProperties: false,
  properties,
  required: Object.keys(properties),
});
const releases = object("Releases", {
  loads_in: { $ref: "#/$defs/LoadsIn" },
  releases: { type: "array", items: { $ref: "#/$defs/ReleaseVerdict" } },
});

// A reference with a description would become a type of its own.
function plain(schema) {
  if (Array.isArray(schema)) return schema.map(plain);
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) return { $ref: schema.$ref };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, plain(value)]));
}
// The values that an exporter chose may need all 64 bits.
const integer = definitions.Returned.anyOf.find(({ type }) => type === "integer");
integer.tsType = "number | bigint";

const fit = object("Fit", { missing, unknown });
const answers = plain({
  ...object("Answers", { findings, fit, graphs, memory, operators, releases, size, summary, weights }),
  $defs: definitions,
});
const banner = "// Made by answers.mjs from the JSON Schemas of the command `pte`.";
process.stdout.write(
  await compile(answers, "Answers", { bannerComment: banner, additionalProperties: false, style: { printWidth: 140 } }),
);
