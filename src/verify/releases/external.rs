//! The external data that a program needs, and the behaviour of releases if it is missing.

use super::super::report::Name;
use super::super::{Behaviour, Cause, Outcome, Release};
use super::{KnownBehaviour, Reason, reasons};
use crate::delegate::{NamedBlobs, OpenPayload, Payload, PayloadKind};
use crate::error::counted;
use crate::file::key_index::KeyIndex;
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::flatbuffer::text::c_string;
use crate::path::{FieldPath, Path};
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// External data that a program needs and that no `.ptd` file contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MissingData {
    /// The number of tensors.
    pub tensors: usize,
    /// The number of constants, blocks and other data of payloads, counted for each payload.
    pub constants: usize,
    /// The kind of the first payload with such data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadKind>,
    /// The name of the first of them, truncated if it is long.
    pub first: String,
    /// The field that refers to the first of them.
    pub path: FieldPath,
}

impl fmt::Display for MissingData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constants = match self.payload {
            Some(PayloadKind::Xnnpack) | None => counted(self.constants, "XNNPACK constant"),
            Some(kind) => format!("{} of {kind}", counted(self.constants, "blob")),
        };
        let what = match (self.tensors, self.constants) {
            (tensors, 0) => counted(tensors, "tensor"),
            (0, _) => constants,
            (tensors, _) => format!("{} and {constants}", counted(tensors, "tensor")),
        };
        write!(f, "the data of {what}, such as {}, is to be in a .ptd file", self.first)
    }
}

pub(in crate::verify) fn missing(pte: &Pte<'_>, opened: &[OpenPayload<'_>], data: &[&Ptd<'_>]) -> Option<MissingData> {
    let mut missing = MissingData::default();
    let indices: Vec<KeyIndex<'_>> = data.iter().map(|ptd| ptd.index()).collect();
    for (method, plan) in pte.methods().iter().enumerate() {
        let path = Path::ROOT;
        let path = path.item("execution_plan", method);
        for (value, tensor) in plan.tensors().filter(|(_, tensor)| tensor.is_external()) {
            let Ok(TensorData::External(name)) = pte.tensor_data(tensor) else { continue };
            let name = c_string(name);
            if indices.iter().all(|index| index.get(name).is_none()) {
                missing.tensors += 1;
                missing.add(name, &path.item("values", value));
            }
        }
    }
    let blobs = NamedBlobs::new(pte, data.iter().copied());
    for opened in opened {
        let (Some(kind), Some((method, index))) = (opened.kind(pte), opened.delegates.first()) else { continue };
        let path = Path::ROOT;
        let path = path.item("execution_plan", *method);
        let path = path.item("delegates", *index);
        let references = opened.payload.as_ref().ok().and_then(Payload::key_references);
        for reference in references.into_iter().flatten().filter(|reference| reference.is_used) {
            // A damaged blob is not missing: it breaks another rule.
            if matches!(blobs.get(&reference.key), Ok(None)) {
                missing.payload.get_or_insert(kind);
                missing.constants += 1;
                missing.add(&reference.key, &path);
            }
        }
    }
    (missing.tensors + missing.constants > 0).then_some(missing)
}

impl MissingData {
    fn add(&mut self, name: &str, path: &Path<'_>) {
        if self.tensors + self.constants == 1 {
            self.first = format!("{}", Name(name));
            self.path = path.to_field_path();
        }
    }

    /// Returns the cause of a verdict if no `.ptd` file was given; `None` for releases that do not look up names.
    pub(super) fn cause(&self, release: Release) -> Option<Cause> {
        let message = format!("{self}, and none was given");
        let cause = || Cause::new(Outcome::Missing, Reason::new(&reasons::EXTERNAL_DATA, self.path.clone(), message));
        (release >= Release::V0_6).then(cause)
    }

    /// Returns the behaviour of a release with the program, with `.ptd` files (`given`) or without: for the format, and for the
    /// payloads. `named` is `true` if the program has named data itself, so that the runtime has a place to look up keys.
    pub(super) fn find(&self, release: Release, given: bool, named: bool) -> [Option<KnownBehaviour>; 2] {
        let found = |behaviour| {
            let message = match given {
                true => format!("{self}, with which {release} was not tested"),
                false => format!("{self}, and none was given"),
            };
            (behaviour, Reason::new(&reasons::EXTERNAL_DATA, self.path.clone(), message))
        };
        // Releases were not tested with other payloads. By their source, the backends of 1.5 refuse them.
        if self.tensors == 0 && self.payload.is_some_and(|kind| kind != PayloadKind::Xnnpack) {
            let behaviour = if release == Release::LATEST { Behaviour::Refuses } else { Behaviour::Unknown };
            return [None, (!given).then(|| found(behaviour))];
        }
        // Earlier releases do not look up names: their treatment of such tensors and constants is a separate feature.
        let (tensors, constants) = match (given, release) {
            _ if release < Release::V0_6 => (None, None),
            (true, Release::V0_6) => (None, Some(Behaviour::Unknown)),
            (true, _) => (None, None),
            // Without any named data, XNNPACK's delegate looks up keys through a null pointer.
            (false, Release::V0_6) => {
                (Some(Behaviour::Dies), Some(if named { Behaviour::Unknown } else { Behaviour::Dies }))
            }
            (false, _) if !named => (Some(Behaviour::Refuses), Some(Behaviour::Dies)),
            (false, Release::LATEST) => (Some(Behaviour::Refuses), Some(Behaviour::Refuses)),
            (false, _) => (Some(Behaviour::Refuses), Some(Behaviour::Unknown)),
        };
        let tensors = tensors.filter(|_| self.tensors > 0);
        // Tensors are looked up first.
        let constants = constants.filter(|_| self.constants > 0 && tensors.is_none());
        [tensors.map(found), constants.map(found)]
    }
}
