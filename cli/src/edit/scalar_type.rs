//! Scalar types by their common names.

use crate::near::Names;
use executorch_format::schema::ScalarType;

/// Names of types in NumPy and PyTorch that differ from the short names.
const NAMES: &[(&str, ScalarType)] = &[
    ("uint8", ScalarType::BYTE),
    ("int8", ScalarType::CHAR),
    ("int16", ScalarType::SHORT),
    ("int32", ScalarType::INT),
    ("int64", ScalarType::LONG),
    ("uint16", ScalarType::UINT16),
    ("uint32", ScalarType::UINT32),
    ("uint64", ScalarType::UINT64),
    ("float16", ScalarType::HALF),
    ("float32", ScalarType::FLOAT),
    ("float64", ScalarType::DOUBLE),
    ("bfloat16", ScalarType::BFLOAT16),
    ("bool_", ScalarType::BOOL),
    ("short", ScalarType::SHORT),
    ("int", ScalarType::INT),
    ("long", ScalarType::LONG),
    ("half", ScalarType::HALF),
    ("float", ScalarType::FLOAT),
    ("double", ScalarType::DOUBLE),
    ("float8_e5m2", ScalarType::FLOAT8E5M2),
    ("float8_e4m3fn", ScalarType::FLOAT8E4M3FN),
    ("float8_e5m2fnuz", ScalarType::FLOAT8E5M2FNUZ),
    ("float8_e4m3fnuz", ScalarType::FLOAT8E4M3FNUZ),
    // These have no name in the schema.
    ("complex32", ScalarType(8)),
    ("complex64", ScalarType(9)),
    ("complex128", ScalarType(10)),
    ("chalf", ScalarType(8)),
    ("cfloat", ScalarType(9)),
    ("cdouble", ScalarType(10)),
    ("bits1x8", ScalarType(18)),
    ("bits2x4", ScalarType(19)),
    ("bits4x2", ScalarType(20)),
    ("bits8", ScalarType(21)),
];

/// Parses the name of a scalar type: its short name (`f32`), NumPy's or PyTorch's (`float32`, `torch.float32`), the schema's
/// (`FLOAT`), or its number.
pub fn parse(text: &str) -> Result<ScalarType, String> {
    let name = ["torch.", "numpy.", "np."].into_iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    let short = ScalarType::ALL.iter().copied().find(|scalar_type| scalar_type.short_name() == Some(name));
    let other = || NAMES.iter().find(|(other, _)| *other == name).map(|(_, scalar_type)| *scalar_type);
    short.or_else(other).or_else(|| name.parse().ok()).ok_or_else(|| {
        let short = ScalarType::ALL.iter().filter_map(|scalar_type| scalar_type.short_name());
        let hint = short.chain(NAMES.iter().map(|(name, _)| *name)).collect::<Names>().hint(name);
        format!("there is no scalar type {text:?}, {hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_the_names_of_numpy_and_pytorch() {
        for (name, expected) in
            [("float32", 6), ("f32", 6), ("torch.float", 6), ("FLOAT", 6), ("6", 6), ("np.uint8", 0)]
        {
            assert_eq!(parse(name), Ok(ScalarType(expected)), "{name}");
        }
        assert_eq!(parse("float8_e4m3fn"), parse("float8e4m3fn"));
        assert_eq!(parse("complex64"), Ok(ScalarType(9)));
        let refused = parse("f33").err().unwrap_or_default();
        assert!(refused.starts_with("there is no scalar type \"f33\", did you mean \"f32\""), "{refused}");
    }
}
