//! The inline storage of fields in their table.

/// The inline storage of a field, if it is present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldForm {
    /// A number of 1 byte.
    Number1,
    /// A number of 2 bytes.
    Number2,
    /// A number of 4 bytes.
    Number4,
    /// A number of 8 bytes.
    Number8,
    /// A 4-byte offset to a string, vector or table.
    Offset,
}

impl FieldForm {
    /// Returns a number of `size` bytes. Does not compile for a size other than 1, 2, 4 or 8.
    #[allow(clippy::panic)]
    pub(crate) const fn number(size: usize) -> Self {
        match size {
            1 => Self::Number1,
            2 => Self::Number2,
            4 => Self::Number4,
            8 => Self::Number8,
            _ => panic!("the size of a number must be 1, 2, 4 or 8 bytes"),
        }
    }

    /// Returns its inline size in bytes, which is also its alignment.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::Number1 => 1,
            Self::Number2 => 2,
            Self::Number4 | Self::Offset => 4,
            Self::Number8 => 8,
        }
    }
}

/// Returns all parts, concatenated. `N` is their total number of elements.
#[allow(clippy::indexing_slicing)]
pub(crate) const fn concatenated<const N: usize>(parts: &[&[FieldForm]]) -> [FieldForm; N] {
    let (mut all, mut len, mut part) = ([FieldForm::Offset; N], 0, 0);
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            all[len] = parts[part][index];
            len += 1;
            index += 1;
        }
        part += 1;
    }
    assert!(len == N);
    all
}

/// The inline storage of the fields of a table, as its writer needs it.
#[derive(Clone, Copy)]
pub(crate) struct TableLayout {
    /// By id.
    pub(crate) list: &'static [FieldForm],
    /// The sizes of the fields: for each 2 bits, the exponent of its size in bytes, a power of two.
    pub(crate) sizes: u64,
    /// The fields of 8 bytes, as bits.
    pub(crate) wide: u32,
}

impl TableLayout {
    pub(crate) const fn of(list: &'static [FieldForm]) -> Self {
        let (mut forms, mut rest, mut id) = (Self { list, sizes: 0, wide: 0 }, list, 0);
        while let [form, after @ ..] = rest {
            // No table has more fields than there are bits.
            forms.sizes |= (form.size().trailing_zeros() as u64) << (2 * id);
            forms.wide |= ((form.size() == 8) as u32) << id;
            (rest, id) = (after, id + 1);
        }
        forms
    }
}
