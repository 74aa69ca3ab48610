//! Checks of scalar types.

use super::arguments::{Number, View};
use super::call::Call;
use super::fault::{Checked, demand, of_setting, of_type};
use crate::operators::{Alpha, Cast, Common, Complex, Names, Promotion, Types};
use crate::schema::ScalarType;
use alloc::{format, string::String};

/// Returns the names of the types in a set.
pub(super) fn names(set: Types) -> String {
    let mut text = String::new();
    for scalar_type in set.iter().filter(|found| found.short_name().is_some()) {
        text += if text.is_empty() { "" } else { ", " };
        text += scalar_type.short_name().unwrap_or_default();
    }
    text
}

fn name(scalar_type: ScalarType) -> &'static str {
    scalar_type.short_name().unwrap_or("a type without a name")
}

fn is(set: Types, scalar_type: ScalarType) -> bool {
    set.contains(scalar_type)
}

/// Returns the type to which two are promoted; `None` if that ends the process.
fn promoted(left: ScalarType, right: ScalarType) -> Option<ScalarType> {
    if left == right {
        return Some(left);
    }
    let known = Types::REAL_OR_BOOL.and(Types::COMPLEX);
    if !is(known, left) || !is(known, right) {
        return None;
    }
    let (low, high) = (left.0.min(right.0), left.0.max(right.0));
    let (low_type, high_type) = (ScalarType(low), ScalarType(high));
    Some(match (low_type, high_type) {
        _ if is(Types::COMPLEX, left) || is(Types::COMPLEX, right) => {
            let complex = |of: ScalarType| match of {
                ScalarType(8) | ScalarType::HALF => 8,
                ScalarType(10) | ScalarType::DOUBLE => 10,
                ScalarType(9) | ScalarType::FLOAT | ScalarType::BFLOAT16 => 9,
                _ => 0,
            };
            ScalarType(complex(left).max(complex(right)))
        }
        (other, ScalarType::BOOL) => other,
        (ScalarType::BOOL, other) => other,
        (ScalarType::HALF, ScalarType::BFLOAT16) => ScalarType::FLOAT,
        (other, ScalarType::BFLOAT16) if is(Types::FLOAT, other) => other,
        (_, ScalarType::BFLOAT16) => ScalarType::BFLOAT16,
        (ScalarType::BYTE, ScalarType::CHAR) => ScalarType::SHORT,
        (_, high) => high,
    })
}

/// Returns the type to which a tensor's type is promoted beside a number.
fn with_number(tensor: ScalarType, number: Number) -> ScalarType {
    let is_int = is(Types::INT, tensor);
    match number {
        _ if is(Types::COMPLEX, tensor) => tensor,
        Number::Double(_) if is(Types::FLOAT, tensor) => tensor,
        Number::Double(_) => ScalarType::FLOAT,
        Number::Int(_) if is(Types::FLOAT, tensor) || is_int => tensor,
        Number::Int(_) => ScalarType::LONG,
        Number::Bool(_) => tensor,
    }
}

/// Returns `true` if the runtime casts from one type to the other.
pub(super) fn can_cast(from: ScalarType, to: ScalarType) -> bool {
    if is(Types::COMPLEX, from) && !is(Types::COMPLEX, to) || is(Types::FLOAT, from) && is(Types::INT, to) {
        return false;
    }
    from == ScalarType::BOOL || to != ScalarType::BOOL
}

/// Returns `true` if a type can hold a number, by the runtime's rules of overflow.
fn fits(number: Number, scalar_type: ScalarType) -> bool {
    let (low, high): (i128, i128) = match scalar_type {
        ScalarType::BYTE => (0, 255),
        ScalarType::CHAR => (-128, 127),
        ScalarType::SHORT => (i128::from(i16::MIN), i128::from(i16::MAX)),
        ScalarType::INT => (i128::from(i32::MIN), i128::from(i32::MAX)),
        ScalarType::LONG => (i128::from(i64::MIN), i128::from(i64::MAX)),
        ScalarType::HALF | ScalarType::FLOAT => {
            let most = if scalar_type == ScalarType::HALF { 65504.0 } else { f64::from(f32::MAX) };
            return match number {
                Number::Double(value) => !value.is_finite() || (-most..=most).contains(&value),
                Number::Int(value) => (value as f64).abs() <= most,
                Number::Bool(_) => true,
            };
        }
        _ => return true,
    };
    match number {
        Number::Int(value) => {
            // A negative number wraps around in an unsigned type.
            let low = if low == 0 { -high } else { low };
            (low..=high).contains(&i128::from(value))
        }
        Number::Double(value) => value >= low as f64 - 1.0 && value <= high as f64 + 1.0,
        Number::Bool(_) => true,
    }
}

impl Call<'_, '_> {
    /// Checks that each tensor has a type of a set.
    pub(super) fn types_in(&self, arguments: Names, set: Types) -> Checked {
        for argument in arguments {
            for view in self.views(argument).flatten() {
                demand(is(set, view.scalar_type), || {
                    of_type(
                        argument,
                        format!("{argument} is {}, expected one of {}", name(view.scalar_type), names(set)),
                    )
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn same_type(&self, arguments: Names) -> Checked {
        let mut first: Option<(&str, ScalarType)> = None;
        for argument in arguments {
            for view in self.views(argument).flatten() {
                let (other, expected) = *first.get_or_insert((argument, view.scalar_type));
                demand(view.scalar_type == expected, || {
                    let (found, expected) = (name(view.scalar_type), name(expected));
                    of_type(argument, format!("{argument} is {found}, expected {expected} as {other}"))
                })?;
            }
        }
        Ok(())
    }

    /// Checks that a setting is the type of a tensor.
    pub(super) fn type_setting(&self, setting: &'static str, tensor: &'static str) -> Checked {
        let (Some(number), Some(view)) = (self.known(setting), self.tensor(tensor)) else { return Ok(()) };
        demand(number == i64::from(view.scalar_type.0), || {
            let found = i8::try_from(number).map_or("an unknown type", |number| name(ScalarType(number)));
            of_setting(setting, format!("{setting} is {number} ({found}), but {tensor} is {}", name(view.scalar_type)))
        })
    }

    pub(super) fn number_fits(&self, number: &'static str, tensor: &'static str) -> Checked {
        let (Some(value), Some(view)) = (self.number(number), self.tensor(tensor)) else { return Ok(()) };
        demand(fits(value, view.scalar_type), || {
            of_setting(
                number,
                format!("{number} is outside the range of {tensor}, which is {}", name(view.scalar_type)),
            )
        })
    }

    pub(super) fn not_zero(&self, number: &'static str, tensor: &'static str) -> Checked {
        let Some(view) = self.tensor(tensor) else { return Ok(()) };
        if let Some(divisor) = self.tensor(number) {
            let is_read = |view: View<'_>| !view.is_open && !view.is_empty();
            let is_zero = is_read(view) && is_read(divisor) && self.constants.has_zero(divisor);
            return demand(!is_zero || is(Types::FLOAT, view.scalar_type), || {
                of_setting(number, format!("{number} contains 0, by which integers are divided"))
            });
        }
        let Some(value) = self.number(number) else { return Ok(()) };
        let is_zero = matches!(value, Number::Int(0) | Number::Bool(false)) || value == Number::Double(0.0);
        let is_float = is(Types::FLOAT, with_number(view.scalar_type, value));
        demand(!is_zero || is_float, || of_setting(number, format!("{number} is 0, by which integers are divided")))
    }

    /// Checks that an integer does not become zero in the type of a tensor's integers, which it divides.
    pub(super) fn not_zero_converted(&self, number: &'static str, tensor: &'static str) -> Checked {
        let (Some(view), Some(Number::Int(value))) = (self.tensor(tensor), self.number(number)) else { return Ok(()) };
        let scalar_type = with_number(view.scalar_type, Number::Int(value));
        let divides = is(Types::INT, scalar_type) && !view.is_open && !view.is_empty();
        let bits = scalar_type.element_size().map_or(64, |size| 8 * size as u32);
        demand(!divides || value.trailing_zeros() < bits, || {
            of_setting(
                number,
                format!("{number} is {value}, which is 0 as {}, by which integers are divided", name(scalar_type)),
            )
        })
    }

    /// Checks the types of an elementwise kernel.
    pub(super) fn promotes(&self, rule: &Promotion) -> Checked {
        let views = || rule.tensors.iter().filter_map(|tensor| Some((*tensor, self.tensor(tensor)?)));
        let Some(out) = self.tensor(rule.out) else { return Ok(()) };
        let out_type = out.scalar_type;
        let Some((first, view)) = views().next() else { return Ok(()) };
        let is_complex = |of: ScalarType| is(Types::COMPLEX, of);
        if matches!(rule.complex, Complex::Same | Complex::SameSizes)
            && (is_complex(out_type) || views().any(|(_, view)| is_complex(view.scalar_type)))
        {
            for (argument, other) in views() {
                demand(other.scalar_type == out_type, || {
                    let (found, expected) = (name(other.scalar_type), name(out_type));
                    of_type(
                        argument,
                        format!(
                            "{argument} is {found}, expected {expected} as {}: complex numbers are not cast",
                            rule.out
                        ),
                    )
                })?;
                let same = rule.complex == Complex::Same || other.sizes == view.sizes;
                demand(same, || {
                    of_type(
                        argument,
                        format!(
                            "{argument} has sizes {} and {first} {}, expected the same for complex numbers",
                            other.text(),
                            view.text()
                        ),
                    )
                })?;
            }
            return Ok(());
        }
        let mut common = view.scalar_type;
        if rule.common == Common::Float && !is(Types::COMPLEX.and(Types::FLOAT), common) {
            let float = views().map(|(_, view)| view.scalar_type).find(|of| is(Types::COMPLEX.and(Types::FLOAT), *of));
            common = float.unwrap_or(ScalarType::FLOAT);
        }
        for (argument, other) in views().skip(1) {
            if rule.common == Common::Float
                && !is(Types::FLOAT.and(Types::COMPLEX), other.scalar_type)
                && !is_complex(common)
            {
                continue;
            }
            let Some(both) = promoted(common, other.scalar_type) else {
                let (left, right) = (name(common), name(other.scalar_type));
                let text = format!("{argument} is {right}, which is not promoted with {left}");
                return Err(of_type(argument, text).dies());
            };
            common = both;
        }
        for number in rule.numbers {
            if self.is_null(number) {
                continue;
            }
            let Some(value) = self.number(number) else { return Ok(()) };
            common = with_number(common, value);
        }
        if rule.complex == Complex::Promoted && is_complex(common) {
            return Ok(());
        }
        let cast = match rule.cast {
            Cast::Can => can_cast(common, out_type),
            Cast::Same => common == out_type,
            Cast::Any => true,
        };
        demand(cast, || {
            let (found, result) = (name(out_type), name(common));
            of_type(rule.out, format!("{} is {found}, but the result is {result}", rule.out))
        })?;
        self.alpha(rule.alpha, common)?;
        demand(is(rule.computes, common), || {
            of_type(
                first,
                format!(
                    "{first} is {}, so that the result is {}, expected one of {}",
                    name(view.scalar_type),
                    name(common),
                    names(rule.computes)
                ),
            )
        })?;
        self.types_in(rule.tensors, rule.inputs)?;
        let fits = match rule.outs {
            Types::NONE if is(Types::FLOAT32.and(Types::of(&[ScalarType::HALF, ScalarType::BFLOAT16])), common) => {
                is(Types::FLOAT.without(Types::DOUBLE), out_type)
            }
            Types::NONE => out_type == common,
            outs => is(outs, out_type),
        };
        demand(fits, || {
            of_type(rule.out, format!("{} is {}, but the result is {}", rule.out, name(out_type), name(common)))
        })
    }

    fn alpha(&self, rule: Alpha, common: ScalarType) -> Checked {
        let (Some(value), false) = (self.number("alpha"), rule == Alpha::None) else { return Ok(()) };
        let own = match value {
            Number::Int(_) => ScalarType::LONG,
            Number::Double(_) => ScalarType::DOUBLE,
            Number::Bool(_) => ScalarType::BOOL,
        };
        let is_bool = matches!(value, Number::Bool(_));
        let range = match common {
            ScalarType::BYTE => 0..=255,
            ScalarType::CHAR => -128..=127,
            ScalarType::SHORT => i64::from(i16::MIN)..=i64::from(i16::MAX),
            ScalarType::INT => i64::from(i32::MIN)..=i64::from(i32::MAX),
            _ => i64::MIN..=i64::MAX,
        };
        let is_in_range = !matches!(value, Number::Int(value) if !range.contains(&value));
        let holds = match rule {
            Alpha::Add if common == ScalarType::BOOL => !matches!(value, Number::Double(_)),
            Alpha::Add => {
                // Numbers of 16 bits are added as f32.
                let computed = if common == ScalarType::HALF { ScalarType::FLOAT } else { common };
                can_cast(own, common) && !is_bool && is_in_range && fits(value, computed)
            }
            Alpha::Subtract => can_cast(own, common) && !is_bool && is_in_range,
            _ => can_cast(own, common) && !is_bool,
        };
        demand(holds, || {
            of_setting("alpha", format!("alpha is not a number of the type of the result, {}", name(common)))
        })
    }
}
