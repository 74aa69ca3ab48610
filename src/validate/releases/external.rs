//! What a program needs out of `.ptd` files, and what releases do where it is not there.

use super::super::report::Name;
use super::super::{Behaviour, Release};
use super::contents::BACKEND;
use super::{Found, Reason};
use crate::delegate::xnnpack::ConstantPlace;
use crate::delegate::{NamedBlobs, OpenPayload, Payload};
use crate::error::counted;
use crate::file::key_index::KeyIndex;
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::path::{FieldPath, Path};
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// What a program looks up in `.ptd` files that none of them has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MissingData {
    /// How many tensors.
    pub tensors: usize,
    /// How many constants of XNNPACK payloads, each payload for itself.
    pub constants: usize,
    /// The name of the first one, cut if it is long.
    pub first: String,
    /// Where it is asked for.
    pub path: FieldPath,
}

impl fmt::Display for MissingData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.tensors, self.constants) {
            (tensors, 0) => counted(tensors, "tensor"),
            (0, constants) => counted(constants, "XNNPACK constant"),
            (tensors, constants) => {
                format!("{} and {}", counted(tensors, "tensor"), counted(constants, "XNNPACK constant"))
            }
        };
        write!(f, "the data of {what}, such as {}, is in a .ptd file", self.first)
    }
}

impl Pte<'_> {
    /// What this program looks up in `.ptd` files and `data` does not have; `None` where it is all there. Without any data: all that it
    /// needs. What other backends than XNNPACK look up is not known.
    pub fn missing_data(&self, data: &[&Ptd<'_>]) -> Option<MissingData> {
        missing(self, &self.open_payloads(), data)
    }
}

pub(super) fn missing(pte: &Pte<'_>, opened: &[OpenPayload<'_>], data: &[&Ptd<'_>]) -> Option<MissingData> {
    let mut missing = MissingData::default();
    let indices: Vec<KeyIndex<'_>> = data.iter().map(|ptd| ptd.index()).collect();
    for (method, plan) in pte.methods().iter().enumerate() {
        let path = Path::ROOT;
        let path = path.item("execution_plan", method);
        for (value, tensor) in plan.tensors() {
            let Ok(TensorData::External(name)) = pte.tensor_data(tensor) else { continue };
            // The runtime reads a name up to its first NUL.
            let name = name.split('\0').next().unwrap_or_default();
            if indices.iter().all(|index| index.get(name).is_none()) {
                missing.tensors += 1;
                missing.add(name, &path.item("values", value));
            }
        }
    }
    let blobs = NamedBlobs::new(pte, data.iter().copied());
    for opened in opened {
        let (Ok(Payload::Xnnpack(payload)), Some((method, index))) = (&opened.payload, opened.delegates.first()) else {
            continue;
        };
        let delegate = pte.methods().get(*method).and_then(|plan| plan.delegates().get(*index));
        if delegate.is_none_or(|delegate| delegate.id() != BACKEND) {
            continue;
        }
        let path = Path::ROOT;
        let path = path.item("execution_plan", *method);
        let path = path.item("delegates", *index);
        for constant in payload.constants().iter().filter(|constant| !constant.uses.is_empty()) {
            let ConstantPlace::Named { key, .. } = constant.place else { continue };
            // One that is damaged is there: the rules tell of it.
            if matches!(blobs.get(key), Ok(None)) {
                missing.constants += 1;
                missing.add(key, &path);
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

    /// What a release does with the program where no `.ptd` file is given: in its format, and in its payloads.
    pub(super) fn find(&self, release: Release) -> [Option<Found>; 2] {
        let found = |behaviour| {
            (behaviour, Reason { name: "external-data", path: self.path.clone(), message: format!("{self}") })
        };
        let asks = release >= Release::V0_6;
        let tensors = match self.tensors {
            1.. if release == Release::V0_6 => Some(Behaviour::Dies),
            1.. if asks => Some(Behaviour::Refuses),
            _ => None,
        };
        // Tensors are looked up first.
        let constants = (self.constants > 0 && asks && tensors.is_none()).then_some(Behaviour::Dies);
        [tensors.map(found), constants.map(found)]
    }
}
