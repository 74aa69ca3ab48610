//! Takes constants and initial states out of their segment, and puts them back.

use super::{alignment, segments};
use crate::error::{Error, Result, counted};
use crate::file::pte::{Pte, TensorData};
use crate::file::references::{DataList, tensors_mut};
use crate::file::segment::{DataRef, Segment, slice};
use crate::file::style::ALIGNMENT;
use crate::schema::program::{Buffer, Program, SubsegmentOffsets};
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, vec, vec::Vec};

/// The content of a list of constants or initial states. Change it, then call [`Entries::put`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries<'a> {
    /// For each entry after the placeholder, its index in `blobs`; `None` removes the entry. Entry `i` is at `i - 1`.
    pub(crate) at: Vec<Option<usize>>,
    /// The blobs in stored order. A blob without an entry is removed.
    pub(crate) blobs: Vec<Cow<'a, [u8]>>,
}

impl<'a> Entries<'a> {
    /// Takes the content of a list.
    ///
    /// Fails if entries overlap, are outside their segment, or have an unknown size.
    pub(crate) fn of(pte: &Pte<'a>, list: DataList) -> Result<Self> {
        let Some(offsets) = offsets(&pte.program, list) else {
            return Ok(inline_constants(pte, list));
        };
        let (index, offsets) = (offsets.segment_index as usize, offsets.offsets());
        let (Some(segment), Some(entry)) = (pte.segments.get(index), pte.program.segments().get(index)) else {
            let found = counted(pte.segments.len(), "segment");
            return Err(Error::reference(format!("segment {index} in a list of {found}")));
        };
        let sizes = entry_sizes(pte, list, offsets.len())?;
        // The size of the data at each offset: that of the largest tensor there.
        let mut stored = BTreeMap::<u64, u64>::new();
        for (offset, used) in offsets.iter().zip(&sizes).skip(1) {
            let size = stored.entry(*offset).or_default();
            *size = (*size).max(*used);
        }
        let stored = stored.into_iter().collect::<Vec<_>>();
        let mut blobs = Vec::with_capacity(stored.len());
        for (index, (offset, size)) in stored.iter().enumerate() {
            let end = stored.get(index + 1).map_or(entry.size, |(next, _)| *next);
            let room = match end.checked_sub(*offset) {
                Some(room) if room >= *size => room,
                _ => {
                    return Err(Error::unwritable(format!(
                        "constant {index} of {} at offset {offset} extends past offset {end}, where the next one starts or the segment ends",
                        counted(*size, "byte")
                    )));
                }
            };
            // If the part continues after the data, the room may contain a constant that no tensor uses.
            let used = match segment.get(*offset, room) {
                Some(bytes)
                    if *size == 0
                        || slice(bytes, *size..room).is_some_and(|rest| rest.iter().any(|byte| *byte != 0)) =>
                {
                    room
                }
                Some(_) => *size,
                None if *size == 0 => segment.part_from(*offset).min(room),
                None => *size,
            };
            let Some(bytes) = segment.take(*offset, used) else {
                return Err(Error::unwritable(format!("the constant at offset {offset} is outside its segment")));
            };
            blobs.push(bytes);
        }
        let mut at = Vec::with_capacity(offsets.len());
        for offset in offsets.iter().skip(1) {
            at.push(stored.binary_search_by_key(offset, |(start, _)| *start).ok());
        }
        Ok(Self { at, blobs })
    }

    /// Returns the index in `blobs` of the entry with this `data_buffer_idx`.
    pub(crate) fn blob(&self, data_buffer_idx: u32) -> Option<usize> {
        *self.at.get(place(data_buffer_idx)?)?
    }

    /// Returns the bytes of the entry with this `data_buffer_idx`: those of its largest tensor, or all up to the next entry.
    #[expect(clippy::indexing_slicing, reason = "`at` has indices of `blobs`")]
    pub(crate) fn bytes(&self, data_buffer_idx: u32) -> Option<&Cow<'a, [u8]>> {
        self.blob(data_buffer_idx).map(|blob| &self.blobs[blob])
    }

    /// Adds bytes after all others, and returns their `data_buffer_idx`.
    pub(crate) fn add(&mut self, bytes: Cow<'a, [u8]>) -> u32 {
        self.blobs.push(bytes);
        self.at.push(Some(self.blobs.len() - 1));
        self.at.len() as u32
    }

    /// Changes the blob of an entry.
    pub(crate) fn set(&mut self, data_buffer_idx: u32, blob: Option<usize>) {
        if let Some(at) = place(data_buffer_idx).and_then(|place| self.at.get_mut(place)) {
            *at = blob;
        }
    }

    /// Removes an entry. The caller updates the references to it.
    pub(crate) fn remove(&mut self, data_buffer_idx: u32) {
        self.set(data_buffer_idx, None);
    }

    /// Puts the content back: each blob once, at a multiple of `alignment`. Removed entries are dropped, and every tensor
    /// gets the new index of its entry. Other data in a shared segment stays there.
    #[expect(clippy::indexing_slicing, reason = "`at` has indices of `blobs`, and each kept blob has a place")]
    pub(crate) fn put(self, pte: &mut Pte<'a>, list: DataList, alignment: u64) -> Result<()> {
        let Self { at, blobs } = self;
        let mut new_index = vec![0u32; at.len()];
        let mut kept = Vec::new();
        for (place, blob) in new_index.iter_mut().zip(&at) {
            if let Some(blob) = blob {
                kept.push(*blob);
                *place = kept.len() as u32;
            }
        }
        for tensor in tensors_mut(&mut pte.program) {
            if DataList::of(tensor) == Some(list) {
                // An index that is out of range stays out of range, because the number of entries does not grow.
                if let Some(new) = place(tensor.data_buffer_idx).and_then(|place| new_index.get(place)) {
                    tensor.data_buffer_idx = *new;
                }
            }
        }
        let inline = offsets(&pte.program, list).is_none() && pte.program.constant_buffer().len() > 1;
        if inline && list == DataList::Constants {
            let buffers = pte.program.constant_buffer.get_or_insert_default();
            buffers.truncate(1);
            for blob in kept {
                buffers.push(Buffer { storage: Some(blobs[blob].clone()) });
            }
            return Ok(());
        }
        if list == DataList::InitialStates && kept.is_empty() {
            return remove_states(pte);
        }
        let mut is_kept = vec![false; blobs.len()];
        for blob in &kept {
            is_kept[*blob] = true;
        }
        // The place of each blob among the kept ones.
        let (mut places, mut stored) = (Vec::with_capacity(blobs.len()), Vec::new());
        for (bytes, is_kept) in blobs.into_iter().zip(is_kept) {
            places.push(stored.len());
            if is_kept {
                stored.push(bytes);
            }
        }
        let (starts, segment) = pack(stored, alignment)?;
        let mut offsets = vec![0u64];
        for blob in kept {
            offsets.push(starts[places[blob]]);
        }
        put_offsets(pte, list, offsets, segment)
    }
}

fn place(data_buffer_idx: u32) -> Option<usize> {
    (data_buffer_idx as usize).checked_sub(1)
}

/// Puts blobs one after another; returns the start of each, and the segment.
pub(crate) fn pack(blobs: Vec<Cow<'_, [u8]>>, alignment: u64) -> Result<(Vec<u64>, Segment<'_>)> {
    let (mut starts, mut parts, mut end) = (Vec::new(), Vec::new(), 0u64);
    for bytes in blobs {
        let start = end.checked_next_multiple_of(alignment);
        let next = start.and_then(|start| start.checked_add(bytes.len() as u64));
        let (Some(start), Some(next)) = (start, next) else {
            return Err(Error::unwritable("a segment takes more than 2^64 bytes"));
        };
        starts.push(start);
        parts.push((start, bytes));
        end = next;
    }
    Ok((starts, Segment::Parts(parts)))
}

/// Returns the offsets of a list if it contains more than its placeholder.
pub(crate) fn offsets<'t, 'a>(program: &'t Program<'a>, list: DataList) -> Option<&'t SubsegmentOffsets<'a>> {
    let offsets = match list {
        DataList::Constants => program.constant_segment.as_ref(),
        DataList::InitialStates => program.mutable_data_segments().first(),
    };
    offsets.filter(|list| list.offsets().len() > 1)
}

fn inline_constants<'a>(pte: &Pte<'a>, list: DataList) -> Entries<'a> {
    let buffers = match list {
        DataList::Constants => pte.program.constant_buffer(),
        DataList::InitialStates => &[],
    };
    let (mut at, mut blobs) = (Vec::new(), Vec::new());
    for buffer in buffers.get(1..).unwrap_or_default() {
        at.push(Some(blobs.len()));
        blobs.push(buffer.storage.clone().unwrap_or_default());
    }
    Entries { at, blobs }
}

/// Returns the size of each of the `count` entries, by index: that of its largest tensor.
fn entry_sizes(pte: &Pte<'_>, list: DataList, count: usize) -> Result<Vec<u64>> {
    let mut sizes = vec![0u64; count];
    for method in pte.methods() {
        for (_, tensor) in method.tensors() {
            if DataList::of(tensor) != Some(list) {
                continue;
            }
            if let TensorData::Constant(DataRef::Segment { size, .. })
            | TensorData::InitialState(DataRef::Segment { size, .. }) = pte.tensor_data(tensor)?
            {
                if let Some(most) = sizes.get_mut(tensor.data_buffer_idx as usize) {
                    *most = size.max(*most);
                }
            }
        }
    }
    Ok(sizes)
}

/// Returns the alignment that the offsets of a list imply, at most 4096.
pub(crate) fn alignment(pte: &Pte<'_>, list: DataList) -> u32 {
    let usual = match list {
        DataList::Constants => ALIGNMENT,
        DataList::InitialStates => 1,
    };
    let Some(offsets) = offsets(&pte.program, list) else {
        return usual;
    };
    alignment::common(offsets.offsets(), usual)
}

fn put_offsets<'a>(pte: &mut Pte<'a>, list: DataList, offsets: Vec<u64>, segment: Segment<'a>) -> Result<()> {
    let segment_index =
        match own_segment(pte, list).and_then(|index| Some((index, pte.segments.get_mut(index as usize)?))) {
            Some((index, place)) => {
                let size = segment.len();
                *place = segment;
                let table = pte.program.segments.get_or_insert_default();
                if let Some(entry) = table.get_mut(index as usize) {
                    entry.size = size;
                }
                index
            }
            None => insert_segment(pte, list, segment),
        };
    let offsets = SubsegmentOffsets { segment_index, offsets: Some(offsets.into()) };
    match list {
        DataList::Constants => {
            // Without constants, the placeholder inside the FlatBuffer is removed, too.
            if offsets.offsets().len() > 1 {
                if let Some(buffers) = &mut pte.program.constant_buffer {
                    buffers.clear();
                }
            }
            pte.program.constant_segment = Some(offsets);
        }
        DataList::InitialStates => match pte.program.mutable_data_segments.get_or_insert_default().first_mut() {
            Some(first) => *first = offsets,
            None => pte.program.mutable_data_segments = Some(vec![offsets]),
        },
    }
    Ok(())
}

/// Returns the segment of a list if nothing else refers to it.
fn own_segment(pte: &Pte<'_>, list: DataList) -> Option<u32> {
    let list = match list {
        DataList::Constants => pte.program.constant_segment.as_ref(),
        DataList::InitialStates => pte.program.mutable_data_segments().first(),
    };
    list.map(|list| list.segment_index).filter(|index| pte.segment_users().get(*index as usize) == Some(&1))
}

/// Removes the list of initial states and its segment. If there are further lists, list 0 stays, but empty.
fn remove_states(pte: &mut Pte<'_>) -> Result<()> {
    let lists = pte.program.mutable_data_segments().len();
    if lists > 1 {
        return put_offsets(pte, DataList::InitialStates, vec![0], Segment::Parts(Vec::new()));
    }
    let own = own_segment(pte, DataList::InitialStates);
    pte.program.mutable_data_segments = pte.program.mutable_data_segments.take().filter(|_| lists == 0);
    if let Some(own) = own {
        segments::remove(pte, &|index| index == own as usize);
    }
    Ok(())
}

/// Adds a segment for a list at the position that the exporter uses: constants first, then initial states.
fn insert_segment<'a>(pte: &mut Pte<'a>, list: DataList, segment: Segment<'a>) -> u32 {
    let at = match list {
        DataList::Constants => 0,
        DataList::InitialStates => {
            pte.program.constant_segment.as_ref().map_or(0, |list| list.segment_index as usize + 1)
        }
    };
    let last = pte.push_segment(segment) as usize;
    let at = at.min(last);
    let mut order: Vec<usize> = (0..last).collect();
    order.insert(at, last);
    segments::reorder(pte, &order, &mut Vec::new());
    at as u32
}
