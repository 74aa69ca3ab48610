//! `.bpte` files: a program with test cases around it.

use super::header::{self, FileKind};
use super::options::{ParseOptions, whole};
use super::pte::Pte;
use super::segment::offset_in;
use super::source::Source;
use super::style::WriteStyle;
use crate::error::{Error, Result};
use crate::flatbuffer::read::{self, Record, TableParser};
use crate::schema::BundledProgram;
use crate::schema::bundled::{BundledMethodTestCase, BundledMethodTestSuite, Tensor, Value, ValueUnion};
use crate::tensor::{TensorShape, TensorView};
use alloc::borrow::Cow;
use core::ops::Range;

/// A `.bpte` file, a bundled program: a whole `.pte` file with inputs for its methods and the expected outputs.
///
/// It is one FlatBuffer, so it is smaller than 2 GiB. It cannot hold a `.ptd`.
///
/// ```
/// use executorch_format::Bpte;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/bundled/bundled.bpte")?;
/// let mut bpte = Bpte::parse(&file)?;
/// for (suite, _, case) in bpte.test_cases() {
///     println!("{}: {} inputs", suite.method_name(), case.inputs().len());
/// }
/// // Take the program out and put it back.
/// let program = bpte.program()?.image()?.to_vec()?;
/// bpte.set_program(program);
/// assert_eq!(bpte.image()?.to_vec()?, file);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bpte<'a> {
    /// The program's bytes and the test cases.
    pub bundled_program: BundledProgram<'a>,
    /// The style in which it is written. `None` stands for the style of its source, or the default style.
    pub style: Option<WriteStyle>,
    /// The bytes that it was read from, or `None` if it was built in memory.
    pub source: Option<Source<'a>>,
}

/// Compares the trees, but not `style` and `source`.
impl PartialEq for Bpte<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bundled_program == other.bundled_program
    }
}

impl<'a> Bpte<'a> {
    /// Reads a file: checks the structure of the bundle and decodes its test cases. It does not read the program inside: see
    /// [`program`](Self::program).
    ///
    /// Fails if the bytes are another kind of file, are truncated, or break a rule of structure.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &ParseOptions::default())
    }

    /// Reads a file with custom limits. A bundle is one FlatBuffer that includes its data, so `metadata_only` has no effect.
    pub fn parse_with(bytes: &'a [u8], options: &ParseOptions) -> Result<Self> {
        header::probe_as(bytes, Some(FileKind::Bpte))?;
        let (bundled_program, seen) = read::read_at(0, bytes, &options.limits)?;
        let source = Source::new(bytes, bytes, &whole(options), seen);
        Ok(Self { bundled_program, style: None, source: Some(source) })
    }

    /// Checks only the structure of the bundle: the same rules as [`parse`](Self::parse), with the same first error, but without
    /// building or allocating anything.
    pub fn verify_structure(bytes: &[u8]) -> Result<()> {
        Self::verify_structure_with(bytes, &ParseOptions::default())
    }

    /// Checks only the structure of the bundle, with custom limits.
    pub fn verify_structure_with(bytes: &[u8], options: &ParseOptions) -> Result<()> {
        header::probe_as(bytes, Some(FileKind::Bpte))?;
        read::check_at(0, TableParser::<BundledProgram>::default(), bytes, &options.limits)
    }

    /// Converts it into an owned copy, which outlives the bytes that it was read from.
    pub fn into_owned(self) -> Bpte<'static> {
        Bpte {
            bundled_program: self.bundled_program.into_owned(),
            style: self.style,
            source: self.source.map(Source::into_owned),
        }
    }

    /// Creates a bundle around the bytes of a `.pte` file, without test cases.
    pub fn new(program: impl Into<Cow<'a, [u8]>>) -> Self {
        /// The version that ExecuTorch's exporter writes.
        const VERSION: u32 = 2;
        let bundled_program = BundledProgram {
            version: VERSION,
            method_test_suites: Some(Default::default()),
            program: Some(program.into()),
        };
        Self { bundled_program, ..Self::default() }
    }

    /// Reads the program inside. Its offsets count from the program's first byte, which is at
    /// [`program_offset`](Self::program_offset) in the bundle.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if there is no program, and as [`Pte::parse`]
    /// does; the error's path starts with `program` and its offset counts from the start of the bundle.
    pub fn program(&self) -> Result<Pte<'_>> {
        self.program_with(&ParseOptions::default())
    }

    /// Reads the program inside, with options.
    pub fn program_with(&self, options: &ParseOptions) -> Result<Pte<'_>> {
        let Some(program) = self.bundled_program.program.as_deref() else {
            return Err(Error::reference("a bundle without a program").in_field("program"));
        };
        Pte::parse_with(program, options)
            // Without a source, offsets count from the program's start.
            .map_err(|error| error.in_field("program").inside(self.program_offset().unwrap_or_default()))
    }

    /// Reads the program inside. It borrows from the bundle's bytes, so it outlives the bundle.
    pub fn into_program(self) -> Result<Pte<'a>> {
        // Without a source, offsets count from the program's start.
        let start = self.program_offset().unwrap_or_default();
        let within = |error: Error| error.in_field("program").inside(start);
        match self.bundled_program.program {
            Some(Cow::Borrowed(bytes)) => Pte::parse(bytes).map_err(within),
            Some(Cow::Owned(bytes)) => Pte::parse(&bytes).map(Pte::into_owned).map_err(within),
            None => Err(Error::reference("a bundle without a program").in_field("program")),
        }
    }

    /// Replaces the program with the bytes of another `.pte` file.
    pub fn set_program(&mut self, program: impl Into<Cow<'a, [u8]>>) {
        self.bundled_program.program = Some(program.into());
    }

    /// Returns the start of the program, in bytes from the start of the file, or `None` if the program was replaced or the bundle was
    /// built in memory.
    pub fn program_offset(&self) -> Option<u64> {
        offset_in(&self.source.as_ref()?.bytes, self.bundled_program.program.as_deref()?)
    }

    /// Returns the range of bytes at the end of the file that it does not refer to, as [`Pte::trailing_bytes`] does. Those of the program
    /// inside are not included.
    pub fn trailing_bytes(&self) -> Range<u64> {
        self.source.as_ref().map_or(0..0, |source| source.trailing(0, BundledProgram::DESCRIPTION))
    }

    /// Returns the test cases of all methods, in order: each with its method's suite and its index there.
    pub fn test_cases(&self) -> impl Iterator<Item = (&BundledMethodTestSuite<'a>, usize, &BundledMethodTestCase<'a>)> {
        let suites = self.bundled_program.method_test_suites().iter();
        suites.flat_map(|suite| suite.test_cases().iter().enumerate().map(move |(index, case)| (suite, index, case)))
    }
}

impl Tensor<'_> {
    /// Returns the type and shape.
    pub fn shape(&self) -> TensorShape<'_> {
        TensorShape { scalar_type: self.scalar_type, sizes: self.sizes(), dim_order: self.dim_order() }
    }

    /// Returns the tensor with its bytes.
    ///
    /// Fails with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if shape and bytes differ in size.
    pub fn view(&self) -> Result<TensorView<'_>> {
        TensorView::new(self.shape(), self.data())
    }
}

impl<'a> Value<'a> {
    /// Returns the tensor, if the value is one.
    pub fn tensor(&self) -> Option<&Tensor<'a>> {
        match &self.val {
            ValueUnion::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}
