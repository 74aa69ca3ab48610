//! Sets of scalar types.

use crate::schema::ScalarType;

/// A set of scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Types(u32);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const INT: Self =
        Self::of(&[ScalarType::BYTE, ScalarType::CHAR, ScalarType::SHORT, ScalarType::INT, ScalarType::LONG]);
    pub(crate) const FLOAT: Self =
        Self::of(&[ScalarType::HALF, ScalarType::BFLOAT16, ScalarType::FLOAT, ScalarType::DOUBLE]);
    pub(crate) const REAL: Self = Self::INT.and(Self::FLOAT);
    pub(crate) const BOOL: Self = Self::one(ScalarType::BOOL);
    pub(crate) const REAL_OR_BOOL: Self = Self::REAL.and(Self::BOOL);

    pub(crate) const FLOAT32: Self = Self::one(ScalarType::FLOAT);
    pub(crate) const DOUBLE: Self = Self::one(ScalarType::DOUBLE);
    pub(crate) const LONG: Self = Self::one(ScalarType::LONG);
    /// The types of indices.
    pub(crate) const INDEX: Self = Self::of(&[ScalarType::INT, ScalarType::LONG]);
    pub(crate) const COMPLEX: Self = Self::of(&[ScalarType(8), ScalarType(9), ScalarType(10)]);
    /// The types that quantized numbers have.
    pub(crate) const QUANTIZED: Self = Self::of(&[
        ScalarType::BYTE,
        ScalarType::CHAR,
        ScalarType::SHORT,
        ScalarType::INT,
        ScalarType::BITS16,
        ScalarType::UINT16,
    ]);
    /// The types that kernels for any type know.
    pub(crate) const ALL: Self = Self(0x3f_ffff | 1 << 22);

    /// Returns the set with a type; empty if the runtime does not know the type.
    pub(crate) const fn one(scalar_type: ScalarType) -> Self {
        match scalar_type.0 {
            number @ 0..32 => Self(1 << number),
            _ => Self(0),
        }
    }

    pub(crate) const fn of(types: &[ScalarType]) -> Self {
        let (mut set, mut rest) = (Self(0), types);
        while let [first, others @ ..] = rest {
            set = set.and(Self::one(*first));
            rest = others;
        }
        set
    }

    /// Returns the union.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the types that are not in another set.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn contains(self, scalar_type: ScalarType) -> bool {
        let one = Self::one(scalar_type);
        one.0 != 0 && self.0 & one.0 == one.0
    }

    /// Returns the types, by number.
    pub(crate) fn iter(self) -> impl Iterator<Item = ScalarType> {
        (0..32).map(ScalarType).filter(move |scalar_type| self.contains(*scalar_type))
    }
}
