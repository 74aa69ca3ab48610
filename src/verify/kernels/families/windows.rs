//! Convolution and pooling: `portable/cpu/util/kernel_ops_util.cpp`.

use super::super::arguments::View;
use super::super::call::Call;
use super::super::fault::{Checked, Fault, demand, of_rank, of_setting, of_shape};
use super::super::sizes::Size;
use crate::operators::Names;
use alloc::{format, vec::Vec};

/// A window in one dimension.
struct Window {
    kernel: Size,
    stride: i64,
    padding: i64,
    dilation: i64,
    output_padding: Option<i64>,
    ceil: bool,
}

impl Window {
    /// Returns the size of the result.
    fn output(&self, input: Size) -> Size {
        let kernel = match self.kernel {
            // A larger kernel makes the result smaller, unless the convolution is transposed.
            Size::UpTo(_) if self.output_padding.is_none() => Size::Any,
            kernel => kernel,
        };
        input.with(kernel, |input, kernel| {
            let reach = self.dilation.saturating_mul(kernel - 1);
            if let Some(output_padding) = self.output_padding {
                let start = (input - 1).saturating_mul(self.stride) - self.padding.saturating_mul(2);
                return start.saturating_add(reach).saturating_add(output_padding + 1);
            }
            let more = if self.ceil { self.stride - 1 } else { 0 };
            let room = input.saturating_add(self.padding.saturating_mul(2)) - reach - 1;
            let size = room.saturating_add(more).checked_div(self.stride).unwrap_or_default() + 1;
            let starts_outside = (size - 1).saturating_mul(self.stride) >= input.saturating_add(self.padding);
            if self.ceil && starts_outside { size - 1 } else { size }
        })
    }
}

/// Returns the item for a dimension: a list of one item applies to all.
fn item(list: &[i64], at: usize, default: i64) -> i64 {
    match list {
        [] => default,
        [one] => *one,
        list => list.get(at).copied().unwrap_or(default),
    }
}

impl Call<'_, '_> {
    /// Checks a list with an item for each dimension of a kernel, or one for all.
    fn for_dims(&self, name: &'static str, list: &[i64], dims: usize, least: i64) -> Checked {
        demand(list.len() == 1 || list.len() == dims, || {
            of_setting(name, format!("{name} has {} items, expected 1 or {dims}", list.len()))
        })?;
        match list.iter().find(|value| **value < least) {
            Some(value) => Err(of_setting(name, format!("{name} contains {value}, expected at least {least}"))),
            None => Ok(()),
        }
    }

    /// Checks that the spatial sizes of a result are positive.
    fn is_positive(&self, name: &'static str, sizes: &[Size], from: usize) -> Checked {
        let is_too_small = |(at, size): (usize, &Size)| size.bound().is_some_and(|size| size < i64::from(at >= from));
        demand(!sizes.iter().enumerate().any(is_too_small), || {
            of_shape(name, format!("the sizes of the result would be {}", super::super::arguments::text_of(sizes)))
        })
    }

    /// Returns the sizes of the result; `None` if they are known only when it runs.
    fn convolved(&self, out: &'static str) -> Result<Option<Vec<Size>>, Fault> {
        let (Some(input), Some(weight), Some(result)) = (self.tensor("input"), self.tensor("weight"), self.tensor(out))
        else {
            return Ok(None);
        };
        let rank = input.rank();
        demand(rank == 3 || rank == 4, || of_rank("input", format!("input has rank {rank}, expected 3 or 4")))?;
        for (name, view) in [("weight", weight), (out, result)] {
            demand(view.rank() == rank, || {
                of_rank(name, format!("{name} has rank {}, expected {rank} as input", view.rank()))
            })?;
        }
        if let Some(bias) = self.tensor("bias") {
            demand(bias.rank() == 1, || of_rank("bias", format!("bias has rank {}, expected 1", bias.rank())))?;
        }
        let dims = rank - 2;
        let lists = ["stride", "padding", "dilation"].map(|name| self.known_list(name));
        let [Some(stride), Some(padding), Some(dilation)] = lists else { return Ok(None) };
        let (Some(transposed), Some(groups)) = (self.boolean("transposed"), self.known("groups")) else {
            return Ok(None);
        };
        self.for_dims("stride", &stride, dims, 1)?;
        self.for_dims("padding", &padding, dims, 0)?;
        self.for_dims("dilation", &dilation, dims, 1)?;
        let mut output_padding = Vec::new();
        if transposed {
            let Some(list) = self.known_list("output_padding") else { return Ok(None) };
            self.for_dims("output_padding", &list, dims, 0)?;
            for at in 0..dims {
                let (value, stride, dilation) = (item(&list, at, 0), item(&stride, at, 1), item(&dilation, at, 1));
                demand(value < stride || value < dilation, || {
                    of_setting(
                        "output_padding",
                        format!(
                            "output_padding contains {value}, expected less than the stride {stride} or the dilation {dilation}"
                        ),
                    )
                })?;
            }
            output_padding = list;
        }
        let size = |view: View<'_>, dim: i64| view.size(dim).unwrap_or(Size::Any);
        let (first, second, channels) = (size(weight, 0), size(weight, 1), size(input, 1));
        if groups == 0 {
            let fault = of_setting("groups", "groups is 0, by which sizes are divided".into());
            return Err(fault.dies());
        }
        if let Size::Is(first) = first {
            demand(first >= groups && first % groups == 0, || {
                of_setting(
                    "groups",
                    format!("groups is {groups}, expected a divisor of {first}, the first size of weight"),
                )
            })?;
        }
        let expected = if transposed { first } else { second.map(|size| size.saturating_mul(groups)) };
        demand(channels.can_equal(expected), || {
            of_shape(
                "input",
                format!("input has {channels} channels, expected {expected} for weight with sizes {}", weight.text()),
            )
        })?;
        let outputs = if transposed { second.map(|size| size.saturating_mul(groups)) } else { first };
        let mut sizes: Vec<Size> = [size(input, 0), if channels.is(0) { Size::Is(0) } else { outputs }].into();
        for at in 0..dims {
            let window = Window {
                kernel: size(weight, at as i64 + 2),
                stride: item(&stride, at, 1),
                padding: item(&padding, at, 0),
                dilation: item(&dilation, at, 1),
                output_padding: transposed.then(|| item(&output_padding, at, 0)),
                ceil: false,
            };
            sizes.push(window.output(size(input, at as i64 + 2)));
        }
        self.is_positive(out, &sizes, 2)?;
        Ok(Some(sizes))
    }

    pub(super) fn convolution(&self, out: &'static str) -> Checked {
        match self.convolved(out)? {
            Some(sizes) => self.resize(out, &sizes),
            None => Ok(()),
        }
    }

    pub(super) fn convolution_backward(&self) -> Checked {
        if let (Some(sizes), Some(view)) = (self.convolved("grad_output")?, self.tensor("grad_output")) {
            self.has_sizes("grad_output", view, &sizes)?;
        }
        let mask = |at: usize| match self.named("output_mask") {
            Some(crate::schema::program::KernelTypes::BoolList(list)) => {
                list.items.as_deref().and_then(|items| items.get(at).copied()).unwrap_or(false)
            }
            _ => false,
        };
        for (at, (out, like)) in [("out0", "input"), ("out1", "weight")].into_iter().enumerate() {
            if let (true, Some(view)) = (mask(at), self.tensor(like)) {
                self.resize(out, &view.shape())?;
            }
        }
        match (mask(2), self.list("bias_sizes")) {
            (true, Some(sizes)) => self.resize("out2", &sizes),
            _ => Ok(()),
        }
    }

    pub(super) fn pool(&self, input: &'static str, outs: Names, is_max: bool) -> Checked {
        let Some(view) = self.tensor(input) else { return Ok(()) };
        self.pooled_input(input, view)?;
        let [Some(kernel), Some(stride), Some(padding)] =
            ["kernel_size", "stride", "padding"].map(|name| self.known_list(name))
        else {
            return Ok(());
        };
        let dilation = if is_max { self.known_list("dilation").unwrap_or_default() } else { Vec::new() };
        self.for_dims("kernel_size", &kernel, 2, 1)?;
        self.for_dims("padding", &padding, 2, 0)?;
        for (at, padding) in padding.iter().enumerate() {
            let kernel = item(&kernel, at, 1);
            demand(*padding <= kernel / 2, || {
                of_setting(
                    "padding",
                    format!("padding contains {padding}, expected at most half of the kernel size {kernel}"),
                )
            })?;
        }
        if !is_max && self.known("divisor_override") == Some(0) {
            return Err(of_setting("divisor_override", "divisor_override is 0".into()));
        }
        let Some(ceil) = self.boolean("ceil_mode") else { return Ok(()) };
        let mut sizes = view.shape();
        let from = sizes.len().saturating_sub(2);
        for (at, size) in sizes.iter_mut().skip(from).enumerate() {
            let kernel = item(&kernel, at, 1);
            let stride = item(&stride, at, kernel);
            if stride == 0 {
                let fault = of_setting("stride", "stride contains 0, by which sizes are divided".into());
                return Err(fault.dies());
            }
            let (padding, dilation) = (item(&padding, at, 0), item(&dilation, at, 1));
            let window = Window { kernel: Size::Is(kernel), stride, padding, dilation, output_padding: None, ceil };
            *size = window.output(*size);
        }
        let named = outs.first().copied().unwrap_or("grad_output");
        self.is_positive(named, &sizes, from)?;
        if let ([], Some(view)) = (outs, self.tensor("grad_output")) {
            return self.has_sizes("grad_output", view, &sizes);
        }
        outs.iter().try_for_each(|out| self.resize(out, &sizes))
    }

    fn pooled_input(&self, input: &'static str, view: View<'_>) -> Checked {
        let rank = view.rank();
        demand(rank == 3 || rank == 4, || of_rank(input, format!("{input} has rank {rank}, expected 3 or 4")))?;
        demand(!view.sizes.iter().skip(rank - 3).any(|size| *size == 0), || {
            of_shape(input, format!("{input} has sizes {}, expected elements", view.text()))
        })
    }

    /// Checks that there is an index for each gradient.
    pub(super) fn pooled_indices(&self) -> Checked {
        let (Some(indices), Some(gradients)) = (self.tensor("indices"), self.tensor("grad_output")) else {
            return Ok(());
        };
        let (Size::Is(found), Size::Is(expected)) = (indices.elements(), gradients.elements()) else { return Ok(()) };
        demand(found >= expected, || {
            of_shape("indices", format!("indices has sizes {}, expected {expected} elements", indices.text()))
        })
    }

    pub(super) fn adaptive_pool(&self) -> Checked {
        let (Some(view), Some(size)) = (self.tensor("self"), self.list("output_size")) else { return Ok(()) };
        self.pooled_input("self", view)?;
        demand(size.len() == 2, || {
            of_setting("output_size", format!("output_size has {} items, expected 2", size.len()))
        })?;
        demand(!size.iter().any(|size| matches!(size, Size::Is(..=0))), || {
            of_setting("output_size", "output_size contains a number below 1".into())
        })?;
        let mut expected = view.shape();
        expected.truncate(view.rank() - 2);
        expected.extend(size);
        self.resize("out", &expected)
    }
}
