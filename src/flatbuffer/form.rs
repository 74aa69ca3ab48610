//! What fields are inline in their table.

/// What a field is inline, where it is present.
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
    /// Four bytes that point to something written before.
    Offset,
}

impl FieldForm {
    /// A number of `size` bytes. Fails to compile where there is none.
    #[allow(clippy::panic)]
    pub(crate) const fn number(size: usize) -> Self {
        match size {
            1 => Self::Number1,
            2 => Self::Number2,
            4 => Self::Number4,
            8 => Self::Number8,
            _ => panic!("a number of another size than 1, 2, 4 or 8 bytes"),
        }
    }

    /// Bytes inline, which is the alignment too.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::Number1 => 1,
            Self::Number2 => 2,
            Self::Number4 | Self::Offset => 4,
            Self::Number8 => 8,
        }
    }
}

/// All the parts, one after the other. `N` is how many elements they have together.
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

/// A list of a known length as an array. Fails to compile where it has another.
#[allow(clippy::panic)]
pub(crate) const fn fixed<const N: usize>(list: &[FieldForm]) -> &[FieldForm; N] {
    match list.first_chunk() {
        Some(array) => array,
        None => panic!("a list of another length"),
    }
}
