//! Trees changed by hand: no function of the library may panic on such a tree, or allocate memory for sizes that it only claims.

use executorch_format::convert::{CArray, COptions, Safetensors, Unsupported};
use executorch_format::edit::{MetadataValue, NewData, Selector, Strip};
use executorch_format::inspect::{DiffOptions, Side, diff};
use executorch_format::schema::DataSegment;
use executorch_format::schema::any::AnyTable;
use executorch_format::testing::{Choices, Damage};
use executorch_format::verify::{Level, Target};
use executorch_format::{Analysis, Model, Ptd, PtdOptions, Pte, PteOptions, Segment};

/// The number of bytes at the end of the input that choose the changes.
const CHOICES: usize = 32;

/// Decodes a file, changes its tree and its segments, and calls every function of the library that takes a tree.
pub fn change_tree(bytes: &[u8]) {
    let Ok(before) = Model::parse(bytes) else { return };
    let choices = &mut Choices::new(bytes.get(bytes.len().saturating_sub(CHOICES)..).unwrap_or_default());
    let after = match before.clone() {
        Model::Pte(mut pte) => {
            change_fields(&mut pte.program, choices);
            change_segments(pte.program.segments.as_mut(), &mut pte.segments, choices);
            if let (1, Some(header)) = (choices.below(4), &mut pte.header) {
                header.segment_base_offset = number(choices);
            }
            if choices.below(4) == 1 {
                pte.source = None;
            }
            ask_program(&pte, choices);
            Model::Pte(pte)
        }
        Model::Ptd(mut ptd) => {
            change_fields(&mut ptd.flat_tensor, choices);
            change_segments(ptd.flat_tensor.segments.as_mut(), &mut ptd.segments, choices);
            if let (1, Some(header)) = (choices.below(4), &mut ptd.header) {
                header.segment_base_offset = number(choices);
            }
            ask_data(&ptd, choices);
            Model::Ptd(ptd)
        }
        _ => return,
    };
    ask(&after, bytes);
    let options = DiffOptions::default().with_tensors();
    diff(&Side::new(&before, &[]), &Side::new(&after, &[]), &options);
    diff(&Side::new(&after, &[]), &Side::new(&before, &[]), &options);
}

/// Makes up to three changes that readers may handle wrongly.
fn change_fields(tree: &mut dyn AnyTable, choices: &mut Choices<'_>) {
    for _ in 0..choices.below(4) {
        let damages = Damage::all(tree);
        let chosen = usize::from(choices.byte()) << 8 | usize::from(choices.byte());
        if let Some(damage) = damages.get(chosen.checked_rem(damages.len()).unwrap_or_default()) {
            damage.apply(tree);
        }
    }
}

/// Returns a small number, or one larger than any memory.
fn number(choices: &mut Choices<'_>) -> u64 {
    match choices.below(5) {
        0 => 0,
        1 => choices.byte().into(),
        2 => 1 << 40,
        3 => 1 << 60,
        _ => u64::MAX - u64::from(choices.byte()),
    }
}

/// Changes the description of a segment in the list, and the segment's bytes.
fn change_segments(table: Option<&mut Vec<DataSegment>>, segments: &mut Vec<Segment<'_>>, choices: &mut Choices<'_>) {
    let index = usize::from(choices.below(4));
    if let Some(segment) = segments.get_mut(index) {
        let parts = |at, segment: &Segment<'_>| {
            segment.parts().map(|(start, bytes)| (start + at, bytes.to_vec().into())).collect()
        };
        match choices.below(6) {
            1 => *segment = Segment::Parts(parts(0, segment)),
            2 => *segment = Segment::Parts(parts(1 << 60, segment)),
            3 => *segment = Segment::Parts(Vec::new()),
            4 => *segment = Segment::Absent,
            5 => drop(segments.pop()),
            _ => {}
        }
    }
    match (choices.below(4), table.and_then(|table| table.get_mut(index))) {
        (1, Some(entry)) => entry.size = number(choices),
        (2, Some(entry)) => entry.offset = number(choices),
        _ => {}
    }
}

fn ask(model: &Model<'_>, bytes: &[u8]) {
    for level in Level::ALL {
        model.verify(*level);
    }
    model.releases(&Target::default(), None);
    model.summary();
    model.blobs();
    model.savings();
    model.trailing_bytes();
    model.report();
    let _ = model.size_report();
    let _ = model.branch("", 0, 10);
    let _ = model.image().map(|image| image.size());
    let _ = CArray::new(model, bytes, &COptions::default());
    model.weights();
    drop(model.clone().into_owned());
}

fn ask_program(pte: &Pte<'_>, choices: &mut Choices<'_>) {
    pte.verify_for_runtime();
    let analysis = Analysis::new(pte);
    analysis.dequantized();
    analysis.delegate_constants();
    pte.metadata();
    analysis.disassembly();
    analysis.graphs();
    for index in 0..pte.segments.len() as u32 + 1 {
        let _ = pte.segment(index);
    }
    let _ = pte.write_style();
    let _ = pte.weights().map(|(ptd, _)| ptd.entries().count());
    let _ = pte.clone().lay_out(&PteOptions::default());
    let mut edited = pte.clone();
    let _ = edited.dedup();
    let _ = edited.strip(&Strip::ALL);
    let _ = edited.set_metadata("metadata.note", MetadataValue::Int(7));
    let _ = edited.set_metadata("get_note", MetadataValue::Bool(true));
    let _ = edited.remove_metadata("metadata.note");
    let target = Selector::Value { method: "forward", value: choices.byte().into() };
    let _ = edited.replace(&target, &NewData::bytes("new", vec![7; 16]));
    if let Ok((data, _)) = edited.externalize(&PtdOptions::default(), |data| Some(data.key.to_owned())) {
        let _ = edited.internalize(&[data], |_| true);
    }
    let _ = edited.select(|name| name.len() % 2 > 0);
    let _ = edited.image().map(|image| image.size());
}

fn ask_data(ptd: &Ptd<'_>, choices: &mut Choices<'_>) {
    ptd.verify_for_runtime();
    for index in 0..ptd.segments.len() as u32 + 1 {
        let _ = ptd.segment(index);
    }
    let _ = ptd.write_style();
    let _ = ptd.clone().lay_out(&PtdOptions::default());
    let _ = Safetensors::of_ptd(ptd, Unsupported::Skip);
    let twice = [ptd.clone(), ptd.clone()];
    let _ = Ptd::merge(&twice, &PtdOptions::default());
    let _ = ptd.split(&PtdOptions::default(), |entry| entry.key().len() % 2);
    let mut edited = ptd.clone();
    let _ = edited.dedup();
    let _ = edited.rename(|key| Some(format!("{key}.new")));
    let key = edited.entry(choices.byte().into()).map(|entry| entry.key().to_owned()).unwrap_or_default();
    let _ = edited.replace(&key, &NewData::bytes("new", vec![7; 16]));
    let _ = edited.filter(|entry| entry.key().len() % 2 > 0);
    let _ = edited.image().map(|image| image.size());
}
