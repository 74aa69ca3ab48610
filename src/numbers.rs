//! Numbers for texts and other bytes.

use alloc::collections::BTreeMap;

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
