//! Failures that end the command, their messages and exit codes.

use executorch_format::inspect::Fault;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const BAD: u8 = 1;
const USAGE: u8 = 2;
const UNREADABLE: u8 = 2;
const UNWRITABLE: u8 = 2;

/// Why the command did not do what it was asked to.
#[derive(Debug)]
pub enum Failure {
    /// A file is invalid.
    Bad {
        /// The file.
        file: PathBuf,
        /// What is wrong: field path, fault, offset.
        findings: Vec<String>,
    },
    /// A file cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// A file cannot be written.
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The options do not suit the file.
    Usage(String),
    /// The output cannot be written.
    Output(std::io::Error),
    /// More than one, each already reported: the exit code that is left to return.
    Reported(u8),
}

impl Failure {
    /// A file that the library refuses.
    pub fn bad(file: &Path, error: &executorch_format::Error) -> Self {
        Self::Bad { file: file.to_owned(), findings: vec![error.to_string()] }
    }

    /// Fails where references of a file lead nowhere.
    pub fn unless_sound(file: &Path, faults: &[Fault]) -> Result<(), Self> {
        if faults.is_empty() {
            return Ok(());
        }
        Err(Self::Bad { file: file.to_owned(), findings: faults.iter().map(Fault::to_string).collect() })
    }

    /// The exit code for it.
    pub fn code(&self) -> u8 {
        match self {
            Self::Bad { .. } => BAD,
            Self::Unreadable { .. } => UNREADABLE,
            Self::Unwritable { .. } => UNWRITABLE,
            Self::Usage(_) => USAGE,
            // A closed pipe is no error: its reader has what it wanted.
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => 0,
            Self::Output(_) => UNWRITABLE,
            Self::Reported(code) => *code,
        }
    }

    /// Tells it on stderr.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Bad { file, findings } => {
                for finding in findings {
                    eprintln!("error: {}: {finding}", file.display());
                }
            }
            Self::Unreadable { file, error } => eprintln!("error: {}: cannot be read: {error}", file.display()),
            Self::Unwritable { file, error } => eprintln!("error: {}: cannot be written: {error}", file.display()),
            Self::Usage(fault) => eprintln!("error: {fault}"),
            Self::Output(error) if error.kind() != ErrorKind::BrokenPipe => {
                eprintln!("error: the output cannot be written: {error}");
            }
            Self::Output(_) | Self::Reported(_) => {}
        }
        ExitCode::from(self.code())
    }
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
