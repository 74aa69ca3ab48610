//! Collects the data of a new program, or the keys of a new `.ptd`.

use super::alignment::least_common_multiple;
use super::entries::pack;
use super::options::{PtdOptions, PteOptions};
use super::place::{place_ptd, place_pte};
use crate::error::{Error, Result, counted};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::references::payloads_mut;
use crate::file::segment::Segment;
use crate::file::style::{ALIGNMENT, MAX_ALIGNMENT, alignment};
use crate::flatbuffer::text::Text;
use crate::schema::flat_tensor::{self, FlatTensor, TensorLayout};
use crate::schema::program::{
    BackendDelegateDataReference, BackendDelegateInlineData, DataLocation, NamedData, Program, SubsegmentOffsets,
};
use crate::schema::{DataSegment, ScalarType};
use crate::tensor::{Element, TensorView};
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, vec, vec::Vec};
use core::fmt;

/// A deduplicating set of blobs.
#[derive(Default)]
struct Shared<'a> {
    blobs: Vec<Cow<'a, [u8]>>,
    /// The indices of the blobs with the same size and sample, in the order of their bytes.
    alike: BTreeMap<(usize, u64), Vec<u32>>,
    /// The indices of borrowed bytes, by address and length: many keys can share bytes.
    places: BTreeMap<(usize, usize), u32>,
}

impl Clone for Shared<'_> {
    fn clone(&self) -> Self {
        let mut shared = Self::default();
        for blob in &self.blobs {
            shared.add(blob.clone());
        }
        shared
    }
}

impl fmt::Debug for Shared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.blobs, f)
    }
}

impl<'a> Shared<'a> {
    /// Adds a blob unless it is already present, and returns its index.
    fn add(&mut self, bytes: Cow<'a, [u8]>) -> u32 {
        let Cow::Borrowed(borrowed) = bytes else { return self.find(bytes) };
        let place = (borrowed.as_ptr() as usize, borrowed.len());
        if let Some(index) = self.places.get(&place) {
            return *index;
        }
        let index = self.find(bytes);
        self.places.insert(place, index);
        index
    }

    /// Finds the blob with the same bytes or adds a new one, and returns its index.
    #[expect(
        clippy::indexing_slicing,
        reason = "`alike` has indices of `blobs`, and the search returns one of `alike`"
    )]
    fn find(&mut self, bytes: Cow<'a, [u8]>) -> u32 {
        let alike = self.alike.entry((bytes.len(), sample(&bytes))).or_default();
        match alike.binary_search_by(|index| (*self.blobs[*index as usize]).cmp(&*bytes)) {
            Ok(at) => alike[at],
            Err(at) => {
                let index = self.blobs.len() as u32;
                alike.insert(at, index);
                self.blobs.push(bytes);
                index
            }
        }
    }
}

/// Returns a hash of samples across the bytes and of their end, because blobs may be large. Blobs with equal hashes are
/// compared byte by byte.
fn sample(bytes: &[u8]) -> u64 {
    const SAMPLES: usize = 16;
    const LEN: usize = 64;
    let last = bytes.len().saturating_sub(LEN);
    // FNV-1a
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for index in 0..=SAMPLES {
        let start = if index < SAMPLES { last / SAMPLES * index } else { last };
        for byte in bytes.iter().skip(start).take(LEN) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// A collector of a new program's data: constants, initial states, delegate payloads and named blobs. Equal bytes are stored
/// once. [`finish`](Self::finish) puts them into segments as ExecuTorch's exporter does.
///
/// ```
/// use executorch_format::schema::ScalarType;
/// use executorch_format::schema::program::{ExecutionPlan, Program, Tensor};
/// use executorch_format::{DataCollector, Pte, PteOptions};
///
/// # fn main() -> executorch_format::Result<()> {
/// let mut data = DataCollector::new();
/// let weight = data.constant(1f32.to_le_bytes().to_vec());
/// // A method that returns a constant.
/// let value = Tensor::new(ScalarType::FLOAT, vec![1]).with_data(weight).into();
/// let method = ExecutionPlan::new("one", vec![value], vec![], vec![], 0).with_outputs(vec![0]);
/// let program = Program { execution_plan: Some(vec![method]), ..Program::default() };
/// let file = data.finish(program, &PteOptions::default())?.image()?.to_vec()?;
///
/// let pte = Pte::parse(&file)?;
/// let tensor = pte.methods()[0].tensors().next().unwrap().1;
/// assert_eq!(pte.tensor_view(tensor)?.unwrap().to_vec::<f32>()?, [1.0]);
/// # Ok(())
/// # }
/// ```
///
/// See `examples/build.rs` for a program that computes.
#[derive(Clone, Debug, Default)]
pub struct DataCollector<'a> {
    constants: Shared<'a>,
    initial_states: Shared<'a>,
    delegates: Shared<'a>,
    named: Shared<'a>,
    named_alignments: Vec<u64>,
    keys: Vec<(Text<'a>, u32)>,
}

impl<'a> DataCollector<'a> {
    /// Creates an empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a constant. Returns the tensor's `data_buffer_idx`.
    pub fn constant(&mut self, bytes: impl Into<Cow<'a, [u8]>>) -> u32 {
        self.constants.add(bytes.into()) + 1
    }

    /// Adds the initial state of a mutable tensor. Returns the tensor's `data_buffer_idx`; the tensor also needs
    /// `allocation_info`.
    pub fn initial_state(&mut self, bytes: impl Into<Cow<'a, [u8]>>) -> u32 {
        self.initial_states.add(bytes.into()) + 1
    }

    /// Adds a delegate's payload. Returns the delegate's `processed`, whose index is valid in this collector;
    /// [`finish`](Self::finish) replaces it with the index in the file.
    pub fn delegate(&mut self, bytes: impl Into<Cow<'a, [u8]>>) -> BackendDelegateDataReference {
        BackendDelegateDataReference { location: DataLocation::SEGMENT, index: self.delegates.add(bytes.into()) }
    }

    /// Adds a blob with a name, aligned to `alignment` bytes. Names with equal bytes share a segment, aligned to the least common
    /// multiple of their alignments.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the alignment is 0 or above 2^30.
    pub fn named(&mut self, key: impl Into<Text<'a>>, bytes: impl Into<Cow<'a, [u8]>>, alignment: u32) -> Result<()> {
        let index = self.named.add(bytes.into());
        share_alignment(&mut self.named_alignments, index, alignment)?;
        self.keys.push((key.into(), index));
        Ok(())
    }

    /// Puts the data into segments and the program's lists, in the exporter's order: constants, initial states, delegate
    /// payloads, named blobs. Replaces the program's previous lists.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if two keys are equal, an alignment in `options` is not a
    /// power of two, or a delegate's payload does not come from this collector.
    pub fn finish(self, mut program: Program<'a>, options: &PteOptions) -> Result<Pte<'a>> {
        let constant_alignment =
            alignment(options.constant_alignment.unwrap_or(ALIGNMENT), "constant_alignment")? as u64;
        let delegate_alignment = alignment(options.delegate_alignment, "delegate_alignment")? as u64;
        let mut data = Segments::default();

        let (offsets, segment) = pack_all(self.constants.blobs, constant_alignment)?;
        let segment_index = data.push(segment, constant_alignment);
        program.constant_segment = Some(SubsegmentOffsets { segment_index, offsets: Some(offsets.into()) });
        program.constant_buffer.get_or_insert_default().clear();
        program.mutable_data_segments = None;
        if !self.initial_states.blobs.is_empty() {
            let (offsets, segment) = pack_all(self.initial_states.blobs, 1)?;
            let segment_index = data.push(segment, 1);
            program.mutable_data_segments =
                Some(vec![SubsegmentOffsets { segment_index, offsets: Some(offsets.into()) }]);
        }
        let inline = options.delegates == Some(DataLocation::INLINE);
        let mut inline_data = Vec::new();
        let mut references = Vec::new();
        for bytes in self.delegates.blobs {
            let (location, index) = if inline || bytes.is_empty() {
                inline_data.push(BackendDelegateInlineData { data: Some(bytes) });
                (DataLocation::INLINE, inline_data.len() as u32 - 1)
            } else {
                (DataLocation::SEGMENT, data.push(Segment::Whole(bytes), delegate_alignment))
            };
            references.push(BackendDelegateDataReference { location, index });
        }
        program.backend_delegate_data = Some(inline_data);
        for payload in payloads_mut(&mut program) {
            let Some(reference) = references.get(payload.index as usize) else {
                let index = payload.index;
                let reason = format!("a delegate has payload {index}, which is not in this collector");
                return Err(Error::unwritable(reason));
            };
            *payload = *reference;
        }
        let first = data.segments.len() as u32;
        for (bytes, alignment) in self.named.blobs.into_iter().zip(self.named_alignments) {
            data.push(Segment::Whole(bytes), alignment);
        }
        let mut named = Vec::with_capacity(self.keys.len());
        for (key, index) in self.keys {
            named.push(NamedData { key: Some(key), segment_index: first + index });
        }
        program.named_data = Some(named).filter(|named| !named.is_empty());
        program.segments = Some(data.table);
        let pte = Pte { program, segments: data.segments, ..Pte::default() };
        pte.check_references()?;
        place_pte(pte, &data.alignments, options)
    }
}

#[derive(Default)]
struct Segments<'a> {
    table: Vec<DataSegment>,
    segments: Vec<Segment<'a>>,
    alignments: Vec<u64>,
}

impl<'a> Segments<'a> {
    fn push(&mut self, segment: Segment<'a>, alignment: u64) -> u32 {
        self.table.push(DataSegment { offset: 0, size: segment.len() });
        self.segments.push(segment);
        self.alignments.push(alignment);
        self.segments.len() as u32 - 1
    }
}

/// Puts blobs into a segment, in order. Returns their offsets, after a placeholder, and the segment.
pub(super) fn pack_all(blobs: Vec<Cow<'_, [u8]>>, alignment: u64) -> Result<(Vec<u64>, Segment<'_>)> {
    let (mut starts, segment) = pack(blobs, alignment)?;
    starts.insert(0, 0);
    Ok((starts, segment))
}

/// Raises the alignment of blob `index` to a multiple of `alignment`.
#[expect(clippy::indexing_slicing, reason = "the list is made long enough")]
fn share_alignment(alignments: &mut Vec<u64>, index: u32, alignment: u32) -> Result<()> {
    if alignment == 0 || alignment > MAX_ALIGNMENT {
        return Err(Error::unwritable(format!("an alignment of {alignment}, expected 1 to {MAX_ALIGNMENT}")));
    }
    if alignments.len() <= index as usize {
        alignments.resize(index as usize + 1, 1);
    }
    let shared = &mut alignments[index as usize];
    *shared = least_common_multiple(*shared, alignment.into())?;
    Ok(())
}

/// An entry of a new `.ptd`: a tensor or a blob.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewEntry<'a> {
    /// The key, unique in the file.
    pub key: Text<'a>,
    /// The type and shape of a tensor; `None` for a blob.
    pub tensor_layout: Option<TensorLayout<'a>>,
    /// The bytes.
    pub bytes: Cow<'a, [u8]>,
    /// The alignment of the bytes, in bytes.
    pub alignment: u32,
}

impl<'a> NewEntry<'a> {
    /// Creates a blob.
    pub fn blob(key: impl Into<Text<'a>>, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { key: key.into(), tensor_layout: None, bytes: bytes.into(), alignment: 1 }
    }

    /// Creates a tensor in the natural dim order, outermost dimension first.
    pub fn tensor(
        key: impl Into<Text<'a>>,
        scalar_type: ScalarType,
        sizes: impl Into<Cow<'a, [i32]>>,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> Self {
        let sizes = sizes.into();
        let dim_order = Some((0..sizes.len()).map(|dim| dim as u8).collect());
        let layout = TensorLayout { scalar_type, sizes: Some(sizes), dim_order };
        Self { key: key.into(), tensor_layout: Some(layout), bytes: bytes.into(), alignment: 1 }
    }

    /// Creates a tensor of numbers in the natural dim order. The scalar type is the first of `T::SCALAR_TYPES`; for another, change
    /// `tensor_layout`.
    ///
    /// ```
    /// use executorch_format::{NewEntry, Ptd, PtdOptions};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let weight = NewEntry::from_slice("weight", vec![2, 2], &[1f32, 2.0, 3.0, 4.0]).with_alignment(16);
    /// let file = Ptd::build([weight], &PtdOptions::default())?.image()?.to_vec()?;
    /// assert_eq!(Ptd::parse(&file)?.get("weight").unwrap().shape.unwrap().to_string(), "f32[2, 2]");
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_slice<T: Element>(
        key: impl Into<Text<'a>>,
        sizes: impl Into<Cow<'a, [i32]>>,
        elements: &'a [T],
    ) -> Self {
        // Every `Element` has a scalar type.
        let scalar_type = T::SCALAR_TYPES.first().copied().unwrap_or_default();
        Self::tensor(key, scalar_type, sizes, little_endian(elements))
    }

    /// Creates a tensor with the shape and bytes of a view.
    pub fn view(key: impl Into<Text<'a>>, view: &TensorView<'a>) -> Self {
        let tensor_layout = Some(view.shape().into());
        Self { key: key.into(), tensor_layout, bytes: view.bytes().into(), alignment: 1 }
    }

    /// Sets the type and shape; `None` makes the entry a blob.
    pub fn with_tensor_layout(self, tensor_layout: Option<TensorLayout<'a>>) -> Self {
        Self { tensor_layout, ..self }
    }

    /// Sets the alignment, in bytes.
    pub fn with_alignment(self, alignment: u32) -> Self {
        Self { alignment, ..self }
    }
}

/// Returns the little-endian bytes of numbers, borrowed on little-endian machines.
fn little_endian<T: Element>(elements: &[T]) -> Cow<'_, [u8]> {
    let bytes: &[u8] = bytemuck::cast_slice(elements);
    match cfg!(target_endian = "little") || size_of::<T>() == 1 {
        true => Cow::Borrowed(bytes),
        false => bytes.chunks_exact(size_of::<T>()).flat_map(|element| element.iter().rev().copied()).collect(),
    }
}

pub(super) fn build_ptd<'a>(entries: impl IntoIterator<Item = NewEntry<'a>>, options: &PtdOptions) -> Result<Ptd<'a>> {
    let (mut blobs, mut alignments, mut named_data) = (Shared::default(), Vec::new(), Vec::new());
    for (index, NewEntry { key, tensor_layout, bytes, alignment }) in entries.into_iter().enumerate() {
        let in_path = |error: Error| error.in_item(index).in_field("named_data");
        if let Some(shape) = tensor_layout.as_ref().map(TensorLayout::shape) {
            let expected = shape.byte_size().map_err(in_path)?;
            if expected != bytes.len() as u64 {
                let found = counted(bytes.len(), "byte");
                return Err(in_path(Error::tensor(format!("{key:?} has {found}, but {shape} takes {expected}"))));
            }
        }
        let segment_index = blobs.add(bytes);
        share_alignment(&mut alignments, segment_index, alignment).map_err(in_path)?;
        named_data.push(flat_tensor::NamedData { key: Some(key), segment_index, tensor_layout });
    }
    let mut data = Segments::default();
    for (bytes, alignment) in blobs.blobs.into_iter().zip(&alignments) {
        data.push(Segment::Whole(bytes), *alignment);
    }
    let flat_tensor = FlatTensor { segments: Some(data.table), named_data: Some(named_data), ..FlatTensor::default() };
    let ptd = Ptd { flat_tensor, segments: data.segments, ..Ptd::default() };
    ptd.check_references()?;
    place_ptd(ptd, &alignments, options)
}
