//! In what the official writers of FlatBuffers differ.

/// The order in which the fields of a table are put down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldOrder {
    /// By id, ascending: Python's object API, with which ExecuTorch writes `.pte` files since 1.2 and bundles since 1.4.
    #[default]
    ById,
    /// By size, 8 to 1, and within a size by id, descending: flatc (every `.ptd` from Python, `.pte` files before 1.2) and the
    /// C++ builder.
    BySize,
}

/// Which tables share a vtable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VtableSharing {
    /// Those whose fields are stored at the same places and whose inline sizes are the same: flatc, C++, and Python's
    /// `flatbuffers` since 25.12.
    #[default]
    ByEntriesAndSize,
    /// Those whose fields are stored at the same places, whatever their inline sizes are: Python's `flatbuffers` up to 25.9.
    /// The inline size that such a vtable says is that of the table put down first.
    ByEntries,
}

/// How a FlatBuffer is laid out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub(crate) field_order: FieldOrder,
    pub(crate) vtable_sharing: VtableSharing,
    /// Whether a vector without elements is aligned as if it had some.
    pub(crate) align_empty: bool,
    /// The alignments that an exporter can choose, in bytes, powers of two: one for each class of vectors that the schema
    /// has, see `AlignmentClass`.
    pub(crate) alignments: [usize; 2],
}
