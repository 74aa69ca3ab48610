//! The named data that a program's XNNPACK payloads look up when they are loaded.

#[cfg(feature = "payloads")]
use crate::delegate::Payload;
#[cfg(feature = "payloads")]
use crate::delegate::xnnpack::{ConstantPlace, scales_constant};
use crate::file::pte::Pte;
#[cfg(feature = "payloads")]
use crate::flatbuffer::text::c_string;
use alloc::{vec, vec::Vec};

/// Returns, for each entry of `named_data`, whether an XNNPACK payload looks it up: the runtime itself does not read named data,
/// and in the official library, no other backend does. Without the feature `payloads`, look-ups are unknown.
pub(super) fn looked_up(pte: &Pte<'_>) -> Vec<bool> {
    #[cfg_attr(not(feature = "payloads"), allow(unused_mut))]
    let mut found = vec![false; pte.named_data().len()];
    #[cfg(feature = "payloads")]
    add_payloads(pte, &mut found);
    found
}

#[cfg(feature = "payloads")]
#[expect(clippy::indexing_slicing, reason = "`found` has an item for each entry of the index")]
fn add_payloads(pte: &Pte<'_>, found: &mut [bool]) {
    let keys = pte.named_data_index();
    for opened in pte.open_payloads().iter().filter(|opened| super::xnnpack::is_xnnpack(pte, opened)) {
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
}
