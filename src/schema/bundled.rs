//! The schema of bundled programs (`bundled_program_schema.fbs` of ExecuTorch 1.5), file identifier `BP08`.

use super::ScalarType;
use crate::flatbuffer::field::ForceAlign;
use crate::flatbuffer::macros::{table, union};
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, vec::Vec};

pub use super::scalars::{Bool, Double, Int};

table! {
    /// The root: a whole `.pte` file with test cases for its methods.
    pub struct BundledProgram<'a> {
        /// 2 in every file seen. Readers ignore it.
        pub version: u32,
        /// The test cases, method by method.
        pub method_test_suites: Option<Vec<BundledMethodTestSuite<'a>>>,
        /// The `.pte` file: its header, its FlatBuffer and its segments.
        pub program: Option<Cow<'a, [u8]>> as ForceAlign<32>,
    }
}

table! {
    /// The test cases of one method.
    pub struct BundledMethodTestSuite<'a> {
        /// The name of the method.
        pub method_name: Option<Text<'a>>,
        /// The test cases.
        pub test_cases: Option<Vec<BundledMethodTestCase<'a>>>,
    }
}

table! {
    /// A test case: the inputs for one run of a method, and the expected outputs.
    pub struct BundledMethodTestCase<'a> {
        /// The inputs, as many as the method has, in their order.
        pub inputs: Option<Vec<Value<'a>>>,
        /// The expected outputs, as many as the method has, in their order, or empty.
        pub expected_outputs: Option<Vec<Value<'a>>>,
    }
}

table! {
    /// An input or an expected output.
    pub struct Value<'a> {
        /// The value's kind and content.
        pub val: ValueUnion<'a>,
    }
}

union! {
    /// The kinds of inputs and expected outputs.
    pub enum ValueUnion<'a>: From {
        /// A tensor.
        Tensor(Tensor<'a>) = 1,
        /// An integer.
        Int(Int) = 2,
        /// A boolean.
        Bool(Bool) = 3,
        /// A float.
        Double(Double) = 4,
    }
}

table! {
    /// A tensor with its elements.
    pub struct Tensor<'a> {
        /// The type of the elements.
        pub scalar_type: ScalarType,
        /// The size of each dimension, in elements.
        pub sizes: Option<Cow<'a, [i32]>>,
        /// The elements, little-endian and dense, in the order given by the dim order.
        pub data: Option<Cow<'a, [u8]>> as ForceAlign<16>,
        /// The dimensions, outermost first: a permutation of 0..rank.
        pub dim_order: Option<Cow<'a, [u8]>>,
    }
}
