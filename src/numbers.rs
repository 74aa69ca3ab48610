//! Numbers for texts and other bytes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Numbers texts and other bytes; equal ones share a number. Bytes that many references share, such as the name of a method, are
/// compared once per address, not once per reference.
#[derive(Default)]
pub(crate) struct Numbers<'t> {
    /// Numbers by address and length.
    places: BTreeMap<(usize, usize), usize>,
    /// Numbers by length and content.
    numbers: BTreeMap<(usize, &'t [u8]), usize>,
}

impl<'t> Numbers<'t> {
    /// Returns the number of these bytes: the count of different ones before them.
    pub fn of(&mut self, bytes: &'t [u8]) -> usize {
        let place = (bytes.as_ptr() as usize, bytes.len());
        let Self { places, numbers } = self;
        let next = numbers.len();
        *places.entry(place).or_insert_with(|| *numbers.entry((bytes.len(), bytes)).or_insert(next))
    }

    /// Returns the number of a text.
    pub fn of_text(&mut self, text: &'t str) -> usize {
        self.of(text.as_bytes())
    }
}

/// Items for texts, one for each different text.
pub(crate) struct ByText<'t, T> {
    numbers: Numbers<'t>,
    /// The items, in the order in which their texts first occurred.
    pub items: Vec<T>,
}

impl<T> Default for ByText<'_, T> {
    fn default() -> Self {
        Self { numbers: Numbers::default(), items: Vec::new() }
    }
}

impl<'t, T> ByText<'t, T> {
    /// Returns the item of a text, which is made when the text first occurs.
    #[expect(clippy::indexing_slicing, reason = "texts are numbered in the order of their items")]
    pub fn get(&mut self, text: &'t str, new: impl FnOnce() -> T) -> &mut T {
        let number = self.numbers.of_text(text);
        if number == self.items.len() {
            self.items.push(new());
        }
        &mut self.items[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_share_a_number_at_any_address() {
        let (texts, mut numbers) = (["ab", "a", "ab", "", "abc"].map(alloc::string::String::from), Numbers::default());
        let found = texts.each_ref().map(|text| numbers.of_text(text));
        assert_eq!(found, [0, 1, 0, 2, 3]);
        assert_eq!(texts.each_ref().map(|text| numbers.of_text(text)), found);
        assert_eq!(numbers.of(b"abc".get(..2).unwrap_or_default()), 0);
    }
}
