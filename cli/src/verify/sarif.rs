//! The report as SARIF 2.1.0, the format for code scanning.

use super::page;
use crate::failure::Failure;
use crate::json::Form;
use executorch_format::verify::{Check, Finding, RULES, Severity};
use serde::Serialize;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Component, Path, Prefix};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Value>,
}

impl Location {
    fn of(path: &Path, finding: Option<&Finding>) -> Self {
        let region = finding.and_then(|finding| finding.offset).map(|offset| json!({"byteOffset": offset}));
        let field = finding.map(|finding| &finding.path).filter(|field| !field.is_empty());
        Self {
            physical_location: PhysicalLocation { artifact_location: json!({"uri": uri(path)}), region },
            logical_locations: field.map(|field| json!({"fullyQualifiedName": field})).into_iter().collect(),
        }
    }
}

/// The report. It is collected first, because SARIF is one document.
#[derive(Default)]
pub struct Sarif {
    results: Vec<Value>,
    artifacts: Vec<Value>,
    unreadable: Vec<Value>,
}

impl Sarif {
    /// Adds the findings in a file.
    pub fn add(&mut self, path: &Path, Check { findings, verdict, .. }: &Check) {
        let properties = json!({"verdict": verdict});
        self.artifacts.push(json!({"location": {"uri": uri(path)}, "properties": properties}));
        self.results.extend(findings.iter().map(|finding| {
            json!({
                "ruleId": finding.rule,
                "level": level(finding.severity),
                "message": {"text": finding.message},
                "locations": [Location::of(path, Some(finding))],
            })
        }));
    }

    /// Adds a file that cannot be read.
    pub fn add_failed(&mut self, path: &Path, failure: &Failure) {
        self.unreadable.extend(failure.messages().into_iter().map(
            |message| json!({"level": "error", "message": {"text": message}, "locations": [Location::of(path, None)]}),
        ));
    }

    /// Returns the document.
    pub fn document(self) -> Result<Vec<u8>, Failure> {
        let rules: Vec<_> = RULES
            .iter()
            .map(|rule| {
                let page = page::page(rule);
                let mut rule = json!({
                    "id": rule.name,
                    "shortDescription": {"text": page::sentence(rule)},
                    "fullDescription": {"text": page::sentence(rule)},
                    "help": {"text": page, "markdown": page},
                    "defaultConfiguration": {"level": level(rule.severity)},
                    "properties": {"checkedFrom": rule.level, "cve": rule.cve},
                    "helpUri": page::uri(rule),
                });
                if let Some(entry) = rule.as_object_mut().filter(|entry| entry["helpUri"].is_null()) {
                    entry.remove("helpUri");
                }
                rule
            })
            .collect();
        let mut out = Vec::new();
        let document = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "pte",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                }},
                "invocations": [{
                    "executionSuccessful": self.unreadable.is_empty(),
                    "toolExecutionNotifications": self.unreadable,
                }],
                "artifacts": self.artifacts,
                "results": self.results,
            }],
        });
        Form::INDENTED.write_line(&mut out, &document)?;
        Ok(out)
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Returns a relative reference with `/` between its parts, or a `file` URI.
fn uri(path: &Path) -> String {
    let percent = |part: &OsStr| percent(part.to_string_lossy().as_bytes());
    let mut start = if path.is_absolute() { "file:///".to_owned() } else { String::new() };
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(percent(part)),
            Component::ParentDir => parts.push("..".to_owned()),
            // Only on Windows.
            Component::Prefix(prefix) => match prefix.kind() {
                Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => parts.push(format!("{}:", char::from(letter))),
                Prefix::UNC(server, share) | Prefix::VerbatimUNC(server, share) => {
                    start = format!("file://{}/", percent(server));
                    parts.push(percent(share));
                }
                _ => {}
            },
            Component::RootDir | Component::CurDir => {}
        }
    }
    start + &parts.join("/")
}

/// Escapes all characters except RFC 3986's unreserved ones as `%XX`.
fn percent(part: &[u8]) -> String {
    let encode = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    part.iter().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_become_uris() {
        assert_eq!(uri(Path::new("./a b/ü#.pte")), "a%20b/%C3%BC%23.pte");
        #[cfg(unix)]
        assert_eq!(uri(Path::new("/tmp/../x.pte")), "file:///tmp/../x.pte");
        #[cfg(windows)]
        for (path, expected) in [
            (r"a b\x.pte", "a%20b/x.pte"),
            (r"C:\models\x.pte", "file:///C:/models/x.pte"),
            (r"\\?\C:\models\x.pte", "file:///C:/models/x.pte"),
            (r"\\server\share\x.pte", "file://server/share/x.pte"),
        ] {
            assert_eq!(uri(Path::new(path)), expected);
        }
    }
}
