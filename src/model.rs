//! The type for a file of any kind.

#[cfg(feature = "verify")]
use crate::delegate::Xnnpack;
#[cfg(not(feature = "verify"))]
use crate::error::ErrorKind;
use crate::error::{Error, Result};
use crate::file::bpte::Bpte;
use crate::file::etdp::Etdp;
use crate::file::header::{FileKind, probe};
use crate::file::options::ParseOptions;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::source::Source;
#[cfg(feature = "std")]
use crate::file::transfer;
use crate::flatbuffer::any::AnyTable;
#[cfg(not(feature = "verify"))]
use alloc::format;
use core::ops::Range;

/// A file of any kind, recognized by its bytes.
///
/// ```
/// use executorch_format::Model;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/ptd_names/ptd_names.ptd")?;
/// match Model::parse(&file)? {
///     Model::Pte(pte) => println!("{} methods", pte.methods().len()),
///     Model::Ptd(ptd) => println!("{} keys", ptd.entries().count()),
///     _ => println!("something newer"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)]
pub enum Model<'a> {
    /// A program: a `.pte` file.
    Pte(Pte<'a>),
    /// Named tensors and blobs: a `.ptd` file.
    Ptd(Ptd<'a>),
    /// A program with test cases: a `.bpte` file.
    Bpte(Bpte<'a>),
    /// A profile of runs: an `.etdp` file.
    Etdp(Etdp<'a>),
    /// An XNNPACK payload in a file of its own.
    #[cfg(feature = "verify")]
    Xnnpack(Xnnpack<'a>),
}

/// Evaluates an expression for any kind of [`Model`], since all kinds have the same methods.
macro_rules! each_file {
    ($model:expr, $file:ident => $value:expr) => {
        match $model {
            $crate::model::Model::Pte($file) => $value,
            $crate::model::Model::Ptd($file) => $value,
            $crate::model::Model::Bpte($file) => $value,
            $crate::model::Model::Etdp($file) => $value,
            #[cfg(feature = "verify")]
            $crate::model::Model::Xnnpack($file) => $value,
        }
    };
}
pub(crate) use each_file;

impl<'a> Model<'a> {
    /// Reads a file of any kind.
    ///
    /// Fails as [`Pte::parse`] does. The error also tells if a transfer has damaged the file, see
    /// [`Error::transfer_damage`](crate::Error::transfer_damage).
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &ParseOptions::default())
    }

    /// Reads a file of any kind, with options.
    pub fn parse_with(bytes: &'a [u8], options: &ParseOptions) -> Result<Self> {
        Self::read(bytes, options).map_err(|error| explained(error, bytes))
    }

    fn read(bytes: &'a [u8], options: &ParseOptions) -> Result<Self> {
        match probe(bytes)?.kind {
            FileKind::Pte => Pte::parse_with(bytes, options).map(Self::Pte),
            FileKind::Ptd => Ptd::parse_with(bytes, options).map(Self::Ptd),
            FileKind::Bpte => Bpte::parse_with(bytes, options).map(Self::Bpte),
            FileKind::Etdp => Etdp::parse_with(bytes, options).map(Self::Etdp),
            #[cfg(feature = "verify")]
            FileKind::Xnnpack => Xnnpack::parse_with(bytes, &options.limits).map(Self::Xnnpack),
            #[cfg(not(feature = "verify"))]
            FileKind::Xnnpack => Err(not_built()),
        }
    }

    /// Checks only a file's structure, see [`Pte::verify_structure`].
    pub fn verify_structure(bytes: &[u8]) -> Result<()> {
        Self::check_structure(bytes).map_err(|error| explained(error, bytes))
    }

    fn check_structure(bytes: &[u8]) -> Result<()> {
        match probe(bytes)?.kind {
            FileKind::Pte => Pte::verify_structure(bytes),
            FileKind::Ptd => Ptd::verify_structure(bytes),
            FileKind::Bpte => Bpte::verify_structure(bytes),
            FileKind::Etdp => Etdp::verify_structure(bytes),
            #[cfg(feature = "verify")]
            FileKind::Xnnpack => Xnnpack::verify_structure(bytes),
            #[cfg(not(feature = "verify"))]
            FileKind::Xnnpack => Err(not_built()),
        }
    }

    /// Returns the kind of file.
    pub fn kind(&self) -> FileKind {
        match self {
            Self::Pte(_) => FileKind::Pte,
            Self::Ptd(_) => FileKind::Ptd,
            Self::Bpte(_) => FileKind::Bpte,
            Self::Etdp(_) => FileKind::Etdp,
            #[cfg(feature = "verify")]
            Self::Xnnpack(_) => FileKind::Xnnpack,
        }
    }

    /// Returns the bytes that the file was read from, or `None` if it was built in memory.
    pub fn source(&self) -> Option<&Source<'a>> {
        each_file!(self, file => file.source.as_ref())
    }

    /// Returns the tree: the root table of the file's own schema.
    ///
    /// ```
    /// use executorch_format::Model;
    /// use executorch_format::schema::any::AnyTable;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
    /// assert_eq!(Model::parse(&file)?.root().description().name, "Program");
    /// # Ok(())
    /// # }
    /// ```
    pub fn root(&self) -> &(dyn AnyTable + 'a) {
        match self {
            Self::Pte(pte) => &pte.program,
            Self::Ptd(ptd) => &ptd.flat_tensor,
            Self::Bpte(bpte) => &bpte.bundled_program,
            Self::Etdp(etdp) => &etdp.etdump,
            #[cfg(feature = "verify")]
            Self::Xnnpack(xnnpack) => &xnnpack.graph,
        }
    }

    /// Converts it into an owned copy, which outlives the bytes that it was read from.
    pub fn into_owned(self) -> Model<'static> {
        each_file!(self, file => file.into_owned().into())
    }

    /// Returns the range of bytes at the end of the file that it does not refer to, as [`Pte::trailing_bytes`] does.
    pub fn trailing_bytes(&self) -> Range<u64> {
        each_file!(self, file => file.trailing_bytes())
    }
}

impl<'a> From<Pte<'a>> for Model<'a> {
    fn from(pte: Pte<'a>) -> Self {
        Self::Pte(pte)
    }
}

impl<'a> From<Ptd<'a>> for Model<'a> {
    fn from(ptd: Ptd<'a>) -> Self {
        Self::Ptd(ptd)
    }
}

impl<'a> From<Bpte<'a>> for Model<'a> {
    fn from(bpte: Bpte<'a>) -> Self {
        Self::Bpte(bpte)
    }
}

impl<'a> From<Etdp<'a>> for Model<'a> {
    fn from(etdp: Etdp<'a>) -> Self {
        Self::Etdp(etdp)
    }
}

#[cfg(feature = "verify")]
impl<'a> From<Xnnpack<'a>> for Model<'a> {
    fn from(xnnpack: Xnnpack<'a>) -> Self {
        Self::Xnnpack(xnnpack)
    }
}

/// Adds the damage of a transfer that explains an error. Firmware does not meet such files.
fn explained(error: Error, bytes: &[u8]) -> Error {
    #[cfg(feature = "std")]
    return transfer::explain(error, bytes);
    #[cfg(not(feature = "std"))]
    {
        let _ = bytes;
        error
    }
}

/// Creates the error for a payload in a build without the feature `verify`, which reads payloads.
#[cfg(not(feature = "verify"))]
fn not_built() -> Error {
    let found = format!("{}, which needs the crate's feature verify", FileKind::Xnnpack.as_found());
    Error::at(4, ErrorKind::foreign(".pte or .ptd", found))
}
