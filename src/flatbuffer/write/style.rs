//! The differences between the official writers of FlatBuffers.

/// The order in which the fields of a table are written. They are written from the table's end to its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum FieldOrder {
    /// By id, ascending: Python's object API, with which ExecuTorch writes `.pte` files since 1.2 and bundles since 1.4.
    #[default]
    ById,
    /// By size, 8 to 1, and within a size by id, descending: flatc (every `.ptd` from Python, `.pte` files before 1.2) and the
    /// C++ builder.
    BySize,
}

/// The tables that share a vtable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum VtableSharing {
    /// Tables with the same field offsets and the same inline size: flatc, C++, and Python's `flatbuffers` since 25.12.
    #[default]
    ByEntriesAndSize,
    /// Tables with the same field offsets, even if their inline sizes differ: Python's `flatbuffers` up to 25.9. The vtable then
    /// states the inline size of the table written first.
    ByEntries,
}

/// The style of an encoded FlatBuffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub(crate) field_order: FieldOrder,
    pub(crate) vtable_sharing: VtableSharing,
    /// `true` if an empty vector is aligned like one with elements.
    pub(crate) align_empty: bool,
    /// The alignments that an exporter can choose, in bytes, powers of two: one for each class of vectors in the schema, see
    /// `AlignmentClass`.
    pub(crate) alignments: [usize; 2],
}
