//! Writes whole files, or nothing at all.

use crate::context::Context;
use crate::existing::{Content, refuse_mapped, refuse_model};
use crate::failure::Failure;
use crate::open::{Input, Version};
use crate::{lock, progress, remote, signals, text};
use executorch_format::{Error, Image, Prepared, Progress};
use indicatif::ProgressBar;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The output file of a command that prints to standard output by default.
#[derive(clap::Args)]
pub struct OutputArguments {
    /// Write to this file instead of standard output; if that fails, the file is unchanged
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// The output file of a command, as its last argument or as the option that all other commands have.
#[derive(clap::Args)]
pub struct LastArgument {
    /// The file to write; may be the same file; - is standard output
    #[arg(value_name = "OUTPUT", required_unless_present = "to")]
    last: Option<PathBuf>,
    /// The file to write, as an option
    #[arg(id = "to", short = 'o', long = "output", value_name = "OUT", conflicts_with = "last")]
    to: Option<PathBuf>,
}

impl LastArgument {
    /// Returns the path, if one was given.
    pub fn given(&self) -> Option<&Path> {
        self.to.as_deref().or(self.last.as_deref())
    }

    /// Returns the path, which is that of standard output if none was given.
    pub fn path(&self) -> &Path {
        self.given().unwrap_or(Path::new(text::STANDARD))
    }
}

impl OutputArguments {
    /// Writes the result of the command.
    pub fn write(&self, context: &Context, bytes: Vec<u8>) -> Result<(), Failure> {
        self.write_with(context, |out| out.write_all(&bytes))
    }

    /// Writes the result of the command while it is being produced.
    pub fn write_with(
        &self,
        context: &Context,
        make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match &self.output {
            Some(output) => save_with(context, output, make),
            None => Ok(to_standard_output(make)?),
        }
    }

    /// Fails if an output is named without `option`, which produces it.
    pub fn only_with(&self, given: bool, option: &str) -> Result<(), Failure> {
        match &self.output {
            Some(_) if !given => Err(Failure::Usage(format!("--output requires {option}"))),
            _ => Ok(()),
        }
    }
}

/// Prints the report of a command.
type Report<'a> = dyn FnOnce(&Context) -> Result<(), Failure> + 'a;

/// Files that are written but still have temporary names, and the report that follows. A command returns them from the function that opened
/// its inputs, so that no input is open or mapped when a file is replaced: Windows cannot replace a mapped file.
#[derive(Default)]
#[must_use]
pub struct Pending<'a> {
    files: Vec<PendingFile>,
    report: Option<Box<Report<'a>>>,
}

struct PendingFile {
    prepared: Prepared,
    path: PathBuf,
    size: u64,
    /// The state of the replaced input when it was opened.
    replaced: Option<Version>,
}

/// Converts the result of a command that leaves no files to be named.
impl From<()> for Pending<'_> {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl Pending<'_> {
    /// Adds a report, which is printed when all files have their names.
    pub fn then<'a>(self, report: impl FnOnce(&Context) -> Result<(), Failure> + 'a) -> Pending<'a> {
        Pending { files: self.files, report: Some(Box::new(report)) }
    }

    /// Gives files their names, under their locks. Fails if an input to be replaced was changed since it was opened, by a program that does not
    /// use locks, because that change would be lost. Private, so that a command, which has inputs open, cannot call it.
    fn commit(self, context: &Context) -> Result<(), Failure> {
        // In the same order in all processes, so that none waits for the other.
        let paths: BTreeSet<PathBuf> = self.files.iter().map(|file| real(&file.path)).collect();
        paths.iter().try_for_each(|path| lock::hold(context, path))?;
        for file in &self.files {
            refuse_mapped(&file.path)?;
            if file.replaced.as_ref().is_some_and(|version| !version.is_of(&file.path)) {
                let error = io::Error::other("another process changed it after it was read: run the command again");
                return Err(Failure::Unwritable { file: file.path.clone(), error });
            }
        }
        for PendingFile { prepared, path, size, .. } in self.files {
            let lost = prepared.lost().to_vec();
            lock::commit(prepared, &path).map_err(|error| Failure::unwritable(&path, error))?;
            let file = text::path(&path);
            context.say(format_args!("{file}: {size} bytes"));
            for lost in lost {
                context.say(format_args!("{file}: the new file does not keep {}", text::message(&lost)));
            }
        }
        self.report.map_or(Ok(()), |report| report(context))
    }
}

/// Runs a command, which opens and closes its inputs, and then gives its files their names.
pub fn finish<'a>(context: &Context, command: impl FnOnce() -> Result<Pending<'a>, Failure>) -> Result<(), Failure> {
    let outcome = command().and_then(|pending| pending.commit(context));
    lock::release();
    outcome
}

/// Writes a whole file that is not a model, or nothing, while the content is produced. Never replaces a model.
pub fn save_with(
    context: &Context,
    output: &Path,
    make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if output.as_os_str() == text::STANDARD {
        refuse_terminal()?;
        return to_standard_output(make).map_err(Failure::Output);
    }
    signals::defer();
    make_folder(output)?;
    refuse_model(output)?;
    let mut size = 0;
    let prepared = Prepared::new(output, |file| make(&mut Counted { file, size: &mut size }));
    let prepared = prepared.map_err(|error| unwritten(output, error))?;
    Pending { files: vec![PendingFile { prepared, path: output.to_owned(), size, replaced: None }], report: None }
        .commit(context)
}

/// Takes the path and the content of a file. Returns `true` if the file was written.
pub type Output<'t> = dyn FnMut(&Path, &Content<'_>) -> Result<bool, Failure> + 't;

/// Writes a file in a folder of the command's own, whole or not at all.
pub fn put(path: &Path, content: &Content<'_>) -> Result<bool, Failure> {
    signals::defer();
    signals::check()?;
    make_folder(path)?;
    let mut size = 0;
    let prepared = Prepared::new(path, |file| content(&mut Counted { file, size: &mut size }));
    prepared.and_then(Prepared::commit).map_err(|error| unwritten(path, error))?;
    Ok(true)
}

fn to_standard_output(make: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    make(&mut out)?;
    out.flush()
}

/// A writer that counts bytes, and fails after a signal.
struct Counted<'t> {
    file: &'t mut dyn Write,
    size: &'t mut u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if signals::is_cancelled() {
            return Err(io::Error::other("it was interrupted"));
        }
        let written = self.file.write(bytes)?;
        *self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Fails if standard output is a terminal, to which files are not written.
fn refuse_terminal() -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return Ok(());
    }
    let fault = "refusing to write a file to a terminal: give --output, or redirect standard output";
    Err(Failure::Usage(fault.to_owned()))
}

/// Writes files that belong together: if one cannot be written, none of them appears. `-` is standard output. Shows a progress bar on the
/// terminal if it takes long. Removes the incomplete files on SIGINT and SIGTERM.
pub fn prepare_all(
    context: &Context,
    files: &[(&Image<'_>, &Path)],
    inputs: &[&Input],
) -> Result<Pending<'static>, Failure> {
    let size = files.iter().fold(0u64, |sum, (image, _)| sum.saturating_add(image.size()));
    files.first().map_or(Ok(()), |(_, output)| context.volume.write(output, size))?;
    let (pipes, files): (Vec<_>, Vec<_>) = files.iter().partition(|(_, output)| output.as_os_str() == text::STANDARD);
    if !pipes.is_empty() {
        refuse_terminal()?;
    }
    signals::defer();
    files.iter().try_for_each(|(_, output)| make_folder(output))?;
    let files =
        files.iter().map(|(image, output)| prepare_file(image, output, inputs)).collect::<Result<Vec<_>, _>>()?;
    for (image, _) in pipes {
        image.write_to(io::stdout().lock()).map_err(|error| Failure::Output(error.into()))?;
    }
    Ok(Pending { files, report: None })
}

/// Creates the folder of a file.
pub fn make_folder(file: &Path) -> Result<(), Failure> {
    refuse_url(file)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| {
        let error = match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                io::Error::new(error.kind(), format!("{} is not a directory", text::path(folder)))
            }
            _ => error,
        };
        Failure::Unwritable { file: file.to_owned(), error }
    })
}

/// Creates the folder into which a command writes several files.
pub fn make_output_folder(folder: &Path) -> Result<(), Failure> {
    if folder.as_os_str() == text::STANDARD {
        let fault = "several files cannot be written to standard output: expected a folder (./- for one called -)";
        return Err(Failure::Usage(fault.to_owned()));
    }
    refuse_url(folder)?;
    fs::create_dir_all(folder).map_err(|error| Failure::Unwritable { file: folder.to_owned(), error })
}

/// Fails for the URL of a file in a store, instead of writing to a local folder with the name of the scheme.
fn refuse_url(output: &Path) -> Result<(), Failure> {
    if remote::url(output).is_none() {
        return Ok(());
    }
    let error = io::Error::other("output is written to local files only: expected a path, found a URL");
    Err(Failure::Unwritable { file: output.to_owned(), error })
}

/// Returns the failure for a file that was not written, perhaps because of a signal.
fn unwritten(output: &Path, error: Error) -> Failure {
    signals::or_interrupted(Failure::unwritable(output, error))
}

fn prepare_file(image: &Image<'_>, output: &Path, inputs: &[&Input]) -> Result<PendingFile, Failure> {
    let path = real(output);
    let replaced = inputs.iter().find(|input| real(input.path()) == path).and_then(|input| input.version().cloned());
    let bar = progress::hidden(image.size());
    let prepared = image.prepare(output, Bar { bar: bar.clone(), start: Instant::now() });
    bar.finish_and_clear();
    let prepared = prepared.map_err(|error| unwritten(output, error))?;
    Ok(PendingFile { prepared, path: output.to_owned(), size: image.size(), replaced })
}

/// Returns the canonical path of a file, also of one that does not exist yet, or the absolute path if its folder does not exist. The crate
/// `same-file` does not fit: it opens the files.
pub fn real(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    let canonical = path.canonicalize().ok().or_else(in_folder);
    canonical.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned())
}

struct Bar {
    bar: ProgressBar,
    start: Instant,
}

impl Progress for Bar {
    fn progress(&mut self, done: u64, _: u64) {
        if self.bar.is_hidden() && self.start.elapsed() > progress::QUIET {
            progress::show(&self.bar, "writing");
        }
        self.bar.set_position(done);
    }

    fn is_cancelled(&self) -> bool {
        signals::is_cancelled()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::existing::refuse_foreign;
    use crate::open::Input;
    use clap::Parser;
    use executorch_format::{NewEntry, Ptd, PtdOptions};
    use std::os::unix::fs::MetadataExt;

    /// Returns `true` while this process has the file open or mapped.
    fn is_in_use(file: &Path) -> bool {
        let maps = fs::read_to_string("/proc/self/maps").expect("a list of maps");
        let open = fs::read_dir("/proc/self/fd").expect("a list of open files").flatten();
        let name = file.to_str().expect("a path in UTF-8");
        maps.lines().any(|line| line.ends_with(name))
            || open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|path| path == file)
    }

    #[test]
    fn a_file_is_not_replaced_while_it_is_mapped() {
        let context = &Context::default();
        let file = std::env::temp_dir().join(format!("executorch-format-{}-mapped", std::process::id()));
        fs::write(&file, vec![7; 100_000]).expect("a file");
        let image = |out: &mut dyn Write| out.write_all(b"new");
        let inputs = [(); 2].map(|()| Input::open(context, &file).expect("an input"));
        for input in inputs {
            assert!(is_in_use(&file) && refuse_mapped(&file).is_err() && refuse_foreign(&file, "\u{7}").is_err());
            assert!(save_with(context, &file, image).is_err());
            let prepared = Prepared::new(&file, image).expect("a new file");
            let files = vec![PendingFile { prepared, path: file.clone(), size: 3, replaced: None }];
            assert!(Pending { files, report: None }.commit(context).is_err());
            drop(input);
        }
        assert_eq!(fs::metadata(&file).expect("a file").len(), 100_000);
        save_with(context, &file, image).expect("a new file");
        assert_eq!(fs::read(&file).expect("a file"), b"new");
        fs::remove_file(file).expect("a file");
    }

    /// Windows cannot replace a mapped file.
    #[test]
    fn no_input_is_open_or_mapped_when_a_file_is_replaced() {
        let context = &Context::default();
        let folder = std::env::temp_dir().canonicalize().expect("a folder");
        let folder = folder.join(format!("executorch-format-{}-closed", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (program, data) = (folder.join("model.pte"), folder.join("weights.ptd"));
        let fixture = executorch_format_support::data().join("bench/llama6_external.pte");
        fs::copy(fixture, &program).expect("a program");
        let entries = ["a", "b"].map(|key| NewEntry::blob(key, vec![key.len() as u8; 100_000]));
        let ptd = Ptd::build(entries, &PtdOptions::default()).expect("data");
        ptd.image().and_then(|image| image.save(&data)).expect("a file");

        for (file, line) in [
            (&program, "rewrite --relayout FILE FILE"),
            (&program, "metadata FILE --set get_answer=42 -i"),
            (&program, "select FILE --keep forward -o FILE"),
            (&data, "rewrite --relayout FILE FILE"),
            (&data, "ptd rename FILE a=c -i"),
            (&data, "ptd merge FILE FILE -o FILE"),
            (&data, "ptd filter FILE --keep c -i"),
            (&data, "replace FILE c=FILE:c -o FILE"),
        ] {
            let input = Input::open(context, file).expect("an input");
            assert!(is_in_use(file), "{line}: {} bytes are not mapped", input.bytes().len());
            drop(input);
            let inode = || fs::metadata(file).expect("a file").ino();
            let before = inode();
            let name = file.to_str().expect("a path in UTF-8");
            let words = ["pte"].into_iter().chain(line.split(' ')).map(|word| word.replace("FILE", name));
            let arguments = crate::Arguments::try_parse_from(words).expect("arguments");
            let pending =
                crate::prepare(context, &arguments.command).unwrap_or_else(|failure| panic!("{line}: {failure:?}"));
            assert_eq!((inode(), is_in_use(file)), (before, false), "{line}");
            assert_eq!(pending.files.len(), 1, "{line}");
            pending.commit(context).unwrap_or_else(|failure| panic!("{line}: {failure:?}"));
            lock::release();
            assert_ne!(inode(), before, "{line}");
        }
        fs::remove_dir_all(folder).expect("an empty place");
    }
}
