//! Two files in one input.

use executorch_format::testing::{Choices, damage_word};

/// The number of bytes at the end of the input that choose how it is used.
const CHOICES: usize = 8;

/// Splits an input into two files. A seed is one file, so the second half of the inputs is the whole and a damaged copy of it.
pub(crate) fn pair(bytes: &[u8]) -> [Vec<u8>; 2] {
    let choices = &mut Choices::new(bytes.get(bytes.len().saturating_sub(CHOICES)..).unwrap_or_default());
    let numbers = [choices.byte(), choices.byte(), choices.byte(), choices.byte()];
    let number = u32::from_le_bytes(numbers) as usize;
    if choices.yes() {
        let (left, right) = bytes.split_at(number.checked_rem(bytes.len()).unwrap_or_default());
        return [left.to_vec(), right.to_vec()];
    }
    let at = number.checked_rem(bytes.len() / 4).unwrap_or_default() * 4;
    let damaged = damage_word(bytes, at, choices.byte().into());
    [bytes.to_vec(), damaged.unwrap_or_else(|| bytes.to_vec())]
}
