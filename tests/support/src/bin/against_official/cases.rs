//! The cases: every damage of every base, numbered in an order in which any range is a sample of all.

use crate::structured::{self, Kind};
use executorch_format::delegate::Xnnpack;
use executorch_format::schema::any::AnyTable;
use executorch_format::schema::program::{BackendDelegateDataReference, DataLocation};
use executorch_format::testing::{Damage, WORD_DAMAGES, damage_word};
use executorch_format::verify::Level;
use executorch_format::{Model, Pte, PteOptions, Segment, probe};
use executorch_format_support::fixtures::Fixture;
use executorch_format_support::random::Random;
use executorch_format_support::verdict::errors;
use executorch_format_support::written::written;
use std::ops::Range;

/// The selected kinds of cases.
pub struct Wanted {
    /// Damage of programs and of `.ptd` files: of each field and word, and of bytes.
    pub files: bool,
    /// The same damage of XNNPACK payloads.
    pub payloads: bool,
    /// Structured changes of the graphs in XNNPACK payloads.
    pub structured: Vec<Kind>,
}

/// The number of structured changes of each payload.
const STRUCTURED: usize = 2_000;

/// A valid file, and the `.ptd` files that it uses.
pub struct Base<'f> {
    pub fixture: &'f Fixture,
    pub data: Vec<&'f [u8]>,
    tree: Model<'f>,
    /// The damages of the program; empty if only payloads are damaged.
    damages: Vec<Damage>,
    metadata: usize,
    payloads: Vec<PayloadBase<'f>>,
}

/// An XNNPACK payload of a program.
struct PayloadBase<'f> {
    place: BackendDelegateDataReference,
    tree: Xnnpack<'f>,
    damages: Vec<Damage>,
    /// The range of its header and FlatBuffer in the file; empty if only its graph is changed.
    metadata: Range<usize>,
    structured: Vec<Kind>,
}

impl<'f> Base<'f> {
    /// Returns `None` for a file with errors at the runtime level.
    pub fn new(fixture: &'f Fixture, data: Vec<&'f Fixture>, wanted: &Wanted) -> Option<Self> {
        let data: Vec<_> = data.into_iter().map(Fixture::bytes).collect();
        let files: Vec<_> = [fixture.bytes()].into_iter().chain(data.iter().copied()).collect();
        if !errors(&files, Level::Runtime).is_empty() {
            return None;
        }
        let mut tree = Model::parse(fixture.bytes()).ok()?;
        match &mut tree {
            Model::Pte(pte) => pte.style = Some(pte.write_style().ok()?.style),
            Model::Ptd(ptd) => ptd.style = Some(ptd.write_style().ok()?.style),
            _ => return None,
        }
        let damages = if wanted.files { Damage::all(table(&tree)) } else { Vec::new() };
        let payloads = payloads(fixture.bytes(), wanted);
        let size = fixture.bytes().len();
        let end = probe(fixture.bytes()).ok()?.metadata(size as u64).ok()?.end as usize;
        let metadata = if wanted.files { end.min(size) } else { 0 };
        Some(Self { fixture, data, tree, damages, metadata, payloads })
    }

    /// Returns the number of cases of a class.
    fn count(&self, class: Class) -> usize {
        match class {
            Class::File => self.own_count(),
            class => self.payloads.iter().map(|payload| payload.count(class)).sum(),
        }
    }

    /// Counts damage of the tree, damage of words, and as many random cases as the metadata has bytes.
    fn own_count(&self) -> usize {
        self.damages.len() + self.words() + self.metadata
    }

    fn words(&self) -> usize {
        self.metadata / 4 * WORD_DAMAGES
    }

    fn case(&self, class: Class, mut index: usize) -> Option<(String, Vec<u8>)> {
        if class != Class::File {
            for (number, payload) in self.payloads.iter().enumerate() {
                let Some(rest) = index.checked_sub(payload.count(class)) else {
                    let (how, file) = payload.case(self.fixture.bytes(), class, index)?;
                    return Some((format!("payload {number}: {how}"), file));
                };
                index = rest;
            }
            return None;
        }
        if let Some(damage) = self.damages.get(index) {
            return Some((damage.describe(table(&self.tree)), damaged(&self.tree, damage)?));
        }
        let index = index - self.damages.len();
        if index < self.words() {
            let (at, way) = (index / WORD_DAMAGES * 4, index % WORD_DAMAGES);
            return Some((format!("word {at}, way {way}"), damage_word(self.fixture.bytes(), at, way)?));
        }
        Some(self.random(index - self.words()))
    }

    /// Changes several bytes, or truncates the file.
    fn random(&self, index: usize) -> (String, Vec<u8>) {
        let mut random = Random::new(index as u64);
        let mut file = self.fixture.bytes().to_vec();
        if random.below(8) == 0 {
            file.truncate(random.below(file.len()));
            return (format!("cut at {}", file.len()), file);
        }
        bytes(random, file, 0..self.metadata)
    }
}

/// Changes up to three bytes of a part of the file.
fn bytes(mut random: Random, mut file: Vec<u8>, part: Range<usize>) -> (String, Vec<u8>) {
    let mut how = String::new();
    for _ in 0..=random.below(3) {
        let at = part.start + random.below(part.len());
        let byte = [file[at] ^ 1 << random.below(8), 0, 0xff, 0x7f, random.number() as u8][random.below(5)];
        file[at] = byte;
        how += &format!("byte {at} is {byte}, ");
    }
    (how, file)
}

/// Returns the XNNPACK payloads of a file.
fn payloads<'f>(file: &'f [u8], wanted: &Wanted) -> Vec<PayloadBase<'f>> {
    if !wanted.payloads && wanted.structured.is_empty() {
        return Vec::new();
    }
    let Ok(pte) = Pte::parse(file) else { return Vec::new() };
    let opened = pte.open_payloads();
    let payloads = opened.iter().filter_map(|opened| {
        let (method, index) = *opened.delegates.first()?;
        let place = pte.methods()[method].delegates()[index].processed?;
        let start = pte.range(&opened.data)?.start as usize;
        let tree = Xnnpack::parse(&file[start..start + opened.data.size() as usize]).ok()?;
        let end = tree.header.map_or(opened.data.size(), |header| header.flatbuffer().end) as usize;
        let damages = if wanted.payloads { Damage::all(&tree.graph) } else { Vec::new() };
        let metadata = if wanted.payloads { start..start + end } else { 0..0 };
        Some(PayloadBase { place, tree, damages, metadata, structured: wanted.structured.clone() })
    });
    payloads.collect()
}

impl PayloadBase<'_> {
    /// Counts damage of the graph, damage of words, and as many random cases as there are bytes; or structured changes.
    fn count(&self, class: Class) -> usize {
        match class {
            Class::Structured if !self.structured.is_empty() => STRUCTURED,
            Class::Payload => self.damages.len() + self.words() + self.metadata.len(),
            _ => 0,
        }
    }

    fn words(&self) -> usize {
        self.metadata.len() / 4 * WORD_DAMAGES
    }

    fn case(&self, file: &[u8], class: Class, index: usize) -> Option<(String, Vec<u8>)> {
        if class == Class::Structured {
            return self.changed(file, index);
        }
        if let Some(damage) = self.damages.get(index) {
            let mut tree = Xnnpack { source: None, ..self.tree.clone() };
            let how = damage.describe(&tree.graph);
            return damage.apply(&mut tree.graph).then(|| Some((how, self.put(file, tree.to_vec().ok()?)?)))?;
        }
        let index = index - self.damages.len();
        if index < self.words() {
            let (at, way) = (self.metadata.start + index / WORD_DAMAGES * 4, index % WORD_DAMAGES);
            return Some((format!("word {at}, way {way}"), damage_word(file, at, way)?));
        }
        Some(bytes(Random::new(index as u64), file.to_vec(), self.metadata.clone()))
    }

    /// Returns the file with a structured change of the payload's graph.
    fn changed(&self, file: &[u8], index: usize) -> Option<(String, Vec<u8>)> {
        let mut tree = Xnnpack { source: None, ..self.tree.clone() };
        // Each payload has changes of its own.
        let mut random = Random::new(index as u64 ^ (file.len() as u64) << 20 ^ u64::from(self.place.index) << 40);
        let how = structured::change(&mut tree.graph, &self.structured, &mut random)?;
        Some((how, self.put(file, tree.to_vec().ok()?)?))
    }

    /// Returns the file with another payload and a new layout.
    fn put(&self, file: &[u8], payload: Vec<u8>) -> Option<Vec<u8>> {
        let mut pte = Pte::parse(file).ok()?;
        let index = self.place.index as usize;
        match self.place.location {
            DataLocation::SEGMENT => {
                pte.program.segments.as_mut()?.get_mut(index)?.size = payload.len() as u64;
                *pte.segments.get_mut(index)? = Segment::Whole(payload.into());
            }
            _ => pte.program.backend_delegate_data.as_mut()?.get_mut(index)?.data = Some(payload.into()),
        }
        pte.lay_out(&PteOptions::default()).ok()?.image().ok()?.to_vec().ok()
    }
}

fn table<'t>(model: &'t Model<'_>) -> &'t dyn AnyTable {
    match model {
        Model::Pte(pte) => &pte.program,
        Model::Ptd(ptd) => &ptd.flat_tensor,
        _ => panic!("a model of another kind"),
    }
}

/// Returns the damaged tree as a file, with its segments moved if it has grown.
fn damaged(tree: &Model<'_>, damage: &Damage) -> Option<Vec<u8>> {
    let mut tree = tree.clone();
    let changed = match &mut tree {
        Model::Pte(pte) => damage.apply(&mut pte.program),
        Model::Ptd(ptd) => damage.apply(&mut ptd.flat_tensor),
        _ => false,
    };
    let file = if changed { written(&mut tree, [0, 128, 1024]).ok() } else { None };
    file.filter(|file| file.len() < 1 << 20)
}

/// The damaged part, and the kind of damage.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    File,
    Payload,
    Structured,
}

/// A damaged file.
pub struct Case<'b> {
    pub base: &'b Base<'b>,
    pub how: String,
    pub file: Vec<u8>,
    /// `true` if a payload is damaged.
    pub payload: bool,
}

/// All cases of all bases.
pub struct Cases<'b> {
    bases: &'b [Base<'b>],
    /// The classes with cases. They take turns until they run out.
    classes: Vec<Numbering>,
    seed: u64,
}

/// The cases of a class, in their order.
struct Numbering {
    class: Class,
    /// The number of the first case of each base, then the number of all cases.
    starts: Vec<u64>,
    step: u64,
}

impl Numbering {
    fn new(bases: &[Base<'_>], class: Class) -> Self {
        let mut starts = vec![0];
        for base in bases {
            starts.push(starts.last().unwrap() + base.count(class) as u64);
        }
        let total = *starts.last().unwrap();
        // A step near the golden ratio of the total, and coprime to it.
        let mut step = (total as f64 * 0.618) as u64 | 1;
        while total > 0 && common_divisor(step, total) != 1 {
            step += 2;
        }
        Self { class, starts, step }
    }

    fn total(&self) -> u64 {
        *self.starts.last().unwrap()
    }
}

impl<'b> Cases<'b> {
    pub fn new(bases: &'b [Base<'b>], seed: u64) -> Self {
        let classes = [Class::File, Class::Payload, Class::Structured].map(|class| Numbering::new(bases, class));
        Self { bases, classes: classes.into_iter().filter(|class| class.total() > 0).collect(), seed }
    }

    /// Returns the number of turns for all cases of the largest class.
    pub fn total(&self) -> u64 {
        self.classes.iter().map(Numbering::total).max().unwrap_or(0) * self.classes.len() as u64
    }

    /// Returns `None` if the damage changes nothing or cannot be written, or the class has no case with that number.
    pub fn get(&self, number: u64) -> Option<Case<'b>> {
        let turns = self.classes.len() as u64;
        let class = &self.classes[(number % turns) as usize];
        let (number, total) = (number / turns, class.total());
        if number >= total {
            return None;
        }
        let offset = self.seed.wrapping_mul(7_919) % total;
        let at = ((u128::from(number) * u128::from(class.step) + u128::from(offset)) % u128::from(total)) as u64;
        let base = class.starts.partition_point(|start| *start <= at) - 1;
        let (how, file) = self.bases[base].case(class.class, (at - class.starts[base]) as usize)?;
        let base = &self.bases[base];
        (file != base.fixture.bytes()).then_some(Case { base, how, file, payload: class.class != Class::File })
    }
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
