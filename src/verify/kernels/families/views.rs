//! Other shapes of the same elements, and tensors that are created: `portable/cpu/util/copy_ops_util.cpp`, `repeat_util.cpp`.

use super::super::arguments::{Number, text_of};
use super::super::call::Call;
use super::super::fault::{Checked, Fault, Reaction, demand, of_rank, of_setting, of_shape};
use super::super::sizes::{Size, product};
use alloc::{format, vec::Vec};

impl Call<'_, '_> {
    pub(super) fn expand(&self) -> Checked {
        let (Some(input), Some(mut sizes)) = (self.tensor("self"), self.list("size")) else { return Ok(()) };
        let Some(more) = sizes.len().checked_sub(input.rank()) else {
            return Err(of_setting(
                "size",
                format!("size has {} items, but self has rank {}", sizes.len(), input.rank()),
            ));
        };
        for (at, size) in sizes.iter_mut().enumerate() {
            let Some(own) = at.checked_sub(more).and_then(|dim| input.size(dim as i64)) else {
                demand(!matches!(size, Size::Is(..0)), || {
                    of_setting("size", format!("size contains {size} for a new dimension"))
                })?;
                continue;
            };
            if size.is(-1) {
                *size = own;
            } else if let Size::Is(own @ (0 | 2..)) = own {
                demand(size.can_equal(Size::Is(own)), || {
                    of_setting(
                        "size",
                        format!("size contains {size} for dimension {} of self with size {own}", at - more),
                    )
                })?;
            }
        }
        self.resize("out", &sizes)
    }

    pub(super) fn repeat(&self) -> Checked {
        let (Some(input), Some(repeats)) = (self.tensor("self"), self.list("repeats")) else { return Ok(()) };
        let Some(more) = repeats.len().checked_sub(input.rank()).filter(|_| repeats.len() < 16) else {
            return Err(of_setting(
                "repeats",
                format!("repeats has {} items, but self has rank {}", repeats.len(), input.rank()),
            ));
        };
        demand(!repeats.iter().any(|repeat| matches!(repeat, Size::Is(..0))), || {
            of_setting("repeats", "repeats contains a negative number".into())
        })?;
        let size = |at: usize| at.checked_sub(more).and_then(|dim| input.size(dim as i64)).unwrap_or(Size::Is(1));
        let expected: Vec<Size> = repeats.iter().enumerate().map(|(at, repeat)| repeat.times(size(at))).collect();
        self.resize("out", &expected)
    }

    pub(super) fn repeat_interleave(&self) -> Checked {
        let Some(repeats) = self.tensor("repeats") else { return Ok(()) };
        let sum = if repeats.is_empty() { Some((0, 0)) } else { self.constants.sum(repeats) };
        let Some((sum, least)) = sum else { return Ok(()) };
        demand(least >= 0, || of_setting("repeats", format!("repeats contains {least}, expected 0 or more")))?;
        match self.int("output_size") {
            Some(size) => demand(size.can_equal(Size::Is(sum)), || {
                of_setting("output_size", format!("output_size is {size}, but the sum of repeats is {sum}"))
            }),
            None if self.is_null("output_size") => self.resize("out", &[Size::Is(sum)]),
            None => Ok(()),
        }
    }

    pub(super) fn permute(&self) -> Checked {
        let (Some(input), Some(dims)) = (self.tensor("self"), self.known_list("dims")) else { return Ok(()) };
        let rank = input.rank() as i64;
        demand(input.rank() == dims.len(), || {
            of_setting("dims", format!("dims has {} items, but self has rank {rank}", dims.len()))
        })?;
        let (mut seen, mut expected) = (0_u32, Vec::new());
        for dim in dims {
            demand(-rank <= dim && dim < rank, || {
                of_setting("dims", format!("dims contains {dim}, but self has rank {rank}"))
            })?;
            let at = if dim < 0 { dim + rank } else { dim };
            demand(seen >> at & 1 == 0, || of_setting("dims", format!("dims contains dimension {dim} twice")))?;
            seen |= 1 << at;
            expected.extend(input.size(at));
        }
        self.resize("out", &expected)
    }

    pub(super) fn transpose(&self, first: &'static str, second: &'static str) -> Checked {
        let Some(input) = self.tensor("self") else { return Ok(()) };
        let dims = (self.dimension(first, input.rank()), self.dimension(second, input.rank()));
        let ((Some(one), Some(other)), mut expected) = (dims, input.shape()) else { return Ok(()) };
        if one < expected.len() && other < expected.len() {
            expected.swap(one, other);
        }
        self.resize("out", &expected)
    }

    pub(super) fn transpose_matrix(&self) -> Checked {
        let Some(input) = self.tensor("self") else { return Ok(()) };
        let mut expected = input.shape();
        expected.reverse();
        self.resize("out", &expected)
    }

    pub(super) fn view_copy(&self) -> Checked {
        let Some(sizes) = self.viewed(Reaction::Dies)? else { return Ok(()) };
        self.has_elements_of_self(&sizes)?;
        self.resize("out", &sizes)
    }

    pub(super) fn et_view(&self) -> Checked {
        let Some(sizes) = self.viewed(Reaction::Refuses(0x12))? else { return Ok(()) };
        self.resize("out", &sizes).map_err(|fault| fault.with(Reaction::Refuses(0x1)))?;
        self.has_elements_of_self(&sizes)
    }

    /// Returns the sizes of a view, with that in the place of -1. A size of 0 beside it has a reaction of its own.
    fn viewed(&self, on_zero: Reaction) -> Result<Option<Vec<Size>>, Fault> {
        let (Some(input), Some(out), Some(mut sizes)) = (self.tensor("self"), self.tensor("out"), self.list("size"))
        else {
            return Ok(None);
        };
        demand(sizes.len() == out.rank(), || {
            of_rank("out", format!("out has rank {}, expected {}, the items of size", out.rank(), sizes.len()))
        })?;
        let rest: Vec<Size> = sizes.iter().copied().filter(|size| !size.is(-1)).collect();
        demand(rest.len() + 1 >= sizes.len(), || of_setting("size", "size contains -1 twice".into()))?;
        if let Some(negative) = rest.iter().find(|size| matches!(size, Size::Is(..-1))) {
            return Err(of_setting("size", format!("size contains {negative}, expected at least -1")));
        }
        if let Some(inferred) = sizes.iter_mut().find(|size| size.is(-1)) {
            let known = product(&rest);
            demand(known.bound() != Some(0), || of_setting("size", "size contains 0 and -1".into()).with(on_zero))?;
            *inferred = match known {
                Size::Is(known) => input.elements().map(|elements| elements / known),
                _ => Size::Any,
            };
        }
        Ok(Some(sizes))
    }

    /// Checks that a view with these sizes has the elements of `self`.
    fn has_elements_of_self(&self, sizes: &[Size]) -> Checked {
        let Some(input) = self.tensor("self") else { return Ok(()) };
        demand(product(sizes).can_equal(input.elements()), || {
            of_setting("size", format!("size is {}, but self has sizes {}", text_of(sizes), input.text()))
        })
    }

    pub(super) fn unsqueeze(&self) -> Checked {
        let (Some(input), Some(dim)) = (self.tensor("self"), self.known("dim")) else { return Ok(()) };
        let rank = input.rank() as i64 + 1;
        let at = if dim < 0 { dim + rank } else { dim };
        demand((0..rank).contains(&at), || {
            of_setting("dim", format!("dim is {dim}, but self has rank {}", input.rank()))
        })?;
        let mut expected = input.shape();
        expected.insert(usize::try_from(at).unwrap_or_default().min(expected.len()), Size::Is(1));
        self.resize("out", &expected)
    }

    pub(super) fn squeeze(&self) -> Checked {
        let Some(input) = self.tensor("self") else { return Ok(()) };
        let rank = input.rank() as i64;
        let Some(dims) = self.known_list("dim").or_else(|| self.known("dim").map(|dim| [dim].into())) else {
            return Ok(());
        };
        if input.is_open {
            return Ok(());
        }
        let is_named = |at: usize| dims.iter().any(|dim| (if *dim < 0 { dim + rank } else { *dim }) == at as i64);
        let kept = input.shape().into_iter().enumerate().filter(|(at, size)| !(is_named(*at) && size.is(1)));
        let expected: Vec<Size> = kept.map(|(_, size)| size).collect();
        self.resize("out", &expected)
    }

    pub(super) fn view_as_real(&self) -> Checked {
        let Some(input) = self.tensor("self") else { return Ok(()) };
        let mut expected = input.shape();
        expected.push(Size::Is(2));
        if let Some(out) = self.tensor("out") {
            // The kernel looks only at as many sizes as `out` has.
            demand(out.rank() == expected.len(), || {
                of_rank("out", format!("out has rank {}, expected {}", out.rank(), expected.len()))
                    .with(Reaction::Strays)
            })?;
        }
        self.resize("out", &expected)
    }

    /// Checks that a result gets the sizes in a list.
    pub(super) fn size_list(&self, name: &'static str) -> Checked {
        let Some(mut sizes) = self.list(name) else { return Ok(()) };
        // The kernel converts them to the type of sizes.
        for size in &mut sizes {
            if let Size::Is(size) = size {
                *size = i64::from(*size as i32);
            }
        }
        self.resize("out", &sizes)
    }

    pub(super) fn arange(&self) -> Checked {
        let Some(out) = self.tensor("out") else { return Ok(()) };
        demand(out.rank() == 1, || of_rank("out", format!("out has rank {}, expected 1", out.rank())))?;
        let number = |name: &str, default: f64| match self.position(name) {
            None => Some(default),
            Some(_) => match self.number(name)? {
                Number::Int(value) => Some(value as f64),
                Number::Double(value) => Some(value),
                Number::Bool(_) => None,
            },
        };
        for name in ["start", "end", "step"] {
            demand(self.boolean(name).is_none(), || {
                of_setting(name, format!("{name} is a Bool, expected an Int or a Double"))
            })?;
        }
        let (Some(start), Some(end), Some(step)) = (number("start", 0.0), number("end", 0.0), number("step", 1.0))
        else {
            return Ok(());
        };
        demand(step > 0.0 && end >= start || step < 0.0 && end <= start, || {
            of_setting("end", format!("the range from {start} to {end} by {step} has no end"))
        })?;
        let exact = (end - start) / step;
        let whole = exact as i64;
        let count = if exact > whole as f64 { whole + 1 } else { whole };
        self.resize("out", &[Size::Is(count)])
    }

    pub(super) fn as_strided(&self) -> Checked {
        let (Some(input), Some(sizes), Some(strides)) =
            (self.tensor("self"), self.known_list("size"), self.known_list("stride"))
        else {
            return Ok(());
        };
        demand(sizes.len() == strides.len(), || {
            of_setting("stride", format!("stride has {} items, and size {}", strides.len(), sizes.len()))
        })?;
        let offset = if self.is_null("storage_offset") { 0 } else { self.known("storage_offset").unwrap_or(0) };
        let mut last: i64 = 1;
        for (size, stride) in sizes.iter().zip(&strides) {
            last = last.saturating_add(stride.saturating_mul(size - 1));
        }
        if !sizes.contains(&0) {
            let (needed, most) = (last.saturating_add(offset), input.elements().bound().unwrap_or(i64::MAX));
            demand(needed <= most, || {
                of_setting("size", format!("the last element would be number {needed}, but self has {most}"))
            })?;
        }
        let expected: Vec<Size> = sizes.into_iter().map(Size::Is).collect();
        self.resize("out", &expected)
    }

    pub(super) fn diagonal(&self) -> Checked {
        let (Some(input), Some(offset)) = (self.tensor("self"), self.known("offset")) else { return Ok(()) };
        let (Some(one), Some(other)) = (self.dimension("dim1", input.rank()), self.dimension("dim2", input.rank()))
        else {
            return Ok(());
        };
        demand(one != other, || of_setting("dim2", format!("dim1 and dim2 are both dimension {one}")))?;
        let (rows, columns) =
            (input.size(one as i64).unwrap_or(Size::Any), input.size(other as i64).unwrap_or(Size::Any));
        let size = rows.with(columns, |rows, columns| {
            if offset >= 0 {
                rows.min(columns.saturating_sub(offset))
            } else {
                rows.saturating_add(offset).min(columns)
            }
            .max(0)
        });
        let kept = input.shape().into_iter().enumerate().filter(|(at, _)| *at != one && *at != other);
        let mut expected: Vec<Size> = kept.map(|(_, size)| size).collect();
        expected.push(size);
        self.resize("out", &expected)
    }

    pub(super) fn unfold(&self) -> Checked {
        let (Some(input), Some(size), Some(step)) = (self.tensor("self"), self.known("size"), self.known("step"))
        else {
            return Ok(());
        };
        let Some(dim) = self.dimension("dimension", input.rank()) else { return Ok(()) };
        let mut expected = input.shape();
        let Some(own) = expected.get_mut(dim) else { return Ok(()) };
        let most = own.bound().unwrap_or(i64::MAX);
        demand(size <= most, || of_setting("size", format!("size is {size}, but the dimension has size {most}")))?;
        if step < 1 {
            return Ok(());
        }
        *own = own.map(|own| (own - size + step) / step);
        expected.push(Size::Is(size));
        self.resize("out", &expected)
    }

    pub(super) fn pixel_shuffle(&self) -> Checked {
        let (Some(input), Some(factor)) = (self.tensor("self"), self.known("upscale_factor")) else { return Ok(()) };
        demand((1..32768).contains(&factor), || {
            of_setting("upscale_factor", format!("upscale_factor is {factor}, expected 1 to 32767"))
        })?;
        let mut expected = input.shape();
        if let Some((_, [channels, height, width])) = expected.split_last_chunk_mut() {
            if let Size::Is(size) = *channels {
                demand(size % (factor * factor) == 0, || {
                    of_shape("self", format!("self has {size} channels, expected a multiple of {}", factor * factor))
                })?;
            }
            *channels = channels.map(|size| size / (factor * factor));
            *height = height.map(|size| size.saturating_mul(factor));
            *width = width.map(|size| size.saturating_mul(factor));
        }
        self.resize("out", &expected)
    }

    pub(super) fn pixel_unshuffle(&self) -> Checked {
        let (Some(input), Some(factor)) = (self.tensor("self"), self.known("downscale_factor")) else { return Ok(()) };
        demand(factor > 0, || {
            of_setting("downscale_factor", format!("downscale_factor is {factor}, expected at least 1"))
        })?;
        let mut expected = input.shape();
        if let Some((_, [channels, height, width])) = expected.split_last_chunk_mut() {
            *channels = channels.map(|size| size.saturating_mul(factor).saturating_mul(factor));
            for size in [height, width] {
                if let Size::Is(size) = *size {
                    demand(size % factor == 0, || {
                        of_shape("self", format!("self has sizes {}, expected multiples of {factor}", input.text()))
                    })?;
                }
                *size = size.map(|size| size / factor);
            }
        }
        self.resize("out", &expected)
    }

    pub(super) fn dim_order(&self) -> Checked {
        let (Some(order), Some(out)) = (self.known_list("dim_order"), self.order_of("out")) else {
            return match (self.is_null("dim_order"), self.order_of("self"), self.order_of("out")) {
                (true, Some(input), Some(out)) => demand(input == out, || {
                    of_setting("dim_order", "dim_order is Null, but self and out have different dim orders".into())
                }),
                _ => Ok(()),
            };
        };
        let natural = order.iter().enumerate().all(|(at, dim)| *dim == at as i64);
        demand(natural || matches!(order.as_slice(), [0, 2, 3, 1] | [0, 2, 3, 4, 1]), || {
            of_setting("dim_order", "dim_order is neither contiguous nor channels-last".into())
        })?;
        let rank = self.tensor("self").map_or(order.len(), |view| view.rank());
        demand(order.len() == rank, || {
            of_setting("dim_order", format!("dim_order has {} items, but self has rank {rank}", order.len()))
        })?;
        demand(is_order(&order, out), || of_setting("dim_order", "dim_order is not that of out".into()))
    }

    /// Returns `true` if `dim_order` is Null or that of `self`; `None` if that is known only when it runs.
    pub(in crate::verify::kernels) fn keeps_order(&self) -> Option<bool> {
        let input = self.order_of("self")?;
        Some(self.is_null("dim_order") || is_order(&self.known_list("dim_order")?, input))
    }

    /// Returns the dim order of a tensor.
    fn order_of(&self, name: &str) -> Option<&[u8]> {
        match self.named(name)? {
            crate::schema::program::KernelTypes::Tensor(tensor) => Some(tensor.dim_order()),
            _ => None,
        }
    }
}

/// Returns `true` if a list is the dim order of a tensor.
fn is_order(list: &[i64], order: &[u8]) -> bool {
    list.iter().copied().eq(order.iter().map(|dim| i64::from(*dim)))
}
