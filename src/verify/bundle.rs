//! Rules about bundled programs: the test cases by themselves, and compared with the methods of the program inside. They follow
//! the runtime's `bundled_program.cpp`, which does not verify the bundle.

use super::report::{Few, Name, Report};
use super::{rule, tensors};
use crate::error::counted;
use crate::file::bpte::Bpte;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::ScalarType;
use crate::schema::bundled::{BundledMethodTestCase, BundledMethodTestSuite, Tensor, Value, ValueUnion};
use crate::schema::program::{self, ExecutionPlan, KernelTypes, TensorShapeDynamism};
use alloc::collections::BTreeMap;
use alloc::{format, string::String};

pub(super) fn check(bpte: &Bpte<'_>, program: Option<&Pte<'_>>, report: &mut Report<'_>) {
    let bundle = &bpte.bundled_program;
    let root = &Path::ROOT;
    present(bundle.program.is_some(), "program", root, report);
    present(bundle.method_test_suites.is_some(), "method_test_suites", root, report);
    let mut methods = BTreeMap::new();
    for plan in program.into_iter().flat_map(Pte::methods) {
        if let Some(name) = &plan.name {
            methods.entry(name.as_bytes()).or_insert(plan);
        }
    }
    let mut seen = BTreeMap::new();
    for (index, suite) in bundle.method_test_suites().iter().enumerate() {
        let path = &root.item("method_test_suites", index);
        present(suite.method_name.is_some(), "method_name", path, report);
        present(suite.test_cases.is_some(), "test_cases", path, report);
        if let (Some(name), Some(first)) = (&suite.method_name, seen.insert(suite.method_name(), index)) {
            let found = format!("{}, expected another method than that of suite {first}", Name(name));
            report.add_at(rule::BUNDLE_METHOD, &path.field("method_name"), report.offset(Some(name.as_bytes())), found);
        }
        let plan = program.and_then(|_| method(&methods, suite, path, report));
        for (index, case) in suite.test_cases().iter().enumerate() {
            test_case(case, plan, &path.item("test_cases", index), report);
        }
    }
}

fn present(is_there: bool, field: &'static str, path: &Path<'_>, report: &mut Report<'_>) {
    if !is_there {
        report.add(
            rule::BUNDLE_FIELD,
            &path.field(field),
            "absent, expected a value: the runtime reads it without a check",
        );
    }
}

fn method<'t, 'a>(
    methods: &BTreeMap<&[u8], &'t ExecutionPlan<'a>>,
    suite: &BundledMethodTestSuite<'_>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) -> Option<&'t ExecutionPlan<'a>> {
    let name = suite.method_name.as_ref()?;
    let found = methods.get(name.as_bytes()).copied();
    if found.is_none() {
        let offset = report.offset(Some(name.as_bytes()));
        let found = format!("{}, expected a method of the program", Name(name));
        report.add_at(rule::BUNDLE_METHOD, &path.field("method_name"), offset, found);
    }
    found
}

fn test_case(
    case: &BundledMethodTestCase<'_>,
    plan: Option<&ExecutionPlan<'_>>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let lists = [
        ("inputs", case.inputs.as_deref(), plan.map(ExecutionPlan::inputs)),
        ("expected_outputs", case.expected_outputs.as_deref(), plan.map(ExecutionPlan::outputs)),
    ];
    for (name, given, of_method) in lists {
        present(given.is_some(), name, path, report);
        let is_input = name == "inputs";
        let given = given.unwrap_or_default();
        if let Some(expected) = of_method {
            count(given.len(), expected.len(), is_input, &path.field(name), report);
        }
        for (index, value) in given.iter().enumerate() {
            let path = &path.item(name, index);
            content(value, path, report);
            let found = of_method.and_then(|indices| plan?.value(*indices.get(index)?));
            if let Some(expected) = found {
                compare(value, &expected.val, is_input, path, report);
            } else if !is_input && value.tensor().is_none() {
                not_comparable(value, path, report);
            }
        }
    }
}

/// Checks the number of values. The runtime compares nothing if the list of expected outputs is empty, and reads past the end of a
/// list that is too short.
fn count(given: usize, expected: usize, is_input: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let none = given == 0 && !is_input;
    if given != expected && !none && report.concerns(given < expected) {
        let found = format!("{}, expected {expected}, as many as the method has", counted(given, "value"));
        report.add(rule::BUNDLE_COUNT, path, found);
    }
}

/// Checks a value without the program.
fn content(value: &Value<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    match &value.val {
        ValueUnion::Tensor(tensor) => self::tensor(tensor, &path.field("val.Tensor"), report),
        ValueUnion::None => report.add(rule::VALUE_KIND, &path.field("val"), "no value, expected one"),
        ValueUnion::Unknown(unknown) => {
            let found = format!("a value of kind {}, expected 1 to 4 and its content", unknown.tag);
            report.add(rule::VALUE_KIND, &path.field("val"), found);
        }
        _ => (),
    }
}

fn tensor(tensor: &Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    // The rules are the same as for a tensor of the program.
    let like = program::Tensor {
        scalar_type: tensor.scalar_type,
        sizes: tensor.sizes.as_deref().map(Into::into),
        dim_order: tensor.dim_order.as_deref().map(Into::into),
        ..program::Tensor::default()
    };
    let size = tensors::type_and_shape(&like, path, report);
    present(tensor.data.is_some(), "data", path, report);
    let Some(data) = tensor.data.as_deref() else {
        return;
    };
    let (offset, length) = (report.offset(Some(data)), data.len() as u64);
    if let Some(size) = size.filter(|size| *size != length && report.concerns(length < *size)) {
        let found = format!("{}, expected {size} for {}", counted(length, "byte"), tensor.shape());
        report.add_at(rule::BUNDLE_DATA, &path.field("data"), offset, found);
    }
    if tensor.scalar_type == ScalarType::BOOL && report.is_strict() {
        if let Some((index, byte)) = data.iter().enumerate().find(|(_, byte)| **byte > 1) {
            let found = format!("{byte}, expected 0 or 1: any other byte is read as true");
            report.add_at(rule::BOOL, &path.item("data", index), report.offset_of(data, index), found);
        }
    }
}

fn not_comparable(value: &Value<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if let Some(name) = value.val.name().filter(|_| value.val.tag() > 0) {
        let found = format!("{name}, expected a tensor: the runtime compares no other output");
        report.add(rule::BUNDLE_VALUE, &path.field("val"), found);
    }
}

/// Compares a value with that of the method.
fn compare(value: &Value<'_>, expected: &KernelTypes<'_>, is_input: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let path = &path.field("val");
    let differs = match (&value.val, expected) {
        (ValueUnion::Tensor(tensor), KernelTypes::Tensor(expected)) => {
            return shape(tensor, expected, &path.field("Tensor"), report);
        }
        (ValueUnion::None | ValueUnion::Unknown(_), _) => return,
        (_, KernelTypes::Tensor(_)) if !is_input => return not_comparable(value, path, report),
        (ValueUnion::Int(found), KernelTypes::Int(expected)) => differs(found.int_val, expected.int_val),
        (ValueUnion::Bool(found), KernelTypes::Bool(expected)) => differs(found.bool_val, expected.bool_val),
        (ValueUnion::Double(found), KernelTypes::Double(expected)) => differs(found.double_val, expected.double_val),
        (found, expected) => {
            let names = [found.name(), expected.name()].map(|name| name.unwrap_or("unknown"));
            Some(format!("{}, expected {}, as the method has it", names[0], names[1]))
        }
    };
    if let Some(found) = differs {
        report.add(rule::BUNDLE_VALUE, path, found);
    }
}

/// Describes the difference between two numbers, if they differ: numbers are part of the program, and the runtime accepts no others.
fn differs<T: PartialEq + core::fmt::Debug>(found: T, expected: T) -> Option<String> {
    (found != expected).then(|| format!("{found:?}, expected {expected:?}, which is part of the program"))
}

fn shape(tensor: &Tensor<'_>, expected: &program::Tensor<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let dynamism = expected.shape_dynamism;
    let fits = |(found, most): (&i32, &i32)| match dynamism {
        TensorShapeDynamism::STATIC => found == most,
        _ => found <= most,
    };
    let sizes = tensor.sizes();
    let same_rank = sizes.len() == expected.sizes().len();
    if tensor.scalar_type != expected.scalar_type || !same_rank || !sizes.iter().zip(expected.sizes()).all(fits) {
        let of_method = expected.shape().to_string_with(dynamism);
        let found = format!("{}, expected {of_method}, as the method has it", tensor.shape());
        report.add_at(rule::BUNDLE_VALUE, path, report.offset(Some(sizes)), found);
    } else if tensor.dim_order() != expected.dim_order() && tensor.dim_order().len() == sizes.len() {
        let (order, of_method) = (tensor.dim_order(), Few(expected.dim_order()));
        let found = format!("{}, expected {of_method}, the dim order of the method's tensor", Few(order));
        report.add_at(rule::BUNDLE_DIM_ORDER, &path.field("dim_order"), report.offset(Some(order)), found);
    }
}
