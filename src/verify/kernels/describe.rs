//! The checks of an operator's kernels as text, from the table of operators.

use crate::operators::versions::V0_1;
use crate::operators::{
    self, Argument, Cast, Check, Condition, Effect, Family, Kernel, KnownOperator, Names, Orders, Promotion, Size,
};
use alloc::{format, string::String, vec::Vec};

/// Returns the full names of the operators whose calls are checked, sorted.
pub fn checked_operators() -> Vec<&'static str> {
    let mut names: Vec<&str> = operators::all().filter(|row| row.kernel.is_some()).map(|row| row.name).collect();
    names.sort_unstable();
    names
}

/// Returns what is checked in calls of an operator, as Markdown; `None` if its calls are not checked.
///
/// ```
/// let text = executorch_format::verify::explain_operator("aten::cat.out").unwrap_or_default();
/// assert!(text.contains("portable/cpu/op_cat.cpp"));
/// assert_eq!(executorch_format::verify::explain_operator("my::op"), None);
/// ```
pub fn explain_operator(name: &str) -> Option<String> {
    let row: &KnownOperator = operators::all().find(|row| row.name == name)?;
    let kernel = row.kernel?;
    let mut text = String::from("Arguments:");
    for (at, argument) in row.arguments.iter().enumerate() {
        text += if at > 0 { ", " } else { " " };
        text += &format!("`{}` ({})", argument.name, argument.kinds());
    }
    text += if row.repeats_result { ", then the result again.\n\n" } else { ".\n\n" };
    text += &of_memory(row.arguments);
    text += &of_kernel(kernel);
    if let Some(portable) = row.portable {
        text += "\n";
        text += &of_kernel(portable);
    }
    Some(text)
}

/// Returns the demands on the memory of results (`planned-memory-overlap`).
fn of_memory(arguments: &[Argument]) -> String {
    let inputs = arguments.iter().filter(|argument| !argument.is_output() && argument.kind.has_tensors());
    let mut inputs = inputs.map(|argument| argument.name);
    if inputs.next().is_none() {
        return String::new();
    }
    let first = arguments.first().map_or("", |argument| argument.name);
    let mut lines = String::new();
    for argument in arguments {
        let name = argument.name;
        lines += &match argument.effect {
            Effect::Write => format!("- `{name}`: apart from all inputs\n"),
            Effect::Elementwise => {
                format!("- `{name}`: apart from all inputs, or in the place of one with as many bytes\n")
            }
            Effect::OverFirst => format!("- `{name}`: apart from all inputs, or in the place of `{first}`\n"),
            Effect::InPlace | Effect::Replace | Effect::Fill => {
                format!("- `{name}`: changed in place, and apart from all other inputs\n")
            }
            Effect::Scratch => format!("- `{name}`: scratch memory, apart from all others\n"),
            Effect::View => format!("- `{name}`: a view of `{first}`\n"),
            Effect::Read | Effect::Refer => continue,
        };
    }
    if lines.is_empty() { lines } else { format!("Memory (`planned-memory-overlap`):\n\n{lines}\n") }
}

fn of_kernel(kernel: &Kernel) -> String {
    let mut text = format!("Demands of `kernels/{}`:\n\n", kernel.source);
    for check in kernel.orders {
        let orders = match check.orders {
            Orders::Contiguous => "contiguous",
            Orders::Either => "contiguous or channels-last",
            Orders::Same => "all contiguous or all channels-last",
        };
        let unless = check.unless.map(|name| format!(", unless `{name}` is true")).unwrap_or_default();
        let since = match check.releases.first() {
            Some(release) if *check.releases != *V0_1 => format!(" (since {release})"),
            _ => String::new(),
        };
        text += &format!("- {}: {orders}{unless}{since}\n", list(check.arguments));
    }
    for check in kernel.checks {
        text += &format!("- {}\n", of_check(check));
    }
    if !kernel.other_numbers.is_empty() {
        text += "- other numbers than with contiguous tensors for some dim orders (`kernel-wrong-values`)\n";
    }
    text
}

fn list(names: Names) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn all(checks: &[Check]) -> String {
    let texts: Vec<String> = checks.iter().map(of_check).collect();
    if texts.is_empty() { String::from("nothing more") } else { texts.join("; ") }
}

fn of_check(check: &Check) -> String {
    match *check {
        Check::SameType(names) => format!("{}: one type", list(names)),
        Check::OfType(names, types) => format!("{}: {}", list(names), super::types::names(types)),
        Check::FirstOfType(name, types) => format!("the first of `{name}`: {}", super::types::names(types)),
        Check::TypeSetting(setting, tensor) => format!("`{setting}`, if not Null: the type of `{tensor}`"),
        Check::Promotes(rule) => of_promotion(rule),
        Check::NumberFits(number, tensor) => format!("`{number}`: in the range of the type of `{tensor}`"),
        Check::Range(name, low, high) => match (low, high) {
            (low, i64::MAX) => format!("`{name}`: at least {low}"),
            (i64::MIN, high) => format!("`{name}`: at most {high}"),
            (low, high) if low == high => format!("`{name}`: {low} or Null"),
            (low, high) => format!("`{name}`: {low} to {high}"),
        },
        Check::Mode(name, count) => format!("`{name}`: 0 to {}, in its low 32 bits", count - 1),
        Check::MemoryFormat(count) => {
            format!("`memory_format`: 0{}, in its low 8 bits, or Null", if count > 1 { " to 1" } else { "" })
        }
        Check::Between(name, low, high) => format!("`{name}`: {low} to {high}"),
        Check::Is(name, value) => format!("`{name}`: {value}"),
        Check::Word(name, words) => format!("`{name}`: {}", words.join(" or ")),
        Check::NotZero(number, tensor) => format!("`{number}`: no 0 if `{tensor}` has integers"),
        Check::NotZeroConverted(number, tensor) => format!("`{number}`: not 0 as an integer of `{tensor}`"),
        Check::OneOf(names) => format!("{}: not all Null", list(names)),
        Check::Absent(name) => format!("`{name}`: Null"),
        Check::Count(name, count) => format!("`{name}`: {count} items"),
        Check::Ordered(low, high, strictly) => {
            format!("`{low}`: {} `{high}`", if strictly { "less than" } else { "at most" })
        }
        Check::QuantRange(low, high, tensor) => format!("`{low}`, `{high}`: in the range of the type of `{tensor}`"),
        Check::Rank(names, ranks) => {
            let taken: Vec<String> =
                (0..=16).filter(|rank| ranks >> rank & 1 == 1).map(|rank| format!("{rank}")).collect();
            match taken.as_slice() {
                [first, .., last] if last == "16" => format!("{}: rank {first} or more", list(names)),
                ranks => format!("{}: rank {}", list(names), ranks.join(" or ")),
            }
        }
        Check::MoreRank(small, large, 0) => format!("`{large}`: the rank of `{small}`"),
        Check::MoreRank(small, large, more) => format!("`{large}`: the rank of `{small}` and {more} more"),
        Check::Dim(name, tensor) => format!("`{name}`: a dimension of `{tensor}`; 0 or -1 if it has rank 0"),
        Check::StrictDim(name, tensor) => format!("`{name}`: a dimension of `{tensor}`, which does not have rank 0"),
        Check::Dims(name, tensor) => format!("`{name}`: dimensions of `{tensor}`, each once"),
        Check::SameSize(left, i, right, j) => {
            format!("dimension {i} of `{left}`: the size of dimension {j} of `{right}`")
        }
        Check::SizeIs(name, dim, size) => format!("dimension {dim} of `{name}`: size {size}"),
        Check::Elements(name, count) => format!("`{name}`: {count} elements"),
        Check::Like(name, outs) => format!("{}: the sizes of `{name}`", list(outs)),
        Check::SameShape(name, other) => format!("`{name}`: the sizes of `{other}`"),
        Check::SameShapeOrSingle(names) => format!("{}: the same sizes, or a single element each", list(names)),
        Check::Sizes(out, sizes) => format!("`{out}`: sizes {}", of_sizes(sizes)),
        Check::Broadcast(names, out) => format!("`{out}`: the sizes to which {} are broadcast", list(names)),
        Check::BroadcastToSizes(name, sizes) => format!("`{name}`: sizes that can be broadcast to {}", of_sizes(sizes)),
        Check::BroadcastTo(name, target) => format!("`{name}`: sizes that can be broadcast to those of `{target}`"),
        Check::Kinds(names, kinds) => format!("{}, if constant: {}", list(names), operators::kind_names(kinds)),
        Check::NotEmpty(name) => format!("`{name}`: elements"),
        Check::By(family) => String::from(of_family(family)),
        Check::Dies(checks) => format!("a violation ends the process: {}", all(checks)),
        Check::Strays(checks) => {
            format!("a violation accesses memory outside of the tensors, or computes other numbers: {}", all(checks))
        }
        Check::Fails(code, checks) => format!("a violation is error 0x{code:x}: {}", all(checks)),
        Check::If(condition, then, otherwise) => {
            let otherwise =
                if otherwise.is_empty() { String::new() } else { format!("; otherwise: {}", all(otherwise)) };
            format!("if {}: {}{otherwise}", of_condition(condition), all(then))
        }
        Check::Since(releases, checks, before) => {
            let since = releases.first().map(|release| format!("{release}")).unwrap_or_default();
            let mut parts = Vec::new();
            if !checks.is_empty() {
                parts.push(format!("since {since}: {}", all(checks)));
            }
            if !before.is_empty() {
                parts.push(format!("before {since}: {}", all(before)));
            }
            parts.join("; ")
        }
    }
}

fn of_sizes(sizes: &[Size]) -> String {
    let size = |size: &Size| match *size {
        Size::Of(name, dim) => format!("dimension {dim} of `{name}`"),
        Size::Setting(name) => format!("`{name}`"),
        Size::Is(size) => format!("{size}"),
    };
    let sizes: Vec<String> = sizes.iter().map(size).collect();
    format!("[{}]", sizes.join(", "))
}

fn of_promotion(rule: &Promotion) -> String {
    let cast = match rule.cast {
        Cast::Can => "a type to which the result can be cast",
        Cast::Same => "the type of the result",
        Cast::Any => "any type of those",
    };
    format!(
        "{} are promoted by PyTorch's rules to one of {}; `{}` has {cast}",
        list(rule.tensors),
        super::types::names(rule.computes),
        rule.out
    )
}

fn of_condition(condition: Condition) -> String {
    match condition {
        Condition::Type(name, types) => format!("`{name}` is one of {}", super::types::names(types)),
        Condition::AnyType(names, types) => format!("one of {} is one of {}", list(names), super::types::names(types)),
        Condition::SameTypes(names) => format!("{} have one type", list(names)),
        Condition::Null(name) => format!("`{name}` is Null"),
        Condition::Bool(name) => format!("`{name}` is a Bool"),
        Condition::DequantizesBytes => String::from("`input` is contiguous and i8, and `out_dtype` f32 or Null"),
        Condition::Empty(name) => format!("`{name}` has no element"),
        Condition::SumsOneDimension => String::from(
            "`dim` has one item, and `self` and `out` one type, other than complex32, complex64 and complex128",
        ),
        Condition::DropsOut => String::from("`train` is true or Null, and `p` is not 0"),
        Condition::KeepsOrder => String::from("`dim_order` is Null or that of `self`"),
        Condition::EmptyList(name) => format!("`{name}` has no item"),
        Condition::SameEnd(name, other) => {
            format!("`{name}` and `{other}` have the same sizes, apart from leading ones")
        }
        Condition::OneIndex(name) => format!("`{name}` has a single tensor, of rank 1 and of integers"),
        Condition::Mask(name, at) => format!("item {at} of `{name}` is true"),
    }
}

fn of_family(family: Family) -> &'static str {
    match family {
        Family::Reduction(..) => {
            "the results have the sizes of the input without the reduced dimensions, or with 1 if `keepdim`"
        }
        Family::DimNotEmpty(..) => "the dimension has elements",
        Family::EndNotEmpty(..) => "the dimension and those after it have elements",
        Family::TopK => "`k` is at most the size of the dimension; the results have `k` instead of that size",
        Family::Nonzero => "`out` has a column for each dimension of `self`, and no more rows than `self` has elements",
        Family::MaskedSelect => "`self` and `mask` can be broadcast; `out` has no more elements than that",
        Family::Glu => "`dim` is a dimension of even size, of which `out` has half",
        Family::Convolution => {
            "ranks 3 or 4; lists with one item or one for each dimension; strides and dilations from 1, paddings from 0; channels and `groups` match; `out` has the sizes of the convolution"
        }
        Family::ConvolutionBackward => {
            "the demands of a convolution; `grad_output` has the sizes of its result; the results have those of the inputs"
        }
        Family::MaxPool(..) | Family::AveragePool => {
            "rank 3 or 4 with elements; one or two items from 1 in `kernel_size`, from 0 to half of it in `padding`; strides are not 0; the results have the sizes of the pooling"
        }
        Family::PooledIndices => "`indices` has an element for each of `grad_output`",
        Family::AdaptivePool => "rank 3 or 4 with elements; two items from 1 in `output_size`, which `out` has",
        Family::Linear => "`out` has the sizes of `input` with the rows of `weight` last; `bias` has these or 1",
        Family::LayerNorm => {
            "`normalized_shape` is the end of the sizes of `input`, and the sizes of `weight` and `bias`; `out0` has the sizes of `input`, `out1` and `out2` with 1 at the end"
        }
        Family::BatchNorm(..) => "weights and statistics have an element for each channel",
        Family::GroupNorm => {
            "`N`, `C` and `HxW` are the sizes of `input`; `group` divides `C`; weights have `C` elements; `out1` and `out2` have sizes [`N`, `group`]"
        }
        Family::Cdist => "`out` has the broadcast sizes of batches, then the rows of `x1` and `x2`",
        Family::Pdist => "`out` has an element for each pair of rows",
        Family::RealFft | Family::ComplexFft => {
            "`dim` lists dimensions from 0; types of the same precision; the last of them has half of the frequencies; `normalization`, of which 32 bits are read: 0 to 2"
        }
        Family::Upsample => "either `output_size` or `scale_factors`, with two positive items; `out` has these sizes",
        Family::UpsampleAntialias => "`out` has the sizes of `self` with `output_size` at the end",
        Family::Expand => "`size` has at least the rank of `self`; sizes other than 1 stay",
        Family::Repeat => "`repeats` has at least the rank of `self` and no negative item; `out` has the product",
        Family::RepeatInterleave => {
            "if `repeats` is constant: no negative number; `output_size`, or else the size of `out`: the sum"
        }
        Family::Permute => "`dims` lists each dimension of `self` once; `out` has the sizes in that order",
        Family::Transpose(..) | Family::TransposeMatrix => "`out` has the sizes of `self` with two exchanged",
        Family::View | Family::EtView => {
            "`size` has the elements of `self`, with at most one -1; `out` has these sizes"
        }
        Family::FirstOfOne => {
            "`alpha`: 1 if `self` has one element and `other` has more (else other numbers are computed)"
        }
        Family::Divisor => "`b`: not 0 if both are integers",
        Family::Choice => "the chosen one of `t` and `f`: Int, Bool or Double",
        Family::CopyIndex => {
            "`copy_to` has one dimension more than `copy_from`, and else its sizes; `index` is at least 0"
        }
        Family::Unsqueeze => "`out` has a further dimension of size 1",
        Family::Squeeze => "`out` has no listed dimension of size 1",
        Family::Cat => {
            "at least one tensor; types can be cast to that of `out`; sizes of tensors with elements are the same but in `dim`, of which `out` has the sum"
        }
        Family::Stack => {
            "at least one tensor; types can be cast to that of `out`; sizes are the same; `out` has their number in `dim`"
        }
        Family::Split | Family::SplitSizes | Family::Unbind => {
            "`out` has a tensor for each part, with its sizes; parts add up to the dimension"
        }
        Family::Slice => "the slice is inside the dimension; `out` has its sizes",
        Family::Narrow => {
            "the slice is inside the dimension, and starts at 0 or later unless it is empty; `out` has its sizes"
        }
        Family::SliceScatter => "`src` has the sizes of the slice",
        Family::Select => "`index` is in the dimension; `out` has the other dimensions",
        Family::SelectScatter => "`index` is in the dimension; `src` has the other dimensions",
        Family::Gather | Family::Scatter(_) => {
            "`index` has the rank of `self`, and at most its sizes in other dimensions; at most those of a source"
        }
        Family::Index => {
            "at most as many indices as dimensions; masks have the sizes of theirs; others can be broadcast; `out` has the sizes of what is selected"
        }
        Family::IndexPut => "the same as for `aten::index`; `values` can be broadcast to what is selected",
        Family::IndexPutInPlace => "a single index, of rank 1; `values` has the sizes of what is selected",
        Family::IndexSelect => "`out` has the elements of `index` in the dimension",
        Family::Embedding => "`out` has the sizes of `indices`, then the columns of `weight`",
        Family::QuantizedEmbedding(_) => {
            "`out` has the sizes of `indices`, then the unpacked columns of `weight`; a row of scales for each row; groups divide the columns; zero points have the sizes of the scales"
        }
        Family::ConstantPad => "two items from 0 in `pad` for each padded dimension; `out` has the padded sizes",
        Family::Pad(..) => {
            "two items in `padding` for each padded dimension, smaller than it if reflected; one or two dimensions before; `out` has the padded sizes"
        }
        Family::PixelShuffle | Family::PixelUnshuffle => "the factor divides the sizes; `out` has the rearranged sizes",
        Family::Arange => "`out` has rank 1, and the length of the range, which ends",
        Family::AsStrided => {
            "`stride` has an item for each of `size`; all elements are inside `self`; `out` has these sizes"
        }
        Family::Diagonal => "two different dimensions; `out` has the others, then the length of the diagonal",
        Family::Unfold => "`size` is at most that of the dimension; `out` has the windows, and `size` last",
        Family::ViewAsReal => "`out` has the sizes of `self`, then 2",
        Family::Roll => "`shifts` and `dims` have the same number of items, at least one; dimensions are in range",
        Family::DimOrder => {
            "`dim_order` is contiguous or channels-last, and that of `out`; without it, `self` and `out` have one dim order"
        }
        Family::SizeList(_) => "`out` has the sizes in the list",
        Family::PerChannel(_) => "a scale and a zero point for each channel",
        Family::ZeroPoints => "zero points, if constant or Null (0): `quant_min` to `quant_max`",
        Family::PerToken => "a scale and a zero point for each token",
        Family::HalfMoments => {
            "f16 and bf16 are right only for fewer than 256 elements in `normalized_shape`, 16 in 1.2: others are read as f32"
        }
        Family::ChooseQparams => "the results have the sizes of `input`, with 1 at the end",
    }
}
