//! An ML Program in `model.mlmodel`: a message of Protocol Buffers. The numbers of fields are those of `Model.proto` and `MIL.proto` of
//! coremltools.

use super::super::{InsideTensorType, MAX_ITEMS, list_text, quoted};
use super::{Bound, Builder, Immediate, Operation};
use crate::delegate::protobuf::{Field, FieldValue, Message, varint};
use crate::error::{Error, ErrorKind, Result, counted};
use crate::quantized::{bfloat16, half};
use alloc::{borrow::Cow, format, string::String, vec::Vec};

/// The maximum depth of nested blocks and values.
const MAX_DEPTH: usize = 16;

/// The field of a model that has an ML Program. Other models, such as neural networks, have other fields.
const ML_PROGRAM: u64 = 502;

/// Adds the operations of a model, which starts at byte `at` of the payload. Returns `false` if the model is not an ML Program.
pub(super) fn read<'p>(bytes: &'p [u8], at: usize, builder: &mut Builder<'p, '_>) -> Result<bool> {
    let Some(program) = last(Message::new(bytes, at), ML_PROGRAM)? else { return Ok(false) };
    // The functions, by name: the one that runs, or else the first.
    let mut chosen = None;
    for field in program.message()?.fields() {
        let field = field?;
        if field.number != 2 {
            continue;
        }
        let entry = field.message()?;
        let (Some(key), Some(function)) = (last(entry, 1)?, last(entry, 2)?) else { continue };
        let is_its = key.text()? == builder.function;
        if is_its || chosen.is_none() {
            chosen = Some(function);
        }
        if is_its {
            break;
        }
    }
    if let Some(function) = chosen {
        read_function(function.message()?, builder)?;
    }
    Ok(true)
}

/// Returns the last field with that number, which counts if there are several.
fn last(message: Message<'_>, number: u64) -> Result<Option<Field<'_>>> {
    let mut found = None;
    for field in message.fields() {
        let field = field?;
        if field.number == number {
            found = Some(field);
        }
    }
    Ok(found)
}

fn read_function<'p>(function: Message<'p>, builder: &mut Builder<'p, '_>) -> Result<()> {
    let opset = last(function, 2)?.map(|opset| opset.text()).transpose()?.unwrap_or_default();
    let (mut position, mut block) = (0, None);
    for field in function.fields() {
        let field = field?;
        match field.number {
            1 => {
                let (name, tensor) = named_type(field.message()?)?;
                builder.input(name, tensor, position);
                position += 1;
            }
            3 => {
                let entry = field.message()?;
                let (Some(key), Some(value)) = (last(entry, 1)?, last(entry, 2)?) else { continue };
                if block.is_none() || key.text()? == opset {
                    block = Some(value);
                }
            }
            _ => {}
        }
    }
    block.map_or(Ok(()), |block| read_block(block.message()?, None, builder, 0))
}

fn read_block<'p>(block: Message<'p>, name: Option<&str>, builder: &mut Builder<'p, '_>, depth: usize) -> Result<()> {
    for field in block.fields() {
        let field = field?;
        match field.number {
            1 => {
                let (name, tensor) = named_type(field.message()?)?;
                builder.value(name, tensor, None, None);
            }
            3 => read_operation(&field, name, builder, depth)?,
            _ => {}
        }
    }
    Ok(())
}

fn read_operation<'p>(
    field: &Field<'p>,
    block: Option<&str>,
    builder: &mut Builder<'p, '_>,
    depth: usize,
) -> Result<()> {
    let (mut operation, mut blocks) = (Operation::default(), Vec::new());
    for field in field.message()?.fields() {
        let field = field?;
        match field.number {
            1 => operation.kind = field.text()?,
            2 => {
                let entry = field.message()?;
                let (Some(key), Some(value)) = (last(entry, 1)?, last(entry, 2)?) else { continue };
                let name = key.text()?;
                for binding in value.message()?.fields() {
                    let binding = binding?.message()?;
                    for field in binding.fields() {
                        let field = field?;
                        match field.number {
                            1 => operation.inputs.push((name, Bound::Name(field.text()?))),
                            2 => operation.inputs.push((name, Bound::Constant(value_of(field.message()?, 0)?))),
                            _ => {}
                        }
                    }
                }
            }
            3 => operation.outputs.push(named_type(field.message()?)?),
            4 => blocks.push(field),
            5 => {
                let entry = field.message()?;
                let (Some(key), Some(value)) = (last(entry, 1)?, last(entry, 2)?) else { continue };
                operation.attributes.push((key.text()?, value_of(value.message()?, 0)?));
            }
            _ => {}
        }
    }
    let kind = operation.kind;
    let number = builder.nodes.len();
    builder.operation(operation, block)?;
    for (index, block) in blocks.into_iter().enumerate() {
        check_depth(depth, &block)?;
        let name = format!("{index} of {} {number}", crate::names::short(kind));
        read_block(block.message()?, Some(&name), builder, depth + 1)?;
    }
    Ok(())
}

fn check_depth(depth: usize, field: &Field<'_>) -> Result<()> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    Err(Error::at(
        field.offset,
        ErrorKind::Limit { what: "nested blocks or values of an ML Program", limit: MAX_DEPTH as u64 },
    ))
}

/// Reads a `NamedValueType`.
fn named_type(message: Message<'_>) -> Result<(&str, InsideTensorType)> {
    let (mut name, mut tensor) = ("", InsideTensorType::default());
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => name = field.text()?,
            2 => tensor = type_of(&field, 0)?,
            _ => {}
        }
    }
    Ok((name, tensor))
}

/// Reads a `ValueType`: that of a tensor, also of one in a list or a state.
fn type_of(field: &Field<'_>, depth: usize) -> Result<InsideTensorType> {
    let mut found = InsideTensorType::default();
    for field in field.message()?.fields() {
        let field = field?;
        match field.number {
            1 => found = tensor_type(field.message()?)?,
            // A list or a state of another type.
            2 | 5 => {
                check_depth(depth, &field)?;
                if let Some(inner) = last(field.message()?, 1)? {
                    found = type_of(&inner, depth + 1)?;
                    found.storage = if field.number == 2 { "list" } else { "state" }.into();
                }
            }
            3 => found = InsideTensorType::new("tuple", [].into_iter()),
            4 => found = InsideTensorType::new("dictionary", [].into_iter()),
            _ => {}
        }
    }
    Ok(found)
}

fn tensor_type(message: Message<'_>) -> Result<InsideTensorType> {
    let (mut datatype, mut dims) = (Cow::Borrowed("unknown"), Vec::new());
    let (mut rank, mut count) = (None, 0usize);
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => datatype = data_type(field.number()),
            2 => rank = usize::try_from(field.number()).ok(),
            3 => {
                count += 1;
                if dims.len() < crate::tensor::RUNTIME_RANK {
                    let size = last(field.message()?, 1)?.map(|constant| last(constant.message()?, 1)).transpose()?;
                    // A constant without a size has the size 0. Other dimensions are not known.
                    dims.push(size.map(|size| size.map_or(0, |size| size.number())));
                }
            }
            _ => {}
        }
    }
    let mut found = InsideTensorType::new(datatype, dims.into_iter());
    // A rank without dimensions is one whose sizes are all unknown.
    found.rank = if count > 0 { count } else { rank.unwrap_or(0) };
    if count == 0 {
        found.dims = alloc::vec![None; found.rank.min(crate::tensor::RUNTIME_RANK)];
    }
    Ok(found)
}

/// Returns the name of a `DataType`, as `model.mil` spells it.
fn data_type(number: u64) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        1 => "bool",
        2 => "string",
        10 => "fp16",
        11 => "fp32",
        12 => "fp64",
        13 => "bf16",
        21 => "int8",
        22 => "int16",
        23 => "int32",
        24 => "int64",
        25 => "int4",
        31 => "uint8",
        32 => "uint16",
        33 => "uint32",
        34 => "uint64",
        35 => "uint4",
        36 => "uint2",
        37 => "uint1",
        38 => "uint6",
        39 => "uint3",
        40 => "fp8e4m3fn",
        41 => "fp8e5m2",
        other => return Cow::Owned(format!("type {other}")),
    })
}

/// Reads a `Value`.
fn value_of(message: Message<'_>, depth: usize) -> Result<Immediate> {
    let mut found = Immediate::default();
    for field in message.fields() {
        let field = field?;
        match field.number {
            2 => found.tensor = type_of(&field, 0)?,
            3 => {
                for field in field.message()?.fields() {
                    let field = field?;
                    found.text = match field.number {
                        1 => tensor_text(&field, &found.tensor.datatype)?,
                        // A tuple or a list of values.
                        2 | 3 => values_text(&field, depth)?,
                        _ => "a dictionary".into(),
                    };
                }
            }
            5 => {
                found.blob = Some(last(field.message()?, 2)?.map_or(0, |offset| offset.number()));
                found.text = "in the file of weights".into();
            }
            _ => {}
        }
    }
    let is_scalar = found.tensor.rank == 0 && !found.tensor.datatype.is_empty() && found.tensor.storage.is_empty();
    if let Some(text) = found.text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).filter(|_| is_scalar) {
        found.text = text.into();
    }
    // Many operations can take one constant.
    found.text = crate::names::short(&found.text);
    Ok(found)
}

fn values_text(field: &Field<'_>, depth: usize) -> Result<String> {
    check_depth(depth, field)?;
    let mut items = Items::default();
    for field in field.message()?.fields() {
        let field = field?;
        // The others are only counted.
        let text =
            if items.shown.len() < MAX_ITEMS { value_of(field.message()?, depth + 1)?.text } else { String::new() };
        items.add(&|| text.clone());
    }
    Ok(items.text())
}

/// Formats a `TensorValue`: `[1, 2]`. Only the first items are read. Types of 16 bits and less have no list of their own, but bytes.
fn tensor_text(field: &Field<'_>, datatype: &str) -> Result<String> {
    let mut items = Items::default();
    let mut add = |text: &dyn Fn() -> String| items.add(text);
    for field in field.message()?.fields() {
        let field = field?;
        for item in field.message()?.fields() {
            let item = item?;
            match (field.number, item.value) {
                // Packed numbers.
                (1, FieldValue::Bytes(bytes)) => {
                    bytes.chunks_exact(4).for_each(|item| {
                        let number = item.first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
                        add(&|| format!("{number:?}"));
                    });
                }
                (6, FieldValue::Bytes(bytes)) => {
                    bytes.chunks_exact(8).for_each(|item| {
                        let number = item.first_chunk().map_or(0.0, |bytes| f64::from_le_bytes(*bytes));
                        add(&|| format!("{number:?}"));
                    });
                }
                (2 | 3 | 5, FieldValue::Bytes(mut rest)) => {
                    let text = |number: u64| match field.number {
                        5 => format!("{}", number as i64),
                        3 => format!("{}", number != 0),
                        _ => format!("{}", number as i32),
                    };
                    while let Some(number) = varint(&mut rest) {
                        add(&|| text(number));
                    }
                }
                (_, FieldValue::Varint(number)) if field.number == 5 => add(&|| format!("{}", number as i64)),
                (_, FieldValue::Varint(number)) if field.number == 3 => add(&|| format!("{}", number != 0)),
                (_, FieldValue::Varint(number)) => add(&|| format!("{}", number as i32)),
                (_, FieldValue::Fixed32(number)) => add(&|| format!("{:?}", f32::from_bits(number))),
                (_, FieldValue::Fixed64(number)) => add(&|| format!("{:?}", f64::from_bits(number))),
                (4, FieldValue::Bytes(_)) => {
                    let text = item.text()?;
                    add(&|| quoted(text));
                }
                (_, FieldValue::Bytes(bytes)) => match datatype {
                    "int8" => bytes.iter().for_each(|byte| add(&|| format!("{}", *byte as i8))),
                    "uint8" => bytes.iter().for_each(|byte| add(&|| format!("{byte}"))),
                    "f16" | "bf16" | "int16" | "uint16" => bytes.chunks_exact(2).for_each(|item| {
                        let bits = item.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
                        add(&|| match datatype {
                            "f16" => format!("{:?}", half(bits)),
                            "bf16" => format!("{:?}", bfloat16(bits)),
                            "int16" => format!("{}", bits as i16),
                            _ => format!("{bits}"),
                        });
                    }),
                    // Elements of less than a byte, and types without a name.
                    _ => add(&|| format!("{datatype} in {}", counted(bytes.len(), "byte"))),
                },
            }
        }
    }
    Ok(items.text())
}

/// The items of a list as text: the first ones, and the number of all.
#[derive(Default)]
struct Items {
    count: usize,
    shown: Vec<String>,
}

impl Items {
    fn add(&mut self, text: &dyn Fn() -> String) {
        self.count += 1;
        if self.shown.len() < MAX_ITEMS {
            self.shown.push(text());
        }
    }

    fn text(self) -> String {
        list_text(self.count, self.shown.into_iter())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, content.len() as u8], content].concat()
    }

    #[test]
    fn constants_stored_as_bytes_are_numbers_of_their_type() {
        let text = |data_type: u8, bytes: &[u8]| {
            let of_type = field(2, &field(1, &[1 << 3, data_type]));
            let value = [of_type, field(3, &field(1, &field(7, &field(1, bytes))))].concat();
            value_of(Message::new(&value, 0), 0).unwrap().text
        };
        assert_eq!(text(10, &[0, 0x3c]), "1.0");
        assert_eq!(text(13, &[0x80, 0xbf]), "-1.0");
        assert_eq!(text(21, &[0xff]), "-1");
        assert_eq!(text(22, &[0xff, 0xff]), "-1");
        assert_eq!(text(32, &[0xff, 0xff]), "65535");
        assert_eq!(text(25, &[0x21]), "int4 in 1 byte");
    }
}
