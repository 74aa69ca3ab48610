//! Choices taken from bytes.

use crate::schema::description::NumberKind;
use alloc::vec::Vec;

/// A source of choices: the bytes from a fuzzer or a strategy. After the last byte, every choice is 0, which leads to the smallest
/// value.
#[derive(Clone, Debug)]
pub struct Choices<'b> {
    bytes: &'b [u8],
}

impl<'b> Choices<'b> {
    /// Takes choices from bytes.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// Takes the next byte.
    pub fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    /// Takes a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte().checked_rem(end).unwrap_or_default()
    }

    /// Takes one of several values.
    pub fn one_of<T: Copy>(&mut self, first: T, others: &[T]) -> T {
        match usize::from(self.below(u8::try_from(others.len()).unwrap_or(u8::MAX - 1) + 1)) {
            0 => first,
            at => others.get(at - 1).copied().unwrap_or(first),
        }
    }

    /// Takes a `bool`.
    pub fn yes(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Takes a number: often a limit of its type, otherwise any number.
    pub(super) fn number(&mut self, kind: NumberKind) -> u64 {
        let bits = 8 * kind.size() as u32;
        let all = u64::MAX >> (64 - bits);
        let sign = 1 << (bits - 1);
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => all,
            3 => sign,
            4 => sign - 1,
            5 => u64::from(self.byte()),
            // Infinity and not-a-number for floats of either width.
            6 if kind == NumberKind::F32 => 0x7f80_0000 | u64::from(self.byte()) << 8,
            6 if kind == NumberKind::F64 => 0x7ff0_0000_0000_0000 | u64::from(self.byte()) << 40,
            _ => u64::from_le_bytes(core::array::from_fn(|_| self.byte())) & all,
        }
    }

    pub(super) fn text(&mut self) -> Vec<u8> {
        match self.below(6) {
            0 => Vec::new(),
            1 => b"forward".to_vec(),
            2 => "é語🦀\n\"\\".as_bytes().to_vec(),
            3 => b"nul\0inside".to_vec(),
            4 => b"not utf-8 \xff\xc0".to_vec(),
            _ => (0..self.below(12)).map(|_| self.byte()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_a_choice_and_the_rest_are_0() {
        let mut choices = Choices::new(&[7, 9]);
        assert_eq!([choices.byte(), choices.byte(), choices.byte()], [7, 9, 0]);
    }

    #[test]
    fn numbers_include_the_limits_of_their_type() {
        let number = |choice: u8| Choices::new(&[choice]).number(NumberKind::I16);
        assert_eq!([0, 1, 2, 3, 4].map(number), [0, 1, 0xffff, 0x8000, 0x7fff]);
    }
}
