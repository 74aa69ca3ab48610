//! The contents of a bundled program: its test cases and their tensors. The program inside is inspected separately.

use super::summary::{Content, Summary};
use super::{Blob, BlobKind, BlobUser, Blobs, DelegateConstants, SizeReport, size};
use crate::analysis::Analysis;
use crate::analysis::{Returned, double};
use crate::error::Result;
use crate::file::bpte::Bpte;
use crate::file::header::FileKind;
use crate::file::segment::offset_in;
use crate::schema::bundled::{BundledMethodTestCase, BundledMethodTestSuite, Tensor, Value, ValueUnion};
use crate::tensor::TensorShape;
use alloc::{vec, vec::Vec};

/// The contents of a `.bpte` file, apart from the program.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BundleSummary<'t> {
    /// The version stated in the bundle: 2 in every file seen.
    pub bundle_version: u32,
    /// The offset of the program in bytes from the start of the file; `None` if it is not in the file.
    pub program_offset: Option<u64>,
    /// The size of the program, in bytes.
    pub program_size: u64,
    /// The test cases, method by method.
    pub test_suites: Vec<TestSuite<'t>>,
}

/// The test cases of one method.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestSuite<'t> {
    /// The method's name.
    pub method: &'t str,
    /// Its test cases.
    pub test_cases: Vec<TestCase<'t>>,
}

/// A test case.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestCase<'t> {
    /// The inputs of the method.
    pub inputs: Vec<TestValue<'t>>,
    /// The expected outputs; empty if outputs are not compared.
    pub expected_outputs: Vec<TestValue<'t>>,
}

/// An input or expected output of a test case.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestValue<'t> {
    /// The schema's name of the value's type; `None` for a type of a newer schema.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The type and shape, if it is a tensor.
    #[serde(flatten)]
    pub shape: Option<TensorShape<'t>>,
    /// The size of the tensor's elements, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The value of a number or boolean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Returned<'t>>,
}

impl<'t> TestSuite<'t> {
    fn of(suite: &'t BundledMethodTestSuite<'_>) -> Self {
        Self { method: suite.method_name(), test_cases: suite.test_cases().iter().map(TestCase::of).collect() }
    }
}

impl<'t> TestCase<'t> {
    fn of(case: &'t BundledMethodTestCase<'_>) -> Self {
        Self {
            inputs: case.inputs().iter().map(TestValue::of).collect(),
            expected_outputs: case.expected_outputs().iter().map(TestValue::of).collect(),
        }
    }
}

impl<'t> TestValue<'t> {
    fn of(value: &'t Value<'_>) -> Self {
        let number = match &value.val {
            ValueUnion::Int(number) => Some(Returned::Int(number.int_val)),
            ValueUnion::Bool(bit) => Some(Returned::Bool(bit.bool_val)),
            ValueUnion::Double(number) => Some(double(number.double_val)),
            _ => None,
        };
        let tensor = value.tensor();
        let size = tensor.map(|tensor| tensor.data().len() as u64);
        Self { kind: value.val.name(), shape: tensor.map(Tensor::shape), size, value: number }
    }
}

impl BundledMethodTestCase<'_> {
    /// Iterates over the tensors in order, each with its kind (input or expected output) and its index in the list of that kind.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (BlobKind, usize, &Tensor<'_>)> {
        let lists = [(BlobKind::Input, self.inputs()), (BlobKind::Expected, self.expected_outputs())];
        lists.into_iter().flat_map(|(kind, values)| {
            let tensors = values.iter().enumerate().filter_map(|(index, value)| Some((index, value.tensor()?)));
            tensors.map(move |(index, tensor)| (kind, index, tensor))
        })
    }
}

impl Bpte<'_> {
    /// Returns a summary of the file without the program inside, which [`program`](Self::program) returns.
    pub fn summary(&self) -> Summary<'_> {
        let content = BundleSummary {
            bundle_version: self.bundled_program.version,
            program_offset: self.program_offset(),
            program_size: self.bundled_program.program().len() as u64,
            test_suites: self.bundled_program.method_test_suites().iter().map(TestSuite::of).collect(),
        };
        Summary {
            kind: FileKind::Bpte,
            identifier: FileKind::Bpte.identifier(),
            header: None,
            content: Content::Bundle(content),
            errors: Vec::new(),
        }
    }

    /// Returns every blob of the file: the program as a whole, and the tensors of the test cases.
    pub fn blobs(&self) -> Blobs<'_> {
        let version = self.bundled_program.version;
        let program = self.bundled_program.program.as_deref();
        let program = program.map(|bytes| self.blob(BlobKind::Program, bytes, BlobUser::Bundle { version }));
        let mut blobs = Vec::new();
        blobs.extend(program);
        for (suite, test_case, case) in self.test_cases() {
            for (kind, index, tensor) in case.tensors() {
                let method = suite.method_name();
                let user = BlobUser::TestCase { method, test_case, index, shape: tensor.shape() };
                blobs.push(self.blob(kind, tensor.data(), user));
            }
        }
        Blobs { blobs, errors: Vec::new() }
    }

    /// Reports how the bytes of the file are used, like [`Analysis::size_report`]. The program inside is one part: its own report has the details.
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        size::of_bpte(self)
    }

    /// Returns [`blobs`](Self::blobs) and the blobs of the program inside, with their offsets in this file. `program` comes from
    /// [`program`](Self::program).
    pub fn blobs_with<'t, 'p: 't>(&'t self, program: &Analysis<'p>) -> Blobs<'t> {
        let mut found = self.blobs();
        let Blobs { mut blobs, errors } = program.blobs();
        let start = self.program_offset();
        for blob in &mut blobs {
            blob.data = None;
            blob.offset = blob.offset.zip(start).map(|(offset, start)| offset.saturating_add(start));
        }
        let first_test = found.blobs.len().min(1);
        found.blobs.splice(first_test..first_test, blobs);
        found.errors.extend(errors);
        found
    }

    /// Returns the constants inside the payloads of the program's delegates, with their offsets in this file, like
    /// [`blobs_with`](Self::blobs_with).
    pub fn delegate_constants_with<'t>(&self, program: &Analysis<'t>) -> DelegateConstants<'t> {
        let mut found = program.delegate_constants();
        let start = self.program_offset();
        for constant in &mut found.constants {
            constant.offset = constant.offset.zip(start).map(|(offset, start)| offset.saturating_add(start));
        }
        found
    }

    fn blob<'t>(&'t self, kind: BlobKind, bytes: &'t [u8], user: BlobUser<'t>) -> Blob<'t> {
        let offset = self.source.as_ref().and_then(|source| offset_in(&source.bytes, bytes));
        Blob { kind, data: None, offset, size: bytes.len() as u64, users: vec![user] }
    }
}
