//! `pte replace`: new bytes for a constant, an initial state, named data, or a key of a `.ptd`.

use super::source::Source;
use super::{Destination, EditReport};
use crate::context::Context;
use crate::failure::Failure;
use crate::names::NamesArguments;
use crate::near::Names;
use crate::open::Input;
use crate::save::Pending;
use crate::{text, value};
use executorch_format::edit::{Digest, NewData, NewKey, Selector, Subject, User};
use executorch_format::inspect::Names as GivenNames;
use executorch_format::{DataUser, Error, Model, Ptd, Pte};
use sha2::Sha256;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Replace weights and other data: the bytes of a constant, an initial state, named data or a key of a .ptd
///
/// Scalar type and sizes must be the same. A name of the model (from an ETRecord or a state dict) means a tensor in PyTorch's layout,
/// which is permuted to that of XNNPACK, such as OIHW to OHWI. A key means the bytes as XNNPACK has them. A text that is both is a name.
/// Raw bytes have no type: they are taken for a key or a value, not for a name. Nothing is quantized, and a weight that the exporter
/// computed from several, as for BatchNorm, is refused.
///
/// If several users share the old bytes, only the named one gets the new bytes, and the others are listed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte replace model.pte %12=weight.bin -o new.pte
  pte replace model.pte linear.weight=weights.ptd -i
  pte replace model.pte linear.weight=weight.npy -i
  pte replace model.pte linear.weight=model.safetensors:fc.weight -i
  pte replace model.pte weights.safetensors -o new.pte      # all that `pte convert model.pte weights.safetensors` wrote
  pte replace xnnpack.pte conv.weight=conv.npy --names xnnpack.etrecord -o new.pte
  pte replace xnnpack.pte 1f976d6d1aa704da40b5ace760d7bc92619b79f4df4f72dd6f1fd985e943bc7d=bias.bin -o new.pte
  pte replace weights.ptd linear.weight=other.ptd:key -i
  pte replace weights.ptd conv.weight=conv.npy --program xnnpack.pte -o new.ptd")]
pub struct Arguments {
    /// A .pte or .ptd file
    file: PathBuf,
    /// A value (%12, or METHOD:%12 if there are several methods), a name or a key, and the file with the bytes: a .ptd or .safetensors (the
    /// entry of that name, the only one, or KEY in FILE.ptd:KEY), a .npy, or any other file for its raw bytes. Without a target, all tensors
    /// of a .safetensors or .ptd replace those of their names, such as those that `pte convert` wrote
    #[arg(required = true, value_name = "TARGET=SOURCE")]
    replacements: Vec<String>,
    /// Permute elements into the required dim order if the source has another
    #[arg(long)]
    permute: bool,
    /// The program that uses a .ptd: it has the types of the keys that delegates look up, and the names of the model. Keys stay as they are
    #[arg(long, value_name = "MODEL.pte")]
    program: Option<PathBuf>,
    /// Keep the key of a constant of XNNPACK. By default it becomes the SHA-256 of the new bytes, as in exported files: XNNPACK
    /// caches packed weights by key, and would reuse the old ones from a process or cache file
    #[arg(long)]
    keep_key: bool,
    /// Also replace the bytes for all other users of the old ones
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    names: NamesArguments,
    #[command(flatten)]
    destination: Destination,
}

impl Arguments {
    /// Applies the options on dim orders, users and keys to the data.
    fn asked_of<'a>(&self, mut new: NewData<'a>) -> NewData<'a> {
        let sha256 = |bytes: &[u8]| text::hex(&<Sha256 as sha2::Digest>::digest(bytes));
        (new.permute, new.shared) = (self.permute, self.shared);
        new.key = if self.keep_key { NewKey::Same } else { NewKey::Digest(Digest(sha256)) };
        new
    }
}

/// Replaces data.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let mut sources = Vec::new();
    for replacement in &arguments.replacements {
        let (target, source) = match replacement.split_once('=') {
            Some((target, source)) => (Some(target), source),
            None => (None, replacement.as_str()),
        };
        sources.push((target, Source::open(context, source)?));
    }
    let mut items = Vec::new();
    for (target, source) in &sources {
        match target {
            Some(target) => items.push(((*target).to_owned(), arguments.asked_of(source.read(target)?))),
            None => items.extend(source.read_all()?.into_iter().map(|(name, new)| (name, arguments.asked_of(new)))),
        }
    }
    let bad = |error: Error| Failure::Usage(format!("{}: {error}", text::path(input.path())));
    let mut done = Done::default();
    let program = arguments.program.as_deref().map(|path| Input::open(context, path)).transpose()?;
    match input.parse()? {
        Model::Pte(_) if arguments.program.is_some() => {
            Err(Failure::Usage("--program is for a .ptd: a .pte is a program itself".to_owned()))
        }
        Model::Pte(before) => {
            let mut pte = before.clone();
            let files = arguments.names.open(context, input.path())?;
            let name_sources = files.sources()?;
            let analysis = files.analysis(&before, &name_sources)?;
            let given = analysis.names();
            let keys = match sources.iter().all(|(target, _)| target.is_some()) {
                true => HashMap::new(),
                false => default_keys(&before).map_err(bad)?,
            };
            for (text, new) in &items {
                let more = match given.tensor(text) {
                    // A text of the form of a value is one.
                    Some(tensor) if value::parse(text, &before).is_none() => {
                        pte.replace(&Selector::Tensor(&tensor), new)
                    }
                    _ => {
                        let target = match keys.get(text) {
                            Some((method, value)) => Selector::Value { method, value: *value },
                            None => target(text, &before, given, input.path())?,
                        };
                        pte.replace(&target, new)
                    }
                };
                done.add(text, new.bytes.clone(), more.map_err(bad)?, input.path())?;
            }
            arguments.destination.finish(context, &input, before, pte, done.report())
        }
        Model::Ptd(before) => {
            let mut ptd = before.clone();
            match &program {
                Some(program) => replace_for(context, arguments, &items, program, &mut ptd, &mut done)?,
                None => {
                    for (key, new) in &items {
                        if before.get(key).is_none() {
                            let there = before.entries().map(|entry| entry.key()).collect();
                            return Err(Failure::no_match(input.path(), "key", key, there));
                        }
                        let more = ptd.replace(key, new).map_err(bad)?;
                        done.add(key, new.bytes.clone(), more, input.path())?;
                    }
                }
            }
            arguments.destination.finish(context, &input, before, ptd, done.report())
        }
        _ => Err(Failure::Usage(format!("{}: expected a .pte or .ptd", text::path(input.path())))),
    }
}

/// Replaces data in a `.ptd` that a program uses.
fn replace_for<'t>(
    context: &Context,
    arguments: &Arguments,
    items: &'t [(String, NewData<'t>)],
    program: &Input,
    ptd: &mut Ptd<'t>,
    done: &mut Done<'t>,
) -> Result<(), Failure> {
    let path = program.path();
    let Model::Pte(pte) = program.parse()? else {
        return Err(Failure::usage_of(path, &"--program is not a .pte"));
    };
    let files = arguments.names.open(context, path)?;
    let name_sources = files.sources()?;
    let analysis = files.analysis(&pte, &name_sources)?;
    let given = analysis.names();
    for (text, new) in items {
        let more = match (value::parse(text, &pte), given.tensor(text)) {
            (Some((method, value)), _) => ptd.replace_for(&pte, &Selector::Value { method, value }, new),
            (None, Some(tensor)) => ptd.replace_for(&pte, &Selector::Tensor(&tensor), new),
            (None, None) => ptd.replace_for(&pte, &Selector::Name(text), new),
        };
        done.add(text, new.bytes.clone(), more.map_err(|error| Failure::usage_of(path, &error))?, path)?;
    }
    Ok(())
}

/// The replacements so far.
#[derive(Default)]
struct Done<'t> {
    report: EditReport,
    /// The bytes for each target so far.
    bytes: HashMap<&'t str, Cow<'t, [u8]>>,
    /// For each user that got new bytes, the target that named it.
    given: BTreeMap<User, &'t str>,
}

impl<'t> Done<'t> {
    /// Adds a replacement. Fails if another one gave the same user different bytes.
    fn add(&mut self, target: &'t str, bytes: Cow<'t, [u8]>, mut more: EditReport, file: &Path) -> Result<(), Failure> {
        // Targets whose bytes are other ones. Many users can have the same earlier target.
        let others: HashSet<&str> =
            self.bytes.iter().filter(|(_, old)| **old != bytes).map(|(other, _)| *other).collect();
        for user in more.changes.iter().flat_map(|change| &change.users) {
            let named_by = self.given.get(user).copied().filter(|other| others.contains(other));
            if let Some(other) = named_by.or_else(|| others.get(target).copied()) {
                let (user, other, target) =
                    (text::message(&user.to_string()), text::escaped(other), text::escaped(target));
                return Err(Failure::usage_of(file, &format!("{target} and {other} have different bytes for {user}")));
            }
            self.given.insert(user.clone(), target);
        }
        self.bytes.insert(target, bytes);
        self.report.changes.append(&mut more.changes);
        more.notes.retain(|note| !self.report.notes.contains(note));
        self.report.notes.append(&mut more.notes);
        Ok(())
    }

    /// Builds the report. Removes users that got new bytes from the lists of users that keep the old ones.
    fn report(mut self) -> EditReport {
        for change in &mut self.report.changes {
            change.others.retain(|other| !self.given.contains_key(other));
        }
        self.report
    }
}

/// Returns the values with data by the key that `pte convert` gives to one without a name.
fn default_keys(pte: &Pte<'_>) -> Result<HashMap<String, (String, usize)>, Error> {
    let mut keys = HashMap::new();
    pte.candidates(|candidate| {
        if candidate.subject != Subject::NamedData {
            keys.insert(candidate.key.to_owned(), (candidate.method.to_owned(), candidate.index));
        }
    })?;
    Ok(keys)
}

/// Resolves a target: a value of a method if the text has that form, else the data with that name or key in the file. Fails if there is no such
/// data.
fn target<'t>(
    text: &'t str,
    pte: &'t Pte<'_>,
    given: &'t GivenNames<'_>,
    file: &Path,
) -> Result<Selector<'t>, Failure> {
    if let Some((method, value)) = value::parse(text, pte) {
        return Ok(Selector::Value { method, value });
    }
    let mut there = Names::default();
    for (user, _) in pte.data_users() {
        let own = match user {
            DataUser::Tensor { tensor, .. } => tensor.fully_qualified_name().unwrap_or_default(),
            DataUser::NamedData { named, .. } => named.key(),
            _ => continue,
        };
        if own == text {
            return Ok(Selector::Name(text));
        }
        there.add(own);
    }
    given.given(pte).into_iter().for_each(|name| there.add(name));
    if let Some(hint) = value::ambiguous(text, pte).or_else(|| value::of_number(text, pte)) {
        return Err(Failure::usage_of(file, &hint));
    }
    Err(Failure::no_match(file, "data with the name or key", text, there))
}
