//! The named data that a program's payloads look up when they are loaded.

use crate::delegate::{OpenPayload, Payload};
use crate::file::pte::Pte;
use crate::flatbuffer::text::c_string;
use alloc::{vec, vec::Vec};

/// Returns, for each entry of `named_data`, whether a payload looks it up: the runtime itself does not read named data.
#[expect(clippy::indexing_slicing, reason = "`found` has an item for each entry of the index")]
pub(super) fn looked_up(pte: &Pte<'_>, payloads: &[OpenPayload<'_>]) -> Vec<bool> {
    let mut found = vec![false; pte.named_data().len()];
    let keys = pte.named_data_index();
    for opened in payloads.iter().filter(|opened| opened.kind(pte).is_some()) {
        let references = opened.payload.as_ref().ok().and_then(Payload::key_references);
        for reference in references.into_iter().flatten().filter(|reference| reference.is_used) {
            if let Some(entry) = keys.get(c_string(&reference.key)) {
                found[entry] = true;
            }
        }
    }
    found
}
