//! Sizes, types and names in a form that a person reads.

use executorch_format::schema::ScalarType;
use executorch_format::schema::program::TensorShapeDynamism;
use std::fmt::Write;

/// `640 B`, `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    let mut rest = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if rest < 1023.95 {
            break;
        }
        rest /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{rest:.1} {unit}") }
}

/// `1 file`, `2 files`.
pub fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A type in short: `f32`, `i64`; the schema's name in small letters for one that has no short form.
pub fn scalar_type(scalar_type: ScalarType) -> String {
    let short = match scalar_type {
        ScalarType::BYTE => "u8",
        ScalarType::CHAR => "i8",
        ScalarType::SHORT => "i16",
        ScalarType::INT => "i32",
        ScalarType::LONG => "i64",
        ScalarType::HALF => "f16",
        ScalarType::FLOAT => "f32",
        ScalarType::DOUBLE => "f64",
        ScalarType::BFLOAT16 => "bf16",
        ScalarType::UINT16 => "u16",
        ScalarType::UINT32 => "u32",
        ScalarType::UINT64 => "u64",
        // These have no name in the schema; the numbers are PyTorch's.
        ScalarType(8) => "complex32",
        ScalarType(9) => "complex64",
        ScalarType(10) => "complex128",
        ScalarType(18) => "bits1x8",
        ScalarType(19) => "bits2x4",
        ScalarType(20) => "bits4x2",
        ScalarType(21) => "bits8",
        other => return other.name().map_or_else(|| format!("type {}", other.0), str::to_lowercase),
    };
    short.to_owned()
}

/// `f32[2, 3]`; `f32[<=2, <=3]` where the sizes are upper bounds; `f32[?, ?]` where nothing bounds them.
pub fn tensor(scalar: ScalarType, sizes: &[i32], dynamism: TensorShapeDynamism) -> String {
    let sizes: Vec<String> = sizes
        .iter()
        .map(|size| match dynamism {
            TensorShapeDynamism::DYNAMIC_BOUND => format!("<={size}"),
            TensorShapeDynamism::DYNAMIC_UNBOUND => "?".to_owned(),
            _ => size.to_string(),
        })
        .collect();
    format!("{}[{}]", scalar_type(scalar), sizes.join(", "))
}

/// A name from a file, made safe for a terminal and cut to `width` characters.
pub fn name(name: &str, width: usize) -> String {
    let mut safe = String::new();
    for (count, character) in name.chars().enumerate() {
        if count == width {
            safe.push('…');
            break;
        }
        if character.is_control() {
            let _ = write!(safe, "{}", character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_change_their_unit_where_the_number_would_grow_a_fourth_digit() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(size(5 * 1024 * 1024 * 1024), "5.0 GiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn dynamic_shapes_are_marked() {
        let sizes = [4, 8];
        assert_eq!(tensor(ScalarType::FLOAT, &sizes, TensorShapeDynamism::STATIC), "f32[4, 8]");
        assert_eq!(tensor(ScalarType::LONG, &sizes, TensorShapeDynamism::DYNAMIC_BOUND), "i64[<=4, <=8]");
        assert_eq!(tensor(ScalarType::BOOL, &sizes, TensorShapeDynamism::DYNAMIC_UNBOUND), "bool[?, ?]");
        assert_eq!(tensor(ScalarType(77), &[], TensorShapeDynamism::STATIC), "type 77[]");
    }

    #[test]
    fn control_characters_of_a_name_do_not_reach_the_terminal() {
        assert_eq!(name("a\u{1b}[2Jb\n", 80), "a\\u{1b}[2Jb\\n");
        assert_eq!(name("日本語のなまえ", 3), "日本語…");
    }
}
