//! A program's metadata: methods that return a constant, and named data under `metadata.`.

use super::change::change;
use super::report::{Action, EditReport, Subject};
use super::segments;
use crate::analysis::LIST;
use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::inspect::Returned;
use crate::schema::program::{EValue, ExecutionPlan, NamedData};
use alloc::{format, string::String, vec, vec::Vec};

/// The prefix of keys of named data that is metadata.
pub const METADATA_PREFIX: &str = "metadata.";

/// An entry of a program's metadata.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Metadata<'t> {
    /// The name of the method, or the key.
    pub name: &'t str,
    /// The value.
    pub content: MetadataContent<'t>,
}

/// The value of an entry of a program's metadata.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum MetadataContent<'t> {
    /// The value that a constant method returns.
    Method(Returned<'t>),
    /// Named data, which has no type: the bytes in every type that fits them.
    Bytes {
        /// The size, in bytes.
        size: usize,
        /// The bytes as UTF-8, if they contain no control characters except tabs and line ends.
        text: Option<&'t str>,
        /// The 8 bytes as a little-endian integer.
        int: Option<i64>,
        /// The 8 bytes as a little-endian float.
        float: Option<f64>,
    },
}

/// A new value for an entry.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum MetadataValue {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A boolean, allowed in methods only.
    Bool(bool),
    /// A string.
    String(String),
    /// Several values, each an output of the method, as the exporter writes a list. Allowed in methods only; it may not be empty, or contain
    /// lists.
    List(Vec<MetadataValue>),
}

impl MetadataValue {
    /// Returns the bytes of the value in named data: UTF-8, or 8 bytes, little-endian.
    fn into_bytes(self) -> Result<Vec<u8>> {
        match self {
            Self::Int(int) => Ok(int.to_le_bytes().into()),
            Self::Float(float) => Ok(float.to_le_bytes().into()),
            Self::String(text) => Ok(text.into_bytes()),
            Self::Bool(_) => Err(Error::unwritable("named data cannot store a boolean: use a method, or an integer")),
            Self::List(_) => Err(Error::unwritable("named data cannot store a list: use a method, or a string")),
        }
    }

    /// Returns the value of one output.
    fn into_evalue<'a>(self) -> Result<EValue<'a>> {
        use crate::schema::program::String;
        Ok(match self {
            Self::Int(int) => int.into(),
            Self::Float(float) => float.into(),
            Self::Bool(bool) => bool.into(),
            Self::String(text) => EValue { val: String { string_val: Some(text.into()) }.into() },
            Self::List(_) => {
                return Err(Error::unwritable("a list inside a list: expected numbers, booleans or strings"));
            }
        })
    }
}

/// PyTorch's description of a single output.
const ONE_OUTPUT: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

/// Returns the outputs of a method that returns a value, and PyTorch's description of them: a pytree, with the version of its form.
fn outputs<'a>(value: MetadataValue) -> Result<(Vec<EValue<'a>>, String)> {
    let MetadataValue::List(items) = value else {
        return Ok((vec![value.into_evalue()?], format!("[1, {ONE_OUTPUT}]")));
    };
    if items.is_empty() {
        return Err(Error::unwritable("a method cannot return an empty list, since it would have no output"));
    }
    let children = vec![ONE_OUTPUT; items.len()].join(", ");
    let tree = format!(r#"{LIST} "context": "null", "children_spec": [{children}]}}]"#);
    Ok((items.into_iter().map(MetadataValue::into_evalue).collect::<Result<_>>()?, tree))
}

pub(super) fn entries<'t>(pte: &'t Pte<'_>) -> Vec<Metadata<'t>> {
    let methods = pte
        .methods()
        .iter()
        .filter_map(|plan| Some(Metadata { name: plan.name(), content: MetadataContent::Method(plan.constant()?) }));
    let named = pte.named_data().iter().filter(|named| named.key().starts_with(METADATA_PREFIX));
    let named = named.filter_map(|named| {
        let bytes = pte.bytes(&pte.named_data_ref(named).ok()?).ok()?;
        let eight = <[u8; 8]>::try_from(bytes).ok();
        let content = MetadataContent::Bytes {
            size: bytes.len(),
            text: core::str::from_utf8(bytes).ok().filter(|text| !text.contains(is_control)),
            int: eight.map(i64::from_le_bytes),
            float: eight.map(f64::from_le_bytes),
        };
        Some(Metadata { name: named.key(), content })
    });
    methods.chain(named).collect()
}

/// Returns `true` for characters that do not occur in text.
fn is_control(c: char) -> bool {
    c.is_control() && !"\t\n\r".contains(c)
}

pub(super) fn set(pte: &mut Pte<'_>, name: &str, value: MetadataValue) -> Result<EditReport> {
    let mut report = EditReport::default();
    change(pte, |pte| match name.starts_with(METADATA_PREFIX) {
        true => set_named(pte, name, value.into_bytes()?, &mut report),
        false => set_method(pte, name, value, &mut report),
    })?;
    Ok(report)
}

fn set_named(pte: &mut Pte<'_>, name: &str, bytes: Vec<u8>, report: &mut EditReport) -> Result<()> {
    let size = bytes.len() as u64;
    let old = pte.named_data().iter().find(|named| named.key() == name);
    let old_size = old.map(|named| pte.named_data_ref(named)).transpose()?.map(|data| data.size());
    // The old segment may be shared, so a new one is added. The old one is removed if nothing else uses it.
    let segment_index = pte.add_segment(bytes);
    segments::set_alignment(pte, segment_index, 1);
    let before = pte.segment_users();
    let named = pte.program.named_data.get_or_insert_default();
    match named.iter_mut().find(|named| named.key() == name) {
        Some(named) => named.segment_index = segment_index,
        None => named.push(NamedData { key: Some(String::from(name).into()), segment_index }),
    }
    segments::remove_unused(pte, &before);
    let action = if old_size.is_some() { Action::Replaced } else { Action::Added };
    report.add(action, Subject::NamedData, name, Vec::new(), [old_size.unwrap_or_default(), size]);
    Ok(())
}

fn set_method(pte: &mut Pte<'_>, name: &str, value: MetadataValue, report: &mut EditReport) -> Result<()> {
    let (values, tree) = outputs(value)?;
    let indices: Vec<i32> = (0..).take(values.len()).collect();
    let mut plan = ExecutionPlan::new(String::from(name), values, Vec::new(), Vec::new(), 0);
    plan = plan.with_outputs(indices);
    plan.non_const_buffer_sizes = Some(vec![0].into());
    let containers = plan.container_meta_type.get_or_insert_default();
    containers.encoded_out_str = Some(tree.into());
    let plans = pte.program.execution_plan.get_or_insert_default();
    let action = match plans.iter_mut().find(|plan| plan.name() == name) {
        Some(old) if !old.is_constant() => {
            return Err(Error::unwritable(format!("the method {name:?} computes something, expected a constant")));
        }
        Some(old) => {
            *old = plan;
            Action::Replaced
        }
        None => {
            plans.push(plan);
            Action::Added
        }
    };
    report.add(action, Subject::Method, name, Vec::new(), [0, 0]);
    Ok(())
}

pub(super) fn remove(pte: &mut Pte<'_>, name: &str) -> Result<EditReport> {
    if pte.methods().iter().any(|plan| plan.name() == name && plan.is_constant()) {
        return pte.select(|method| method != name);
    }
    let mut named = pte.named_data().iter().enumerate().filter(|_| name.starts_with(METADATA_PREFIX));
    let Some((index, named)) = named.find(|(_, named)| named.key() == name) else {
        return Err(Error::reference(format!("there is no metadata with the name {name:?}")));
    };
    let mut report = EditReport::default();
    let size = pte.named_data_ref(named)?.size();
    report.add(Action::Removed, Subject::NamedData, name, Vec::new(), [size, 0]);
    change(pte, |pte| {
        segments::remove_named_data(pte, &[index]);
        Ok(())
    })?;
    Ok(report)
}
