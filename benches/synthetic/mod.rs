//! Generates files of any size with the `flatbuffers` crate.

// Each target that includes this module uses only a part of it.
#![allow(dead_code)]

use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, WIPOffset};

type Builder = FlatBufferBuilder<'static>;
type Table = WIPOffset<TableFinishedWIPOffset>;

/// Generates the FlatBuffer of a `.pte` with one method of `values` values, in the proportions of `llama48_narrow`: 32 values are
/// 15 tensors, 12 integers, 3 lists of integers and 2 booleans, with 10 instructions of 4 arguments.
pub fn program(values: usize) -> Vec<u8> {
    let mut builder = Builder::with_capacity(values * 72 + 1024);
    let evalues: Vec<Table> = (0..values).map(|index| evalue(&mut builder, index)).collect();
    let values_vector = builder.create_vector(&evalues);
    let instructions: Vec<Table> =
        (0..values * 10 / 32).map(|index| instruction(&mut builder, index, values as i32)).collect();
    let instructions = builder.create_vector(&instructions);
    let chain = table(&mut builder, |builder| builder.push_slot_always(8, instructions));
    let chains = builder.create_vector(&[chain]);
    let operators: Vec<Table> = ["aten::add", "aten::mul", "aten::mm", "aten::_softmax"]
        .iter()
        .map(|name| {
            let (name, overload) = (builder.create_string(name), builder.create_string("out"));
            table(&mut builder, |builder| {
                builder.push_slot_always(4, name);
                builder.push_slot_always(6, overload);
            })
        })
        .collect();
    let operators = builder.create_vector(&operators);
    let inputs = builder.create_vector(&[0i32]);
    let outputs = builder.create_vector(&[values as i32 - 1]);
    let buffer_sizes = builder.create_vector(&[0i64, 1 << 20]);
    let name = builder.create_string("forward");
    let plan = table(&mut builder, |builder| {
        builder.push_slot_always(4, name);
        builder.push_slot_always(8, values_vector);
        builder.push_slot_always(10, inputs);
        builder.push_slot_always(12, outputs);
        builder.push_slot_always(14, chains);
        builder.push_slot_always(16, operators);
        builder.push_slot_always(20, buffer_sizes);
    });
    let plans = builder.create_vector(&[plan]);
    let root = table(&mut builder, |builder| builder.push_slot_always(6, plans));
    builder.finish(root, Some("ET12"));
    builder.finished_data().to_vec()
}

fn table(builder: &mut Builder, fields: impl FnOnce(&mut Builder)) -> Table {
    let start = builder.start_table();
    fields(builder);
    let end = builder.end_table(start);
    WIPOffset::new(end.value())
}

fn evalue(builder: &mut Builder, index: usize) -> Table {
    let (tag, member) = match index % 32 {
        kind if kind % 2 == 0 && kind < 30 => (5u8, tensor(builder, index)),
        1 | 11 | 21 => {
            let items = builder.create_vector(&[1i64, 8, index as i64]);
            (7, table(builder, |builder| builder.push_slot_always(4, items)))
        }
        30 | 31 => (3, table(builder, |builder| builder.push_slot_always(4, true))),
        _ => (2, table(builder, |builder| builder.push_slot(4, index as i64 % 9, 0))),
    };
    table(builder, |builder| {
        builder.push_slot_always(6, member);
        builder.push_slot_always(4, tag);
    })
}

fn tensor(builder: &mut Builder, index: usize) -> Table {
    let rank = 2 + index / 2 % 3;
    let sizes = builder.create_vector(&[1i32, 8, 64, 16][..rank]);
    let dim_order = builder.create_vector(&[0u8, 1, 2, 3][..rank]);
    let allocation = table(builder, |builder| {
        builder.push_slot_always(4, 1u32);
        builder.push_slot(6, index as u32 * 16, 0);
    });
    table(builder, |builder| {
        builder.push_slot_always(8, sizes);
        builder.push_slot_always(10, dim_order);
        builder.push_slot_always(16, allocation);
        builder.push_slot_always(4, 6i8);
    })
}

fn instruction(builder: &mut Builder, index: usize, values: i32) -> Table {
    let first = index as i32 * 3 % values.max(1);
    let args = builder.create_vector(&[first, first / 2, first / 3, first]);
    let call = table(builder, |builder| {
        builder.push_slot_always(6, args);
        builder.push_slot(4, index as i32 % 4, 0);
    });
    table(builder, |builder| {
        builder.push_slot_always(6, call);
        builder.push_slot_always(4, 1u8);
    })
}

/// Returns the key of entry `index` of [`tensors`].
pub fn key(index: usize) -> String {
    format!("model.layers.{:03}.blocks.{:02}.weight", index / 20, index % 20)
}

/// Generates the metadata of a `.ptd` with `keys` float tensors of `size` bytes each, and returns it with the size of the file.
pub fn tensors(keys: usize, size: u64) -> (Vec<u8>, u64) {
    const ALIGNMENT: u64 = 128;
    const HEADER: u64 = 48;
    let stride = size.next_multiple_of(ALIGNMENT);
    let mut builder = Builder::new();
    let segments: Vec<Table> = (0..keys as u64)
        .map(|index| {
            table(&mut builder, |builder| {
                builder.push_slot(4, index * stride, 0);
                builder.push_slot(6, size, 0);
            })
        })
        .collect();
    let segments = builder.create_vector(&segments);
    let entries: Vec<Table> = (0..keys)
        .map(|index| {
            let key = builder.create_string(&key(index));
            let sizes = builder.create_vector(&[(size / 4096) as i32, 1024]);
            let dim_order = builder.create_vector(&[0u8, 1]);
            let layout = table(&mut builder, |builder| {
                builder.push_slot_always(6, sizes);
                builder.push_slot_always(8, dim_order);
                builder.push_slot_always(4, 6i8);
            });
            table(&mut builder, |builder| {
                builder.push_slot_always(4, key);
                builder.push_slot(6, index as u32, 0);
                builder.push_slot_always(8, layout);
            })
        })
        .collect();
    let entries = builder.create_vector(&entries);
    let root = table(&mut builder, |builder| {
        builder.push_slot_always(6, segments);
        builder.push_slot_always(8, entries);
    });
    builder.finish(root, Some("FT01"));
    let flatbuffer = builder.finished_data();

    let base = (HEADER + flatbuffer.len() as u64).next_multiple_of(ALIGNMENT);
    let data = keys as u64 * stride;
    let root = u32::from_le_bytes([flatbuffer[0], flatbuffer[1], flatbuffer[2], flatbuffer[3]]) + HEADER as u32;
    let mut file = root.to_le_bytes().to_vec();
    file.extend(b"FT01FH01");
    file.extend(40u32.to_le_bytes());
    for number in [HEADER, flatbuffer.len() as u64, base, data] {
        file.extend(number.to_le_bytes());
    }
    file.resize(8 + HEADER as usize, 0);
    file.extend(&flatbuffer[8..]);
    (file, base + data)
}
