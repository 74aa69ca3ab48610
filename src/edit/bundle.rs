//! Replaces the program in a bundle, and adds test cases.

use super::new_data::NewData;
use super::report::{Action, Change, EditReport, Subject, User};
use crate::error::{Error, Result, counted};
use crate::file::bpte::Bpte;
use crate::file::pte::Pte;
use crate::names::shortened;
use crate::schema::bundled::{self, BundledMethodTestCase, BundledMethodTestSuite, Value, ValueUnion};
use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor, TensorShapeDynamism};
use crate::sorted::set;
use crate::tensor::TensorShape;
use alloc::string::ToString;
use alloc::{borrow::Cow, format, vec::Vec};

impl<'a> Bpte<'a> {
    /// Replaces the program with another `.pte` file, given by its bytes. The test cases stay unchanged;
    /// [`Model::new_errors`](crate::Model::new_errors) checks whether they match the new program.
    ///
    /// ```
    /// use executorch_format::Bpte;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/bundled/bundled.bpte")?;
    /// let program = std::fs::read("tests/data/1.5.1/add_mul_external/add_mul_external.pte")?;
    /// let mut bpte = Bpte::parse(&file)?;
    /// let report = bpte.replace_program(program)?;
    /// println!("{}", report.changes[0]);
    /// assert_eq!(bpte.program()?.methods().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`Pte::parse`] does if the bytes are not a `.pte` file. [`set_program`](Self::set_program) accepts any
    /// bytes.
    pub fn replace_program(&mut self, program: impl Into<Cow<'a, [u8]>>) -> Result<EditReport> {
        let program = program.into();
        let mut report = EditReport::default();
        let parsed = Pte::parse(&program)?;
        let tested = set(self.bundled_program.method_test_suites().iter().map(|suite| suite.method_name()).collect());
        for plan in parsed.methods().iter().filter(|plan| tested.binary_search(&plan.name()).is_err()) {
            report.notes.push(format!("the bundle has no test cases for the method {:?}", plan.name()));
        }
        drop(parsed);
        let old = self.bundled_program.program();
        if *old != *program {
            let bytes = [old.len() as u64, program.len() as u64];
            report.add(Action::Replaced, Subject::Program, "", Vec::new(), bytes);
            self.set_program(program);
        }
        Ok(report)
    }

    /// Adds a test case for a method, with data for each input that is a tensor, and for each output, or for none if nothing is to be compared.
    /// Inputs that are numbers are filled in: they are part of the program, which accepts no others.
    ///
    /// Starting from [`Bpte::new`], this produces the same bytes as `BundledProgram` and `serialize_from_bundled_program_to_flatbuffer` of ExecuTorch
    /// 1.5, except for channels-last tensors: Python stores them in the natural dim order, which the runtime then refuses.
    ///
    /// ```
    /// use executorch_format::edit::NewData;
    /// use executorch_format::{Bpte, NewEntry};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let program = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
    /// let ones = || NewData::from(NewEntry::from_slice("ones", vec![2, 2], &[1f32; 4]));
    /// let mut bpte = Bpte::new(program);
    /// bpte.add_case("forward", &[ones()], &[])?;
    /// assert_eq!(bpte.test_cases().count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`program`](Self::program) does, with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the program has no such method,
    /// and with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) if the data does not fit the method's inputs and outputs.
    /// [`Model::new_errors`](crate::Model::new_errors) checks the rest.
    #[expect(clippy::indexing_slicing, reason = "the suite at this index was found or added")]
    pub fn add_case(&mut self, method: &str, inputs: &[NewData<'a>], expected: &[NewData<'a>]) -> Result<EditReport> {
        let case = {
            let program = self.program()?;
            let plan = program.method(method);
            let plan = plan.ok_or_else(|| Error::reference(format!("the program has no method {method:?}")))?;
            let of_inputs = values(plan, plan.inputs(), inputs, "input")?;
            let of_outputs = match expected.is_empty() {
                true => Vec::new(),
                false => values(plan, plan.outputs(), expected, "output")?,
            };
            BundledMethodTestCase { inputs: Some(of_inputs), expected_outputs: Some(of_outputs) }
        };
        let size = inputs.iter().chain(expected).map(|data| data.bytes.len() as u64).sum();
        let suites = self.bundled_program.method_test_suites.get_or_insert_default();
        // Python writes methods in the order of their names.
        let at = suites.partition_point(|suite| suite.method_name() < method);
        if suites.get(at).is_none_or(|suite| suite.method_name() != method) {
            let method_name = Some(method.to_string().into());
            suites.insert(at, BundledMethodTestSuite { method_name, test_cases: None });
        }
        let cases = suites[at].test_cases.get_or_insert_default();
        cases.push(case);
        let name = format!("{} {}", shortened(method), cases.len() - 1);
        Ok(alloc::vec![Change::new(Action::Added, Subject::TestCase, name, 0, size)].into())
    }
}

/// Returns the values of a test case for a method's inputs or outputs.
fn values<'a>(plan: &ExecutionPlan<'_>, indices: &[i32], given: &[NewData<'a>], what: &str) -> Result<Vec<Value<'a>>> {
    let is_tensor = |index: &&i32| matches!(plan.value(**index).map(|value| &value.val), Some(KernelTypes::Tensor(_)));
    let tensors = indices.iter().filter(is_tensor).count();
    if tensors != given.len() {
        let (found, method) = (counted(given.len(), what), plan.name());
        return Err(Error::tensor(format!(
            "{found} for {method:?}, expected {tensors}, one for each {what} that is a tensor"
        )));
    }
    let mut given = given.iter();
    let mut values = Vec::new();
    for index in indices {
        let val = match plan.value(*index).map(|value| &value.val) {
            Some(KernelTypes::Tensor(tensor)) => match given.next() {
                Some(data) => ValueUnion::Tensor(tensor_of(plan, *index, tensor, data)?),
                None => continue,
            },
            Some(KernelTypes::Int(number)) => ValueUnion::Int(*number),
            Some(KernelTypes::Bool(number)) => ValueUnion::Bool(*number),
            Some(KernelTypes::Double(number)) => ValueUnion::Double(*number),
            other => {
                let kind = other.and_then(KernelTypes::name).unwrap_or("of an unknown kind");
                let fault = format!(
                    "%{index}, an {what} of {:?}, is {kind}: a bundle has only tensors and numbers",
                    plan.name()
                );
                return Err(Error::tensor(fault));
            }
        };
        values.push(Value { val });
    }
    Ok(values)
}

/// Returns the data for a tensor of the method, in the tensor's dim order. A dynamic tensor gets the sizes of the data.
fn tensor_of<'a>(
    plan: &ExecutionPlan<'_>,
    index: i32,
    tensor: &Tensor<'_>,
    data: &NewData<'a>,
) -> Result<bundled::Tensor<'a>> {
    let user =
        User::Value { method: shortened(plan.name()).into(), value: usize::try_from(index).unwrap_or(usize::MAX) };
    let own = tensor.shape();
    let sizes = match &data.tensor_layout {
        Some(layout)
            if tensor.shape_dynamism != TensorShapeDynamism::STATIC && layout.sizes().len() == own.sizes.len() =>
        {
            layout.sizes()
        }
        _ => own.sizes,
    };
    let bytes = data.clone().with_permute().bytes_for(&user, &TensorShape { sizes, ..own })?;
    Ok(bundled::Tensor {
        scalar_type: own.scalar_type,
        sizes: Some(sizes.to_vec().into()),
        data: Some(bytes),
        dim_order: Some(own.dim_order.to_vec().into()),
    })
}
