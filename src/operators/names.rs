//! A test that checks name arguments of their operators, of the right kind.

use super::{Alpha, Argument, Check, Condition, Family, Kernel, Kind, KnownOperator, Promotion, Size};
use alloc::{vec, vec::Vec};

/// A tensor, or a list of tensors.
const TENSORS: &[Kind] = &[Kind::Tensor, Kind::TensorList, Kind::OptionalTensorList];
const TENSOR: &[Kind] = &[Kind::Tensor];
const INT: &[Kind] = &[Kind::Int, Kind::Any];
const INTS: &[Kind] = &[Kind::IntList];
const INT_OR_INTS: &[Kind] = &[Kind::Int, Kind::IntList];
const BOOL: &[Kind] = &[Kind::Bool, Kind::Any];
const NUMBER: &[Kind] = &[Kind::Number, Kind::Int, Kind::Double];
const NUMBER_OR_TENSOR: &[Kind] = &[Kind::Number, Kind::Int, Kind::Double, Kind::Tensor];

/// A name, and the kinds that its argument may have.
type Named = (&'static str, &'static [Kind]);

fn all(names: &[&'static str], kinds: &'static [Kind]) -> Vec<Named> {
    names.iter().map(|name| (*name, kinds)).collect()
}

fn of_checks(checks: &[Check]) -> Vec<Named> {
    checks.iter().flat_map(of_check).collect()
}

fn of_check(check: &Check) -> Vec<Named> {
    match *check {
        Check::SameType(names) | Check::OfType(names, _) | Check::Rank(names, _) | Check::SameShapeOrSingle(names) => {
            all(names, TENSORS)
        }
        Check::FirstOfType(name, _) => vec![(name, TENSORS)],
        Check::TypeSetting(setting, tensor) => vec![(setting, INT), (tensor, TENSOR)],
        Check::Promotes(promotion) => of_promotion(promotion),
        Check::NumberFits(number, tensor) | Check::NotZeroConverted(number, tensor) => {
            vec![(number, NUMBER), (tensor, TENSOR)]
        }
        Check::NotZero(number, tensor) => vec![(number, NUMBER_OR_TENSOR), (tensor, TENSOR)],
        Check::MemoryFormat(_) => vec![("memory_format", INT)],
        Check::Mode(name, _) => vec![(name, INT)],
        Check::Range(name, ..) => vec![(name, INT_OR_INTS)],
        Check::Between(name, ..) => vec![(name, &[Kind::Double])],
        Check::Is(name, _) => vec![(name, BOOL)],
        Check::Word(name, _) => vec![(name, &[Kind::String])],
        Check::OneOf(names) => all(names, &[Kind::Tensor, Kind::Number]),
        Check::Absent(name) => vec![(name, TENSOR)],
        Check::Count(name, _) => vec![(name, INTS)],
        Check::Ordered(low, high, _) => vec![(low, INT), (high, INT)],
        Check::QuantRange(low, high, tensor) => vec![(low, INT), (high, INT), (tensor, TENSOR)],
        Check::Kinds(names, _) => all(names, &[Kind::Any]),
        Check::NotEmpty(name) | Check::SizeIs(name, ..) | Check::Elements(name, _) => vec![(name, TENSOR)],
        Check::MoreRank(small, large, _) => vec![(small, TENSOR), (large, TENSOR)],
        Check::Dim(name, tensor) | Check::StrictDim(name, tensor) => vec![(name, INT), (tensor, TENSOR)],
        Check::Dims(name, tensor) => vec![(name, INTS), (tensor, TENSOR)],
        Check::SameSize(left, _, right, _) | Check::SameShape(left, right) | Check::BroadcastTo(left, right) => {
            vec![(left, TENSOR), (right, TENSOR)]
        }
        Check::Like(name, outs) => [vec![(name, TENSOR)], all(outs, TENSOR)].concat(),
        Check::Sizes(out, sizes) | Check::BroadcastToSizes(out, sizes) => {
            let of_size = |size: &Size| match *size {
                Size::Of(name, _) => Some((name, TENSOR)),
                Size::Setting(name) => Some((name, INT)),
                Size::Is(_) => None,
            };
            sizes.iter().filter_map(of_size).chain([(out, TENSOR)]).collect()
        }
        Check::Broadcast(names, out) => [all(names, TENSOR), vec![(out, TENSOR)]].concat(),
        Check::By(family) => of_family(family),
        Check::Dies(checks) | Check::Strays(checks) | Check::Fails(_, checks) => of_checks(checks),
        Check::Since(_, checks, before) => [of_checks(checks), of_checks(before)].concat(),
        Check::If(condition, then, otherwise) => {
            [of_condition(condition), of_checks(then), of_checks(otherwise)].concat()
        }
    }
}

fn of_promotion(promotion: &Promotion) -> Vec<Named> {
    let alpha: &[&str] = if promotion.alpha == Alpha::None { &[] } else { &["alpha"] };
    let (tensors, numbers) = (all(promotion.tensors, TENSOR), all(promotion.numbers, NUMBER));
    [tensors, numbers, all(alpha, NUMBER), vec![(promotion.out, TENSOR)]].concat()
}

fn of_condition(condition: Condition) -> Vec<Named> {
    match condition {
        Condition::Type(name, _) | Condition::Empty(name) => vec![(name, TENSORS)],
        Condition::SameTypes(names) | Condition::AnyType(names, _) => all(names, TENSORS),
        Condition::Null(name) => {
            vec![(name, &[Kind::Tensor, Kind::Int, Kind::Number, Kind::String, Kind::IntList, Kind::DoubleList])]
        }
        Condition::Bool(name) => vec![(name, BOOL)],
        Condition::DequantizesBytes => vec![("input", TENSOR)],
        Condition::SumsOneDimension => vec![("self", TENSOR), ("dim", INTS), ("out", TENSOR)],
        Condition::DropsOut => vec![("train", BOOL), ("p", &[Kind::Double])],
        Condition::KeepsOrder => vec![("self", TENSOR), ("dim_order", INTS)],
        Condition::EmptyList(name) => vec![(name, INTS)],
        Condition::SameEnd(name, other) => vec![(name, TENSOR), (other, TENSOR)],
        Condition::OneIndex(name) => vec![(name, TENSORS)],
        Condition::Mask(name, _) => vec![(name, &[Kind::BoolList])],
    }
}

/// Names that all operators of a family have.
fn of_family(family: Family) -> Vec<Named> {
    let (mut named, tensors): (Vec<Named>, &[&str]) = match family {
        Family::Reduction(input, dims, keep, outs) => {
            let dims = dims.map(|dims| (dims, INT_OR_INTS));
            let named = [(input, TENSOR)].into_iter().chain(dims).chain(keep.map(|keep| (keep, BOOL)));
            (named.collect(), outs)
        }
        Family::DimNotEmpty(dim, tensor) | Family::EndNotEmpty(dim, tensor) => {
            (vec![(dim, INT), (tensor, TENSOR)], &[])
        }
        Family::PooledIndices => (vec![], &["grad_output", "indices"]),
        Family::TopK => (vec![("k", INT), ("dim", INT)], &["self", "values", "indices"]),
        Family::MaskedSelect => (vec![], &["self", "mask", "out"]),
        Family::Nonzero | Family::Pdist | Family::TransposeMatrix | Family::ViewAsReal => (vec![], &["self", "out"]),
        Family::Glu | Family::Unsqueeze => (vec![("dim", INT)], &["self", "out"]),
        Family::Squeeze => (vec![("dim", INT_OR_INTS)], &["self", "out"]),
        Family::Convolution | Family::ConvolutionBackward => {
            let lists = all(&["stride", "padding", "dilation", "output_padding"], INTS);
            ([lists, vec![("transposed", BOOL), ("groups", INT)]].concat(), &["input", "weight"])
        }
        Family::MaxPool(input, outs) => {
            let lists = all(&["kernel_size", "stride", "padding", "dilation"], INTS);
            ([lists, vec![("ceil_mode", BOOL), (input, TENSOR)]].concat(), outs)
        }
        Family::AveragePool => {
            let lists = all(&["kernel_size", "stride", "padding"], INTS);
            ([lists, vec![("ceil_mode", BOOL)]].concat(), &["self", "out"])
        }
        Family::AdaptivePool | Family::UpsampleAntialias => (vec![("output_size", INTS)], &["self", "out"]),
        Family::Linear => (vec![], &["input", "weight", "bias", "out"]),
        Family::LayerNorm => (vec![("normalized_shape", INTS)], &["input", "weight", "bias", "out0", "out1", "out2"]),
        Family::BatchNorm(input, running) => {
            let more: &[&str] =
                if running { &["weight", "bias", "running_mean", "running_var"] } else { &["weight", "bias"] };
            (vec![(input, TENSOR)], more)
        }
        Family::GroupNorm => {
            (all(&["N", "C", "HxW", "group"], INT), &["input", "weight", "bias", "out0", "out1", "out2"])
        }
        Family::Cdist => (vec![], &["x1", "x2", "out"]),
        Family::RealFft => (vec![("dim", INTS), ("normalization", INT)], &["self", "out"]),
        Family::ComplexFft => (vec![("dim", INTS), ("normalization", INT), ("last_dim_size", INT)], &["self", "out"]),
        Family::Upsample => (vec![("output_size", INTS), ("scale_factors", &[Kind::DoubleList])], &["input", "out"]),
        Family::Expand | Family::View | Family::EtView => (vec![("size", INTS)], &["self", "out"]),
        Family::Repeat => (vec![("repeats", INTS)], &["self", "out"]),
        Family::RepeatInterleave => (vec![("output_size", INT)], &["repeats", "out"]),
        Family::Permute => (vec![("dims", INTS)], &["self", "out"]),
        Family::Transpose(first, second) => (vec![(first, INT), (second, INT)], &["self", "out"]),
        Family::CopyIndex => (vec![("index", INT)], &["copy_to", "copy_from"]),
        Family::FirstOfOne => (vec![("alpha", NUMBER)], &["self", "other"]),
        Family::Divisor => (vec![("a", INT), ("b", INT)], &[]),
        Family::Choice => (all(&["b", "t", "f"], &[Kind::Any]), &[]),
        Family::Cat | Family::Stack => (vec![("tensors", TENSORS), ("dim", INT)], &["out"]),
        Family::Split => (vec![("split_size", INT), ("dim", INT), ("out", TENSORS)], &["self"]),
        Family::SplitSizes => (vec![("split_sizes", INTS), ("dim", INT), ("out", TENSORS)], &["self"]),
        Family::Unbind => (vec![("dim", INT), ("out", TENSORS)], &["self"]),
        Family::Slice => (all(&["dim", "start", "end", "step"], INT), &["self", "out"]),
        Family::SliceScatter => (all(&["dim", "start", "end", "step"], INT), &["self", "src", "out"]),
        Family::Narrow => (all(&["dim", "start", "length"], INT), &["self", "out"]),
        Family::Select => (vec![("dim", INT), ("index", INT)], &["self", "out"]),
        Family::SelectScatter => (vec![("dim", INT), ("index", INT)], &["self", "src", "out"]),
        Family::Gather | Family::IndexSelect => (vec![("dim", INT)], &["self", "index", "out"]),
        Family::Scatter(source) => {
            (vec![("dim", INT)].into_iter().chain(source.map(|source| (source, TENSOR))).collect(), &["self", "index"])
        }
        Family::Index => (vec![("indices", TENSORS)], &["self", "out"]),
        Family::IndexPut | Family::IndexPutInPlace => (vec![("indices", TENSORS)], &["self", "values"]),
        Family::Embedding => (vec![], &["weight", "indices", "out"]),
        Family::QuantizedEmbedding(_) => (vec![], &["weight", "weight_scales", "weight_zero_points", "indices", "out"]),
        Family::ConstantPad => (vec![("pad", INTS)], &["self", "out"]),
        Family::Pad(..) => (vec![("padding", INTS)], &["self", "out"]),
        Family::PixelShuffle => (vec![("upscale_factor", INT)], &["self", "out"]),
        Family::PixelUnshuffle => (vec![("downscale_factor", INT)], &["self", "out"]),
        Family::Arange => (vec![("end", NUMBER)], &["out"]),
        Family::AsStrided => (vec![("size", INTS), ("stride", INTS), ("storage_offset", INT)], &["self", "out"]),
        Family::Diagonal => (all(&["dim1", "dim2", "offset"], INT), &["self", "out"]),
        Family::Unfold => (all(&["dimension", "size", "step"], INT), &["self", "out"]),
        Family::Roll => (vec![("shifts", INTS), ("dims", INTS)], &["self"]),
        Family::DimOrder => (vec![("dim_order", INTS)], &["out"]),
        Family::SizeList(name) => (vec![(name, INTS)], &["out"]),
        Family::PerChannel(axis) => (vec![(axis, INT)], &["input", "scales", "zero_points"]),
        Family::PerToken => (vec![], &["input", "scales", "zero_points"]),
        Family::ZeroPoints => (all(&["quant_min", "quant_max"], INT), &["input", "zero_points"]),
        Family::HalfMoments => (vec![("normalized_shape", INTS)], &["input"]),
        Family::ChooseQparams => (vec![], &["input", "scale_out", "zero_point_out"]),
    };
    named.extend(all(tensors, TENSOR));
    named
}

fn of_kernel(kernel: &Kernel) -> Vec<Named> {
    let mut named = of_checks(kernel.checks);
    for check in kernel.orders {
        named.extend(all(check.arguments, TENSORS));
        named.extend(check.unless.map(|name| (name, BOOL)));
    }
    named
}

#[test]
fn checks_name_arguments_of_their_operator_of_the_right_kind() {
    let (mut names, mut wrong) = (0, Vec::new());
    let kind = |row: &KnownOperator, name: &str| {
        row.arguments.iter().find(|argument: &&Argument| argument.name == name).map(|argument| argument.kind)
    };
    for row in super::all() {
        for kernel in [row.kernel, row.portable].into_iter().flatten() {
            for (name, kinds) in of_kernel(kernel) {
                let found = kind(row, name);
                if !found.is_some_and(|kind| kinds.contains(&kind)) {
                    wrong.push((row.name, name, found));
                }
                names += 1;
            }
        }
    }
    assert!(wrong.is_empty() && names > 2000, "{wrong:?} of {names}");
}
