//! Positions in a FlatBuffer, for damage that no tree can express.

/// A step from a table or list to the next one.
pub enum Step {
    /// The field of a table with this id.
    Field(usize),
    /// The entry of a list.
    Item(usize),
}
use Step::{Field, Item};

pub fn u16_at(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()).into()
}

pub fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

pub fn put(bytes: &mut [u8], at: usize, number: &[u8]) {
    bytes[at..at + number.len()].copy_from_slice(number);
}

/// Returns the position of a table's vtable.
pub fn vtable(bytes: &[u8], table: usize) -> usize {
    (table as i64 - i64::from(u32_at(bytes, table) as u32 as i32)) as usize
}

/// Returns the position of the last step's number or offset. Every step except the last follows an offset.
pub fn place(bytes: &[u8], steps: &[Step]) -> usize {
    let mut at = 0;
    for step in steps {
        at = target(bytes, at);
        at = match step {
            Field(id) => match u16_at(bytes, vtable(bytes, at) + 4 + 2 * id) {
                0 => panic!("field {id} is absent"),
                offset => at + offset,
            },
            Item(index) => at + 4 + 4 * index,
        };
    }
    at
}

/// Returns the position that the offset at `at` points to.
pub fn target(bytes: &[u8], at: usize) -> usize {
    at + u32_at(bytes, at)
}

/// The steps to the first method.
pub const PLAN: [Step; 2] = [Field(1), Item(0)];

/// Returns a program of 256 methods, all the same table, with 256 values, all the same table: 65,536 values in two kilobytes.
pub fn shared_tree() -> Vec<u8> {
    const COUNT: u32 = 256;
    let (root, plan_vtable, value_vtable) = (32, 16, 28);
    let plan = root + 12 + 4 * COUNT;
    let value = plan + 12 + 4 * COUNT;
    let mut file = Vec::new();
    file.extend(root.to_le_bytes());
    file.extend(b"ET12");
    // The vtable of the root has field 1, that of the method field 2, that of the value no fields.
    for half in [8u16, 8, 0, 4, 10, 8, 0, 0, 4, 0, 4, 4] {
        file.extend(half.to_le_bytes());
    }
    let mut words = |words: &[u32]| words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    words(&[root - 8, 4, COUNT]);
    (0..COUNT).for_each(|index| words(&[plan - (root + 12 + 4 * index)]));
    words(&[plan - plan_vtable, 4, COUNT]);
    (0..COUNT).for_each(|index| words(&[value - (plan + 12 + 4 * index)]));
    words(&[value - value_vtable]);
    file
}
