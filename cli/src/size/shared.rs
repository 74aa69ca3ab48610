//! `pte size --shared`: the data that several files have in common.

use crate::context::Context;
use crate::edit;
use crate::failure::Failure;
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::table::{Column, Table};
use crate::text;
use executorch_format::edit::{Copies, copies};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

/// The data that several files have in common.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SharedSizes {
    files: Vec<FileShare>,
    /// The data that the same files have, the largest first.
    common: Vec<Common>,
    /// The bytes that are in more files than one: those of all files but the first with each blob.
    repeated: u64,
}

/// A file, and its part that other files have too.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct FileShare {
    file: String,
    /// Bytes.
    file_size: u64,
    /// Bytes of different blobs that another file has too.
    shared: u64,
    errors: json::None,
}

/// Blobs that several files have.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct Common {
    /// Indices of the files.
    files: BTreeSet<usize>,
    /// The number of different blobs.
    blobs: usize,
    /// Their bytes, each counted once.
    size: u64,
}

impl SharedSizes {
    #[expect(clippy::indexing_slicing, reason = "the copies are in these files")]
    fn new(mut files: Vec<FileShare>, copies: &[Copies<'_>]) -> Self {
        let mut groups = BTreeMap::<BTreeSet<usize>, (usize, u64)>::new();
        for blob in copies {
            let users: BTreeSet<usize> = blob.users.iter().map(|user| user.file).collect();
            if users.len() > 1 {
                let (blobs, size) = groups.entry(users).or_default();
                (*blobs, *size) = (*blobs + 1, size.saturating_add(blob.size));
            }
        }
        let mut repeated = 0;
        for (users, (_, size)) in &groups {
            users.iter().for_each(|file| files[*file].shared += size);
            repeated += size * (users.len() as u64 - 1);
        }
        let mut common: Vec<_> =
            groups.into_iter().map(|(files, (blobs, size))| Common { files, blobs, size }).collect();
        common.sort_by_key(|common| std::cmp::Reverse(common.size));
        Self { files, common, repeated }
    }
}

/// Prints the data that the files have in common.
pub(super) fn run(context: &Context, files: &FileArguments, form: &JsonArguments) -> Result<(), Failure> {
    let paths = files.iter(context).map(|file| Ok(file?.path)).collect::<Result<Vec<PathBuf>, Failure>>()?;
    let inputs = edit::open(context, &paths)?;
    let models = inputs.iter().map(Input::parse).collect::<Result<Vec<_>, _>>()?;
    let found = copies(&models).map_err(|error| Failure::Usage(error.to_string()))?;
    let share = |input: &Input| FileShare {
        file: input.path().display().to_string(),
        file_size: input.bytes().len() as u64,
        shared: 0,
        errors: [],
    };
    let sizes = SharedSizes::new(inputs.iter().map(share).collect(), &found);
    if form.any() {
        return json::print(context, &sizes, form);
    }
    print(context, &paths, &sizes)
}

#[expect(clippy::indexing_slicing, reason = "the indices are of these files")]
fn print(context: &Context, paths: &[PathBuf], sizes: &SharedSizes) -> Result<(), Failure> {
    /// The files of a group that are named.
    const MAX_NAMED: usize = 6;
    let mut table = Table::new([("SIZE", Column::Right), ("SHARED", Column::Right), ("FILE", Column::Left)]);
    for (path, file) in paths.iter().zip(&sizes.files) {
        table.row([text::size(file.file_size), text::size(file.shared), text::path(path).to_string()]);
    }
    let mut out = context.out();
    table.write(&mut out)?;
    for Common { files, blobs, size } in &sizes.common {
        let start = format!("{} in {} files: ", text::count_bytes(*size), files.len());
        let mut names: Vec<String> =
            files.iter().take(MAX_NAMED).map(|file| text::path(&paths[*file]).to_string()).collect();
        if files.len() > MAX_NAMED {
            names.push(format!("{} more", files.len() - MAX_NAMED));
        }
        let blobs = format!("{}, ", text::count(*blobs, "blob"));
        writeln!(out, "{blobs}{start}{}", context.cut(&names.join(", "), blobs.len() + start.len()))?;
    }
    let end = match sizes.common.is_empty() {
        true => "",
        false => "; `pte dedup --data SHARED.ptd` moves what programs share into one file",
    };
    writeln!(out, "{} are in more than one file{end}", text::count_bytes(sizes.repeated))?;
    Ok(out.flush()?)
}
