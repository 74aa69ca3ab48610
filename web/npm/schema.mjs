// The JSON Schema of the package's answers, from those of the command.

const object = (title, properties) => ({
  title,
  type: "object",
  additionalProperties: false,
  properties,
  required: Object.keys(properties),
});

// A reference with a description would become a type of its own.
function plain(schema) {
  if (Array.isArray(schema)) return schema.map(plain);
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) return { $ref: schema.$ref };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, plain(value)]));
}

/** Returns the schema of all answers. `read` returns the schema of a document of the command, such as `info`. */
export function answersSchema(read) {
  const definitions = structuredClone({ ...read("info").$defs, ...read("fit").$defs, ...read("report").$defs });
  const { missing, unknown, verdict } = definitions.FileFit.properties;
  const { findings, graphs, memory, operators, size, summary, weights } = definitions.Page.properties;
  // Parts of the command's documents that are not answers here.
  for (const name of ["Page", "Failed", "FileFit", "Info"]) delete definitions[name];
  // The values that an exporter chose may need all 64 bits.
  const integer = definitions.Returned.anyOf.find(({ type }) => type === "integer");
  integer.tsType = "number | bigint";
  const fit = object("Fit", { missing, unknown, verdict });
  const releases = object("Releases", {
    loads_in: { $ref: "#/$defs/LoadsIn" },
    releases: { type: "array", items: { $ref: "#/$defs/ReleaseVerdict" } },
  });
  const answers = { findings, fit, graphs, memory, operators, releases, size, summary, weights };
  return plain({ ...object("Answers", answers), $defs: definitions });
}
