import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { answersSchema } from "../schema.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../../../docs/schema/${name}.json`, import.meta.url), "utf8"));
const schema = answersSchema(read);

// Every object in a schema.
function* objects(value) {
  if (value === null || typeof value !== "object") return;
  yield value;
  for (const part of Object.values(value)) yield* objects(part);
}

test("every answer of the API has a schema", () => {
  const names = ["findings", "fit", "graphs", "memory", "operators", "releases", "size", "summary", "weights"];
  assert.deepEqual(Object.keys(schema.properties), names);
  assert.deepEqual(schema.required, names);
  for (const [name, property] of Object.entries(schema.properties)) assert.ok(property, name);
  assert.deepEqual(schema.properties.fit.required, ["missing", "unknown", "verdict"]);
  for (const property of Object.values(schema.properties.fit.properties)) assert.ok(property);
});

test("every reference is to a definition, and has nothing beside it", () => {
  const references = [...objects(schema)].filter((part) => typeof part.$ref === "string");
  assert.ok(references.length > 50, `${references.length} references`);
  for (const reference of references) {
    assert.deepEqual(Object.keys(reference), ["$ref"]);
    assert.ok(schema.$defs[reference.$ref.replace("#/$defs/", "")], reference.$ref);
  }
});

test("integers that an exporter chose may be bigints", () => {
  const types = schema.$defs.Returned.anyOf.map(({ type, tsType }) => [type, tsType]);
  assert.deepEqual(
    types.filter(([, tsType]) => tsType),
    [["integer", "number | bigint"]],
  );
});

test("the command's schemas are not changed", () => {
  const documents = Object.fromEntries(["info", "fit", "report"].map((name) => [name, read(name)]));
  const before = JSON.stringify(documents);
  answersSchema((name) => documents[name]);
  assert.equal(JSON.stringify(documents), before);
});
