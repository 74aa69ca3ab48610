// Writes the types of answers, from the JSON Schemas of the command: node answers.mjs SCHEMAS > answers.d.ts, where SCHEMAS is docs/schema.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "json-schema-to-typescript";
import { answersSchema } from "./schema.mjs";

const folder = process.argv[2];
const schema = answersSchema((name) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")));
const types = await compile(schema, "Answers", {
  bannerComment: "// Made by answers.mjs from the JSON Schemas of the command `pte`.",
  additionalProperties: false,
  style: { printWidth: 140 },
});
process.stdout.write(types);
