//! The state at one time: the tensors that values are, and the content of memory.

use super::bytes::{BEFORE, Bytes};
#[cfg(doc)]
use super::values::NOWHERE;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A tensor that a value may be, with its pointer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pointer {
    /// The value that was this tensor when the method was loaded. It has the tensor's sizes.
    pub(super) tensor: u32,
    /// The value whose memory the pointer leads to, or [`NOWHERE`].
    pub(super) memory: u32,
    /// The event that set the pointer; [`BEFORE`] if there is none.
    pub(super) set_by: u32,
    /// If the value may be several tensors because paths joined: the writes of other values that its bytes come from on the
    /// paths on which it is this tensor.
    pub(super) strange: Vec<u32>,
}

/// Pointers and memory at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) bytes: Bytes,
    /// The pointers of values whose pointer is not the one that they were loaded with.
    pub(super) pointers: BTreeMap<u32, Vec<Pointer>>,
    /// The conditions that a jump on the path has tested and that have not changed since.
    pub(super) conditions: BTreeMap<u32, bool>,
    /// `true` if a value may be several tensors.
    pub(super) has_several: bool,
}

impl Pointer {
    /// Returns the pointer that a value is loaded with, if it has memory.
    pub(super) fn of(value: u32) -> Self {
        Self { tensor: value, memory: value, set_by: BEFORE, strange: Vec::new() }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.tensor, self.memory, self.set_by) == (other.tensor, other.memory, other.set_by)
    }
}

impl State {
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.pointers.len()
    }

    /// Returns the pointers of a value: several if paths joined. `own` is the pointer that it was loaded with.
    pub(super) fn pointers_of<'s>(&'s self, value: u32, own: &'s Pointer) -> &'s [Pointer] {
        match self.pointers.get(&value) {
            Some(pointers) => pointers,
            None => core::slice::from_ref(own),
        }
    }

    pub(super) fn set(&mut self, value: u32, pointers: Vec<Pointer>) {
        self.has_several |= pointers.len() > 1;
        self.pointers.insert(value, pointers);
    }
}
