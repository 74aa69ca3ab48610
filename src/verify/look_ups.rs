//! The named data that a program's XNNPACK payloads look up when they are loaded.

use crate::delegate::xnnpack::{ConstantPlace, scales_constant};
use crate::delegate::{OpenPayload, Payload};
use crate::file::pte::Pte;
use crate::flatbuffer::text::c_string;
use alloc::{vec, vec::Vec};

/// Returns, for each entry of `named_data`, whether an XNNPACK payload looks it up: the runtime itself does not read named data,
/// and in the official library, no other backend does. Without `payloads`, nothing is known to be looked up.
#[expect(clippy::indexing_slicing, reason = "`found` has an item for each entry of the index")]
pub(super) fn looked_up(pte: &Pte<'_>, payloads: &[OpenPayload<'_>]) -> Vec<bool> {
    let mut found = vec![false; pte.named_data().len()];
    let keys = pte.named_data_index();
    for opened in payloads.iter().filter(|opened| super::xnnpack::is_xnnpack(pte, opened)) {
        let Ok(Payload::Xnnpack(payload)) = &opened.payload else { continue };
        for value in payload.graph.xvalues() {
            let scales = value.quant_params().and_then(scales_constant).map(|(index, ..)| index);
            let constant = value.tensor().map(|tensor| tensor.constant_buffer_idx);
            for index in [scales, constant].into_iter().flatten().filter(|index| *index > 0) {
                let Some(ConstantPlace::Named { key, .. }) = payload.constant(index) else { continue };
                if let Some(entry) = keys.get(c_string(key)) {
                    found[entry] = true;
                }
            }
        }
    }
    found
}
