//! Sizes and integers that are known, bounded or unknown.

use core::fmt;

/// A size, or another integer. The order, for keys of maps, is not that of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Size {
    Is(i64),
    /// At most this, if it is a size of a tensor with a dynamic shape.
    UpTo(i64),
    /// Known only when it runs.
    Any,
}

impl Size {
    /// Returns the largest value.
    pub(super) fn bound(self) -> Option<i64> {
        match self {
            Self::Is(value) | Self::UpTo(value) => Some(value),
            Self::Any => None,
        }
    }

    /// Computes a size that does not become smaller if this one grows.
    pub(super) fn map(self, compute: impl Fn(i64) -> i64) -> Self {
        match self {
            Self::Is(value) => Self::Is(compute(value)),
            Self::UpTo(value) => Self::UpTo(compute(value)),
            Self::Any => Self::Any,
        }
    }

    /// Computes a size that does not become smaller if both grow.
    pub(super) fn with(self, other: Self, compute: impl Fn(i64, i64) -> i64) -> Self {
        match (self, other) {
            (Self::Is(left), Self::Is(right)) => Self::Is(compute(left, right)),
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (Self::Is(left) | Self::UpTo(left), Self::Is(right) | Self::UpTo(right)) => {
                Self::UpTo(compute(left, right))
            }
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        self.with(other, i64::saturating_mul)
    }

    /// Returns `true` if both can be the same.
    pub(super) fn can_equal(self, other: Self) -> bool {
        match (self, other) {
            (Self::Is(left), Self::Is(right)) => left == right,
            (Self::Is(fixed), Self::UpTo(bound)) | (Self::UpTo(bound), Self::Is(fixed)) => fixed <= bound,
            _ => true,
        }
    }

    /// Returns the size if sizes of dynamic shapes are at their upper bounds.
    pub(super) fn at_bound(self) -> Self {
        match self {
            Self::UpTo(value) => Self::Is(value),
            other => other,
        }
    }

    /// Returns `true` if the value is certainly this.
    pub(super) fn is(self, value: i64) -> bool {
        self == Self::Is(value)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => write!(f, "{value}"),
            Self::UpTo(value) => write!(f, "<={value}"),
            Self::Any => f.write_str("?"),
        }
    }
}

/// Returns the product of sizes.
pub(super) fn product(sizes: &[Size]) -> Size {
    sizes.iter().fold(Size::Is(1), |product, size| product.times(*size))
}
