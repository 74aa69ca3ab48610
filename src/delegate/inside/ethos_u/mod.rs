//! The nodes of a payload for an Ethos-U: the operations of its command stream, in its order. The meaning of the registers follows Vela's
//! `ethos_u55_register_cs_generator.cpp` and `ethos_u85_register_cs_generator.cpp`.

mod memory;
mod operation;
mod tensor;

use super::InsideNode;
use super::budget::GraphBudget;
use crate::delegate::command_stream::{self, OperationKind, Product, Registers};
use crate::delegate::{EthosU, NamedBlobs};
use crate::error::Result;
use alloc::{string::String, vec::Vec};
use memory::Memory;
use tensor::Kernel;

/// Returns the nodes, or `None` if the payload has no command stream, or one for an accelerator with other registers.
pub(super) fn nodes(
    payload: &EthosU<'_>,
    blobs: &NamedBlobs<'_>,
    budget: &mut GraphBudget,
) -> Result<Option<Vec<InsideNode>>> {
    let Some(block) = payload.blocks.iter().find(|block| block.name == b"cmd_data") else { return Ok(None) };
    let data = match block.external {
        true => blobs.of_payload(&String::from_utf8_lossy(block.data))?,
        false => block.data,
    };
    let mut nodes = Vec::new();
    let mut memory = Memory::of(payload);
    let product = command_stream::read(data, &mut |kind, registers| {
        let mut node = memory.node(kind, registers);
        node.macs = macs(kind, registers);
        budget.push(&mut nodes, node)
    });
    let product = product.map_err(|error| match block.external {
        true => error,
        false => error.inside(block.offset),
    })?;
    memory.mark_outputs(&mut nodes);
    Ok(product.map(|_: Product| nodes))
}

fn name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Convolution(_) => "conv",
        OperationKind::Depthwise => "depthwise",
        OperationKind::Pool(mode) => match mode {
            0 => "pool_max",
            1 => "pool_average",
            2 => "pool_reduce_sum",
            3 => "pool_sum",
            4 => "pool_none",
            5 => "pool_min",
            6 => "pool_argmax_x",
            7 => "pool_argmax_y",
            _ => "pool",
        },
        OperationKind::Elementwise(mode) => match mode {
            0 => "elementwise_mul",
            1 => "elementwise_add",
            2 => "elementwise_sub",
            3 => "elementwise_min",
            4 => "elementwise_max",
            5 => "elementwise_lrelu",
            6 => "elementwise_abs",
            7 => "elementwise_clz",
            8 => "elementwise_shr",
            9 => "elementwise_shl",
            10 => "elementwise_lsr",
            11 => "elementwise_div",
            16 => "elementwise_cmp_eq",
            17 => "elementwise_cmp_ne",
            18 => "elementwise_cmp_ge",
            19 => "elementwise_cmp_gt",
            33 => "elementwise_and",
            34 => "elementwise_or",
            35 => "elementwise_xor",
            36 => "elementwise_not",
            42 => "elementwise_and_not",
            _ => "elementwise",
        },
        OperationKind::Resize(mode) => match mode {
            0 => "resize_bilinear",
            1 => "resize_replicate",
            2 => "resize_nearest",
            _ => "resize",
        },
        OperationKind::Dma => "dma",
        OperationKind::Branch(..) => "branch",
    }
}

/// Returns the multiply-accumulates of an operation. The sums of a pooling are not counted, as for other backends. Those after a jump are not
/// known, since it may repeat or skip operations.
fn macs(kind: OperationKind, registers: &Registers) -> Option<u64> {
    let output = [0x112, 0x111, 0x113].map(|code| registers.size(code)).into_iter().fold(1, u64::saturating_mul);
    let [height, width] = Kernel::of(registers).sizes;
    let taps = output.saturating_mul(height).saturating_mul(width);
    match kind {
        OperationKind::Convolution(_) => Some(taps.saturating_mul(registers.size(0x104))),
        OperationKind::Depthwise => Some(taps),
        OperationKind::Branch(..) => None,
        _ => Some(0),
    }
}
