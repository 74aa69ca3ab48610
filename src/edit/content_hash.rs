//! A hash of what a file contains, which does not depend on how the file stores it.

use super::externalize::{keyed, proposed};
use super::metadata::METADATA_PREFIX;
use crate::analysis::Analysis;
use crate::delegate::Payload;
use crate::error::{Error, ErrorKind, Result};
use crate::file::named_blobs::NamedBlobs;
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::source::Source;
use crate::flatbuffer::any::{AnyNumbers, AnyTable, Value};
use crate::names::shortened;
use crate::schema::program::{BackendDelegate, ExecutionPlan, InstructionArguments, Tensor};
use crate::sha256::{hex, sha256};
use crate::tensor::TensorShape;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, vec::Vec};

/// A hash of a file's content, and those of its parts: SHA-256 in hexadecimal.
///
/// The hash of a program covers its methods with their names, except those that only return constants: inputs and outputs with the names of
/// their containers, values (types, sizes, dim orders, dynamic shapes, planned places), the bytes of constants and initial states, instructions
/// with their operators, and delegates with their compile specs, payloads and the data that they look up by key. It does not cover the layout of
/// the file, the order of its tables, segments and lists that instructions refer to, alignment, the place of data (in the program or in a
/// `.ptd`), names of tensors, stack traces, methods that only return constants (the metadata that runners read), named data under
/// `metadata.`, and data that is not used. The indices of values are covered: another numbering is another content.
///
/// The hash of a `.ptd` covers its keys, the types, sizes and dim orders of tensors, and all bytes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContentHash {
    /// The hash of all content.
    pub sha256: String,
    /// The methods, by name: each with the data that it uses.
    pub methods: Vec<PartHash>,
    /// The weights, by name: the name in the file, or the one that [`Pte::externalize`] would give; and data that delegates look up, by key.
    /// The hash of a tensor covers its type, sizes, dim order and bytes.
    pub weights: Vec<PartHash>,
}

/// A part of a file, and the hash of its content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PartHash {
    /// The name of the method or of the weight, [`shortened`](crate::text::shortened).
    pub name: String,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Fields that state the place of data, or that nothing reads.
const NOT_CONTENT: &[(&str, &str)] = &[
    ("Tensor", "data_buffer_idx"),
    ("Tensor", "requires_grad"),
    ("Tensor", "layout"),
    ("ExtraTensorInfo", "fully_qualified_name"),
    ("ExtraTensorInfo", "location"),
    ("ExtraTensorInfo", "mutable_data_segments_idx"),
    ("KernelCall", "op_index"),
    ("DelegateCall", "delegate_index"),
];

impl<'t> Analysis<'t> {
    /// Returns the hash of the program's content, with its [`.ptd` files](Self::with_data).
    ///
    /// ```
    /// use executorch_format::{Analysis, PtdOptions, Pte, PteOptions};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let hash = Analysis::new(&pte).content_hash()?;
    /// let (mut moved, options) = (pte.clone(), PteOptions::default().with_segment_alignment(4096));
    /// let (data, _) = moved.externalize(&PtdOptions::default(), |candidate| Some(candidate.key.to_owned()))?;
    /// let moved = moved.lay_out(&options)?;
    /// assert_eq!(Analysis::new(&moved).with_data([&data]).content_hash()?, hash);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if data that the program uses is in none of the files, and with
    /// [`ErrorKind::Limit`] if blobs overlap so much that a byte would be read more than 16 times on average.
    pub fn content_hash(&self) -> Result<ContentHash> {
        let pte = self.pte();
        let files =
            [pte.source.as_ref()].into_iter().chain(self.data().into_iter().flatten().map(|ptd| ptd.source.as_ref()));
        let mut content = Content::new(self.named_blobs(), files);
        let names = names(pte)?;
        let (mut weights, mut knows_all) = (BTreeSet::new(), true);
        let mut looked_up = BTreeMap::<(usize, usize), Vec<u8>>::new();
        for open in self.payloads() {
            let bytes = pte.bytes(&open.data)?;
            let mut described = content.bytes(bytes)?.to_vec();
            match open.payload.as_ref().ok().and_then(Payload::key_references) {
                None => knows_all = false,
                Some(references) => {
                    for reference in references.iter().filter(|reference| reference.is_used) {
                        let hash = content.named(&reference.key)?;
                        described.extend(hash);
                        weights.insert(PartHash::new(&reference.key, &hash));
                    }
                }
            }
            let described = sha256(&[&described]).to_vec();
            looked_up.extend(open.delegates.iter().map(|delegate| (*delegate, described.clone())));
        }
        let (mut methods, mut all) = (Vec::new(), Vec::new());
        for (index, plan) in pte.methods().iter().enumerate().filter(|(_, plan)| !plan.is_constant()) {
            let payload = |delegate: usize| looked_up.get(&(index, delegate)).cloned().unwrap_or_default();
            let described = content.method(pte, plan, &payload, &mut |value, tensor, hash| {
                let mut described = Vec::new();
                content_of_shape(&mut described, &tensor.shape());
                described.extend(hash);
                let own = tensor.fully_qualified_name().filter(|name| !name.is_empty() && tensor.is_external());
                let name = own.or_else(|| names.get(&(index, value)).map(String::as_str)).unwrap_or_default();
                weights.insert(PartHash::new(name, &sha256(&[&described])));
            })?;
            let hash = sha256(&[&described]);
            methods.push(PartHash::new(plan.name(), &hash));
            all.push(content.part(b"method", plan.name(), &hash));
        }
        methods.sort();
        if !knows_all {
            // Only their backends know the data that these payloads look up.
            content.unknown(pte, self.data().unwrap_or_default(), &mut all, &mut weights)?;
        }
        Ok(ContentHash { sha256: whole(all), methods, weights: weights.into_iter().collect() })
    }
}

impl Ptd<'_> {
    /// Returns the hash of the file's content.
    ///
    /// Fails as [`entry_bytes`](Self::entry_bytes) does, and with [`ErrorKind::Limit`] if entries overlap so much that a byte would be read more
    /// than 16 times on average.
    pub fn content_hash(&self) -> Result<ContentHash> {
        let mut content = Content::new(NamedBlobs::NONE, [self.source.as_ref()].into_iter());
        let (mut weights, mut all) = (Vec::new(), Vec::new());
        for entry in self.entries() {
            let mut hash = content.bytes(self.entry_bytes(&entry)?)?;
            if let Some(shape) = &entry.shape {
                let mut described = Vec::new();
                content_of_shape(&mut described, shape);
                described.extend(hash);
                hash = sha256(&[&described]);
            }
            weights.push(PartHash::new(entry.key(), &hash));
            all.push(content.part(b"key", entry.key(), &hash));
        }
        weights.sort();
        Ok(ContentHash { sha256: whole(all), methods: Vec::new(), weights })
    }
}

/// The version of the definition, which is part of each hash.
const VERSION: &[u8] = b"executorch-format content 1\n";

impl PartHash {
    fn new(name: &str, hash: &[u8; 32]) -> Self {
        Self { name: shortened(name).into(), sha256: hex(hash) }
    }
}

/// Returns the hash of all parts of a file, in whatever order they are.
fn whole(mut parts: Vec<Vec<u8>>) -> String {
    parts.sort();
    hex(&sha256(&[VERSION, &parts.concat()]))
}

/// Returns the names of the tensors with data in the program, by method and value.
fn names(pte: &Pte<'_>) -> Result<BTreeMap<(usize, usize), String>> {
    Ok(proposed(pte)?.into_iter().map(|place| ((place.method, place.value), place.key)).collect())
}

fn content_of_shape(described: &mut Vec<u8>, shape: &TensorShape<'_>) {
    described.extend(i64::from(shape.scalar_type.0).to_le_bytes());
    described.extend((shape.sizes.len() as u64).to_le_bytes());
    shape.sizes.iter().for_each(|size| described.extend(size.to_le_bytes()));
    described.extend(shape.dim_order);
}

/// Hashes of the contents of a program.
struct Content<'t> {
    blobs: NamedBlobs<'t>,
    /// The hashes of bytes by their address: many references share one blob, name or list.
    known: BTreeMap<(usize, usize), [u8; 32]>,
    /// The number of bytes of data that may still be hashed, and their limit.
    left: u64,
    limit: u64,
}

/// The most times that a byte is hashed, on average over the files: data of hostile files can overlap.
const MAX_TIMES: u64 = 16;

impl<'t> Content<'t> {
    /// Creates the content of a program. `files` are those that were read; data of a tree that was not read from a file has no limit.
    fn new<'s>(blobs: NamedBlobs<'t>, mut files: impl Iterator<Item = Option<&'s Source<'s>>>) -> Self {
        let size = files.try_fold(0u64, |size, file| Some(size.saturating_add(file?.size())));
        let limit = size.map_or(u64::MAX, |size| size.saturating_mul(MAX_TIMES));
        Self { blobs, known: BTreeMap::new(), left: limit, limit }
    }

    /// Returns the hash of data, which may overlap other data.
    fn bytes(&mut self, bytes: &[u8]) -> Result<[u8; 32]> {
        if !self.known.contains_key(&(bytes.as_ptr() as usize, bytes.len())) {
            let (what, limit) = ("bytes of data to hash", self.limit);
            let left = self.left.checked_sub(bytes.len() as u64);
            self.left = left.ok_or_else(|| Error::new(ErrorKind::Limit { what, limit }))?;
        }
        Ok(self.digest(bytes))
    }

    fn digest(&mut self, bytes: &[u8]) -> [u8; 32] {
        *self.known.entry((bytes.as_ptr() as usize, bytes.len())).or_insert_with(|| sha256(&[bytes]))
    }

    /// Returns the hash of data under a key.
    fn named(&mut self, key: &str) -> Result<[u8; 32]> {
        let blob = self.blobs.get(key)?.ok_or_else(|| missing(key))?;
        self.bytes(blob.bytes)
    }

    /// Describes a part of a file by its kind, the hash of its name, and that of its content.
    fn part(&mut self, kind: &[u8], name: &str, hash: &[u8; 32]) -> Vec<u8> {
        [kind, &self.digest(name.as_bytes()), hash].concat()
    }

    /// Adds the data that delegates may look up, in the program and in `.ptd` files.
    fn unknown(
        &mut self,
        pte: &Pte<'_>,
        data: &[&Ptd<'_>],
        all: &mut Vec<Vec<u8>>,
        weights: &mut BTreeSet<PartHash>,
    ) -> Result<()> {
        let mut add = |content: &mut Self, key: &str, bytes: &[u8]| -> Result<()> {
            let hash = content.bytes(bytes)?;
            if !key.starts_with(METADATA_PREFIX) && weights.insert(PartHash::new(key, &hash)) {
                all.push(content.part(b"data", key, &hash));
            }
            Ok(())
        };
        for (_, named) in keyed(pte) {
            add(self, named.key(), pte.bytes(&pte.named_data_ref(named)?)?)?;
        }
        for ptd in data {
            for entry in ptd.entries().filter(|entry| entry.shape.is_none()) {
                add(self, entry.key(), ptd.entry_bytes(&entry)?)?;
            }
        }
        Ok(())
    }

    /// Describes the content of a method as bytes. Calls `weight` with each tensor that has data, and the hash of it.
    fn method(
        &mut self,
        pte: &Pte<'_>,
        plan: &ExecutionPlan<'_>,
        payload: &dyn Fn(usize) -> Vec<u8>,
        weight: &mut dyn FnMut(usize, &Tensor<'_>, &[u8; 32]),
    ) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        if let Some(containers) = &plan.container_meta_type {
            self.table(&mut out, containers);
        }
        out.extend((plan.values().len() as u64).to_le_bytes());
        for (index, value) in plan.values().iter().enumerate() {
            self.table(&mut out, value);
            if let Some(hash) = plan.tensor(index).map(|tensor| self.data(pte, tensor)).transpose()?.flatten() {
                out.extend(hash);
                if let Some(tensor) = plan.tensor(index) {
                    weight(index, tensor, &hash);
                }
            }
        }
        for list in [plan.inputs(), plan.outputs()] {
            self.numbers(&mut out, AnyNumbers::I32(list));
        }
        if let Some(sizes) = &plan.non_const_buffer_sizes {
            self.numbers(&mut out, AnyNumbers::I64(sizes));
        }
        for device in plan.non_const_buffer_device.iter().flatten() {
            self.table(&mut out, device);
        }
        let operators = plan.operators.iter().flatten();
        let operators: Vec<_> = operators.map(|operator| self.hash_of(operator)).collect();
        let delegates: Vec<_> = plan
            .delegates()
            .iter()
            .enumerate()
            .map(|(index, delegate)| self.delegate(delegate, &payload(index)))
            .collect();
        for chain in plan.chains.iter().flatten() {
            let instructions = chain.instructions.as_deref().unwrap_or_default();
            out.extend((instructions.len() as u64).to_le_bytes());
            for instruction in instructions {
                self.table(&mut out, instruction);
                let (list, index) = match &instruction.instr_args {
                    InstructionArguments::KernelCall(call) => (&operators, call.op_index),
                    InstructionArguments::DelegateCall(call) => (&delegates, call.delegate_index),
                    _ => continue,
                };
                out.extend(usize::try_from(index).ok().and_then(|index| list.get(index)).copied().unwrap_or_default());
            }
        }
        Ok(out)
    }

    fn hash_of(&mut self, table: &dyn AnyTable) -> [u8; 32] {
        let mut described = Vec::new();
        self.table(&mut described, table);
        sha256(&[&described])
    }

    fn delegate(&mut self, delegate: &BackendDelegate<'_>, payload: &[u8]) -> [u8; 32] {
        let mut described = self.digest(delegate.id().as_bytes()).to_vec();
        for spec in delegate.compile_specs.iter().flatten() {
            described.extend(self.hash_of(spec));
        }
        described.extend(payload);
        sha256(&[&described])
    }

    /// Returns the hash of a tensor's data: a constant's, or that of an initial state.
    fn data(&mut self, pte: &Pte<'_>, tensor: &Tensor<'_>) -> Result<Option<[u8; 32]>> {
        let bytes = match pte.tensor_data(tensor)? {
            TensorData::Constant(data) | TensorData::InitialState(data) => pte.bytes(&data)?,
            TensorData::External(key) => return self.named(key).map(Some),
            _ => return Ok(None),
        };
        let size = usize::try_from(tensor.byte_size()?).ok();
        self.bytes(size.and_then(|size| bytes.get(..size)).unwrap_or(bytes)).map(Some)
    }

    /// Describes a table: each field that is content, and is neither absent, zero nor empty, by its name and value. Returns `false` if there is
    /// none.
    fn table(&mut self, out: &mut Vec<u8>, table: &dyn AnyTable) -> bool {
        let description = table.description();
        let start = out.len();
        for (index, field) in description.fields.iter().enumerate() {
            if NOT_CONTENT.contains(&(description.name, field.name)) {
                continue;
            }
            let Some(value) = table.field(index).map(|field| field.value()) else { continue };
            let before = out.len();
            out.extend(field.name.bytes().chain([b'=']));
            if !self.value(out, value) {
                out.truncate(before);
            }
        }
        let any = out.len() > start;
        out.push(b'.');
        any
    }

    /// Describes a value. Returns `false` for one that is absent, zero or empty.
    fn value(&mut self, out: &mut Vec<u8>, value: Value<'_>) -> bool {
        match value {
            Value::Absent => false,
            Value::Number(number) | Value::Enum { number, .. } => {
                out.extend(number.bits().to_le_bytes());
                number.bits() != 0
            }
            Value::Text(text) => {
                out.extend(self.digest(text.as_str().as_bytes()));
                !text.as_str().is_empty()
            }
            Value::Numbers(numbers) => {
                self.numbers(out, numbers);
                !numbers.is_empty()
            }
            Value::Table(table) => self.table(out, table),
            Value::Tables(tables) => {
                out.extend((tables.len() as u64).to_le_bytes());
                for table in (0..tables.len()).filter_map(|index| tables.get(index)) {
                    self.table(out, table);
                }
                !tables.is_empty()
            }
            Value::Union { tag, member, .. } => {
                out.push(tag);
                if let Some(member) = member {
                    self.table(out, member);
                }
                tag != 0
            }
        }
    }

    /// Describes a list by its length and hash. The bytes are those of a little-endian machine.
    fn numbers(&mut self, out: &mut Vec<u8>, numbers: AnyNumbers<'_>) {
        out.extend((numbers.len() as u64).to_le_bytes());
        let bytes = numbers.as_bytes();
        let hash = *self.known.entry((bytes.as_ptr() as usize, bytes.len())).or_insert_with(|| {
            let width = bytes.len() / numbers.len().max(1);
            let little: Vec<u8> =
                numbers.iter().flat_map(|number| number.bits().to_le_bytes().into_iter().take(width)).collect();
            sha256(&[&little])
        });
        out.extend(hash);
    }
}

fn missing(key: &str) -> Error {
    Error::reference(format!("the data {key:?}, which the program uses, is in none of the files: give the .ptd too"))
}
