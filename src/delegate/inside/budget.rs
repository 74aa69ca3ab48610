//! A limit on the memory of graphs, so that small payloads cannot make large ones.

use super::{InsideArgument, InsideNode, InsideSetting};
use crate::error::{Error, ErrorKind, Result};
use alloc::vec::Vec;

/// The memory that the graphs of a file may still take.
pub(crate) struct GraphBudget {
    left: usize,
    limit: usize,
}

impl GraphBudget {
    /// The memory for graphs of small files, and that for each byte of a file, in bytes. Real graphs take less than one byte for each of the
    /// payload, except for those of an Ethos-U's commands whose weights are elsewhere: up to 15, for nodes of 850 bytes.
    const BASE: usize = 8 << 20;
    const PER_BYTE: usize = 8;

    /// Creates the budget for a file or payload of `size` bytes.
    pub(crate) fn of(size: usize) -> Self {
        let limit = size.saturating_mul(Self::PER_BYTE).saturating_add(Self::BASE);
        Self { left: limit, limit }
    }

    /// Adds a node. Fails with [`ErrorKind::Limit`] if the graph takes too much memory.
    pub(super) fn push(&mut self, nodes: &mut Vec<InsideNode>, node: InsideNode) -> Result<()> {
        let arguments = node.arguments.len().saturating_mul(size_of::<InsideArgument>());
        let settings = node.settings.iter().map(|setting| size_of::<InsideSetting>() + 16 + setting.value.capacity());
        let size = settings.fold(arguments.saturating_add(size_of::<InsideNode>()), usize::saturating_add);
        self.left = self.left.checked_sub(size).ok_or_else(|| {
            Error::new(ErrorKind::Limit {
                what: "bytes of memory for the graphs inside delegates",
                limit: self.limit as u64,
            })
        })?;
        nodes.push(node);
        Ok(())
    }
}
