//! One level of a file's tree at a time: its fields or items, and the places of their bytes.

use crate::error::{Error, Result};
use crate::flatbuffer::any::{AnyNumber, AnyTable, AnyTables, Value};
use crate::flatbuffer::description::{FieldKind, TableDescription};
use crate::flatbuffer::number::parsed;
use crate::flatbuffer::read::Limits;
use crate::flatbuffer::walk::{Part, PartKind, Wanted, walk_at};
use crate::model::Model;
use crate::path::{FieldPath, Step};
use alloc::{borrow::ToOwned, format, string::String, string::ToString, vec::Vec};

/// One level of the tree: the fields of a table, or the items of a list of tables.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Branch {
    /// The path of the table or list; empty for the root.
    pub path: FieldPath,
    /// The schema's name of the table; `None` for a list.
    pub table: Option<&'static str>,
    /// The number of fields or of items in the list; `entries` may have only a part of the items.
    pub count: usize,
    /// The fields, or some of the items.
    pub entries: Vec<BranchEntry>,
}

/// A field of a table, or an item of a list.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BranchEntry {
    /// The schema's name of the field, or the index of the item.
    pub name: String,
    /// The path of the entry. For a union with a value, the path of its member.
    pub path: FieldPath,
    /// A short form of the value: `12`, `"forward"`, `[1, 2, 3]`; empty for a table.
    pub value: String,
    /// The schema's name of the table or of the list's tables.
    pub table: Option<&'static str>,
    /// The number of items in a list of tables.
    pub count: Option<usize>,
    /// The offset in bytes from the start of the file; `None` if the file does not store the entry: a number then has its default.
    pub offset: Option<u64>,
    /// The size in bytes, without the data that the entry refers to.
    pub size: Option<u64>,
}

/// The maximum number of characters of a text that are shown. Lists of numbers show a quarter as many.
const MAX_SHOWN: usize = 64;

impl Model<'_> {
    /// Returns the fields or items at a path of the tree, which is written as in findings: `execution_plan[0].values[3].val.Tensor`. For a
    /// list, returns up to `most` items from item `first` on. The path of a number, a text or a list of numbers gives the table that contains
    /// it.
    ///
    /// Takes time in proportion to the metadata.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the path does not exist.
    ///
    /// ```
    /// use executorch_format::Model;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
    /// let branch = Model::parse(&file)?.branch("execution_plan[0].operators[1]", 0, 100)?;
    /// let name = &branch.entries[0];
    /// assert_eq!((&*name.name, &*name.value), ("name", "\"aten::add\""));
    /// # Ok(())
    /// # }
    /// ```
    pub fn branch(&self, path: &str, first: usize, most: usize) -> Result<Branch> {
        let place = find(self.root(), path)?;
        let mut branch = match place.found {
            FoundBranch::Table(table) => of_table(&place.steps, table),
            FoundBranch::Tables(tables) => of_list(&place.steps, tables, first, most),
        };
        if let Some(source) = self.source() {
            let start = match self {
                Self::Xnnpack(xnnpack) => xnnpack.flatbuffer_offset(),
                _ => 0,
            };
            let bytes = match usize::try_from(start) {
                Ok(0) | Err(_) => source.metadata(),
                // The FlatBuffer was read from this offset, so it is inside the file.
                Ok(start) => source.bytes.get(start..).unwrap_or_default(),
            };
            let description = match self {
                Self::Ptd(ptd) => ptd.flat_tensor.root(),
                _ => self.root().description(),
            };
            locate(&mut branch, &place.steps, description, bytes, (start, self.root_position()));
        }
        Ok(branch)
    }

    /// Returns the position of the root table's offset in the FlatBuffer.
    fn root_position(&self) -> u32 {
        match self {
            Self::Etdp(_) => crate::file::etdp::PREFIX as u32,
            _ => 0,
        }
    }
}

enum FoundBranch<'t> {
    Table(&'t dyn AnyTable),
    Tables(&'t dyn AnyTables),
}

struct BranchPlace<'t> {
    steps: Vec<Step>,
    found: FoundBranch<'t>,
}

/// Follows a path from the root, as far as it leads to tables.
fn find<'t>(root: &'t dyn AnyTable, path: &str) -> Result<BranchPlace<'t>> {
    let nothing = || Error::reference(format!("nothing is at {}", path.chars().take(200).collect::<String>()));
    let mut place = BranchPlace { steps: Vec::new(), found: FoundBranch::Table(root) };
    let spaced = path.replace('[', ".[");
    let mut names = spaced.split('.').filter(|name| !name.is_empty()).peekable();
    while let Some(name) = names.next() {
        match place.found {
            FoundBranch::Tables(tables) => {
                let index = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
                let index: usize = index.and_then(parsed).ok_or_else(nothing)?;
                place.found = FoundBranch::Table(tables.get(index).ok_or_else(nothing)?);
                place.steps.push(Step::Index(index));
            }
            FoundBranch::Table(table) => {
                let mut fields = table.description().fields.iter().enumerate();
                let (index, field) = fields.find(|(_, field)| field.name == name).ok_or_else(nothing)?;
                let field = Step::Field(field.name);
                match table.field(index).map(|field| field.value()) {
                    Some(Value::Table(inner)) => {
                        place.steps.push(field);
                        place.found = FoundBranch::Table(inner);
                    }
                    Some(Value::Tables(tables)) => {
                        place.steps.push(field);
                        place.found = FoundBranch::Tables(tables);
                    }
                    Some(Value::Union { name: Some(member), member: Some(inner), .. }) => {
                        if names.next_if_eq(&member).is_none() && names.peek().is_some() {
                            return Err(nothing());
                        }
                        place.steps.extend([field, Step::Field(member)]);
                        place.found = FoundBranch::Table(inner);
                    }
                    // A number, a text or an absent field gives the table that contains it, even if the path continues with an item.
                    _ => return Ok(place),
                }
            }
        }
    }
    Ok(place)
}

fn at(steps: &[Step], more: &[Step]) -> FieldPath {
    steps.iter().chain(more).copied().collect()
}

fn of_table(steps: &[Step], table: &dyn AnyTable) -> Branch {
    let description = table.description();
    let mut entries = Vec::with_capacity(description.fields.len());
    table.for_each_field(&mut |name, value| {
        let mut entry = BranchEntry {
            name: name.to_owned(),
            path: at(steps, &[Step::Field(name)]),
            value: String::new(),
            table: None,
            count: None,
            offset: None,
            size: None,
        };
        match value {
            Value::Absent => entry.value = "absent".into(),
            Value::Number(number) => entry.value = number_text(number),
            Value::Enum { name, number } => {
                let number = number_text(number);
                entry.value = name.map_or_else(|| number.clone(), |name| format!("{name} ({number})"));
            }
            Value::Text(text) => {
                let shown: String = text.as_str().chars().take(MAX_SHOWN).collect();
                let more = if text.as_str().chars().nth(MAX_SHOWN).is_some() { "…" } else { "" };
                entry.value = format!("\"{shown}{more}\"");
            }
            Value::Numbers(numbers) => {
                let shown: Vec<String> = numbers.iter().take(MAX_SHOWN / 4).map(number_text).collect();
                let more =
                    if numbers.len() > shown.len() { format!(", … {} in all", numbers.len()) } else { String::new() };
                entry.value = format!("[{}{more}]", shown.join(", "));
            }
            Value::Table(inner) => entry.table = Some(inner.description().name),
            Value::Tables(tables) => {
                entry.count = Some(tables.len());
                entry.table = tables.get(0).map(|first| first.description().name);
            }
            Value::Union { name: Some(member), member: Some(inner), .. } => {
                entry.path = at(steps, &[Step::Field(name), Step::Field(member)]);
                entry.table = Some(inner.description().name);
            }
            Value::Union { tag: 0, .. } => entry.value = "absent".into(),
            Value::Union { tag, .. } => entry.value = format!("of a newer schema (tag {tag})"),
        }
        entries.push(entry);
    });
    Branch { path: at(steps, &[]), table: Some(description.name), count: entries.len(), entries }
}

fn of_list(steps: &[Step], tables: &dyn AnyTables, first: usize, most: usize) -> Branch {
    let end = tables.len().min(first.saturating_add(most));
    let mut entries = Vec::new();
    for (index, table) in (first..end).filter_map(|index| Some((index, tables.get(index)?))) {
        entries.push(BranchEntry {
            name: index.to_string(),
            path: at(steps, &[Step::Index(index)]),
            value: summary(table),
            table: Some(table.description().name),
            count: None,
            offset: None,
            size: None,
        });
    }
    Branch { path: at(steps, &[]), table: None, count: tables.len(), entries }
}

/// Returns a short text that helps to recognize an item of a list: its first text, or the member of its union.
fn summary(table: &dyn AnyTable) -> String {
    let mut found = String::new();
    table.for_each_field(&mut |_, value| {
        if found.is_empty() {
            match value {
                Value::Text(text) => {
                    found = format!("\"{}\"", text.as_str().chars().take(MAX_SHOWN).collect::<String>())
                }
                Value::Union { name: Some(name), .. } => found = name.into(),
                _ => {}
            }
        }
    });
    found
}

/// Formats a number.
pub(super) fn number_text(number: AnyNumber) -> String {
    match number {
        AnyNumber::Bool(bit) => bit.to_string(),
        AnyNumber::Signed(number) => number.to_string(),
        AnyNumber::Unsigned(number) => number.to_string(),
        AnyNumber::Float(number) => format!("{number:?}"),
        AnyNumber::Double(number) => format!("{number:?}"),
    }
}

/// Sets the entries' offsets and sizes.
fn locate(
    branch: &mut Branch,
    steps: &[Step],
    root: &'static TableDescription,
    bytes: &[u8],
    (start, position): (u64, u32),
) {
    let depth = steps.len();
    // The index of the first listed item of a list.
    let first = match branch.entries.first().and_then(|entry| entry.path.last()) {
        Some(Step::Index(index)) => index,
        _ => 0,
    };
    walk_at(position, bytes, root, &Limits::default(), Wanted::ALL, &mut |part: &Part<'_>| {
        let count = part.path.steps_from_last().count();
        if count < depth || count > depth + 2 {
            return;
        }
        let path = part.path.to_field_path();
        if !path.steps().starts_with(steps) {
            return;
        }
        if let (true, PartKind::Table(table)) = (count == depth, &part.kind) {
            for (id, field) in part.owner.fields_by_id() {
                let slot = table.slots.get(id).copied().filter(|slot| *slot > 0);
                let (FieldKind::Number(number), Some(slot)) = (field.kind, slot) else { continue };
                if let Some(entry) = branch.entries.iter_mut().find(|entry| entry.name == field.name) {
                    entry.offset = Some(start + u64::from(part.position) + u64::from(slot));
                    entry.size = Some(number.size() as u64);
                }
            }
            return;
        }
        let entry = match path.steps().get(depth) {
            Some(Step::Index(index)) => index.checked_sub(first).and_then(|index| branch.entries.get_mut(index)),
            _ => branch.entries.iter_mut().find(|entry| entry.path == path),
        };
        if let Some(entry) = entry.filter(|entry| entry.path == path) {
            entry.offset = Some(start + u64::from(part.position));
            entry.size = Some(part.size.into());
        }
    });
}
