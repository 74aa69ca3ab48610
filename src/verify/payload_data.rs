//! Rules about the data that payloads of other backends than XNNPACK look up by key, in the program or in its `.ptd` files. They follow
//! `VelaBinStream.cpp` and `arm_vela.py` for an Ethos-U, `aoti_backend.py` and `cuda_weight_collector.py` for CUDA, as of 1.5.

use super::report::{Name, Report};
use super::xnnpack::in_delegate;
use super::{Outcome, Severity, rule};
use crate::delegate::{AotInductor, EthosU, KeyReference, NamedBlob, NamedBlobs, OpenPayload, Payload, PayloadKind};
use crate::error::counted;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::program::BackendDelegate;
use crate::sha256::{hex, sha256};
use alloc::collections::BTreeSet;
use alloc::{format, string::String, vec::Vec};

/// The number of hexadecimal digits of a SHA-256, which an Ethos-U looks up a block by.
const DIGITS: usize = 64;

/// The alignment that an Ethos-U needs, in bytes.
const ALIGNMENT: u64 = 16;

/// A check of the data in some of the files.
struct Check<'t, 'p> {
    pte: &'t Pte<'t>,
    ptds: &'p [&'t Ptd<'t>],
    blobs: NamedBlobs<'t>,
    /// Keys whose data was checked.
    seen: BTreeSet<String>,
    /// The number of bytes that may still be hashed: many keys can share a segment.
    budget: u64,
}

/// A payload with its first delegate: the indices of the method and of the delegate in it.
struct Opened<'o, 't> {
    payload: &'o Payload<'o>,
    delegate: &'t BackendDelegate<'t>,
    place: (usize, usize),
}

/// Returns the payloads of other backends than XNNPACK, which has rules of its own.
fn others<'o, 't>(pte: &'t Pte<'t>, payloads: &'o [OpenPayload<'o>]) -> Vec<Opened<'o, 't>> {
    let mut others = Vec::new();
    for opened in payloads {
        let is_other = opened.kind(pte).is_some_and(|kind| kind != PayloadKind::Xnnpack);
        let first = opened.delegates.first().copied().zip(opened.delegates_of(pte).next());
        if let (true, Ok(payload), Some((place, (_, delegate)))) = (is_other, &opened.payload, first) {
            others.push(Opened { payload, delegate, place });
        }
    }
    others
}

/// Checks the data that the program itself has.
pub(super) fn check(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], report: &mut Report<'_>) {
    Check::new(pte, &[]).payloads(payloads, report);
}

/// Checks the data in the `.ptd` files, and that none is missing.
pub(super) fn check_pairing(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], ptds: &[&Ptd<'_>], report: &mut Report<'_>) {
    if !report.is_strict() {
        return;
    }
    let mut check = Check::new(pte, ptds);
    check.missing(payloads, report);
    if !ptds.is_empty() {
        check.payloads(payloads, report);
    }
}

impl<'t, 'p> Check<'t, 'p> {
    fn new(pte: &'t Pte<'_>, ptds: &'p [&'t Ptd<'t>]) -> Self {
        let sources = ptds.iter().map(|ptd| ptd.source.as_ref()).chain([pte.source.as_ref()]);
        let budget = sources.map(|source| source.map_or(0, |source| source.bytes.len() as u64)).sum();
        Self { pte, ptds, blobs: NamedBlobs::new(pte, ptds.iter().copied()), seen: BTreeSet::new(), budget }
    }

    fn missing(&self, payloads: &[OpenPayload<'_>], report: &mut Report<'_>) {
        for Opened { payload, place, .. } in others(self.pte, payloads) {
            let references = payload.key_references().unwrap_or_default();
            let missing = references.iter().filter(|reference| matches!(self.blobs.get(&reference.key), Ok(None)));
            let missing: Vec<_> = missing.collect();
            in_delegate(place.0, place.1, |path| match (self.ptds, &*missing) {
                (_, []) => (),
                ([], _) => {
                    let count = counted(missing.len(), "blob");
                    let found = format!("no .ptd file was given, so {count} could not be looked up");
                    report.add(rule::PAYLOAD_UNCHECKED, path, found);
                }
                _ => {
                    for KeyReference { key, name, .. } in missing {
                        let found = format!("{} of {}, which neither the .pte nor a .ptd has", Name(key), Name(name));
                        report.add(rule::PAYLOAD_KEY, path, found);
                    }
                }
            });
        }
    }

    fn payloads(&mut self, payloads: &[OpenPayload<'_>], report: &mut Report<'_>) {
        for Opened { payload, delegate, place } in others(self.pte, payloads) {
            in_delegate(place.0, place.1, |path| match payload {
                Payload::EthosU(ethos_u) => self.ethos_u(ethos_u, delegate, path, report),
                Payload::AotInductor(aot) => self.aot_inductor(aot, path, report),
                _ => (),
            });
        }
    }

    /// Returns the data under a key, if it was not checked before and is in one of the files that are checked: the program's own if no `.ptd`
    /// file is given, else only those of the `.ptd` files.
    fn fresh(&mut self, key: &str) -> Option<NamedBlob<'t>> {
        let blob = self.blobs.get(key).ok()??;
        ((blob.file > 0) != self.ptds.is_empty() && self.seen.insert(key.into())).then_some(blob)
    }

    /// Returns the SHA-256 of the parts of data, unless too many bytes were hashed.
    fn hash(&mut self, parts: [&[u8]; 2]) -> Option<String> {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        self.budget = self.budget.checked_sub(size as u64)?;
        Some(hex(&sha256(&parts)))
    }

    fn ethos_u(
        &mut self,
        ethos_u: &EthosU<'_>,
        delegate: &BackendDelegate<'_>,
        path: &Path<'_>,
        report: &mut Report<'_>,
    ) {
        for block in ethos_u.blocks.iter().filter(|block| block.external) {
            let (name, key) = (String::from_utf8_lossy(block.name), String::from_utf8_lossy(block.data));
            let Some(blob) = self.fresh(&key) else { continue };
            let mut add = |found: String| {
                report.add(rule::PAYLOAD_DATA, path, format!("the data of block {} {found}", Name(&name)))
            };
            let range = match blob.file.checked_sub(1).and_then(|file| self.ptds.get(file)) {
                Some(ptd) => ptd.range(&blob.data),
                None => self.pte.range(&blob.data),
            };
            if let Some(start) = range.map(|range| range.start).filter(|start| start % ALIGNMENT != 0) {
                add(format!("starts at byte {start}, expected a multiple of {ALIGNMENT}: the backend refuses it"));
            }
            if name == "cmd_data" && !blob.bytes.starts_with(b"COP1") && !blob.bytes.starts_with(b"COP2") {
                let first = blob.bytes.get(..4).unwrap_or(blob.bytes).escape_ascii();
                add(format!("starts with '{first}', expected 'COP1' or 'COP2'"));
            }
            // The exporter hashes the name of the file and the data.
            let Some(placement) = placement(delegate, &name) else { continue };
            if let Some(hash) =
                self.hash([format!("{placement}\0").as_bytes(), blob.bytes]).filter(|hash| **hash != *key)
            {
                add(format!("is not that of its key: the hash is {hash}, expected {}", Name(&key)));
            }
        }
    }

    fn aot_inductor(&mut self, aot: &AotInductor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
        for (key, ending) in [(Some(aot.library), "_so_blob"), (aot.weights, "_weights_blob")] {
            let Some(blob) = key.and_then(|key| self.fresh(key)) else { continue };
            let digits = key.and_then(|key| key.strip_suffix(ending));
            // Keys of other releases have the name of the method.
            let is_hash =
                |digits: &&str| digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let Some(digits) = digits.filter(is_hash) else { continue };
            if let Some(hash) = self.hash([blob.bytes, &[]]).filter(|hash| !hash.eq_ignore_ascii_case(digits)) {
                let found =
                    format!("the data of {} is not that of its key: the hash is {hash}", Name(key.unwrap_or("")));
                // The backend loads it all the same, and it may have been replaced on purpose.
                report.add_as((Severity::Warning, Outcome::Runs), rule::PAYLOAD_DATA, path, None, found);
            }
        }
        let path = &path.field("tensors");
        for (index, tensor) in aot.tensors.iter().enumerate() {
            let path = &path.index(index);
            if self.ptds.is_empty() && tensor.needed_bytes().is_none_or(|needed| needed > tensor.storage_size) {
                let needed = tensor
                    .needed_bytes()
                    .map_or_else(|| "more than 2^64 bytes".into(), |needed| counted(needed, "byte"));
                let found = format!(
                    "{} is {} at offset {}, which needs {needed}, but its storage has {}",
                    Name(tensor.name),
                    tensor.shape(),
                    tensor.offset,
                    counted(tensor.storage_size, "byte"),
                );
                report.add(rule::AOT_INDUCTOR_PAYLOAD, path, found);
            }
            let Some(blob) = self.fresh(tensor.key) else { continue };
            if blob.bytes.len() as u64 != tensor.storage_size {
                let found = format!(
                    "the storage {} of {} has {}, expected {} as the payload states",
                    Name(tensor.key),
                    Name(tensor.name),
                    counted(blob.bytes.len(), "byte"),
                    tensor.storage_size,
                );
                report.add(rule::PAYLOAD_DATA, path, found);
            }
        }
    }
}

/// Returns the name of the `.ptd` that a block was placed in, by the delegate's settings.
fn placement(delegate: &BackendDelegate<'_>, block: &str) -> Option<String> {
    let spec = delegate.compile_spec("external_block_placements")?;
    let placements: serde_json::Value = serde_json::from_slice(spec).ok()?;
    Some(placements.get(block)?.as_str()?.into())
}
