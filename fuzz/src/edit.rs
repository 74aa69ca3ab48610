//! Edits of decoded files.

use executorch_format::Model;
use executorch_format::testing::Choices;
use executorch_format_support::edits::edit_file;

/// The number of bytes at the end of the input that choose the operations.
const CHOICES: usize = 24;

/// Decodes, edits, encodes, decodes: the trees must be equal, and must break no rule, with severity error, that the input does not break.
/// Each saving must be smaller than the file.
pub fn edit(bytes: &[u8]) {
    if let Ok(model) = Model::parse(bytes) {
        assert!(model.savings().iter().all(|saving| saving.size < bytes.len() as u64));
    }
    let choices = bytes.len().saturating_sub(CHOICES);
    edit_file(bytes, &mut Choices::new(bytes.get(choices..).unwrap_or_default()));
}
