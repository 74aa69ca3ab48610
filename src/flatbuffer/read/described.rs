//! Reading into a struct of any type by its description, for tables that are rarely read in large numbers: only the
//! list of fields is compiled for each.

use super::walk::{Checked, FoundField, Visit, Walk};
use super::{Buffer, Limits, ReadStats, Record};
use crate::error::Result;
use crate::flatbuffer::description::TableDescription;

/// A table that is read by its description.
pub(crate) trait Target<'a> {
    /// The field with that index in the description.
    fn slot(&mut self, index: usize) -> Option<&mut dyn Slot<'a>>;
}

/// A field of such a table.
pub(crate) trait Slot<'a> {
    /// Stores what was found. A list of tables gets that many empty ones; a table or a union's member is empty at first.
    fn put(&mut self, found: FoundField<'a>);

    /// The table in it, a union's member, or item `item` of a list of tables.
    fn table(&mut self, item: usize) -> Option<&mut dyn Target<'a>> {
        let _ = item;
        None
    }
}

/// The visitor that fills in a table.
struct Filled<'t, 'a>(Option<&'t mut dyn Target<'a>>);

impl<'a> Filled<'_, 'a> {
    fn slot(&mut self, index: usize) -> Option<&mut dyn Slot<'a>> {
        self.0.as_deref_mut()?.slot(index)
    }
}

impl<'t, 'a> Visit<'a> for Filled<'t, 'a> {
    type Inside<'v>
        = Filled<'v, 'a>
    where
        't: 'v;
    const VALUES: bool = true;

    fn found(&mut self, field: usize, found: FoundField<'a>) {
        if let Some(slot) = self.slot(field) {
            slot.put(found);
        }
    }

    fn inside(&mut self, field: usize, item: usize) -> Filled<'_, 'a> {
        Filled(self.slot(field).and_then(|slot| slot.table(item)))
    }
}

/// Reads a whole FlatBuffer.
pub(crate) fn read<'a, T: Target<'a> + Record<'a> + Default>(
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<(T, ReadStats)> {
    read_at(0, bytes, limits)
}

/// [`read`] for a FlatBuffer that starts at byte `position`, after a size prefix, and whose alignment counts from byte
/// 0.
pub(crate) fn read_at<'a, T: Target<'a> + Record<'a> + Default>(
    position: u32,
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<(T, ReadStats)> {
    let mut root = T::default();
    let seen = fill(position, bytes, limits, T::DESCRIPTION, &mut root)?;
    Ok((root, seen))
}

fn fill<'a>(
    position: u32,
    bytes: &'a [u8],
    limits: &Limits,
    description: &'static TableDescription,
    root: &mut dyn Target<'a>,
) -> Result<ReadStats> {
    let buffer = Buffer::new(bytes, limits)?;
    Walk::new().table(buffer.root(position)?, description, Filled(Some(root)))?;
    Ok(buffer.seen())
}

/// Checks a whole FlatBuffer by the same walk, without building anything.
pub(crate) fn check_described(root: &'static TableDescription, bytes: &[u8], limits: &Limits) -> Result<()> {
    check_described_at(0, root, bytes, limits)
}

/// [`check_described`] for a FlatBuffer that starts at byte `position`, as for [`read_at`].
pub(crate) fn check_described_at(
    position: u32,
    root: &'static TableDescription,
    bytes: &[u8],
    limits: &Limits,
) -> Result<()> {
    let buffer = Buffer::new(bytes, limits)?;
    Walk::new().table(buffer.root(position)?, root, Checked)
}
