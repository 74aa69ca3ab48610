//! Products, norms, distances, transforms and interpolation: `portable/cpu/util/{matmul,normalization}_ops_util.cpp`, `distance_util.cpp`,
//! `upsample_util.cpp`, `optimized/cpu/op_fft_r2c.cpp`.

use super::super::call::Call;
use super::super::fault::{Checked, Fault, Reaction, demand, of_rank, of_setting, of_shape, of_type};
use super::super::sizes::{Size, product};
use crate::operators::Types;
use crate::operators::versions::V1_3;
use crate::schema::ScalarType;
use crate::schema::program::KernelTypes;
use crate::verify::rule;
use alloc::{format, vec::Vec};

impl Call<'_, '_> {
    pub(super) fn linear(&self) -> Checked {
        let (Some(input), Some(outputs)) = (self.tensor("input"), self.size("weight", 0)) else { return Ok(()) };
        let mut expected = input.shape();
        expected.pop();
        expected.push(outputs);
        self.resize("out", &expected)?;
        match (self.tensor("bias"), self.tensor("out")) {
            (Some(bias), Some(out)) if !out.is_empty() => {
                demand(bias.rank() == 1, || of_rank("bias", format!("bias has rank {}, expected 1", bias.rank())))?;
                let size = bias.size(0).unwrap_or(Size::Any);
                if size.is(1) {
                    return Ok(());
                }
                demand(size.can_equal(outputs), || {
                    of_shape("bias", format!("bias has size {size}, expected {outputs} or 1"))
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn layer_norm(&self) -> Checked {
        let (Some(input), Some(normalized)) = (self.tensor("input"), self.list("normalized_shape")) else {
            return Ok(());
        };
        demand(!normalized.is_empty(), || of_setting("normalized_shape", "normalized_shape is empty".into()))?;
        demand(input.rank() >= normalized.len(), || {
            of_rank("input", format!("input has rank {}, expected at least {}", input.rank(), normalized.len()))
        })?;
        let kept = input.rank() - normalized.len();
        for (at, (size, expected)) in input.shape().iter().skip(kept).zip(&normalized).enumerate() {
            demand(size.can_equal(*expected), || {
                of_shape(
                    "input",
                    format!(
                        "dimension {} of input has size {size}, expected {expected} as in normalized_shape",
                        at + kept
                    ),
                )
            })?;
        }
        for name in ["weight", "bias"] {
            if let Some(view) = self.tensor(name) {
                self.has_sizes(name, view, &normalized)?;
            }
        }
        self.resize("out0", &input.shape())?;
        let mut expected = input.shape();
        expected.iter_mut().skip(kept).for_each(|size| *size = Size::Is(1));
        self.resize("out1", &expected)?;
        self.resize("out2", &expected)
    }

    /// Checks that f16 and bf16 are not read as f32: `UpdateMomentsVec` in `moments_utils.h` loads vectors of the accumulator's type, which
    /// became f32 for both in 1.2 (#16727). Fewer elements than a vector of the processor has, since 1.3 fewer than 256, are read one by one.
    pub(super) fn half_moments(&self) -> Checked {
        let (Some(input), Some(normalized)) = (self.tensor("input"), self.list("normalized_shape")) else {
            return Ok(());
        };
        let is_half = matches!(input.scalar_type, ScalarType::HALF | ScalarType::BFLOAT16);
        let least = if self.release.is_in(V1_3) { 256 } else { 16 };
        match product(&normalized) {
            Size::Is(elements) if is_half && elements >= least && !input.is_empty() => Err(Fault {
                argument: Some("input"),
                rule: rule::KERNEL_WRONG_VALUES,
                reaction: Reaction::Miscomputes,
                text: format!(
                    "input has a type of half precision and {elements} elements to normalize together, expected fewer than {least}: the \
                     optimized kernel reads them as f32; normalize in f32 (`layer_norm(x.float()).to(x.dtype)`)"
                ),
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn batch_norm(&self, input: &'static str, running: bool) -> Checked {
        let Some(view) = self.tensor(input) else { return Ok(()) };
        let names: &[&'static str] =
            if running { &["weight", "bias", "running_mean", "running_var"] } else { &["weight", "bias"] };
        for name in names {
            let Some(of_channels) = self.tensor(name) else { continue };
            demand(of_channels.rank() == 1, || {
                of_rank(name, format!("{name} has rank {}, expected 1", of_channels.rank()))
            })?;
            let (Some(channels), Some(size)) = (view.size(1), of_channels.size(0)) else {
                return Err(of_rank(input, format!("{input} has rank {}, expected at least 2", view.rank())));
            };
            demand(size.can_equal(channels), || {
                of_shape(name, format!("{name} has size {size}, expected {channels}, the channels of {input}"))
            })?;
        }
        Ok(())
    }

    pub(super) fn group_norm(&self) -> Checked {
        let Some(input) = self.tensor("input") else { return Ok(()) };
        let [batch, channels, inner, groups] =
            ["N", "C", "HxW", "group"].map(|name| self.int(name).unwrap_or(Size::Any));
        demand(input.rank() >= 2, || {
            of_rank("input", format!("input has rank {}, expected at least 2", input.rank())).dies()
        })?;
        for (dim, name, expected) in [(0, "N", batch), (1, "C", channels)] {
            let size = input.size(dim).unwrap_or(Size::Any);
            demand(size.can_equal(expected), || {
                of_setting(name, format!("{name} is {expected}, but dimension {dim} of input has size {size}"))
            })?;
        }
        let elements = product(&[batch, channels, inner]);
        demand(input.elements().can_equal(elements), || {
            of_setting("HxW", format!("N * C * HxW is {elements}, but input has sizes {}", input.text()))
        })?;
        if let Size::Is(groups) = groups {
            demand(groups > 0, || of_setting("group", format!("group is {groups}, expected more than 0")))?;
            if let Size::Is(channels) = channels {
                demand(channels % groups == 0, || {
                    of_setting("group", format!("group is {groups}, expected a divisor of {channels}"))
                })?;
            }
        }
        for name in ["weight", "bias"] {
            if let Some(view) = self.tensor(name) {
                self.has_sizes(name, view, &[channels])?;
            }
        }
        self.resize("out0", &input.shape())?;
        self.resize("out1", &[batch, groups])?;
        self.resize("out2", &[batch, groups])
    }

    pub(super) fn cdist(&self) -> Checked {
        let (Some(left), Some(right)) = (self.tensor("x1"), self.tensor("x2")) else { return Ok(()) };
        let (one, other) = (left.shape(), right.shape());
        let (Some((one_batch, [rows, _])), Some((other_batch, [columns, _]))) =
            (one.split_last_chunk(), other.split_last_chunk())
        else {
            return Ok(());
        };
        let mut expected = self.both("x2", one_batch, other_batch, left)?;
        expected.extend([*rows, *columns]);
        self.resize("out", &expected)
    }

    pub(super) fn pdist(&self) -> Checked {
        let Some(rows) = self.size("self", 0) else { return Ok(()) };
        self.resize("out", &[rows.map(|rows| rows.saturating_mul(rows - 1) / 2)])
    }

    /// Checks the normalization of a transform. The kernel converts it to 32 bits.
    pub(super) fn normalization(&self) -> Checked {
        let Some(normalization) = self.known("normalization") else { return Ok(()) };
        demand((0..=2).contains(&(normalization as i32)), || {
            of_setting("normalization", format!("normalization is {normalization}, expected 0 to 2"))
        })
    }

    /// Checks a transform between a real and a complex tensor, whose last dimension has half of the frequencies.
    pub(super) fn fft(&self, real: &'static str, complex: &'static str, to_real: bool) -> Checked {
        let (Some(input), Some(dims)) = (self.tensor("self"), self.known_list("dim")) else { return Ok(()) };
        let (Some(last), rank) = (dims.last().copied(), input.rank() as i64) else {
            return Err(of_setting("dim", "dim is empty".into()));
        };
        if let (Some(numbers), Some(pairs)) = (self.tensor(real), self.tensor(complex)) {
            let expected = match numbers.scalar_type {
                ScalarType::HALF => 8,
                ScalarType::FLOAT => 9,
                ScalarType::DOUBLE => 10,
                _ => -1,
            };
            demand(pairs.scalar_type.0 == expected, || {
                let name = |of: ScalarType| of.short_name().unwrap_or("a type without a name");
                of_type(
                    complex,
                    format!(
                        "{complex} is {}, and {real} {}, expected complex numbers of the same precision",
                        name(pairs.scalar_type),
                        name(numbers.scalar_type)
                    ),
                )
            })?;
        }
        let mut seen = 0_u32;
        for dim in dims {
            demand((0..rank).contains(&dim), || {
                of_setting("dim", format!("dim contains {dim}, expected 0 to {}", rank - 1))
            })?;
            // The library for transforms throws an exception.
            let is_empty = input.is_open || input.is_empty();
            demand(is_empty || seen >> dim & 1 == 0, || {
                of_setting("dim", format!("dim contains dimension {dim} twice")).with(Reaction::Refuses(0x1))
            })?;
            seen |= 1 << dim;
        }
        let mut expected = input.shape();
        if let Some(size) = usize::try_from(last).ok().and_then(|last| expected.get_mut(last)) {
            *size =
                if to_real { self.int("last_dim_size").unwrap_or(Size::Any) } else { size.map(|size| size / 2 + 1) };
        }
        self.resize("out", &expected)?;
        self.types_in(if to_real { &["out"] } else { &["self"] }, Types::FLOAT32.and(Types::DOUBLE))
    }

    pub(super) fn upsample(&self) -> Checked {
        let Some(input) = self.tensor("input") else { return Ok(()) };
        let (no_size, no_factors) = (self.is_null("output_size"), self.is_null("scale_factors"));
        demand(no_size != no_factors, || {
            of_setting(
                "output_size",
                "output_size and scale_factors are both given or both Null, expected one of them".into(),
            )
        })?;
        let mut expected: Vec<Size> = input.shape();
        expected.truncate(2);
        if no_size {
            let Some(KernelTypes::DoubleList(factors)) = self.named("scale_factors") else { return Ok(()) };
            let factors = factors.items.as_deref().unwrap_or_default();
            demand(factors.len() == 2, || {
                of_setting("scale_factors", format!("scale_factors has {} items, expected 2", factors.len()))
            })?;
            demand(!factors.iter().any(|factor| *factor <= 0.0 || factor.is_nan()), || {
                of_setting("scale_factors", "scale_factors contains a number that is not positive".into())
            })?;
            for (size, factor) in input.shape().into_iter().skip(2).zip(factors) {
                expected.push(size.map(|size| (size as f64 * factor) as i64));
            }
        } else {
            let Some(sizes) = self.list("output_size") else { return Ok(()) };
            demand(sizes.len() == 2, || {
                of_setting("output_size", format!("output_size has {} items, expected 2", sizes.len()))
            })?;
            expected.extend(sizes);
        }
        demand(!expected.iter().skip(2).any(|size| matches!(size, Size::Is(..=0))), || {
            of_setting("output_size", "the result would be empty".into())
        })?;
        self.resize("out", &expected)
    }

    pub(super) fn upsample_antialias(&self) -> Checked {
        let (Some(input), Some(out), Some(sizes)) = (self.tensor("self"), self.tensor("out"), self.list("output_size"))
        else {
            return Ok(());
        };
        let mut expected: Vec<Size> = input.shape();
        expected.truncate(2);
        expected.extend(sizes);
        self.has_sizes("out", out, &expected)
    }
}
