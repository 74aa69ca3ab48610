//! The differences between two files: in the model itself, and in its storage.

mod companions;
mod data;
mod inside;
mod keys;
mod limits;
mod method;
mod tree;

use super::{Distance, NamedBy};
use crate::analysis::{Name, Names};
use crate::file::header::Header;
use crate::file::ptd::{Entry, Ptd};
use crate::file::pte::Pte;
use crate::file::source::Source;
use crate::model::Model;
use crate::names::shortened;
use crate::schema::program::ExecutionPlan;
use crate::setters::setters;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, string::ToString, vec::Vec};
use core::fmt;
use data::Comparer;
use keys::KeyData;
pub use limits::{DiffLimits, Excess, GrowthLimit};

/// A file to compare.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Side<'s> {
    /// The file.
    pub model: &'s Model<'s>,
    /// The `.ptd` files that go with a program: they have its external tensors, and data that its delegates look up by key.
    pub data: &'s [Ptd<'s>],
    /// The names in the program, or in the program of a bundle.
    pub names: Option<&'s Names<'s>>,
}

impl<'s> Side<'s> {
    /// Creates a side from a file and the `.ptd` files that go with it.
    pub fn new(model: &'s Model<'s>, data: &'s [Ptd<'s>]) -> Self {
        Self { model, data, names: None }
    }

    /// Sets the names: things with the same name on both sides are compared with each other.
    #[must_use]
    pub fn with_names(self, names: &'s Names<'s>) -> Self {
        Self { names: Some(names), ..self }
    }
}

/// One of the two files.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Before,
    After,
}

impl Which {
    /// Returns the item of this file.
    fn of<T>(self, [before, after]: &[T; 2]) -> &T {
        match self {
            Self::Before => before,
            Self::After => after,
        }
    }

    /// Returns the item of this file.
    fn of_mut<T>(self, [before, after]: &mut [T; 2]) -> &mut T {
        match self {
            Self::Before => before,
            Self::After => after,
        }
    }
}

/// Optional comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffOptions {
    /// `true` to compute the distance between the values of changed weights.
    pub tensors: bool,
}

setters! {
    DiffOptions {
        ;
        tensors = with_tensors,
    }
}

/// The differences between two files.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diff {
    /// Differences in the model itself.
    pub differences: Vec<Difference>,
    /// Differences in storage only: places, sizes, and the order of lists whose order has no meaning.
    pub storage: Vec<Difference>,
    /// Data that was not compared because its `.ptd` file is missing.
    pub not_compared: Vec<String>,
}

/// A difference between two files.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Difference {
    /// The kind of thing that differs.
    pub subject: DifferenceSubject,
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// The method that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The index, name or field path that identifies it. The index is that in the first file if it is in both.
    pub name: String,
    /// The model's name of the tensor or the instruction, if it is known: see [`Side::with_names`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor_name: Option<String>,
    /// The origin of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// The path of its module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The content in the first file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The content in the second file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The distance between the values, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum DifferenceKind {
    /// It is only in the second file.
    Added,
    /// It is only in the first file.
    Removed,
    /// It is in both, and differs.
    Changed,
    /// It is in both, at another place or under another name.
    Moved,
}

/// The kind of thing that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum DifferenceSubject {
    /// The whole file.
    File,
    /// A method.
    Method,
    /// The value that a constant method returns.
    Metadata,
    /// An input of a method.
    Input,
    /// An output of a method.
    Output,
    /// The number of calls of an operator.
    Operator,
    /// A constant (also inside a delegate), an initial state, or the data of an external tensor.
    Weight,
    /// A named blob, or a key of a `.ptd`.
    Key,
    /// A delegate.
    Delegate,
    /// A field inside the payload of a delegate.
    Payload,
    /// An instruction.
    Instruction,
    /// A value of a method.
    Value,
    /// The planned memory of a method.
    Plan,
    /// Python source lines.
    StackTrace,
    /// A test case of a bundle.
    TestCase,
    /// A block of events of a trace.
    Run,
    /// An event of a trace.
    Event,
    /// A value that no instruction, input or output refers to.
    UnusedValue,
}

impl DifferenceSubject {
    /// Returns the name, as serialized.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Method => "method",
            Self::Metadata => "metadata",
            Self::Input => "input",
            Self::Output => "output",
            Self::Operator => "operator",
            Self::Instruction => "instruction",
            Self::Value => "value",
            Self::Plan => "plan",
            Self::Delegate => "delegate",
            Self::Payload => "payload",
            Self::Weight => "weight",
            Self::Key => "key",
            Self::StackTrace => "stack_trace",
            Self::TestCase => "test_case",
            Self::Run => "run",
            Self::Event => "event",
            Self::UnusedValue => "unused_value",
        }
    }
}

impl Diff {
    /// Returns `true` if the models are the same. Data that could not be compared is in [`not_compared`](Self::not_compared).
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Writes the difference as one line: `forward instruction 3: aten::add.out(…) -> aten::mul.out(…)`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(f, "{method} ")?;
        }
        f.write_str(self.subject.name())?;
        if let Some(name) = &self.tensor_name {
            write!(f, " {name}")?;
        }
        // The plural ending of the subject is part of the name.
        if !self.name.is_empty() && !self.name.starts_with("s ") {
            f.write_str(" ")?;
        }
        f.write_str(&self.name)?;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => write!(f, ": {before} -> {after}"),
            (Some(text), None) | (None, Some(text)) => write!(f, ": {text}"),
            (None, None) => Ok(()),
        }
    }
}

/// Compares two files.
///
/// Instructions are matched like lines of a text, by their operator and the values in their arguments. Tensors are matched through the
/// instructions that take or write them. An inserted instruction is therefore a single difference, although it shifts the index of every
/// value after it. Weights are compared by their bytes, in the program, in a segment, or in a `.ptd` file. Constants
/// inside XNNPACK's delegates are compared too, and values and weights with a [name](Side::with_names) that is in both files
/// are matched first.
///
/// Two bundles are compared by the programs inside, then by the test cases of methods of the same name, in their order. A bundle and a
/// program are compared by their programs; the test cases are differences. Two traces are compared by their runs and events, in their
/// order. Files of any other two kinds have a single difference, the kind.
///
/// ```
/// use executorch_format::Model;
/// use executorch_format::inspect::{DiffOptions, Side, diff};
///
/// # fn main() -> executorch_format::Result<()> {
/// let (one, other) = (std::fs::read("tests/data/1.5.1/add/add.pte")?, std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?);
/// let (one, other) = (Model::parse(&one)?, Model::parse(&other)?);
/// let sides = (Side::new(&one, &[]), Side::new(&other, &[]));
/// for change in diff(&sides.0, &sides.1, &DiffOptions::default()).differences {
///     println!("{change}");
/// }
/// # Ok(())
/// # }
/// ```
pub fn diff(before: &Side<'_>, after: &Side<'_>, options: &DiffOptions) -> Diff {
    let identical = |left: Option<&Source<'_>>, right: Option<&Source<'_>>| {
        left.zip(right).is_some_and(|(left, right)| left.whole && right.whole && left.bytes == right.bytes)
    };
    let data =
        before.data.iter().zip(after.data).all(|(left, right)| identical(left.source.as_ref(), right.source.as_ref()));
    if before.data.len() == after.data.len() && data && identical(before.model.source(), after.model.source()) {
        return Diff::default();
    }
    // Constants inside payloads are borrowed from these.
    let payloads = [before, after].map(|side| match side.model {
        Model::Pte(pte) => pte.open_payloads(),
        _ => Vec::new(),
    });
    let mut comparer = Comparer::new([before, after], &payloads, options);
    match (before.model, after.model) {
        (Model::Pte(left), Model::Pte(right)) => programs(&mut comparer, left, right),
        (Model::Ptd(left), Model::Ptd(right)) => keys(&mut comparer, left, right),
        (Model::Bpte(left), Model::Bpte(right)) => {
            comparer.diff = companions::bundles([before, after], [Some(left), Some(right)], options);
        }
        (Model::Bpte(bundle), Model::Pte(_)) => {
            comparer.diff = companions::bundles([before, after], [Some(bundle), None], options);
        }
        (Model::Pte(_), Model::Bpte(bundle)) => {
            comparer.diff = companions::bundles([before, after], [None, Some(bundle)], options);
        }
        (Model::Etdp(left), Model::Etdp(right)) => comparer.diff = companions::traces(left, right),
        (left, right) => {
            let (left, right) = (left.kind().to_string(), right.kind().to_string());
            comparer.changed(DifferenceSubject::File, None, "kind", &left, &right);
        }
    }
    stored(&mut comparer, before.model, after.model);
    comparer.finish()
}

fn programs<'s>(comparer: &mut Comparer<'s>, left: &'s Pte<'s>, right: &'s Pte<'s>) {
    let (version, other_version) = (left.program.version.to_string(), right.program.version.to_string());
    comparer.changed(DifferenceSubject::File, None, "version", &version, &other_version);
    let name = |(_, plan): &Indexed<'_>| plan.name().to_owned();
    let [plans, other_plans] = [left, right].map(|pte| pte.methods().iter().enumerate());
    let mut methods = matched(&mut { plans }, &mut { other_plans }, &name);
    match_renamed(&mut methods);
    for pair in methods {
        match pair {
            Matched::Both(before, after) => {
                if before.1.name() != after.1.name() {
                    let (before, after) = (Some(before.1.name().into()), Some(after.1.name().into()));
                    let change = Difference::new(DifferenceSubject::Method, DifferenceKind::Moved, None, "");
                    comparer.difference(Difference { before, after, ..change });
                }
                method::compare(comparer, (left, before), (right, after));
            }
            Matched::Before((index, plan)) | Matched::After((index, plan)) => {
                let text = match plan.constant() {
                    Some(value) => format!("returns {}", method::returned(&value)),
                    None => format!("{} instructions", plan.instructions().count()),
                };
                let (side, pte, kind, before, after) = match pair {
                    Matched::After(_) => (Which::After, right, DifferenceKind::Added, None, Some(text)),
                    _ => (Which::Before, left, DifferenceKind::Removed, Some(text), None),
                };
                let subject = if plan.is_constant() { DifferenceSubject::Metadata } else { DifferenceSubject::Method };
                let change = Difference::new(subject, kind, None, plan.name());
                comparer.difference(Difference { before, after, ..change });
                comparer.only(side, pte, (index, plan), 0..plan.values().len());
                comparer.only_inside(side, (index, plan), 0..plan.delegates().len());
            }
        }
    }
    let order = |pte: &Pte<'_>| pte.methods().iter().map(|plan| plan.name().to_owned()).collect::<Vec<_>>();
    let (names, other_names) = (order(left), order(right));
    if names != other_names && sorted(&names) == sorted(&other_names) {
        comparer.storage(Difference::new(
            DifferenceSubject::Method,
            DifferenceKind::Moved,
            None,
            "their order in the file",
        ));
    }
    comparer.weights();
    let (mut found, mut other_found) = (Vec::new(), Vec::new());
    let missing = comparer.looked_up(Which::Before, left, &mut found);
    let missing = missing.max(comparer.looked_up(Which::After, right, &mut other_found));
    comparer.not_compared(missing, "payload constant");
    comparer.not_compared(comparer.unseen, "external tensor");
    let key = |found: &&(&'s str, KeyData<'s>)| found.0.to_owned();
    for pair in matched(&mut found.iter(), &mut other_found.iter(), &key) {
        let ((name, _), before, after) = (pair.any(), pair.before(), pair.after());
        let is_told = |side: Which| side.of(&comparer.told_keys).contains(name);
        // Constants inside delegates were already compared.
        if (before.is_none() || is_told(Which::Before)) && (after.is_none() || is_told(Which::After)) {
            continue;
        }
        comparer.key(name, before.map(|(_, keyed)| keyed), after.map(|(_, keyed)| keyed));
    }
    comparer.keys();
}

fn keys<'s>(comparer: &mut Comparer<'s>, left: &'s Ptd<'s>, right: &'s Ptd<'s>) {
    let key = |entry: &Entry<'_>| entry.key().to_owned();
    for pair in matched(&mut left.entries(), &mut right.entries(), &key) {
        let found = |ptd: &'s Ptd<'s>, entry: Entry<'s>| KeyData {
            bytes: ptd.entry_bytes(&entry),
            shape: entry.shape,
            place: "external",
            name: None,
        };
        let before = pair.before().map(|entry| found(left, entry));
        let after = pair.after().map(|entry| found(right, entry));
        comparer.key(pair.any().key(), before.as_ref(), after.as_ref());
    }
    comparer.keys();
}

/// Compares the storage of both files.
fn stored(comparer: &mut Comparer<'_>, left: &Model<'_>, right: &Model<'_>) {
    let facts = |model: &Model<'_>| {
        let segments = match model {
            Model::Pte(pte) => pte.program.segments().len(),
            Model::Ptd(ptd) => ptd.flat_tensor.segments().len(),
            _ => 0,
        };
        let header = match model.header() {
            Some(Header::Pte(header)) => {
                format!("{} bytes, segments from {}", header.length, header.segment_base_offset)
            }
            Some(Header::Ptd(header)) => {
                format!("{} bytes, segments from {}", header.length, header.segment_base_offset)
            }
            None => "none".into(),
        };
        let size = model.source().map_or_else(|| "none".into(), |source| format!("{} bytes", source.bytes.len()));
        let trailing = model.trailing_bytes();
        let trailing = format!("{} bytes", trailing.end - trailing.start);
        [("size", size), ("segments", segments.to_string()), ("header", header), ("trailing bytes", trailing)]
    };
    // Files of different kinds have different headers.
    let same_kind = left.kind() == right.kind();
    for ((name, before), (_, after)) in facts(left).into_iter().zip(facts(right)) {
        if before != after && (same_kind || name == "size") {
            let (before, after) = (Some(before), Some(after));
            comparer.storage(Difference {
                before,
                after,
                ..Difference::new(DifferenceSubject::File, DifferenceKind::Changed, None, name)
            });
        }
    }
    let Some((source, other_source)) = left.source().zip(right.source()) else { return };
    if source.newer_tables + other_source.newer_tables > 0 && source.metadata() != other_source.metadata() {
        let name = "fields that this schema does not know: not compared";
        comparer.difference(Difference::new(DifferenceSubject::File, DifferenceKind::Changed, None, name));
    }
    let is_same = comparer.diff.is_same() && comparer.differences.is_empty();
    if is_same && comparer.diff.storage.is_empty() && source.bytes != other_source.bytes {
        comparer.storage(Difference::new(
            DifferenceSubject::File,
            DifferenceKind::Changed,
            None,
            "the order of its bytes",
        ));
    }
}

/// Pairs methods without a counterpart that differ only in their names, by their order.
fn match_renamed(pairs: &mut Vec<Matched<Indexed<'_>>>) {
    // Methods that are only in the second file come last.
    let first = pairs.partition_point(|pair| !matches!(pair, Matched::After(_)));
    let mut added = pairs.split_off(first).into_iter().map(Matched::any);
    let mut rest = Vec::new();
    for pair in pairs.iter_mut() {
        let Matched::Before(before) = *pair else { continue };
        if let Some(after) = added.next() {
            if !before.1.is_constant() && is_same_but_for_its_name(before.1, after.1) {
                *pair = Matched::Both(before, after);
            } else {
                rest.push(after);
            }
        }
    }
    pairs.extend(rest.into_iter().chain(added).map(Matched::After));
}

/// A method with its index.
type Indexed<'s> = (usize, &'s ExecutionPlan<'s>);

fn is_same_but_for_its_name(left: &ExecutionPlan<'_>, right: &ExecutionPlan<'_>) -> bool {
    left.chains == right.chains
        && left.values == right.values
        && (&left.inputs, &left.outputs) == (&right.inputs, &right.outputs)
        && left.operators == right.operators
        && left.delegates == right.delegates
        && left.non_const_buffer_sizes == right.non_const_buffer_sizes
        && left.non_const_buffer_device == right.non_const_buffer_device
}

/// An item of the first list, of the second, or one of each with the same name.
#[derive(Clone, Copy)]
enum Matched<T> {
    Both(T, T),
    Before(T),
    After(T),
}

impl<T> Matched<T> {
    fn before(self) -> Option<T> {
        match self {
            Self::Both(item, _) | Self::Before(item) => Some(item),
            Self::After(_) => None,
        }
    }

    fn after(self) -> Option<T> {
        match self {
            Self::Both(_, item) | Self::After(item) => Some(item),
            Self::Before(_) => None,
        }
    }

    /// Returns the item of the first list, or else that of the second.
    fn any(self) -> T {
        match self {
            Self::Both(item, _) | Self::Before(item) | Self::After(item) => item,
        }
    }
}

/// Pairs items by name, in the order of the first list, including items without a counterpart. Items that are only in the second list
/// come last.
#[expect(clippy::indexing_slicing, reason = "`open` has indices of pairs")]
fn matched<T: Copy>(
    before: &mut dyn Iterator<Item = T>,
    after: &mut dyn Iterator<Item = T>,
    name: &dyn Fn(&T) -> String,
) -> Vec<Matched<T>> {
    let mut pairs: Vec<Matched<T>> = before.map(Matched::Before).collect();
    // The pairs without a second item, by name, in reverse: the first is taken first.
    let mut open: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, pair) in pairs.iter().enumerate().rev() {
        open.entry(name(&pair.any())).or_default().push(index);
    }
    for item in after {
        match open.get_mut(&name(&item)).and_then(Vec::pop) {
            Some(index) => pairs[index] = Matched::Both(pairs[index].any(), item),
            None => pairs.push(Matched::After(item)),
        }
    }
    pairs
}

fn sorted(names: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort();
    names
}

impl Difference {
    fn new(subject: DifferenceSubject, kind: DifferenceKind, method: Option<&str>, name: impl Into<String>) -> Self {
        // Shortened, because every difference repeats the name.
        let method = method.map(|method| shortened(method).into_owned());
        let name = name.into();
        let (tensor_name, named_by, module) = (None, None, None);
        Self { subject, kind, method, name, tensor_name, named_by, module, before: None, after: None, distance: None }
    }

    /// Adds the model's name, if it is known.
    fn named(self, name: Option<&Name<'_>>) -> Self {
        let Some(name) = name else { return self };
        let module = name.module.map(|module| shortened(module).into_owned());
        let (tensor_name, named_by) = (Some(shortened(&name.name).into_owned()), Some(name.named_by));
        Self { tensor_name, named_by, module, ..self }
    }
}
