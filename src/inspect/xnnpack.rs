//! The summary of an XNNPACK payload in a file of its own.

use super::delegates::{self, most_first};
use super::summary::{Content, Summary};
use super::{Blob, BlobCount, BlobKind, BlobUser, Blobs, DelegateConstants, OperatorCalls, SizeReport, size};
use crate::delegate::Xnnpack;
use crate::delegate::xnnpack::ConstantPlace;
use crate::error::Result;
use crate::file::header::{FileKind, XNNPACK_IDENTIFIERS};
use crate::schema::xnnpack::{XNNDatatype, XNNTensorValue};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The contents of an XNNPACK payload.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct XnnpackSummary<'t> {
    /// The arguments of the delegate's call that its nodes read, in order.
    pub inputs: Vec<XnnpackArgument<'t>>,
    /// The arguments that its nodes write, in order.
    pub outputs: Vec<XnnpackArgument<'t>>,
    /// The number of values.
    pub values: usize,
    /// The kinds of nodes, the most frequent first.
    pub operators: Vec<OperatorCalls>,
    /// The constants, in the payload or elsewhere.
    pub constants: BlobCount,
    /// The constants with a key, which are in the program's named data or in a `.ptd`.
    pub keyed: BlobCount,
}

/// An argument of a delegate's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct XnnpackArgument<'t> {
    /// The index among the call's arguments.
    pub argument: u32,
    /// Index of the value in the payload.
    pub value: usize,
    /// The type of the elements.
    pub datatype: XNNDatatype,
    /// The size of each dimension, in elements.
    #[serde(serialize_with = "crate::tensor::first_items")]
    #[cfg_attr(feature = "schemars", schemars(with = "crate::tensor::FirstItems<u32>"))]
    pub sizes: &'t [u32],
}

impl<'t> XnnpackArgument<'t> {
    fn of(value: usize, tensor: &'t XNNTensorValue<'_>) -> Self {
        Self { argument: tensor.external_id, value, datatype: tensor.datatype, sizes: tensor.dims() }
    }
}

impl Xnnpack<'_> {
    /// Returns a summary of the payload.
    pub fn summary(&self) -> Summary<'_> {
        let mut written = BTreeSet::<u32>::new();
        for node in self.graph.xnodes() {
            for (_, id) in node.xnode_union.ids().outputs {
                written.insert(id);
            }
        }
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (value, tensor) in self.graph.externals() {
            let list = if written.contains(&tensor.id_out) { &mut outputs } else { &mut inputs };
            list.push(XnnpackArgument::of(value, tensor));
        }
        let (mut constants, mut keyed) = (BlobCount::NONE, BlobCount::NONE);
        for constant in self.constants() {
            constants.add(constant.place.size(), constant.uses.len());
            if matches!(constant.place, ConstantPlace::Named { .. }) {
                keyed.add(constant.place.size(), constant.uses.len());
            }
        }
        let operators = self.graph.count_nodes().into_iter();
        let mut operators: Vec<OperatorCalls> =
            operators.map(|(name, calls)| OperatorCalls { name: name.into(), calls }).collect();
        most_first(&mut operators);
        let own = if self.header.is_some() { FileKind::Xnnpack.identifier().as_bytes() } else { &self.identifier };
        let known = XNNPACK_IDENTIFIERS.into_iter().find(|known| *known == own);
        let values = self.graph.xvalues().len();
        let content = XnnpackSummary { inputs, outputs, values, operators, constants, keyed };
        Summary {
            kind: FileKind::Xnnpack,
            identifier: known.and_then(|known| core::str::from_utf8(known).ok()).unwrap_or("XN01"),
            header: None,
            content: Content::Xnnpack(content),
            errors: self.delegate_constants().errors,
        }
    }

    /// Returns every constant in the payload, with the values that use it.
    pub fn blobs(&self) -> Blobs<'_> {
        let DelegateConstants { constants, errors } = self.delegate_constants();
        let mut blobs: Vec<Blob<'_>> = Vec::new();
        let mut last = None;
        for constant in constants {
            let (Some(offset), Some(size)) = (constant.offset, constant.size) else { continue };
            let user = constant.user;
            let of_last = last.replace(user.constant) == Some(user.constant);
            let user = BlobUser::Constant { constant: user.constant, value: user.value, scales: user.scales };
            match blobs.last_mut().filter(|_| of_last) {
                Some(blob) => blob.users.push(user),
                None => blobs.push(Blob {
                    kind: BlobKind::DelegateConstant,
                    data: None,
                    offset: Some(offset),
                    size,
                    users: [user].into(),
                }),
            }
        }
        Blobs { blobs, errors }
    }

    /// Reports how the bytes of the file are used, like [`Analysis::size_report`](crate::Analysis::size_report). Constants with a key are not in the payload.
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        size::of_xnnpack(self)
    }

    /// Returns the constants of a payload in a file of its own. Constants with a key are not in the payload.
    pub fn delegate_constants(&self) -> DelegateConstants<'_> {
        delegates::of_payload(self)
    }
}
