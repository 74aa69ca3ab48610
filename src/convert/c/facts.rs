//! Constants about the model, for firmware, besides the bytes.

use super::names::{check_identifier, comment, literal, upper};
use crate::analysis::Analysis;
use crate::error::{Result, counted};
use crate::file::pte::Pte;
use crate::inspect::{
    ConstantMethod, Content, Method, PointerSize, ProgramSummary, Returned, Summary, TempAllocator, Value,
};
use crate::names::{check_operator_name, shortened};
use crate::schema::program::TensorShapeDynamism;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, string::ToString, vec, vec::Vec};

/// The longest name of a method within the names of macros, in characters, and of an input or output, in bytes.
const LONGEST: usize = 200;

/// Returns the header's lines about a file, one after another: those of all inputs at once could take far more memory than the file.
/// Macros start with `prefix`.
pub(super) fn lines<'s, 't>(summary: &'s Summary<'t>, prefix: String) -> impl Iterator<Item = String> + use<'s, 't> {
    let program = match &summary.content {
        Content::Program(program) => Some(program),
        _ => None,
    };
    program.into_iter().flat_map(move |program| program_lines(program, &prefix))
}

fn program_lines<'s, 't>(program: &'s ProgramSummary<'t>, prefix: &str) -> impl Iterator<Item = String> + use<'s, 't> {
    let mut taken = BTreeMap::new();
    let mut named = |name: &str| format!("{prefix}_{}", macro_name(name, &mut taken));
    let methods: Vec<_> = program.methods.iter().map(|method| (method, named(method.name))).collect();
    let constants: Vec<_> = program.metadata.iter().map(|method| (method, named(method.name))).collect();
    methods
        .into_iter()
        .flat_map(|(method, prefix)| method_lines(method, prefix))
        .chain(constants.into_iter().flat_map(|(method, prefix)| constant_lines(method, &prefix)))
        .chain(device_lines(program, prefix))
}

/// Returns the lines about the needs of all methods.
fn device_lines(program: &ProgramSummary<'_>, prefix: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let scratch = program.payloads.iter().filter_map(|payload| payload.summary.scratch_size).max();
    if let Some(scratch) = scratch {
        lines.push(String::new());
        lines.push("/* The largest scratch memory of an Ethos-U delegate, in bytes, which a run takes from the temporary allocator. */".into());
        lines.push(format!("#define {prefix}_ETHOS_U_SCRATCH_SIZE {scratch}u"));
    }
    let (operators, backends) = (operators(program), backends(program));
    for (what, macro_name, names) in
        [("The operators to register", "OPERATORS", &operators), ("The backends to register", "BACKENDS", &backends)]
    {
        lines.push(String::new());
        lines.push(format!("/* {what}: {prefix}_{macro_name}(X) is X(\"name\") for each. */"));
        lines.push(format!("#define {prefix}_{macro_name}_COUNT {}u", names.len()));
        let each = names.iter().map(|name| format!(" \\\n    X(\"{}\")", literal(name)));
        lines.push(each.fold(format!("#define {prefix}_{macro_name}(X)"), |text, name| text + &name));
    }
    lines
}

/// Returns the part of a macro's name that stands for a method.
fn macro_name(method: &str, taken: &mut BTreeMap<String, u32>) -> String {
    let start: String = method.chars().take(LONGEST).collect();
    unique(upper(&start), taken)
}

/// Returns a name that no other method has: names that differ only in case become equal in capital letters. `taken` maps each
/// name to the last number appended to it.
fn unique(plain: String, taken: &mut BTreeMap<String, u32>) -> String {
    let last = taken.entry(plain.clone()).or_default();
    *last += 1;
    let mut number = *last;
    if number == 1 {
        return plain;
    }
    loop {
        let name = format!("{plain}_{number}");
        if taken.get(&name).is_none() {
            taken.insert(name.clone(), 1);
            taken.insert(plain, number);
            return name;
        }
        number += 1;
    }
}

/// Returns the operators of all methods, without duplicates.
fn operators<'t>(program: &'t ProgramSummary<'_>) -> Vec<&'t str> {
    let mut names = Vec::new();
    for method in &program.methods {
        names.extend(method.operators.iter().map(|operator| operator.name.as_str()));
    }
    names.sort();
    names.dedup();
    names
}

/// Returns the backends of all methods, without duplicates.
fn backends<'t>(program: &ProgramSummary<'t>) -> Vec<&'t str> {
    let mut ids = Vec::new();
    for method in &program.methods {
        ids.extend(method.delegates.iter().map(|backend| backend.id));
    }
    ids.sort();
    ids.dedup();
    ids
}

fn method_lines<'s, 't>(method: &'s Method<'t>, prefix: String) -> impl Iterator<Item = String> + use<'s, 't> {
    let start = start_lines(method, &prefix);
    start.into_iter().chain([("INPUT", &method.inputs), ("OUTPUT", &method.outputs)].into_iter().flat_map(
        move |(what, values)| {
            let prefix = format!("{prefix}_{what}");
            let count = format!("#define {prefix}_COUNT {}u", values.len());
            [count].into_iter().chain(values.iter().enumerate().flat_map(move |(index, value)| {
                value_lines(value, &format!("{prefix}_{index}"), &format!("{} {index}", what.to_ascii_lowercase()))
            }))
        },
    ))
}

/// Returns the lines about a method's name and memory.
fn start_lines(method: &Method<'_>, prefix: &str) -> Vec<String> {
    let name = comment(&shortened(method.name));
    let buffers = &method.planned_memory.buffers;
    let sizes: Vec<String> = buffers.iter().map(|buffer| format!("{}u", buffer.size)).collect();
    let mut lines = vec![
        String::new(),
        format!("/* Method {name}. */"),
        format!("#define {prefix}_NAME \"{}\"", literal(method.name)),
        "/* Its planned buffers, in bytes, in the order of MethodMeta::memory_planned_buffer_size. */".into(),
        format!("#define {prefix}_PLANNED_COUNT {}u", buffers.len()),
    ];
    lines.extend(sizes.iter().enumerate().map(|(index, size)| format!("#define {prefix}_PLANNED_{index}_SIZE {size}")));
    if !sizes.is_empty() {
        lines.push(format!("#define {prefix}_PLANNED_SIZES {{{}}}", sizes.join(", ")));
    }
    lines.extend(allocator_lines(method, prefix));
    lines
}

/// Returns the lines about the memory that the runtime takes from its allocators to load a method.
fn allocator_lines(method: &Method<'_>, prefix: &str) -> Vec<String> {
    let memory = &method.method_allocator;
    let besides = match memory.other_delegates {
        0 => String::new(),
        others => format!(", without what {} of backends other than XNNPACK take", counted(others, "delegate")),
    };
    let mut lines = vec![format!(
        "/* What ExecuTorch 1.5.1 takes from the method allocator, in bytes{besides}; more if there is no temporary allocator. */"
    )];
    for (bits, pointers) in [(32, PointerSize::Bits32), (64, PointerSize::Bits64)] {
        for (name, temporary) in [("", TempAllocator::Given), ("_WITHOUT_TEMP", TempAllocator::Missing)] {
            let bytes = memory.known(pointers, temporary);
            lines.push(format!("#define {prefix}_METHOD_ALLOCATOR{name}_SIZE_{bits} {bytes}u"));
        }
    }
    lines
}

/// The most bytes of a string, or items of a list, to write: many methods may return the same value.
const MAX_OF_VALUE: usize = 1024;

/// Returns the lines about a method that computes nothing: its name, and its result if C can express it as a constant.
fn constant_lines(method: &ConstantMethod<'_>, prefix: &str) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        format!("/* Method {} computes nothing. It returns: */", comment(&shortened(method.name))),
        format!("#define {prefix}_NAME \"{}\"", literal(method.name)),
    ];
    match &method.value {
        Returned::List(items) => {
            lines.push(format!("#define {prefix}_COUNT {}u", items.len()));
            let few = items.get(..MAX_OF_VALUE).unwrap_or(items);
            let values: Option<Vec<String>> = few.iter().map(constant).collect();
            match values {
                Some(values) if !values.is_empty() && few.len() == items.len() => {
                    lines.push(format!("#define {prefix}_VALUES {{{}}}", values.join(", ")));
                }
                _ => lines.push(
                    "/* The items are not listed: there are none, too many, or some that C has no constants for. */"
                        .into(),
                ),
            }
        }
        Returned::Tensor(shape) => {
            lines.push(format!("/* {}, whose data is in the file. */", comment(&shape.shape().to_string())));
        }
        value => match constant(value) {
            Some(value) => lines.push(format!("#define {prefix}_VALUE {value}")),
            None => lines.push("/* A value for which C has no constant. */".into()),
        },
    }
    lines
}

/// Returns a value as a constant in C and C++, if they can express it.
fn constant(value: &Returned<'_>) -> Option<String> {
    Some(match value {
        // C has no negative literals, so the lowest number is computed.
        Returned::Int(i64::MIN) => format!("(-{}LL - 1)", i64::MAX),
        Returned::Int(number @ ..0) => format!("({number}LL)"),
        Returned::Int(number) => format!("{number}LL"),
        Returned::Bool(bit) => u8::from(*bit).to_string(),
        Returned::Double(number) if number.is_sign_negative() => format!("({number:?})"),
        Returned::Double(number) => format!("{number:?}"),
        Returned::String(text) if text.len() <= MAX_OF_VALUE => format!("\"{}\"", literal(text)),
        _ => return None,
    })
}

fn value_lines(value: &Value<'_>, prefix: &str, what: &str) -> Vec<String> {
    let mut lines = size_lines(value, prefix, what);
    // Many tensors can share a long name.
    let name = value.name.as_ref().filter(|name| name.len() <= LONGEST);
    lines.extend(name.map(|name| format!("#define {prefix}_NAME \"{}\"", literal(name))));
    lines
}

fn size_lines(value: &Value<'_>, prefix: &str, what: &str) -> Vec<String> {
    let Some(tensor) = &value.tensor else {
        return vec![format!("/* {what}: {}, no tensor. */", comment(value.kind.unwrap_or("unknown")))];
    };
    let shape = tensor.shape();
    let text = comment(&shape.to_string_with(tensor.shape_dynamism));
    let Ok(size) = shape.byte_size() else {
        return vec![format!("/* {what}: {text}, whose size is not known. */")];
    };
    let bound = match tensor.shape_dynamism {
        TensorShapeDynamism::STATIC => "in bytes",
        _ => "in bytes at most",
    };
    vec![format!("/* {what}: {text}, {bound}. */"), format!("#define {prefix}_SIZE {size}u")]
}

/// Returns a call of ExecuTorch's CMake macro `gen_selected_ops`, so that a build registers only the kernels that a program
/// calls. Backends are listed in comments.
///
/// ```
/// use executorch_format::Pte;
/// use executorch_format::convert::operator_lines;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let lines = operator_lines(&Pte::parse(&file)?, "model")?;
/// assert!(lines.contains("gen_selected_ops(LIB_NAME \"model_ops\" ROOT_OPS \"aten::"));
/// # Ok(())
/// # }
/// ```
///
/// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the name of an operator contains characters that CMake
/// would interpret, or `name` is not an identifier.
pub fn operator_lines(pte: &Pte<'_>, name: &str) -> Result<String> {
    check_identifier(name)?;
    let Content::Program(program) = Analysis::new(pte).summary().content else {
        return Ok(String::new());
    };
    let operators = operators(&program);
    operators.iter().try_for_each(|name| check_operator_name(name))?;
    let mut lines = Vec::new();
    if !operators.is_empty() {
        lines.push(format!("gen_selected_ops(LIB_NAME \"{name}_ops\" ROOT_OPS \"{}\")", operators.join(",")));
    }
    lines.extend(backends(&program).into_iter().map(|backend| format!("# backend: {}", comment(backend))));
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}
