//! The cases: every damage of every base, numbered, in an order in which any part is a sample of all.

use crate::random::Random;
use executorch_format::schema::any::AnyTable;
use executorch_format::validate::Level;
use executorch_format::{Model, Probe, Ptd, Pte, probe};
use executorch_format_support::damage::{Damage, WORDS, word};
use executorch_format_support::fixtures::Fixture;
use executorch_format_support::verdict::errors;

/// A valid file, and the `.ptd` files that it uses.
pub struct Base<'f> {
    pub fixture: &'f Fixture,
    pub data: Vec<&'f [u8]>,
    tree: Model<'f>,
    damages: Vec<Damage>,
    metadata: usize,
}

impl<'f> Base<'f> {
    /// `None` for a file with errors at the runtime level.
    pub fn new(fixture: &'f Fixture, data: Vec<&'f Fixture>) -> Option<Self> {
        let data: Vec<_> = data.into_iter().map(Fixture::bytes).collect();
        let files: Vec<_> = [fixture.bytes()].into_iter().chain(data.iter().copied()).collect();
        if !errors(&files, Level::Runtime).is_empty() {
            return None;
        }
        let mut tree = Model::parse(fixture.bytes()).ok()?;
        match &mut tree {
            Model::Pte(pte) => pte.style = Some(pte.write_style().ok()?.0),
            Model::Ptd(ptd) => ptd.style = Some(ptd.write_style().ok()?.0),
            _ => return None,
        }
        let damages = Damage::all(table(&tree));
        let size = fixture.bytes().len();
        let end = probe(fixture.bytes()).ok().map(|probe: Probe| probe.metadata(size as u64).end as usize);
        Some(Self { fixture, data, tree, damages, metadata: end.unwrap_or(size).min(size) })
    }

    /// Damage of the tree, damage of words, and as many random cases as the metadata has bytes.
    fn count(&self) -> usize {
        self.damages.len() + self.words() + self.metadata
    }

    fn words(&self) -> usize {
        self.metadata / 4 * WORDS
    }

    fn case(&self, index: usize) -> Option<(String, Vec<u8>)> {
        if let Some(damage) = self.damages.get(index) {
            return Some((damage.describe(table(&self.tree)), damaged(&self.tree, damage)?));
        }
        let index = index - self.damages.len();
        if index < self.words() {
            let (at, way) = (index / WORDS * 4, index % WORDS);
            return Some((format!("word {at}, way {way}"), word(self.fixture.bytes(), at, way)?));
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
        let mut how = String::new();
        for _ in 0..=random.below(3) {
            let at = random.below(self.metadata);
            let byte = [file[at] ^ 1 << random.below(8), 0, 0xff, 0x7f, random.next() as u8][random.below(5)];
            file[at] = byte;
            how += &format!("byte {at} is {byte}, ");
        }
        (how, file)
    }
}

fn table<'t>(model: &'t Model<'_>) -> &'t dyn AnyTable {
    match model {
        Model::Pte(pte) => &pte.program,
        Model::Ptd(ptd) => &ptd.flat_tensor,
        _ => panic!("a model of another kind"),
    }
}

/// The tree with that damage as a file, with its segments moved if it has grown.
fn damaged(tree: &Model<'_>, damage: &Damage) -> Option<Vec<u8>> {
    match tree {
        Model::Pte(pte) => {
            let mut pte: Pte<'_> = pte.clone();
            if !damage.apply(&mut pte.program) {
                return None;
            }
            written(|more| {
                if let Some(header) = &mut pte.header {
                    header.segment_base_offset += more;
                }
                pte.image_as_is().ok()?.to_vec().ok()
            })
        }
        Model::Ptd(ptd) => {
            let mut ptd: Ptd<'_> = ptd.clone();
            if !damage.apply(&mut ptd.flat_tensor) {
                return None;
            }
            written(|more| {
                if let Some(header) = &mut ptd.header {
                    header.segment_base_offset += more;
                }
                ptd.image_as_is().ok()?.to_vec().ok()
            })
        }
        _ => None,
    }
}

fn written(write: impl FnMut(u64) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    [0, 128, 1024].into_iter().find_map(write).filter(|file| file.len() < 1 << 20)
}

/// A damaged file.
pub struct Case<'b> {
    pub base: &'b Base<'b>,
    pub how: String,
    pub file: Vec<u8>,
}

/// All cases of all bases.
pub struct Cases<'b> {
    bases: &'b [Base<'b>],
    /// The number of the first case of each base, then the number of all cases.
    starts: Vec<u64>,
    step: u64,
    seed: u64,
}

impl<'b> Cases<'b> {
    pub fn new(bases: &'b [Base<'b>], seed: u64) -> Self {
        let mut starts = vec![0];
        for base in bases {
            starts.push(starts.last().unwrap() + base.count() as u64);
        }
        let total = *starts.last().unwrap();
        // A step near the golden ratio of the total, and coprime to it.
        let mut step = (total as f64 * 0.618) as u64 | 1;
        while total > 0 && common_divisor(step, total) != 1 {
            step += 2;
        }
        Self { bases, starts, step, seed }
    }

    pub fn total(&self) -> u64 {
        *self.starts.last().unwrap()
    }

    /// `None` if that damage changes nothing, or cannot be written.
    pub fn get(&self, number: u64) -> Option<Case<'b>> {
        let offset = self.seed.wrapping_mul(7_919) % self.total();
        let at = ((u128::from(number) * u128::from(self.step) + u128::from(offset)) % u128::from(self.total())) as u64;
        let base = self.starts.partition_point(|start| *start <= at) - 1;
        let (how, file) = self.bases[base].case((at - self.starts[base]) as usize)?;
        let base = &self.bases[base];
        (file != base.fixture.bytes()).then_some(Case { base, how, file })
    }
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
