//! Failures that end the command, their messages and exit codes.

use crate::context::Context;
use crate::files::{FileArguments, FilePath, batches};
use crate::near::Names;
use crate::{json, parallel, text};
use anstyle::{AnsiColor, Style};
use executorch_format::{Error, ErrorKind as FileError, Pte};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The style of clap's own errors.
const ERROR: Style = AnsiColor::Red.on_default().bold();

const BAD: u8 = 1;
const USAGE: u8 = 2;
const UNREADABLE: u8 = 2;
const UNWRITABLE: u8 = 2;

/// The reason why the command failed.
#[derive(Debug)]
pub enum Failure {
    /// A file is invalid.
    Bad {
        /// The file.
        file: PathBuf,
        /// The faults, each with its field path and offset.
        findings: Vec<String>,
    },
    /// References in a file are out of range. The rest of its content was printed.
    Unsound {
        /// The file.
        file: PathBuf,
        /// The faults, each with its field path and offset.
        findings: Vec<String>,
    },
    /// A file cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// A file cannot be written.
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The options do not fit the file.
    Usage(String),
    /// The output cannot be written.
    Output(std::io::Error),
    /// Several failures that were already reported, with the exit code to return.
    Reported(u8),
}

impl Failure {
    /// Returns the failure for a file that the library refuses.
    pub fn bad(file: &Path, error: &Error) -> Self {
        Self::Bad { file: file.to_owned(), findings: vec![error.to_string()] }
    }

    /// Returns the failure for a file that the library does not write because of the file, the options or an error of the operating system.
    pub fn unwritable(file: &Path, error: Error) -> Self {
        let error = match error.kind() {
            FileError::Unwritable(reason) => std::io::Error::other(with_path(&error, reason)),
            FileError::Io { message, .. } => std::io::Error::other(message.clone()),
            _ => error.into(),
        };
        Self::Unwritable { file: file.to_owned(), error }
    }

    /// Returns the failure for a file whose name the command chose, and which exists but was not written by it.
    pub fn exists(file: &Path) -> Self {
        let fault = "it exists and was not written by this command: move it, or choose another output";
        Self::Unwritable { file: file.to_owned(), error: std::io::Error::new(ErrorKind::AlreadyExists, fault) }
    }

    /// Returns the failure for a file with settings, such as a policy, that cannot be parsed.
    pub fn usage_of(file: &Path, error: &impl std::fmt::Display) -> Self {
        Self::Usage(format!("{}: {error}", text::path(file)))
    }

    /// Returns the failure for a file of another kind that was given to a command for programs.
    pub fn no_program(file: &Path, kind: executorch_format::FileKind) -> Self {
        Self::usage_of(file, &format!("a {kind} file, which has no program: expected a .pte or .bpte"))
    }

    /// Returns the failure for bytes at the end of a file that it does not refer to, which a new layout would drop.
    pub fn loses(file: &Path, trailing: &Range<u64>, advice: &str) -> Self {
        let (count, start) = (trailing.end - trailing.start, trailing.start);
        let fault = format!("{count} trailing bytes, from byte {start}, would be lost in a new layout: {advice}");
        Self::Bad { file: file.to_owned(), findings: vec![fault] }
    }

    /// Returns the failure for a method that a file does not have.
    pub fn no_method(file: &Path, name: &str, pte: &Pte<'_>) -> Self {
        let there = pte.methods().iter().map(|plan| plan.name()).collect();
        Self::no_match(file, "method is called", name, there)
    }

    /// Returns the failure for a name or pattern that matches nothing in a file. `what` describes the names.
    pub fn no_match(file: &Path, what: &str, wanted: &str, there: Names) -> Self {
        Self::usage_of(file, &format!("no {what} {}, {}", text::quoted(wanted), there.hint(wanted)))
    }

    /// Fails if references of a file are out of range, after the rest of its content was printed.
    pub fn unless_sound(file: &Path, faults: &[impl ToString]) -> Result<(), Self> {
        if faults.is_empty() {
            return Ok(());
        }
        Err(Self::Unsound { file: file.to_owned(), findings: faults.iter().map(ToString::to_string).collect() })
    }

    /// Returns `true` if the failure was already reported in the output.
    fn is_printed(&self) -> bool {
        matches!(self, Self::Unsound { .. } | Self::Reported(_))
    }

    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Bad { .. } | Self::Unsound { .. } => BAD,
            Self::Unreadable { .. } => UNREADABLE,
            Self::Unwritable { .. } => UNWRITABLE,
            Self::Usage(_) => USAGE,
            // A closed pipe is not an error: its reader has read enough.
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => 0,
            Self::Output(_) => UNWRITABLE,
            Self::Reported(code) => *code,
        }
    }

    /// Converts an error of the output. If the reader closed the pipe, the result is the exit code for the findings so far.
    pub fn or_found(self, found: u8) -> Self {
        match self {
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe && found > 0 => Self::Reported(found),
            other => other,
        }
    }

    /// Returns the messages, without the file's name.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Bad { findings, .. } | Self::Unsound { findings, .. } => findings.clone(),
            Self::Unreadable { error, .. } => vec![format!("cannot be read: {error}")],
            Self::Unwritable { error, .. } => vec![format!("cannot be written: {error}")],
            Self::Usage(fault) => vec![fault.clone()],
            Self::Output(error) if error.kind() != ErrorKind::BrokenPipe => {
                vec![format!("the output cannot be written: {error}")]
            }
            Self::Output(_) | Self::Reported(_) => Vec::new(),
        }
    }

    /// Returns the file that failed.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Bad { file, .. }
            | Self::Unsound { file, .. }
            | Self::Unreadable { file, .. }
            | Self::Unwritable { file, .. } => Some(file),
            Self::Usage(_) | Self::Output(_) | Self::Reported(_) => None,
        }
    }

    /// Prints the failure on stderr, at most [`MAX_MESSAGES`] errors of it, and returns the exit code.
    pub fn report(&self) -> u8 {
        let file = match (self, self.file()) {
            (Self::Unwritable { .. }, Some(file)) if file.as_os_str() == text::STANDARD => {
                "standard output: ".to_owned()
            }
            (_, Some(file)) => format!("{}: ", text::path(file)),
            (_, None) => String::new(),
        };
        let messages = self.messages();
        for message in messages.iter().take(MAX_MESSAGES) {
            let message = match self {
                // Messages of the TOML parser have several lines.
                Self::Usage(_) => message.trim_end().split('\n').map(text::message).collect::<Vec<_>>().join("\n"),
                _ => text::message(message),
            };
            anstream::eprintln!("{ERROR}error:{ERROR:#} {file}{message}");
        }
        let more = messages.len().saturating_sub(MAX_MESSAGES);
        if more > 0 {
            anstream::eprintln!("{ERROR}error:{ERROR:#} {file}{} not listed here", text::count(more, "more error"));
        }
        if let Self::Usage(_) = self {
            eprintln!("\nFor more information, try '--help'.");
        }
        self.code()
    }
}

/// The most errors of a file that are printed on stderr: a damaged file can have thousands of the same kind. JSON has all of them.
const MAX_MESSAGES: usize = 100;

/// Returns the message, after the path of its field.
fn with_path(error: &Error, reason: &str) -> String {
    let path = error.path();
    if path.is_empty() { reason.to_owned() } else { format!("{path}: {reason}") }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

/// Calls a function for each file. A file that fails is reported at once, also in the JSON output if there is any, and the remaining
/// files are still read. The inner result is the failure with the highest code, which the caller returns when the output is complete.
pub fn each(
    context: &Context,
    files: &FileArguments,
    mut documents: Option<&mut json::Files>,
    mut work: impl FnMut(&Path, Option<&mut json::Files>) -> Result<(), Failure>,
) -> Result<Result<(), Failure>, Failure> {
    let mut code = 0;
    for file in files.iter(context) {
        let (path, outcome) = match file {
            Ok(FilePath { path, .. }) => {
                let outcome = work(&path, documents.as_deref_mut());
                (path, outcome)
            }
            Err(failure) => (failure.file().map(Path::to_owned).unwrap_or_default(), Err(failure)),
        };
        note(&path, outcome, documents.as_deref_mut(), &mut code)?;
    }
    Ok(if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) })
}

/// Does the same in two steps: calls `work` for several files at once, and `done` with its results, in the order of the files.
pub fn each_at_once<R: Send>(
    context: &Context,
    files: &FileArguments,
    mut documents: Option<&mut json::Files>,
    work: impl Fn(&Path) -> Result<R, Failure> + Sync,
    mut done: impl FnMut(&Path, R, Option<&mut json::Files>) -> Result<(), Failure>,
) -> Result<Result<(), Failure>, Failure> {
    let mut code = 0;
    for (batch, failed) in batches(files.iter(context)) {
        parallel::in_order(
            &batch,
            |file| work(&file.path),
            |file, result| {
                let outcome = result.and_then(|result| done(&file.path, result, documents.as_deref_mut()));
                note(&file.path, outcome, documents.as_deref_mut(), &mut code)
            },
        )?;
        if let Some((path, failure)) = failed {
            note(&path, Err(failure), documents.as_deref_mut(), &mut code)?;
        }
    }
    Ok(if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) })
}

/// Reports a file that failed, and raises the exit code. Fails if the output cannot be written.
pub fn note(
    file: &Path,
    outcome: Result<(), Failure>,
    documents: Option<&mut json::Files>,
    code: &mut u8,
) -> Result<(), Failure> {
    match outcome {
        Ok(()) => Ok(()),
        Err(output @ Failure::Output(_)) => Err(output.or_found(*code)),
        Err(failure) => {
            failure.report();
            *code = failure.code().max(*code);
            match documents.filter(|_| !failure.is_printed()) {
                Some(documents) => documents.add_failed(file, &failure),
                None => Ok(()),
            }
        }
    }
}
