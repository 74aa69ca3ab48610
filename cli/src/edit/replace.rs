//! `pte replace`: new bytes for a constant, an initial state, named data, or a key of a `.ptd`.

use super::source::Source;
use super::{Destination, EditReport};
use crate::context::Context;
use crate::failure::Failure;
use crate::names::{GivenNames, NamesArguments};
use crate::near::Names;
use crate::save::Pending;
use crate::{text, value};
use executorch_format::edit::{NewData, Selector, User};
use executorch_format::{DataUser, Error, Model, Pte};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Replace weights and other data: the bytes of a constant, an initial state, named data or a key of a .ptd
///
/// Scalar type and sizes must be the same. If several users share the old bytes, only the named one gets the new bytes,
/// and the others are listed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte replace model.pte %12=weight.bin -o new.pte
  pte replace model.pte linear.weight=weights.ptd -i
  pte replace model.pte linear.weight=weight.npy -i
  pte replace model.pte linear.weight=model.safetensors:fc.weight -i
  pte replace xnnpack.pte 1f976d6d1aa704da40b5ace760d7bc92619b79f4df4f72dd6f1fd985e943bc7d=bias.bin -o new.pte
  pte replace weights.ptd linear.weight=other.ptd:key -i")]
pub struct Arguments {
    /// A .pte or .ptd file
    file: PathBuf,
    /// A value (%12, or METHOD:%12 if there are several methods), a name or a key, and the file with the bytes: a .ptd or .safetensors (the
    /// entry of that name, the only one, or KEY in FILE.ptd:KEY), a .npy, or any other file for its raw bytes
    #[arg(required = true, value_name = "TARGET=SOURCE")]
    replacements: Vec<String>,
    /// Permute elements into the required dim order if the source has another
    #[arg(long)]
    permute: bool,
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
    /// Applies the options on dim orders and users to the data.
    fn asked_of<'a>(&self, mut new: NewData<'a>) -> NewData<'a> {
        (new.permute, new.shared) = (self.permute, self.shared);
        new
    }
}

/// Replaces data.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let mut sources = Vec::new();
    for replacement in &arguments.replacements {
        let Some((target, source)) = replacement.split_once('=') else {
            return Err(Failure::Usage(format!("{replacement}: expected TARGET=SOURCE")));
        };
        sources.push((target, Source::open(context, source)?));
    }
    let bad = |error: Error| Failure::Usage(format!("{}: {error}", text::path(input.path())));
    let mut done = Done::default();
    match input.parse()? {
        Model::Pte(before) => {
            let mut pte = before.clone();
            let looked_up = before.xnnpack_keys();
            let given = arguments.names.open(context, input.path())?.given(&before)?;
            for (name, source) in &sources {
                let targets = targets(name, &before, &given, input.path())?;
                let new = arguments.asked_of(source.read(name)?);
                let sha256 = || text::hex(&Sha256::digest(&new.bytes));
                for target in &targets {
                    let key = match target {
                        Selector::Name(key) if looked_up.contains(*key) => {
                            Some(if arguments.keep_key { (*key).to_owned() } else { sha256() })
                        }
                        _ => None,
                    };
                    let more = pte.replace(target, &new.clone().with_key(key)).map_err(bad)?;
                    done.add(name, new.bytes.clone(), more, input.path())?;
                }
            }
            arguments.destination.finish(context, &input, before, pte, done.report())
        }
        Model::Ptd(before) => {
            let mut ptd = before.clone();
            for (key, source) in &sources {
                if before.get(key).is_none() {
                    let there = before.entries().map(|entry| entry.key()).collect();
                    return Err(Failure::no_match(input.path(), "key", key, there));
                }
                let new = arguments.asked_of(source.read(key)?);
                let more = ptd.replace(key, &new).map_err(bad)?;
                done.add(key, new.bytes, more, input.path())?;
            }
            arguments.destination.finish(context, &input, before, ptd, done.report())
        }
        _ => Err(Failure::Usage(format!("{}: expected a .pte or .ptd", text::path(input.path())))),
    }
}

/// The replacements so far.
#[derive(Default)]
struct Done<'t> {
    report: EditReport,
    /// For each user that got new bytes: the target that named it, and the bytes.
    given: Vec<(User, &'t str, Cow<'t, [u8]>)>,
}

impl<'t> Done<'t> {
    /// Adds a replacement. Fails if another one gave the same user different bytes.
    fn add(&mut self, target: &'t str, bytes: Cow<'t, [u8]>, mut more: EditReport, file: &Path) -> Result<(), Failure> {
        for user in more.changes.iter().flat_map(|change| &change.users) {
            if let Some((_, other, _)) = self.given.iter().find(|(own, _, old)| own == user && *old != bytes) {
                let (user, other, target) =
                    (text::message(&user.to_string()), text::escaped(other), text::escaped(target));
                return Err(Failure::usage_of(file, &format!("{target} and {other} have different bytes for {user}")));
            }
        }
        let users = more.changes.iter().flat_map(|change| &change.users);
        self.given.extend(users.map(|user| (user.clone(), target, bytes.clone())));
        self.report.changes.append(&mut more.changes);
        more.notes.retain(|note| !self.report.notes.contains(note));
        self.report.notes.append(&mut more.notes);
        Ok(())
    }

    /// Builds the report. Removes users that got new bytes from the lists of users that keep the old ones.
    fn report(mut self) -> EditReport {
        for change in &mut self.report.changes {
            change.others.retain(|other| !self.given.iter().any(|(user, ..)| user == other));
        }
        self.report
    }
}

/// Resolves a target: a value of a method if the text has that form, else the data with that name in the file, else the values and constants of
/// delegates to which another file gives that name. Fails if there is no such data.
fn targets<'t>(
    text: &'t str,
    pte: &'t Pte<'_>,
    given: &'t GivenNames,
    file: &Path,
) -> Result<Vec<Selector<'t>>, Failure> {
    if let Some((method, value)) = value::parse(text, pte) {
        return Ok(vec![Selector::Value { method, value }]);
    }
    let mut there = Names::default();
    for (user, _) in pte.data_users() {
        let own = match user {
            DataUser::Tensor { tensor, .. } => tensor.fully_qualified_name().unwrap_or_default(),
            DataUser::NamedData { named, .. } => named.key(),
            _ => continue,
        };
        if own == text {
            return Ok(vec![Selector::Name(text)]);
        }
        there.add(own);
    }
    let values = given.values(text).map(|(method, value)| Selector::Value { method, value });
    let found: Vec<_> = values.chain(given.keys(text).map(Selector::Name)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    given.iter().for_each(|name| there.add(name));
    if let Some(hint) = value::ambiguous(text, pte) {
        return Err(Failure::usage_of(file, &hint));
    }
    if let Some(hint) = value::of_number(text, pte) {
        return Err(Failure::usage_of(file, &hint));
    }
    Err(Failure::no_match(file, "data with the name or key", text, there))
}
