//! The blobs of a file: every range of bytes that something refers to, with its users.

use super::{Fault, Name, NameText, NamedBy, Names};
#[cfg(doc)]
use crate::delegate::Xnnpack;
use crate::error::Error;
use crate::file::ptd::{Entry, Ptd};
use crate::file::pte::{Pte, TensorData};
use crate::file::references::DataUser;
use crate::file::segment::{DataRef, slice};
use crate::model::Model;
use crate::path::{FieldPath, Path};
use crate::schema::DataSegment;
use crate::schema::program::DataLocation;
use crate::tensor::TensorShape;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, vec, vec::Vec};
use core::fmt;
use core::ops::Range;

/// The blobs of a file.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Blobs<'t> {
    /// Segments, then the data of each method, then named data. Shared data is listed once.
    pub blobs: Vec<Blob<'t>>,
    /// Dangling references.
    pub errors: Vec<Fault>,
}

/// A range of bytes that something refers to.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Blob<'t> {
    /// The kind of the blob.
    pub kind: BlobKind,
    /// The reference to pass to [`Pte::bytes`] or [`Ptd::bytes`]; `None` if the bytes are outside the file, and in
    /// other kinds of files.
    #[serde(skip)]
    pub data: Option<DataRef>,
    /// The offset in bytes from the start of the file; `None` if the file does not contain the blob.
    pub offset: Option<u64>,
    /// The size, in bytes.
    pub size: u64,
    /// The users of the blob. Never empty: a segment is used by the list of segments.
    pub users: Vec<BlobUser<'t>>,
}

/// The kind of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum BlobKind {
    /// A data segment, with everything in it.
    Segment,
    /// A constant.
    Constant,
    /// The initial state of a mutable tensor.
    InitialState,
    /// A delegate's payload.
    Delegate,
    /// A constant inside a delegate's payload: see [`Analysis::delegate_constants`](crate::Analysis::delegate_constants).
    DelegateConstant,
    /// A blob with a name, or the data of a `.ptd` key.
    Named,
    /// A tensor's data in a `.ptd` file.
    External,
    /// The program in a bundle.
    Program,
    /// An input of a test case.
    Input,
    /// An expected output of a test case.
    Expected,
}

impl fmt::Display for BlobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Segment => "segment",
            Self::Constant => "constant",
            Self::InitialState => "initial_state",
            Self::Delegate => "delegate",
            Self::DelegateConstant => "inside",
            Self::Named => "named",
            Self::External => "external",
            Self::Program => "program",
            Self::Input => "input",
            Self::Expected => "expected",
        })
    }
}

/// A user of a blob: a tensor, a delegate, a key or another thing that refers to it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum BlobUser<'t> {
    /// The list of segments.
    Segment {
        /// Index into that list.
        index: u32,
    },
    /// A tensor whose data is in the file.
    Tensor {
        /// The method's name.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        method: &'t str,
        /// Index into the method's values.
        value: usize,
        /// Index of the constant or initial state.
        data_buffer_idx: u32,
        /// The tensor's name, if it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<NameText<'t>>,
        /// The origin of the name.
        #[serde(skip_serializing_if = "Option::is_none")]
        named_by: Option<NamedBy>,
        /// The tensor's shape.
        #[serde(flatten)]
        shape: TensorShape<'t>,
    },
    /// A tensor whose data is in a `.ptd` file.
    External {
        /// The method's name.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        method: &'t str,
        /// Index into the method's values.
        value: usize,
        /// The key.
        key: &'t str,
        /// The tensor's shape.
        #[serde(flatten)]
        shape: TensorShape<'t>,
    },
    /// A delegate.
    Delegate {
        /// The method's name.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        method: &'t str,
        /// Index into the method's delegates.
        index: usize,
        /// The backend.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        id: &'t str,
        /// The location of the payload: in the FlatBuffer or in a segment.
        location: DataLocation,
    },
    /// A name, or a key of a `.ptd`.
    Key {
        /// The name.
        key: &'t str,
        /// The model's own name of the constant, if it is a constant inside a delegate and its name is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<NameText<'t>>,
        /// The origin of that name.
        #[serde(skip_serializing_if = "Option::is_none")]
        named_by: Option<NamedBy>,
        /// Index into the list of segments.
        segment_index: u32,
        /// The shape, if it is a tensor.
        #[serde(flatten)]
        shape: Option<TensorShape<'t>>,
    },
    /// A bundle, for the program in it.
    Bundle {
        /// The version stated in the bundle.
        version: u32,
    },
    /// A test case of a bundle.
    TestCase {
        /// The name of the tested method.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        method: &'t str,
        /// Index into the method's test cases.
        test_case: usize,
        /// Index into the inputs or the expected outputs.
        index: usize,
        /// The tensor's type and shape.
        #[serde(flatten)]
        shape: TensorShape<'t>,
    },
    /// A value of an XNNPACK payload in a file of its own: see [`Xnnpack::delegate_constants`] for details.
    Constant {
        /// Index of the constant in the payload.
        constant: u32,
        /// Index of the value; `None` if no value uses the constant.
        value: Option<usize>,
        /// `true` if the constant holds the value's scales instead of its elements.
        scales: bool,
    },
}

impl<'t> BlobUser<'t> {
    /// Returns the name of the method that it belongs to, if any.
    pub fn method(&self) -> Option<&'t str> {
        match *self {
            Self::Tensor { method, .. }
            | Self::External { method, .. }
            | Self::Delegate { method, .. }
            | Self::TestCase { method, .. } => Some(method),
            Self::Segment { .. } | Self::Key { .. } | Self::Bundle { .. } | Self::Constant { .. } => None,
        }
    }

    /// Returns the shape that this user gives the blob.
    pub fn shape(&self) -> Option<TensorShape<'t>> {
        match *self {
            Self::Tensor { shape, .. } | Self::External { shape, .. } | Self::TestCase { shape, .. } => Some(shape),
            Self::Key { shape, .. } => shape,
            Self::Segment { .. } | Self::Delegate { .. } | Self::Bundle { .. } | Self::Constant { .. } => None,
        }
    }
}

/// References of the same kind with the same bytes or key are one blob.
type Identity<'t> = (BlobKind, Option<DataRef>, &'t str);

/// A collector of blobs, each with all references to it.
#[derive(Default)]
struct Collector<'t> {
    found: Blobs<'t>,
    indices: BTreeMap<Identity<'t>, usize>,
}

impl<'t> Collector<'t> {
    fn segments(
        &mut self,
        table: &[DataSegment],
        check: &dyn Fn(u32) -> crate::Result<()>,
        range: &dyn Fn(&DataRef) -> Option<Range<u64>>,
    ) {
        for (index, segment) in (0..).zip(table) {
            let data = DataRef::Segment { index, offset: 0, size: segment.size };
            match check(index) {
                Ok(()) => {
                    let offset = range(&data).map(|range| range.start);
                    self.add(BlobKind::Segment, "", Some(data), offset, segment.size, BlobUser::Segment { index });
                }
                Err(error) => self.fault(Path::ROOT.item("segments", index as usize).to_field_path(), error),
            }
        }
    }

    #[expect(clippy::indexing_slicing, reason = "`indices` are those of blobs")]
    fn add(
        &mut self,
        kind: BlobKind,
        key: &'t str,
        data: Option<DataRef>,
        offset: Option<u64>,
        size: u64,
        user: BlobUser<'t>,
    ) {
        let blobs = &mut self.found.blobs;
        let next = blobs.len();
        let index = *self.indices.entry((kind, data, key)).or_insert(next);
        if index == next {
            // Most blobs have a single user.
            blobs.push(Blob { kind, data, offset, size, users: vec![user] });
        } else {
            blobs[index].users.push(user);
        }
    }

    fn fault(&mut self, path: FieldPath, error: Error) {
        self.found.errors.push(Fault { path, error });
    }
}

/// Lists the blobs of a program. Without `names`, only tensors that have a name in the file have one.
pub(super) fn of_pte<'t>(pte: &'t Pte<'_>, names: Option<&Names<'t>>) -> Blobs<'t> {
    let mut collector = Collector::default();
    collector.segments(pte.program.segments(), &|index| pte.check_segment(index), &|data| pte.range(data));
    for (user, data) in pte.data_users() {
        let (kind, key, data) = match data {
            Ok(TensorData::External(key)) => (BlobKind::External, key, None),
            Ok(TensorData::InitialState(data)) => (BlobKind::InitialState, "", Some(data)),
            Ok(data) => (kind(&user), "", data.data_ref()),
            Err(error) => {
                collector.fault(user.path(), error);
                continue;
            }
        };
        let size = match (&data, &user) {
            (Some(data), _) => pte.data_size(data),
            (None, DataUser::Tensor { tensor, .. }) => tensor.byte_size(),
            (None, _) => Ok(0),
        };
        match size {
            Ok(size) => {
                let offset = data.as_ref().and_then(|data| pte.range(data)).map(|range| range.start);
                collector.add(kind, key, data, offset, size, blob_user(&user, key, names));
            }
            Err(error) => collector.fault(user.path(), error),
        }
    }
    collector.found
}

fn kind(user: &DataUser<'_>) -> BlobKind {
    match user {
        DataUser::Tensor { .. } => BlobKind::Constant,
        DataUser::Delegate { .. } => BlobKind::Delegate,
        DataUser::NamedData { .. } => BlobKind::Named,
    }
}

fn blob_user<'t>(user: &DataUser<'t>, key: &'t str, names: Option<&Names<'t>>) -> BlobUser<'t> {
    match *user {
        DataUser::Tensor { plan, value, tensor, .. } if tensor.is_external() => {
            BlobUser::External { method: plan.name(), value, key, shape: tensor.shape() }
        }
        DataUser::Tensor { plan, value, tensor, method } => {
            let data_buffer_idx = tensor.data_buffer_idx;
            let (name, named_by) = match names {
                Some(names) => Name::fields(names.value(method, value)),
                None => {
                    let name = tensor.fully_qualified_name().filter(|name| !name.is_empty());
                    (name.map(NameText::from), name.map(|_| NamedBy::File))
                }
            };
            BlobUser::Tensor { method: plan.name(), value, data_buffer_idx, name, named_by, shape: tensor.shape() }
        }
        DataUser::Delegate { plan, index, delegate, .. } => {
            let location = delegate.processed.map_or(DataLocation::INLINE, |processed| processed.location);
            BlobUser::Delegate { method: plan.name(), index, id: delegate.id(), location }
        }
        DataUser::NamedData { named, .. } => {
            let (name, named_by) = Name::fields(names.and_then(|names| names.key(named.key())));
            BlobUser::Key { key: named.key(), name, named_by, segment_index: named.segment_index, shape: None }
        }
    }
}

pub(super) fn of_ptd<'t>(ptd: &'t Ptd<'_>) -> Blobs<'t> {
    let mut collector = Collector::default();
    collector.segments(ptd.flat_tensor.segments(), &|index| ptd.check_segment(index), &|data| ptd.range(data));
    for (index, entry) in ptd.entries().enumerate() {
        match ptd.entry_data(&entry).and_then(|data| Ok((data, ptd.data_size(&data)?))) {
            Ok((data, size)) => {
                let offset = ptd.range(&data).map(|range| range.start);
                collector.add(BlobKind::Named, "", Some(data), offset, size, key(&entry));
            }
            Err(error) => collector.fault(ptd.entry_path(index), error),
        }
    }
    collector.found
}

fn key<'t>(entry: &Entry<'t>) -> BlobUser<'t> {
    BlobUser::Key {
        key: entry.key(),
        name: None,
        named_by: None,
        segment_index: entry.segment_index,
        shape: entry.shape,
    }
}

pub(super) fn bytes<'t>(model: &'t Model<'_>, blob: &Blob<'_>) -> crate::Result<Option<Cow<'t, [u8]>>> {
    match (model, &blob.data) {
        (Model::Pte(_) | Model::Ptd(_), None) => return Ok(None),
        (Model::Pte(pte), Some(DataRef::Segment { index, .. })) if blob.kind == BlobKind::Segment => {
            pte.segment(*index)
        }
        (Model::Ptd(ptd), Some(DataRef::Segment { index, .. })) if blob.kind == BlobKind::Segment => {
            ptd.segment(*index)
        }
        (Model::Pte(pte), Some(data)) => pte.bytes(data).map(Cow::Borrowed),
        (Model::Ptd(ptd), Some(data)) => ptd.bytes(data).map(Cow::Borrowed),
        // Files of other kinds are a single piece.
        (other, _) => {
            let range = blob.offset.map(|start| start..start.saturating_add(blob.size));
            let bytes = range.and_then(|range| slice(&other.source()?.bytes, range));
            return Ok(bytes.map(Cow::Borrowed));
        }
    }
    .map(Some)
}
