//! Moves data that several programs have into one `.ptd`.

use super::externalize::{ShapeKey, TensorPlace, externalize, keyed, proposed, shape_key};
use super::metadata::METADATA_PREFIX;
use super::report::{EditReport, Subject};
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::pte::{Pte, TensorData};
use crate::file::segment::DataRef;
use crate::numbers::Numbers;
use crate::sha256::{hex, sha256};
use crate::write::options::PtdOptions;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, vec::Vec};

/// Programs that have their common data in one `.ptd`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shared<'a> {
    /// The programs, in the order given. One that has nothing in common with the others is unchanged.
    pub programs: Vec<Pte<'a>>,
    /// The data moved out of each program.
    pub reports: Vec<EditReport>,
    /// The common data, with everything in the `.ptd` files that were given. Equal bytes are stored once.
    pub data: Ptd<'a>,
}

/// The number of bytes that are equal, and the shape of a tensor; `None` for a blob.
type Meaning<'t> = (usize, Option<ShapeKey<'t>>);

/// Data that can be moved out of a program.
struct Item<'t> {
    subject: Subject,
    /// The name in the file; empty if there is none.
    name: &'t str,
    bytes: &'t [u8],
    meaning: Meaning<'t>,
}

/// Moves constants, initial states and named data of at least `min_size` bytes that several of the programs have, or one of them and a
/// `.ptd` in `data`, into one `.ptd`, to which all these programs then refer. A tensor gets the key that it has in `data`, or else its name,
/// or else the SHA-256 of its bytes, also if another tensor has that name. Named data keeps its key; it stays in the programs if its key has
/// other data in one of the files. Named data under `metadata.` stays, and so do payloads, which a program has itself.
///
/// ```
/// use executorch_format::{PtdOptions, Pte, edit};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
/// let programs = [Pte::parse(&file)?, Pte::parse(&file)?];
/// let shared = edit::share(&programs, &[], 0, &PtdOptions::default())?;
/// assert_eq!(shared.reports[0].changes.len(), shared.data.entries().count());
/// for program in &shared.programs {
///     assert_eq!(program.verify_with(std::slice::from_ref(&shared.data), Default::default()), []);
/// }
/// # Ok(())
/// # }
/// ```
///
/// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if two files in `data` have different data for a key, and as
/// [`Pte::externalize`] does.
pub fn share<'a>(programs: &[Pte<'a>], data: &[Ptd<'a>], min_size: u64, options: &PtdOptions) -> Result<Shared<'a>> {
    let chosen = keys(programs, data, min_size)?;
    let mut shared = Shared { programs: programs.to_vec(), reports: Vec::new(), data: Ptd::build([], options)? };
    let mut parts = data.to_vec();
    for (program, keys) in shared.programs.iter_mut().zip(chosen) {
        if keys.iter().all(Option::is_none) {
            shared.reports.push(EditReport::default());
            continue;
        }
        // The candidates come in the order of the items.
        let mut keys = keys.into_iter();
        let (part, report) = externalize(program, options, &mut |_| keys.next().flatten())?;
        parts.push(part);
        shared.reports.push(report);
    }
    shared.data = Ptd::merge(&parts, options)?.0;
    Ok(shared)
}

/// Returns the new key of each item of each program; `None` for one that stays.
fn keys(programs: &[Pte<'_>], data: &[Ptd<'_>], min_size: u64) -> Result<Vec<Vec<Option<String>>>> {
    let places = programs.iter().map(proposed).collect::<Result<Vec<_>>>()?;
    let mut contents = Numbers::default();
    let mut items = Vec::new();
    for (program, places) in programs.iter().zip(&places) {
        items.push(items_of(program, places, &mut contents)?);
    }
    // The files with each content, and the meanings of each key.
    let mut files = BTreeMap::<usize, BTreeSet<usize>>::new();
    let mut taken = BTreeMap::<String, BTreeSet<Option<Meaning<'_>>>>::new();
    let mut given = BTreeMap::<Meaning<'_>, &str>::new();
    for (file, items) in items.iter().enumerate() {
        for item in items {
            files.entry(item.meaning.0).or_default().insert(file);
            if item.subject == Subject::NamedData {
                taken.entry(item.name.into()).or_default().insert(Some(item.meaning));
            }
        }
    }
    for program in programs {
        for (_, tensor) in
            program.methods().iter().flat_map(|plan| plan.tensors()).filter(|(_, tensor)| tensor.is_external())
        {
            // The data may be in a file that was not given.
            taken.entry(tensor.fully_qualified_name().unwrap_or_default().into()).or_default().insert(None);
        }
    }
    for ptd in data {
        for entry in ptd.entries() {
            let meaning = (
                contents.of(ptd.entry_bytes(&entry)?),
                entry.shape.map(|shape| (shape.scalar_type.0, shape.sizes, shape.dim_order)),
            );
            files.entry(meaning.0).or_default().insert(programs.len());
            let meanings = taken.entry(entry.key().into()).or_default();
            // External tensors of this name have this data.
            meanings.remove(&None);
            meanings.insert(Some(meaning));
            given.entry(meaning).or_insert(entry.key());
        }
    }
    let is_shared = |item: &&Item<'_>| {
        item.bytes.len() as u64 >= min_size
            && !item.bytes.is_empty()
            && !item.name.starts_with(METADATA_PREFIX)
            && files.get(&item.meaning.0).is_some_and(|files| files.len() > 1)
    };
    let mut assigned = BTreeMap::<Meaning<'_>, String>::new();
    for item in items.iter().flatten().filter(is_shared).filter(|item| item.subject != Subject::NamedData) {
        if assigned.contains_key(&item.meaning) {
            continue;
        }
        let mut key = String::from(given.get(&item.meaning).copied().unwrap_or(item.name));
        let mut count = 0;
        while key.is_empty()
            || taken.get(&key).is_some_and(|meanings| meanings.iter().any(|other| *other != Some(item.meaning)))
        {
            let hash = hex(&sha256(&[item.bytes]));
            key = if count == 0 { hash } else { format!("{count}-{hash}") };
            count += 1;
        }
        taken.entry(key.clone()).or_default().insert(Some(item.meaning));
        assigned.insert(item.meaning, key);
    }
    let key = |item: &Item<'_>| {
        let item = Some(item).filter(is_shared)?;
        match item.subject {
            Subject::NamedData => taken.get(item.name).filter(|meanings| meanings.len() == 1).map(|_| item.name.into()),
            _ => assigned.get(&item.meaning).cloned(),
        }
    };
    Ok(items.iter().map(|items| items.iter().map(key).collect()).collect())
}

/// Returns the candidates of a program, in the order in which `externalize` asks for their keys.
fn items_of<'t>(
    program: &'t Pte<'_>,
    places: &'t [TensorPlace<'t>],
    contents: &mut Numbers<'t>,
) -> Result<Vec<Item<'t>>> {
    let mut items = Vec::new();
    for place in places {
        let data: DataRef = match program.tensor_data(place.tensor)? {
            TensorData::Constant(data) | TensorData::InitialState(data) => data,
            _ => return Err(Error::reference(format!("the data of {} is not in the file", place.user()))),
        };
        let bytes = program.bytes(&data)?;
        let bytes = usize::try_from(place.size).ok().and_then(|size| bytes.get(..size)).unwrap_or(bytes);
        let (subject, name) = (place.candidate().subject, place.tensor.fully_qualified_name().unwrap_or_default());
        let meaning = (contents.of(bytes), Some(shape_key(place.tensor)));
        items.push(Item { subject, name, bytes, meaning });
    }
    for (_, named) in keyed(program) {
        let bytes = program.bytes(&program.named_data_ref(named)?)?;
        items.push(Item { subject: Subject::NamedData, name: named.key(), bytes, meaning: (contents.of(bytes), None) });
    }
    Ok(items)
}
