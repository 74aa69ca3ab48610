//! The outputs among the arguments of delegates' calls, if the payloads state them.

use crate::delegate::{OpenPayload, Payload};
use crate::file::pte::Pte;
use crate::schema::xnnpack::EXTERNAL_OUTPUT;
use alloc::{vec, vec::Vec};

/// The outputs among the arguments of each delegate's call, for each method.
#[derive(Debug, Default)]
pub(crate) struct DelegateOutputs {
    payloads: Vec<Outputs>,
    /// The index of the payload, by method and delegate.
    indices: Vec<Vec<Option<usize>>>,
}

/// The arguments that are outputs.
#[derive(Debug)]
pub(crate) enum Outputs {
    /// The arguments at these positions, in order.
    At(Vec<u32>),
    /// All arguments from this position on.
    From(usize),
}

impl Outputs {
    pub(crate) fn has(&self, position: usize) -> bool {
        match self {
            Self::At(positions) => u32::try_from(position).is_ok_and(|at| positions.binary_search(&at).is_ok()),
            Self::From(first) => position >= *first,
        }
    }
}

impl DelegateOutputs {
    /// Finds the outputs of the payloads that state their inputs and outputs: those of XNNPACK, Vulkan, and Vela for Ethos-U.
    #[expect(clippy::indexing_slicing, reason = "`indices` has an item for each delegate")]
    pub(crate) fn of_program(pte: &Pte<'_>, payloads: &[OpenPayload<'_>]) -> Self {
        let mut found = Self::default();
        for plan in pte.methods() {
            found.indices.push(vec![None; plan.delegates().len()]);
        }
        for opened in payloads {
            let Ok(payload) = &opened.payload else { continue };
            let Some(outputs) = outputs(payload) else { continue };
            for (method, delegate) in &opened.delegates {
                found.indices[*method][*delegate] = Some(found.payloads.len());
            }
            found.payloads.push(outputs);
        }
        found
    }

    #[expect(clippy::indexing_slicing, reason = "`indices` refers to items of `payloads`")]
    pub(crate) fn of(&self, method: usize, delegate: i32) -> Option<&Outputs> {
        let index = self.indices.get(method)?.get(usize::try_from(delegate).ok()?)?;
        index.map(|index| &self.payloads[index])
    }
}

fn outputs(payload: &Payload<'_>) -> Option<Outputs> {
    match payload {
        Payload::Xnnpack(xnnpack) => {
            let externals = xnnpack.graph.externals();
            let outputs = externals.iter().filter(|(_, tensor)| tensor.flags & EXTERNAL_OUTPUT != 0);
            let mut positions: Vec<u32> = outputs.map(|(_, tensor)| tensor.external_id).collect();
            positions.dedup();
            Some(Outputs::At(positions))
        }
        Payload::Vulkan(vulkan) => Some(Outputs::From(vulkan.graph.input_ids().len())),
        Payload::EthosU(ethos) => ethos.inputs().map(|inputs| Outputs::From(inputs.len())),
        _ => None,
    }
}
