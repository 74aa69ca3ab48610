//! Contents of delegates' payloads that the backend of some releases does not support.

use super::super::report::Name;
use super::super::{Behaviour, Release};
use super::reasons::{self, ReasonKind};
use super::{KnownBehaviour, Reason, xnnpack};
use crate::delegate::{OpenPayload, Payload, Xnnpack};
use crate::error::Result;
use crate::file::pte::Pte;
use crate::operators::{
    Span, Spans,
    versions::{V0_5, V1_5},
};
use crate::path::{FieldPath, Path};
use crate::schema::xnnpack::{XNNDatatype, XNNQuantParams, XNodeUnion};
use Behaviour::{Miscomputes, Refuses, Unknown};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

/// The backend whose payloads are read.
pub(super) const BACKEND: &str = "XnnpackBackend";

/// The most backends to name in a reason.
const MAX_SHOWN: usize = 4;

/// A use of something in a payload that some releases do not support.
pub(super) struct Use {
    kind: &'static ReasonKind,
    what: &'static str,
    path: FieldPath,
    message: String,
    /// The releases that support it.
    known: Spans,
    /// The behaviour of the other releases.
    otherwise: Behaviour,
}

impl Use {
    pub(super) fn find(&self, release: Release) -> Option<KnownBehaviour> {
        if release.is_in(self.known) {
            return None;
        }
        Some((self.otherwise, Reason::new(self.kind, self.path.clone(), self.message.clone())))
    }
}

/// The kinds of uses, each once, with the first place.
#[derive(Default)]
struct ContentUses(Vec<Use>);

impl ContentUses {
    /// Adds a use. `known` is a table or enumeration and the name of its member.
    fn add(
        &mut self,
        known: (&str, &str),
        kind: &'static ReasonKind,
        what: &'static str,
        otherwise: Behaviour,
        path: &Path<'_>,
    ) {
        if self.0.iter().any(|used| (used.kind.name, used.what) == (kind.name, what)) {
            return;
        }
        // The rules refuse members that are in no release's schema.
        let Some(known) = xnnpack::releases(known) else { return };
        let Some(since) = known.first().filter(|_| !Release::V0_2.is_in(known)) else { return };
        let message = format!("{what}, which XNNPACK's delegate supports since {since}");
        self.push(Use { kind, what, path: path.to_field_path(), message, known, otherwise });
    }

    fn push(&mut self, used: Use) {
        if !self.0.iter().any(|known| (known.kind.name, known.what) == (used.kind.name, used.what)) {
            self.0.push(used);
        }
    }
}

/// Returns the uses of things in payloads that some releases do not support.
pub(super) fn uses(pte: &Pte<'_>, opened: &[OpenPayload<'_>]) -> Vec<Use> {
    let mut uses = ContentUses::default();
    let mut read = 0;
    for opened in opened {
        let Some(((method, index), (_, delegate))) = opened.delegates.iter().zip(opened.delegates_of(pte)).next()
        else {
            continue;
        };
        if let (BACKEND, Ok(Payload::Xnnpack(payload))) = (delegate.backend(), &opened.payload) {
            read += opened.delegates.len();
            let path = Path::ROOT;
            let path = path.item("execution_plan", *method);
            let path = path.item("delegates", *index);
            payload_uses(payload, &path.field("processed"), &mut uses);
        }
        if opened.kind(pte).is_some() {
            let path = Path::ROOT.item("execution_plan", *method);
            let path = path.item("delegates", *index);
            newer_forms(&opened.payload, &path.field("processed"), &mut uses);
        }
    }
    let delegates = pte.methods().iter().flat_map(|plan| plan.delegates());
    if delegates.filter(|delegate| delegate.backend() == BACKEND).count() > read {
        let (path, message) = (FieldPath::default(), "a payload for XNNPACK that cannot be read".to_owned());
        uses.push(Use { kind: &reasons::UNREAD, what: "", path, message, known: &[], otherwise: Unknown });
    }
    others(pte, &mut uses);
    uses.0
}

/// Returns a backend's name, quoted and truncated unless it is a short plain word.
fn backend_name(id: &str) -> String {
    let plain = id.len() <= 60 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
    if plain && !id.is_empty() { id.to_owned() } else { format!("{}", Name(id)) }
}

/// Adds forms of payloads that only the backend of 1.5 reads, by its source.
fn newer_forms(payload: &Result<Payload<'_>>, path: &Path<'_>, uses: &mut ContentUses) {
    let (what, message, otherwise) = match payload {
        Ok(Payload::AotInductor(aot)) if aot.lists_tensors => {
            ("", "weights for CUDA with their names, which the backend reads since 1.5", Refuses)
        }
        // Earlier backends take the key for the data.
        Ok(Payload::EthosU(ethos_u)) if ethos_u.blocks.iter().any(|block| block.external) => {
            ("blocks", "blocks for an Ethos-U under keys, which the backend looks up since 1.5", Miscomputes)
        }
        _ => return,
    };
    let (path, message) = (path.to_field_path(), message.to_owned());
    uses.push(Use { kind: &reasons::NEWER_PAYLOAD, what, path, message, known: V1_5, otherwise });
}

/// Adds the backends whose payloads were not tested, for each release.
fn others(pte: &Pte<'_>, uses: &mut ContentUses) {
    let mut names: Vec<String> = Vec::new();
    let mut first = None;
    for (method, plan) in pte.methods().iter().enumerate() {
        for (index, delegate) in plan.delegates().iter().enumerate() {
            if delegate.backend() == BACKEND || names.len() > MAX_SHOWN {
                continue;
            }
            let name = backend_name(delegate.backend());
            if names.contains(&name) {
                continue;
            }
            first.get_or_insert((method, index));
            names.push(if names.len() == MAX_SHOWN { "others".to_owned() } else { name });
        }
    }
    let Some((method, index)) = first else { return };
    let path = Path::ROOT;
    let path = path.item("execution_plan", method).item("delegates", index).to_field_path();
    let message = format!("payloads of {}", names.join(", "));
    uses.push(Use { kind: &reasons::PAYLOAD_NOT_CHECKED, what: "", path, message, known: &[], otherwise: Unknown });
}

fn payload_uses(payload: &Xnnpack<'_>, path: &Path<'_>, uses: &mut ContentUses) {
    let mut prelu = false;
    for (index, node) in payload.graph.xnodes().iter().enumerate() {
        let path = path.item("xnodes", index);
        let name = node.name();
        prelu |= matches!(node.xnode_union, XNodeUnion::XNNPReLU(_));
        if matches!(node.xnode_union, XNodeUnion::XNNScaledDotProductAttention(_)) {
            uses.push(Use {
                kind: &reasons::NODE_DROPPED,
                what: name,
                path: path.to_field_path(),
                message: format!("{name}, which XNNPACK's delegate no longer supports since 0.7"),
                known: const { &[Span::since(0, 2).until(0, 6)] },
                otherwise: Refuses,
            });
        }
        uses.add(("XNodeUnion", name), &reasons::NEWER_NODE, name, Refuses, &path);
    }
    let packed = payload.graph.packed_ids();
    for (index, value) in payload.graph.xvalues().iter().enumerate() {
        let path = path.item("xvalues", index);
        let Some(tensor) = value.tensor() else { continue };
        if let Some(name) = tensor.datatype.name() {
            uses.add(("XNNDatatype", name), &reasons::NEWER_DATATYPE, name, Refuses, &path);
        }
        if tensor.datatype == XNNDatatype::FP16 {
            half_precision(prelu, &path, uses);
        }
        let named = |index: u32| {
            payload.header.is_some()
                && payload.graph.constant_data().get(index as usize).is_some_and(|entry| entry.named_key.is_some())
        };
        if tensor.constant_buffer_idx != 0 && named(tensor.constant_buffer_idx) {
            let what = "constants by name (`named_key`)";
            uses.add(("ConstantDataOffset", "named_key"), &reasons::NAMED_CONSTANTS, what, Miscomputes, &path);
            if packed.binary_search(&tensor.id_out).is_err() {
                let message =
                    "a constant by name that no node packs, which XNNPACK's delegate frees too early before 1.4.1";
                uses.push(Use {
                    kind: &reasons::FREED_CONSTANTS,
                    what,
                    path: path.to_field_path(),
                    message: message.to_owned(),
                    known: const { &[Span::since(0, 2).until(0, 5), Span::since(1, 4)] },
                    otherwise: Miscomputes,
                });
            }
        }
        let kind = &reasons::NEWER_SCALES;
        match value.quant_params() {
            Some(XNNQuantParams::PerChannelQuant(channels)) if channels.scale_buffer_idx != 0 => {
                let known = ("PerChannelQuant", "scale_buffer_idx");
                uses.add(known, kind, "scales of channels in a constant of their own", Refuses, &path);
            }
            Some(XNNQuantParams::PerChannelGroupQuant(groups)) if groups.scale_buffer_idx != 0 => {
                let known = ("PerChannelGroupQuant", "scale_buffer_idx");
                // Not tested: such a release would read another list, which is empty.
                uses.add(known, kind, "scales of groups in a constant of their own", Unknown, &path);
            }
            Some(XNNQuantParams::PerChannelGroupQuant(groups)) if groups.scale_bf16.is_some() => {
                uses.add(("PerChannelGroupQuant", "scale_bf16"), kind, "scales of groups as bfloat16", Unknown, &path);
            }
            _ => {}
        }
    }
}

/// Adds the use of half precision. Up to 0.4, only a convolution with PReLU was tested, and it was refused.
fn half_precision(prelu: bool, path: &Path<'_>, uses: &mut ContentUses) {
    let (what, otherwise, message) = match prelu {
        true => ("XNNPReLU", Refuses, "half precision with XNNPReLU, which XNNPACK supports since 0.5"),
        false => ("", Unknown, "half precision: up to 0.4 only one graph was tested, and it was refused"),
    };
    let (path, message) = (path.to_field_path(), message.to_owned());
    uses.push(Use { kind: &reasons::HALF_PRECISION, what, path, message, known: V0_5, otherwise });
}
