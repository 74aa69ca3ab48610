//! JSON Schemas of all documents, generated from the types that are serialized.

use crate::json::{FORMAT, Failed, OnlyFailed};
use crate::{
    contract, convert, debug, diff, disasm, dump, edit, fit, graph, hash, info, list, memory, ops, profile, report,
    size, verify,
};
use regex_lite::Regex;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A document that commands print with `--json`.
pub struct Document {
    /// The name of its file in `docs/schema`.
    pub name: &'static str,
    /// The commands that print it.
    pub commands: &'static [&'static str],
    /// The options or files that make a command print it, besides `--json`.
    condition: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The commands that change files.
const EDITS: &[&str] = &[
    "bundle",
    "bundle create",
    "dedup",
    "externalize",
    "internalize",
    "metadata",
    "ptd create",
    "ptd filter",
    "ptd merge",
    "ptd rename",
    "ptd split",
    "replace",
    "rewrite",
    "select",
    "strip",
];

/// Every document.
const DOCUMENTS: &[Document] = &[
    document("bundle", &["bundle"], "", files::<edit::bundle::Listing>),
    document("fit", &["fit"], "--target", files::<fit::FileFit>),
    document("contract", &["info"], "--contract", files::<contract::FileContract>),
    document("contract-changes", &["diff"], "--contract", whole::<contract::ContractBreaks>),
    document("convert", &["convert"], "", whole::<convert::Outcome>),
    document("dedup-several", &["dedup"], "several files", whole::<edit::dedup::Common>),
    document("debug", &["debug"], "", whole::<debug::Recorded>),
    document("debug-gaps", &["debug"], "--before or --reference", whole::<debug::Gaps>),
    document("diff", &["diff"], "", whole::<diff::Comparison>),
    document("diff-folders", &["diff"], "--recursive", files::<diff::folders::Pair>),
    document("disasm", &["disasm"], "", files::<disasm::FileDisassembly>),
    document("dump", &["dump"], "", files::<dump::Dump>),
    document("edit", EDITS, "a change", whole::<edit::Outcome>),
    document("extract", &["extract"], "", files::<edit::extract::FileBlobs>),
    document("graph", &["graph"], "", files::<graph::FileGraphs>),
    document("hash", &["hash"], "", files::<hash::FileHash>),
    document("hash-check", &["hash"], "--check", files::<hash::FileCheck>),
    document("info", &["info"], "", files::<info::Info>),
    document("list", &["list"], "", files::<list::Listing>),
    document("memory", &["memory"], "", files::<memory::FileMemory>),
    document("metadata", &["metadata"], "", files::<edit::metadata::Listing>),
    document("ops", &["ops"], "", files::<ops::FileOperators>),
    document("ops-delegated", &["ops"], "--delegated", files::<ops::delegated::FileDelegation>),
    document("ops-merge", &["ops"], "--merge", whole::<ops::MergedOperators>),
    document("profile", &["profile"], "", files::<profile::FileProfile>),
    document("profile-before", &["profile"], "--before", whole::<profile::Comparison>),
    document("profile-operators", &["profile"], "--by operator", files::<profile::FileTimes>),
    document("report", &["report"], "", files::<report::Page>),
    document("rules", &["verify"], "--rules", whole::<verify::Rules>),
    document("size", &["size"], "", files::<size::FileSize>),
    document("size-shared", &["size"], "--shared", whole::<size::shared::SharedSizes>),
    document("size-growth", &["size"], "two files", whole::<size::TwoSizes>),
    document("verify", &["verify"], "", files::<verify::output::CheckedFile>),
    document("verify-runtime", &["verify"], "--runtime", files::<verify::runtimes::FileReleases>),
];

const fn document(
    name: &'static str,
    commands: &'static [&'static str],
    condition: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
) -> Document {
    Document { name, commands, condition, schema }
}

/// Returns every document with its JSON Schema (draft 2020-12).
pub fn schemas() -> impl Iterator<Item = (&'static Document, Value)> {
    DOCUMENTS.iter().map(|document| (document, document.schema()))
}

impl Document {
    fn schema(&self) -> Value {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let dialect = settings.meta_schema.clone();
        let mut generator = settings.into_generator();
        let mut schema = (self.schema)(&mut generator);
        let condition = if self.condition.is_empty() { String::new() } else { format!(" ({})", self.condition) };
        schema.insert("title".to_owned(), format!("pte {} --json{condition}", self.commands.join(", pte ")).into());
        schema.insert("$schema".to_owned(), dialect.into());
        let mut definitions = generator.take_definitions(true);
        close(schema.as_object_mut(), &mut definitions);
        schema.insert("$defs".to_owned(), definitions.into());
        schema.to_value()
    }
}

/// Returns the schema of a document with an entry for each file.
fn files<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["format", "files"],
        "properties": {
            "format": {"const": FORMAT},
            "files": {
                "type": "array",
                "items": {"anyOf": [generator.subschema_for::<T>(), generator.subschema_for::<Failed>()]},
            },
        },
    })
}

/// Returns the schema of a document about several files together, or with the error that ended the command.
fn whole<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let document = [T::json_schema(generator), OnlyFailed::json_schema(generator)].map(with_format);
    json_schema!({"anyOf": document})
}

fn with_format(mut schema: Schema) -> Schema {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("format".to_owned(), serde_json::json!({"const": FORMAT}));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.insert(0, "format".into());
    }
    schema
}

/// Forbids unknown fields. The parts of an object that combines fields of several types stay open; the object itself is closed.
fn close(schema: Option<&mut Map<String, Value>>, definitions: &mut Map<String, Value>) {
    let mut parts = BTreeSet::new();
    // No part has parts of its own: outputs would not fit their schemas, which are tested.
    let mut finding = Closing { parts: &mut parts, closes: false };
    for definition in definitions.values_mut() {
        finding.visit(definition, false);
    }
    let mut closing = Closing { parts: &mut parts, closes: true };
    for (name, definition) in definitions {
        let is_part = closing.parts.contains(name);
        closing.visit(definition, is_part);
    }
    if let Some(schema) = schema {
        closing.visit_object(schema, false);
    }
}

struct Closing<'p> {
    /// The definitions that are parts of objects.
    parts: &'p mut BTreeSet<String>,
    closes: bool,
}

impl Closing<'_> {
    fn visit(&mut self, schema: &mut Value, is_part: bool) {
        if let Some(schema) = schema.as_object_mut() {
            self.visit_object(schema, is_part);
        }
    }

    fn visit_object(&mut self, schema: &mut Map<String, Value>, is_part: bool) {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        let reference = reference.map(str::to_owned);
        let has_fields = schema.contains_key("properties");
        let has_parts = schema.contains_key("allOf")
            || has_fields && ["anyOf", "oneOf", "$ref"].iter().any(|part| schema.contains_key(*part));
        let is_open = schema.contains_key("additionalProperties");
        if let Some(name) = &reference {
            if is_part || has_parts {
                self.parts.insert(name.clone());
            }
        }
        let refers_to_part = reference.is_some_and(|name| self.parts.contains(&name));
        if self.closes && !is_part && !is_open {
            if has_parts || refers_to_part {
                schema.insert("unevaluatedProperties".to_owned(), false.into());
            } else if has_fields {
                schema.insert("additionalProperties".to_owned(), false.into());
            }
        }
        if self.closes {
            forbid_null(schema);
        }
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                ("description", Value::String(text)) if self.closes => *text = plain(text),
                ("anyOf" | "oneOf" | "allOf", Value::Array(parts)) => {
                    parts.iter_mut().for_each(|part| self.visit(part, is_part || has_parts));
                }
                ("prefixItems", Value::Array(items)) => items.iter_mut().for_each(|item| self.visit(item, false)),
                ("properties", Value::Object(fields)) => {
                    fields.iter_mut().for_each(|(_, field)| self.visit(field, false));
                }
                ("items" | "additionalProperties", value) => self.visit(value, false),
                _ => {}
            }
        }
    }
}

/// Removes `null` from a field that is left out instead.
fn forbid_null(schema: &mut Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let optional = fields.iter_mut().filter(|(name, _)| !required.iter().any(|other| other == *name));
    for field in optional.filter_map(|(_, field)| field.as_object_mut()) {
        if let Some(types) = field.get_mut("type").and_then(Value::as_array_mut) {
            types.retain(|name| name != "null");
            if let [only] = &types[..] {
                let only = only.clone();
                field.insert("type".to_owned(), only);
            }
        }
        if let Some(forms) = field.get_mut("anyOf").and_then(Value::as_array_mut) {
            forms.retain(|form| form["type"] != "null");
            if let [Value::Object(only)] = &mut forms[..] {
                let only = std::mem::take(only);
                field.remove("anyOf");
                let description = field.remove("description");
                field.extend(only);
                field.extend(description.map(|text| ("description".to_owned(), text)));
            }
        }
    }
}

/// Returns the documentation of a type or field without links, with JSON's name for `None`.
fn plain(documentation: &str) -> String {
    static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[(`[^`]+`)\](\([^)]*\))?").ok());
    let text = LINK.as_ref().map_or(documentation.into(), |link| link.replace_all(documentation, "$1"));
    let text = text.replace("`None`", "`null`");
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_with_json_has_a_document() {
        fn commands(command: &clap::Command, prefix: &str, found: &mut BTreeSet<String>) {
            for command in command.get_subcommands() {
                let name = format!("{prefix}{}", command.get_name());
                if command.get_arguments().any(|argument| argument.get_id() == "json") {
                    found.insert(name.clone());
                }
                commands(command, &format!("{name} "), found);
            }
        }
        let mut found = BTreeSet::new();
        commands(&crate::help::command(&crate::context::Context::default()), "", &mut found);
        let stated = DOCUMENTS.iter().flat_map(|document| document.commands).map(|name| (*name).to_owned());
        assert_eq!(found, stated.collect());
    }
}
