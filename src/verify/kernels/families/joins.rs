//! Tensors that are joined, divided or padded: `portable/cpu/util/copy_ops_util.cpp`, `stack_util.cpp`, `padding_util.cpp`.

use super::super::arguments::View;
use super::super::call::Call;
use super::super::fault::{Checked, demand, of_rank, of_setting, of_shape, of_type};
use super::super::sizes::Size;
use super::super::types::can_cast;
use crate::operators::Types;
use crate::schema::ScalarType;
use alloc::{format, vec::Vec};

/// Returns a list of sizes with another size in a dimension.
fn with(mut sizes: Vec<Size>, dim: usize, size: Size) -> Vec<Size> {
    if let Some(place) = sizes.get_mut(dim) {
        *place = size;
    }
    sizes
}

impl Call<'_, '_> {
    /// Returns the tensors of a list; `None` if one is not known.
    fn all(&self, name: &str) -> Option<Vec<View<'_>>> {
        self.views(name).collect()
    }

    /// Checks that each input can be cast to the result.
    fn casts(&self, inputs: &[View<'_>], out: View<'_>) -> Checked {
        for input in inputs {
            let (from, to) = (input.scalar_type, out.scalar_type);
            let holds = can_cast(from, to);
            demand(holds, || {
                let name = |of: ScalarType| of.short_name().unwrap_or("a type without a name");
                of_type("out", format!("out is {}, but one of tensors is {}", name(to), name(from)))
            })?;
        }
        Ok(())
    }

    pub(super) fn cat(&self) -> Checked {
        let (Some(out), Some(dim), Some(inputs)) = (self.tensor("out"), self.known("dim"), self.all("tensors")) else {
            return Ok(());
        };
        demand(!inputs.is_empty(), || of_setting("tensors", "tensors is empty".into()))?;
        self.casts(&inputs, out)?;
        let at = if dim < 0 { dim + out.rank() as i64 } else { dim };
        let Some(reference) = inputs.iter().find(|view| !view.is_empty()).or(inputs.first()) else {
            return Ok(());
        };
        if inputs.iter().all(|view| view.is_empty() && view.rank() == 1) {
            return Ok(());
        }
        let rank = reference.rank();
        demand((0..rank as i64).contains(&at), || {
            of_setting("dim", format!("dim is {dim}, but tensors have rank {rank}"))
        })?;
        let at = usize::try_from(at).unwrap_or_default();
        let mut sum = Size::Is(0);
        for view in inputs.iter().filter(|view| !view.is_empty()) {
            // An open tensor may have no elements, and then any rank and sizes.
            let may_be_empty = view.is_open || reference.is_open;
            demand(view.rank() == rank || may_be_empty, || {
                of_rank("tensors", format!("tensors have ranks {rank} and {}", view.rank()))
            })?;
            for (other, (size, expected)) in view.shape().iter().zip(reference.shape()).enumerate() {
                if other == at {
                    sum = sum.with(*size, i64::saturating_add);
                    continue;
                }
                demand(size.can_equal(expected) || may_be_empty, || {
                    of_shape(
                        "tensors",
                        format!(
                            "sizes {} and {} differ in dimension {other}, which is not joined",
                            reference.text(),
                            view.text()
                        ),
                    )
                })?;
            }
        }
        let last = inputs.iter().rev().find(|view| view.rank() != 1 || !view.is_empty()).unwrap_or(reference);
        self.resize("out", &with(last.shape(), at, sum))?;
        if Types::COMPLEX.contains(out.scalar_type) {
            return self.same_type(&["tensors", "out"]);
        }
        self.types_in(&["tensors", "out"], Types::REAL_OR_BOOL)
    }

    pub(super) fn stack(&self) -> Checked {
        let (Some(out), Some(dim), Some(inputs)) = (self.tensor("out"), self.known("dim"), self.all("tensors")) else {
            return Ok(());
        };
        let Some(first) = inputs.first() else { return Err(of_setting("tensors", "tensors is empty".into())) };
        self.casts(&inputs, out)?;
        for view in &inputs {
            self.has_sizes("tensors", *view, &first.shape())?;
        }
        let at = if dim < 0 { dim + out.rank() as i64 } else { dim };
        demand((0..=first.rank() as i64).contains(&at), || {
            of_setting("dim", format!("dim is {dim}, but tensors have rank {}", first.rank()))
        })?;
        let mut expected = first.shape();
        expected.insert(usize::try_from(at).unwrap_or_default().min(expected.len()), Size::Is(inputs.len() as i64));
        self.resize("out", &expected)
    }

    pub(super) fn split(&self) -> Checked {
        let (Some(input), Some(part), Some(outs)) = (self.tensor("self"), self.known("split_size"), self.all("out"))
        else {
            return Ok(());
        };
        let Some((dim, Size::Is(size))) =
            self.dimension("dim", input.rank()).and_then(|dim| Some((dim, input.size(dim as i64)?)))
        else {
            return Ok(());
        };
        demand(part > 0 || size == 0, || of_setting("split_size", "split_size is 0".into()))?;
        let (count, rest) = match part {
            part if part >= size => (1, size),
            part => ((size + part - 1) / part, if size % part == 0 { part } else { size % part }),
        };
        demand(outs.len() as i64 == count, || {
            of_setting("out", format!("out has {} tensors, expected {count}", outs.len()))
        })?;
        for (index, out) in outs.iter().enumerate() {
            let own = if index + 1 == outs.len() { rest } else { part };
            self.has_sizes("out", *out, &with(input.shape(), dim, Size::Is(own)))?;
        }
        Ok(())
    }

    pub(super) fn split_sizes(&self) -> Checked {
        let (Some(input), Some(sizes), Some(outs)) =
            (self.tensor("self"), self.known_list("split_sizes"), self.all("out"))
        else {
            return Ok(());
        };
        let Some((dim, size)) =
            self.dimension("dim", input.rank()).and_then(|dim| Some((dim, input.size(dim as i64)?)))
        else {
            return Ok(());
        };
        demand(outs.len() == sizes.len(), || {
            of_setting("out", format!("out has {} tensors, expected {}", outs.len(), sizes.len()))
        })?;
        let sum = sizes.iter().fold(0, |sum: i64, size| sum.saturating_add(*size));
        demand(size.can_equal(Size::Is(sum)), || {
            of_setting("split_sizes", format!("split_sizes add up to {sum}, but the dimension has size {size}"))
        })?;
        for (out, own) in outs.iter().zip(sizes) {
            self.resize_view("out", *out, &with(input.shape(), dim, Size::Is(own)))?;
        }
        Ok(())
    }

    pub(super) fn unbind(&self) -> Checked {
        let (Some(input), Some(outs)) = (self.tensor("self"), self.all("out")) else { return Ok(()) };
        let Some((dim, size)) =
            self.dimension("dim", input.rank()).and_then(|dim| Some((dim, input.size(dim as i64)?)))
        else {
            return Ok(());
        };
        demand(size.can_equal(Size::Is(outs.len() as i64)), || {
            of_setting("out", format!("out has {} tensors, expected {size}", outs.len()))
        })?;
        let mut expected = input.shape();
        expected.remove(dim);
        outs.iter().try_for_each(|out| self.has_sizes("out", *out, &expected))
    }

    pub(super) fn constant_pad(&self) -> Checked {
        let (Some(input), Some(pad)) = (self.tensor("self"), self.known_list("pad")) else { return Ok(()) };
        demand(pad.len() % 2 == 0 && pad.len() / 2 <= input.rank(), || {
            of_setting(
                "pad",
                format!("pad has {} items, expected two for each of at most {} dimensions", pad.len(), input.rank()),
            )
        })?;
        demand(!pad.iter().any(|pad| *pad < 0), || of_setting("pad", "pad contains a negative number".into()))?;
        self.padded(input, &pad)
    }

    /// Checks that a result has the sizes of an input with padding.
    fn padded(&self, input: View<'_>, pad: &[i64]) -> Checked {
        let mut expected = input.shape();
        for (size, pair) in expected.iter_mut().rev().zip(pad.chunks(2)) {
            *size = size.map(|size| pair.iter().fold(size, |size, pad| size.saturating_add(*pad)));
        }
        self.resize("out", &expected)
    }

    pub(super) fn pad(&self, dims: i64, reflects: bool) -> Checked {
        let (Some(input), Some(pad)) = (self.tensor("self"), self.known_list("padding")) else { return Ok(()) };
        demand(pad.len() as i64 == 2 * dims, || {
            of_setting("padding", format!("padding has {} items, expected {}", pad.len(), 2 * dims))
        })?;
        let rank = input.rank() as i64;
        demand(rank == dims + 1 || rank == dims + 2, || {
            of_rank("self", format!("self has rank {rank}, expected {} or {}", dims + 1, dims + 2))
        })?;
        for (size, pair) in input.shape().iter().rev().zip(pad.chunks(2)) {
            let Size::Is(size) = *size else { continue };
            let sum = pair.iter().fold(size, |sum, pad| sum.saturating_add(*pad));
            demand(sum >= 0 && !(reflects && pair.iter().any(|pad| *pad >= size)), || {
                of_setting(
                    "padding",
                    format!(
                        "padding contains {} and {} for a dimension of size {size}",
                        pair.first().copied().unwrap_or(0),
                        pair.last().copied().unwrap_or(0)
                    ),
                )
            })?;
        }
        // Sizes have 32 bits, to which the kernel cuts sums of longer numbers.
        let cut: Vec<i64> = pad.iter().map(|pad| i64::from(*pad as i32)).collect();
        self.padded(input, &cut)?;
        // There is nothing to replicate.
        let is_padded = |(size, pair): (&i32, &[i64])| *size == 0 && pair.iter().any(|pad| *pad > 0);
        let is_empty = !input.is_open && input.sizes.iter().rev().zip(pad.chunks(2)).any(is_padded);
        let has_result = self.tensor("out").is_some_and(|out| !out.is_empty());
        demand(!(is_empty && has_result), || {
            of_shape("self", format!("self has sizes {}, expected elements beside padding", input.text())).dies()
        })
    }

    pub(super) fn roll(&self) -> Checked {
        let (Some(input), Some(shifts), Some(dims)) =
            (self.tensor("self"), self.list("shifts"), self.known_list("dims"))
        else {
            return Ok(());
        };
        let rank = input.rank() as i64;
        // A tensor without elements may have any dims.
        if let (false, Some(dim)) =
            (input.is_open || input.is_empty(), dims.iter().find(|dim| !(-rank..rank).contains(*dim)))
        {
            return Err(of_setting("dims", format!("dims contains {dim}, but self has rank {rank}")));
        }
        demand(!shifts.is_empty() && shifts.len() == dims.len(), || {
            of_setting(
                "shifts",
                format!("shifts has {} items, and dims {}, expected the same, at least one", shifts.len(), dims.len()),
            )
        })
    }
}
