//! Runs the checks of a kernel on a call.

use super::arguments::{Number, View, text_of};
use super::call::Call;
use super::fault::{Checked, Fault, Reaction, demand, of_kind, of_rank, of_setting, of_shape};
use super::sizes::{Size, product};
use crate::operators::{self, Check, Condition, Kind, Names, kind_names};
use crate::schema::ScalarType;
use crate::schema::program::KernelTypes;
use alloc::{format, vec::Vec};

impl<'t> Call<'t, '_> {
    pub(super) fn check(&self, check: &Check) -> Checked {
        match *check {
            Check::SameType(names) => self.same_type(names),
            Check::OfType(names, types) => self.types_in(names, types),
            Check::FirstOfType(name, types) => match self.views(name).next().flatten() {
                Some(view) if !types.contains(view.scalar_type) => {
                    let found = view.scalar_type.short_name().unwrap_or("a type without a name");
                    let expected = super::types::names(types);
                    Err(super::fault::of_type(
                        name,
                        format!("the first of {name} is {found}, expected one of {expected}"),
                    ))
                }
                _ => Ok(()),
            },
            Check::TypeSetting(setting, tensor) => self.type_setting(setting, tensor),
            Check::Promotes(rule) => self.promotes(rule),
            Check::NumberFits(number, tensor) => self.number_fits(number, tensor),
            Check::NotZero(number, tensor) => self.not_zero(number, tensor),
            Check::NotZeroConverted(number, tensor) => self.not_zero_converted(number, tensor),
            Check::Range(name, low, high) => self.range(name, low, high),
            Check::Mode(name, count) => self.mode(name, |value| (value as i32).into(), count.into()),
            Check::MemoryFormat(count) => self.mode("memory_format", |value| (value as i8).into(), count.into()),
            Check::Between(name, low, high) => match self.number(name) {
                Some(Number::Double(value)) => demand((low..=high).contains(&value), || {
                    of_setting(name, format!("{name} is {value}, expected {low} to {high}"))
                }),
                _ => Ok(()),
            },
            Check::Is(name, expected) => match self.boolean(name) {
                Some(found) => {
                    demand(found == expected, || of_setting(name, format!("{name} is {found}, expected {expected}")))
                }
                None => Ok(()),
            },
            Check::Word(name, words) => match self.named(name) {
                Some(KernelTypes::String(text)) => {
                    let found = text.string_val.as_deref().unwrap_or_default();
                    demand(words.contains(&found), || {
                        of_setting(name, format!("{name} is another word than {}", words.join(" and ")))
                    })
                }
                _ => Ok(()),
            },
            Check::OneOf(names) => demand(!names.iter().all(|name| self.is_null(name)), || {
                let first = names.first().copied().unwrap_or_default();
                of_setting(first, format!("{} are Null, expected at least one", names.join(" and ")))
            }),
            Check::Absent(name) => {
                demand(self.is_null(name), || of_setting(name, format!("{name} is given, expected Null")))
            }
            Check::Count(name, count) => match self.list(name) {
                Some(items) => demand(items.len() == count, || {
                    of_setting(name, format!("{name} has {} items, expected {count}", items.len()))
                }),
                None => Ok(()),
            },
            Check::Ordered(low, high, strictly) => match (self.known(low), self.known(high)) {
                (Some(first), Some(last)) => demand(first < last || first == last && !strictly, || {
                    of_setting(low, format!("{low} is {first}, and {high} {last}, expected the first to be smaller"))
                }),
                _ => Ok(()),
            },
            Check::QuantRange(low, high, tensor) => self.quant_range(low, high, tensor),
            Check::Rank(names, ranks) => self.rank(names, ranks),
            Check::MoreRank(small, large, more) => match (self.tensor(small), self.tensor(large)) {
                (Some(one), Some(other)) => demand(one.rank() + more == other.rank(), || {
                    of_rank(
                        large,
                        format!(
                            "{large} has rank {}, expected {} as {small} has rank {}",
                            other.rank(),
                            one.rank() + more,
                            one.rank()
                        ),
                    )
                }),
                _ => Ok(()),
            },
            Check::Dim(name, tensor) => self.dim(name, tensor, false),
            Check::StrictDim(name, tensor) => self.dim(name, tensor, true),
            Check::Dims(name, tensor) => self.dims(name, tensor),
            Check::SameSize(left, i, right, j) => match (self.size(left, i), self.size(right, j)) {
                (Some(one), Some(other)) => demand(one.can_equal(other), || {
                    of_shape(
                        left,
                        format!(
                            "dimension {i} of {left} has size {one}, and dimension {j} of {right} {other}, expected the same"
                        ),
                    )
                }),
                _ => Ok(()),
            },
            Check::SizeIs(name, dim, expected) => match self.size(name, dim) {
                Some(size) => demand(size.can_equal(Size::Is(expected)), || {
                    of_shape(name, format!("dimension {dim} of {name} has size {size}, expected {expected}"))
                }),
                None => Ok(()),
            },
            Check::Elements(name, expected) => match self.tensor(name) {
                Some(view) => demand(view.elements().can_equal(Size::Is(expected)), || {
                    of_shape(name, format!("{name} has sizes {}, expected {expected} elements", view.text()))
                }),
                None => Ok(()),
            },
            Check::Like(name, outs) => {
                let Some(view) = self.tensor(name) else { return Ok(()) };
                outs.iter().try_for_each(|out| match self.tensor(out) {
                    Some(result) if result.sizes == view.sizes => Ok(()),
                    _ => self.resize(out, &view.shape()),
                })
            }
            Check::SameShape(name, other) => match (self.tensor(name), self.tensor(other)) {
                (Some(view), Some(expected)) => self.has_sizes(name, view, &expected.shape()),
                _ => Ok(()),
            },
            Check::SameShapeOrSingle(names) => self.same_shape_or_single(names),
            Check::Sizes(out, sizes) => self.resize(out, &self.sizes(sizes)),
            // Most calls have one shape.
            Check::Broadcast(names, out) if self.have_one_shape(names, out) => Ok(()),
            Check::Broadcast(names, out) => match self.broadcast(names)? {
                Some(sizes) => self.resize(out, &sizes),
                None => Ok(()),
            },
            Check::BroadcastTo(name, target) => match (self.tensor(name), self.tensor(target)) {
                (Some(view), Some(target_view)) => self.broadcast_to(name, view, target, &target_view.shape()),
                _ => Ok(()),
            },
            Check::BroadcastToSizes(name, sizes) => match self.tensor(name) {
                Some(view) => self.broadcast_to(name, view, "the result", &self.sizes(sizes)),
                None => Ok(()),
            },
            Check::By(family) => self.family(family),
            Check::Kinds(names, kinds) => self.kinds_are(names, kinds),
            Check::NotEmpty(name) => match self.tensor(name) {
                Some(view) => demand(!view.is_empty(), || {
                    of_shape(name, format!("{name} has sizes {}, expected elements", view.text()))
                }),
                None => Ok(()),
            },
            Check::Dies(checks) => self.meets(checks).map_err(Fault::dies),
            Check::Strays(checks) => self.meets(checks).map_err(|fault| fault.with(Reaction::Strays)),
            Check::Fails(code, checks) => self.meets(checks).map_err(|fault| fault.with(Reaction::Refuses(code))),
            Check::If(condition, then, otherwise) => match self.holds(condition) {
                Some(holds) => self.meets(if holds { then } else { otherwise }),
                None => Ok(()),
            },
            Check::Since(releases, checks, before) => {
                self.meets(if self.release.is_in(releases) { checks } else { before })
            }
        }
    }

    fn meets(&self, checks: &[Check]) -> Checked {
        checks.iter().try_for_each(|check| self.check(check))
    }

    /// Returns an argument unless an instruction may set it to a number of another kind.
    pub(super) fn with_known_kind(&self, name: &str) -> Option<&KernelTypes<'_>> {
        self.constant(name).or_else(|| self.named(name).filter(|value| !Kind::Number.takes(value)))
    }

    /// Checks that arguments are of one of these kinds.
    fn kinds_are(&self, names: Names, kinds: &[Kind]) -> Checked {
        for name in names {
            let Some(value) = self.with_known_kind(name) else { continue };
            demand(kinds.iter().any(|kind| kind.takes(value)), || {
                let (found, expected) = (value.name().unwrap_or("unknown"), kind_names(kinds));
                of_kind(name, format!("{name} is of kind {found}, expected {expected}"))
            })?;
        }
        Ok(())
    }

    /// Returns `true` if a condition holds; `None` if that is known only when it runs.
    fn holds(&self, condition: Condition) -> Option<bool> {
        Some(match condition {
            Condition::Type(name, types) => self.views(name).flatten().any(|view| types.contains(view.scalar_type)),
            Condition::AnyType(names, types) => {
                let mut views = names.iter().filter_map(|name| self.tensor(name));
                views.any(|view| types.contains(view.scalar_type))
            }
            Condition::SameTypes(names) => self.same_type(names).is_ok(),
            Condition::Null(name) => self.is_null(name),
            Condition::Bool(name) => {
                matches!(self.with_known_kind(name)?, KernelTypes::Bool(_))
            }
            Condition::DequantizesBytes => self.dequantizes_bytes(),
            Condition::Empty(name) => {
                let view = self.tensor(name)?;
                if view.is_open {
                    return None;
                }
                view.is_empty()
            }
            Condition::SumsOneDimension => self.sums_one_dimension(),
            Condition::DropsOut => {
                let trains = self.is_null("train") || self.boolean("train")?;
                trains && self.number("p")? != Number::Double(0.0)
            }
            Condition::KeepsOrder => self.keeps_order()?,
            Condition::EmptyList(name) => self.list(name).is_some_and(|items| items.is_empty()),
            Condition::SameEnd(name, other) => {
                let (left, right) = (self.tensor(name)?, self.tensor(other)?);
                if left.is_open || right.is_open {
                    return None;
                }
                let trimmed = |view: View<'_>| {
                    let ones = view.sizes.iter().take_while(|size| **size == 1).count();
                    view.sizes.iter().copied().skip(ones).collect::<Vec<i32>>()
                };
                trimmed(left) == trimmed(right) && !right.is_empty()
            }
            Condition::OneIndex(name) => {
                let mut present = self.views(name).flatten();
                let first = present.next()?;
                let is_integer = matches!(first.scalar_type, ScalarType::INT | ScalarType::LONG);
                present.next().is_none() && is_integer && first.rank() == 1
            }
            Condition::Mask(name, at) => {
                let KernelTypes::BoolList(list) = self.named(name)? else { return None };
                *list.items.as_deref()?.get(at)?
            }
        })
    }

    fn sizes(&self, sizes: &[operators::Size]) -> Vec<Size> {
        let size = |size: &operators::Size| match *size {
            operators::Size::Of(name, dim) => self.size(name, dim).unwrap_or(Size::Any),
            operators::Size::Setting(name) => self.int(name).unwrap_or(Size::Any),
            operators::Size::Is(value) => Size::Is(value),
        };
        sizes.iter().map(size).collect()
    }

    /// Checks that tensors have the sizes of the first, or that each has a single element.
    fn same_shape_or_single(&self, names: Names) -> Checked {
        let may_be_single = |name: &&str| self.tensor(name).is_none_or(|view| view.elements().can_equal(Size::Is(1)));
        if names.iter().all(may_be_single) {
            return Ok(());
        }
        let Some(first) = names.first().and_then(|name| self.tensor(name)) else { return Ok(()) };
        names.iter().try_for_each(|name| match self.tensor(name) {
            Some(view) => self.has_sizes(name, view, &first.shape()),
            None => Ok(()),
        })
    }

    pub(super) fn size(&self, name: &str, dim: i32) -> Option<Size> {
        self.tensor(name)?.size(i64::from(dim))
    }

    /// Checks the number of an enumeration, which a kernel casts from 64 bits.
    fn mode(&self, name: &'static str, cast: fn(i64) -> i64, count: i64) -> Checked {
        let Some(value) = self.known(name) else { return Ok(()) };
        demand((0..count).contains(&cast(value)), || {
            let expected = match count {
                1 => "0".into(),
                2 => "0 or 1".into(),
                _ => format!("0 to {}", count - 1),
            };
            of_setting(name, format!("{name} is {value}, expected {expected}"))
        })
    }

    fn range(&self, name: &'static str, low: i64, high: i64) -> Checked {
        let values = if self.is_list(name) { self.list(name) } else { self.int(name).map(|value| [value].into()) };
        for value in values.into_iter().flatten() {
            let Size::Is(value) = value else { continue };
            demand((low..=high).contains(&value), || {
                let expected = match (low, high) {
                    (low, i64::MAX) => format!("at least {low}"),
                    (i64::MIN, high) => format!("at most {high}"),
                    (low, high) if low == high => format!("{low}"),
                    (low, high) => format!("{low} to {high}"),
                };
                of_setting(name, format!("{name} is {value}, expected {expected}"))
            })?;
        }
        Ok(())
    }

    fn quant_range(&self, low: &'static str, high: &'static str, tensor: &'static str) -> Checked {
        let (Some(view), Some(first), Some(last)) = (self.tensor(tensor), self.known(low), self.known(high)) else {
            return Ok(());
        };
        let limits = match view.scalar_type {
            ScalarType::BYTE => (0, 255),
            ScalarType::CHAR => (-128, 127),
            ScalarType::SHORT => (-32768, 32767),
            ScalarType::INT => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (0, 65535),
        };
        demand(first >= limits.0 && last <= limits.1, || {
            of_setting(
                low,
                format!("{low} is {first}, and {high} {last}, expected at least {} and at most {}", limits.0, limits.1),
            )
        })
    }

    pub(super) fn rank(&self, names: Names, ranks: u32) -> Checked {
        for name in names {
            for view in self.views(name).flatten() {
                demand(ranks >> view.rank() & 1 == 1, || {
                    let taken: Vec<u32> = (0..=16).filter(|rank| ranks >> rank & 1 == 1).collect();
                    let expected = match taken.as_slice() {
                        [one] => format!("{one}"),
                        [first, .., 16] => format!("at least {first}"),
                        list => format!("one of {}", crate::verify::report::Few(list)),
                    };
                    of_rank(name, format!("{name} has rank {}, expected {expected}", view.rank()))
                })?;
            }
        }
        Ok(())
    }

    /// Returns a dimension in a setting, counted from the start; `None` if it is unknown or not one of the tensor.
    pub(super) fn dimension(&self, name: &str, rank: usize) -> Option<usize> {
        let (dim, rank) = (self.known(name)?, rank.max(1) as i64);
        usize::try_from(if dim < 0 { dim + rank } else { dim }).ok().filter(|dim| *dim < rank as usize)
    }

    fn dim(&self, name: &'static str, tensor: &'static str, strict: bool) -> Checked {
        let (Some(dim), Some(view)) = (self.known(name), self.tensor(tensor)) else { return Ok(()) };
        let rank = if strict { view.rank() } else { view.rank().max(1) } as i64;
        demand(-rank <= dim && dim < rank, || {
            of_setting(name, format!("{name} is {dim}, but {tensor} has rank {}", view.rank()))
        })
    }

    fn dims(&self, name: &'static str, tensor: &'static str) -> Checked {
        let (Some(dims), Some(view)) = (self.list(name), self.tensor(tensor)) else { return Ok(()) };
        let (rank, mut seen) = (view.rank().max(1) as i64, 0_u32);
        for dim in dims {
            let Size::Is(dim) = dim else { continue };
            demand(-rank <= dim && dim < rank, || {
                of_setting(name, format!("{name} contains {dim}, but {tensor} has rank {}", view.rank()))
            })?;
            let bit = 1 << if dim < 0 { dim + rank } else { dim };
            demand(seen & bit == 0, || of_setting(name, format!("{name} contains dimension {dim} twice")))?;
            seen |= bit;
        }
        Ok(())
    }

    pub(super) fn has_sizes(&self, name: &'static str, view: View<'_>, expected: &[Size]) -> Checked {
        let mut sizes = view.each().zip(expected);
        let fits = view.rank() == expected.len() && sizes.all(|(size, expected)| size.can_equal(*expected));
        demand(fits, || of_shape(name, format!("{name} has sizes {}, expected {}", view.text(), text_of(expected))))
    }

    /// Checks that a result can have these sizes.
    pub(super) fn resize(&self, name: &'static str, expected: &[Size]) -> Checked {
        self.views(name).flatten().try_for_each(|view| self.resize_view(name, view, expected))
    }

    pub(super) fn resize_view(&self, name: &'static str, view: View<'_>, expected: &[Size]) -> Checked {
        if !view.is_dynamic || view.rank() != expected.len() {
            return self.has_sizes(name, view, expected);
        }
        if let Some(negative) = expected.iter().find(|size| matches!(size, Size::Is(..0))) {
            return Err(of_shape(name, format!("{name} would get the size {negative}, expected at least 0")));
        }
        let (Some(capacity), needed) = (view.elements().bound(), product(expected)) else { return Ok(()) };
        // Fewer elements may be needed than at the bounds.
        let fits = !matches!(needed, Size::Is(needed) if needed > capacity);
        demand(fits, || {
            of_shape(name, format!("{name} has sizes {}, too few elements for {}", view.text(), text_of(expected)))
        })
    }

    /// Returns the sizes to which tensors are broadcast; `None` if one is not a tensor.
    pub(super) fn broadcast(&self, names: Names) -> Result<Option<Vec<Size>>, Fault> {
        let mut sizes: Option<(&str, View<'_>, Vec<Size>)> = None;
        for name in names {
            let Some(view) = self.tensor(name) else {
                if self.is_null(name) {
                    continue;
                }
                return Ok(None);
            };
            let Some((_, first, known)) = &mut sizes else {
                sizes = Some((name, view, view.shape()));
                continue;
            };
            let first = *first;
            *known = self.both(name, known, &view.shape(), first)?;
        }
        Ok(sizes.map(|(_, _, sizes)| sizes))
    }

    pub(super) fn both(
        &self,
        name: &'static str,
        left: &[Size],
        right: &[Size],
        first: View<'_>,
    ) -> Result<Vec<Size>, Fault> {
        let rank = left.len().max(right.len());
        let at = |sizes: &[Size], dim: usize| {
            (dim + sizes.len()).checked_sub(rank).and_then(|dim| sizes.get(dim).copied()).unwrap_or(Size::Is(1))
        };
        let mut result = Vec::with_capacity(rank);
        for dim in 0..rank {
            let (one, other) = (at(left, dim), at(right, dim));
            result.push(if other.is(1) {
                one
            } else if one.is(1) {
                other
            } else {
                // A dynamic size may be 1.
                let may_be_1 = |size: Size| Size::Is(1).can_equal(size);
                demand(one.can_equal(other) || may_be_1(one) || may_be_1(other), || {
                    let (left, right) =
                        (if first.rank() == left.len() { first.text() } else { text_of(left) }, text_of(right));
                    of_shape(name, format!("sizes {left} and {right} do not broadcast (dimension {dim})"))
                })?;
                match (one, other) {
                    (Size::UpTo(one), Size::UpTo(other)) => Size::UpTo(one.max(other)),
                    (Size::Is(_), _) => one,
                    _ => other,
                }
            });
        }
        Ok(result)
    }

    /// Returns `true` if tensors and the result have the same sizes.
    fn have_one_shape(&self, names: Names, out: &str) -> bool {
        let Some(result) = self.tensor(out) else { return false };
        names.iter().all(|name| self.tensor(name).is_some_and(|view| view.sizes == result.sizes))
    }

    pub(super) fn broadcast_to(&self, name: &'static str, view: View<'_>, target: &str, sizes: &[Size]) -> Checked {
        let more = sizes.len().checked_sub(view.rank());
        let mut pairs = view.shape().into_iter().zip(sizes.iter().skip(more.unwrap_or_default()));
        let fits = |(size, expected): (Size, &Size)| Size::Is(1).can_equal(size) || size.can_equal(*expected);
        demand(more.is_some() && pairs.all(fits), || {
            of_shape(
                name,
                format!("{name} with sizes {} does not broadcast to {target} with {}", view.text(), text_of(sizes)),
            )
        })
    }
}
