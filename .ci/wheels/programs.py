"""Programs of one call that check themselves. `CASES` has a function of tensors and its inputs for each name."""

import torch
from torch.nn import functional

CASES = {}
CHANNELS_LAST = torch.channels_last
torch.manual_seed(3)


def add(name, call, *inputs):
    CASES[name] = call, inputs


def random(*sizes, dtype=torch.float32):
    if dtype.is_floating_point:
        return (torch.randn(sizes) * 1.3).to(dtype)
    return torch.randint(0 if dtype == torch.bool else 1, 2 if dtype == torch.bool else 5, sizes).to(dtype)


def divisor(*sizes, dtype):
    """Returns numbers far from 0."""
    return random(*sizes, dtype=dtype).to(torch.float32).abs().add(1).to(dtype)


def reductions(order, tensor):
    over_dims = {
        "sum": lambda x, dims: x.sum(dims, keepdim=True), "mean": lambda x, dims: x.mean(dims, keepdim=True),
        "amax": lambda x, dims: x.amax(dims, keepdim=True), "amin": lambda x, dims: x.amin(dims, keepdim=True),
        "var": lambda x, dims: x.var(dims, keepdim=True), "var_0": lambda x, dims: x.var(dims, correction=0, keepdim=True),
        "any": lambda x, dims: torch.ops.aten.any.dims(x > 1.5, dims, True),
    }
    is_float = tensor.dtype == torch.float32
    lists = [[dim for dim in range(4) if bits >> dim & 1] for bits in range(1, 16)] if is_float else [[1], [1, 3]]
    for name, call in over_dims.items():
        for dims in lists:
            add(f"{name}_{order}_{''.join(map(str, dims))}", lambda x, call=call, dims=dims: call(x, dims), tensor)
    over_dim = {
        "max": lambda x, dim: x.max(dim, keepdim=True)[0], "min": lambda x, dim: x.min(dim, keepdim=True)[1],
        "argmax": lambda x, dim: x.argmax(dim, keepdim=True), "argmin": lambda x, dim: x.argmin(dim, keepdim=True),
        "cumsum": torch.cumsum, "prod": lambda x, dim: x.prod(dim, keepdim=True), "softmax": torch.softmax,
        "log_softmax": torch.log_softmax, "logsumexp": torch.logsumexp, "cat": lambda x, dim: torch.cat([x, x * 2], dim),
        "stack": lambda x, dim: torch.stack([x, x * 2], dim), "narrow": lambda x, dim: x.narrow(dim, 1, 1), "flip": lambda x, dim: x.flip(dim),
        "glu": lambda x, dim: functional.glu(x if x.shape[dim] % 2 == 0 else torch.cat([x, x], dim), dim),
        "index_select": lambda x, dim: x.index_select(dim, torch.tensor([1, 0])), "unbind": lambda x, dim: x.unbind(dim)[1],
        "split": lambda x, dim: x.split([1, x.shape[dim] - 1], dim)[1], "topk": lambda x, dim: x.topk(2, dim)[0],
        "norm": lambda x, dim: x.norm(dim=dim), "gather": lambda x, dim: x.gather(dim, torch.zeros(1, 1, 1, 1, dtype=torch.long)),
        "select": lambda x, dim: x.select(dim, 1), "repeat": lambda x, dim: x.repeat_interleave(2, dim),
    }
    for name, call in over_dim.items():
        for dim in range(4) if is_float else [1]:
            add(f"{name}_{order}_{dim}", lambda x, call=call, dim=dim: call(x, dim), tensor)


def elementwise(order, tensor):
    calls = {
        "relu": torch.relu, "gelu": functional.gelu, "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"), "elu": functional.elu,
        "elu_2": lambda x: functional.elu(x, 2.0), "selu": functional.selu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "silu": functional.silu,
        "leaky_relu": lambda x: functional.leaky_relu(x, 0.2), "hardtanh": functional.hardtanh, "exp": torch.exp, "abs": torch.abs, "neg": torch.neg,
        "sqrt": lambda x: torch.sqrt(x.abs()), "clamp": lambda x: x.clamp(-0.5, 0.5), "round": torch.round, "floor": torch.floor,
        "trunc": torch.trunc, "sign": torch.sign, "erf": torch.erf, "log1p": lambda x: torch.log1p(x.abs()), "pow": lambda x: x.pow(2),
        "softplus": functional.softplus, "mish": functional.mish, "fmod": lambda x: torch.fmod(x, 2), "remainder": lambda x: torch.remainder(x, 2),
        "where": lambda x: torch.where(x > 0, x, x * 2), "masked_fill": lambda x: x.masked_fill(x > 0, -1.0), "tril": torch.tril,
        "triu": lambda x: x.triu(1), "pixel_shuffle": lambda x: functional.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
        "pixel_unshuffle": lambda x: functional.pixel_unshuffle(x.narrow(3, 0, 4), 2), "pad": lambda x: functional.pad(x, (1, 2, 0, 1)),
        "pad_reflect": lambda x: functional.pad(x, (1, 1, 1, 1), mode="reflect"),
        "pad_replicate": lambda x: functional.pad(x, (1, 1, 1, 1), mode="replicate"), "permute": lambda x: x.permute(0, 2, 3, 1) * 1,
        "view": lambda x: x.reshape(2, -1) * 1, "max_pool": lambda x: functional.max_pool2d(x, 2),
        "avg_pool": lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False), "adaptive": lambda x: functional.adaptive_avg_pool2d(x, 2),
        "bilinear": lambda x: functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
        "nearest": lambda x: functional.interpolate(x, scale_factor=2.0),
        "antialias": lambda x: functional.interpolate(x, size=(2, 3), mode="bilinear", antialias=True),
        "antialias_narrow": lambda x: functional.interpolate(x.repeat(1, 1, 3, 3), size=(2, 3), mode="bilinear", antialias=True),
        "group_norm": lambda x: functional.group_norm(x, 3), "layer_norm": lambda x: functional.layer_norm(x, (5,)),
        "instance_norm": functional.instance_norm, "half": lambda x: x.half().float(), "cdist": lambda x: torch.cdist(x, x),
        "bmm": lambda x: torch.matmul(x, x.transpose(2, 3)), "nonzero": lambda x: (x > 1).nonzero(), "sum_all": torch.sum, "any_all": lambda x: (x > 1).any(),
        "channels_last": lambda x: x.to(memory_format=CHANNELS_LAST) * 1,
    }
    for name, call in calls.items():
        add(f"{name}_{order}", call, tensor)


def convolutions(order, tensor):
    weights = {
        "conv": (random(4, 3, 3, 3), {}), "conv_stride": (random(4, 3, 3, 3), dict(stride=2, padding=1)),
        "conv_dilation": (random(4, 3, 2, 2), dict(dilation=2)), "conv_groups": (random(6, 1, 3, 3), dict(groups=3)), "conv_1": (random(4, 3, 1, 1), {}),
    }
    for name, (weight, settings) in weights.items():
        call = lambda x, w, settings=settings: functional.conv2d(x, w, None, **settings)
        weight = weight.to(tensor.dtype)
        add(f"{name}_{order}", call, tensor, weight)
        add(f"{name}_{order}_weight_cl", call, tensor, weight.to(memory_format=CHANNELS_LAST))
    weight = random(3, 4, 3, 3).to(tensor.dtype)
    add(f"conv_transpose_{order}", lambda x, w: functional.conv_transpose2d(x, w, stride=2, padding=1), tensor, weight)


def broadcasts():
    shapes = [
        ((3, 4), (1, 3, 1)), ((3, 4), (1, 3, 4)), ((2, 3), (1, 1, 3)), ((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 1), (1, 4)), ((1,), (3, 4)),
        ((2, 3, 4), (3, 1)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (1, 3, 1)), ((2, 3, 4), (2, 1, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), (2, 3, 1)),
        ((), (3, 4)), ((1, 1), (5,)), ((5,), (1, 5)), ((5,), (5, 1)), ((2, 1, 3, 4), (5, 1, 1)), ((1, 1, 3, 4), (3, 1)), ((4,), (1, 1, 4)),
        ((1, 3), (2, 1, 3)), ((3,), (2, 1, 3)), ((1, 2, 1), (2, 1)), ((3, 1), (1, 3, 1)), ((2, 2, 3, 4), (2, 1, 3, 4)), ((2, 2, 3, 4), (2, 1, 1)),
    ]
    calls = {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "le": torch.le, "gt": torch.gt, "maximum": torch.maximum,
        "where": lambda a, b: torch.where(a > b, a, b),
    }
    for name, call in calls.items():
        for left, right in shapes:
            for sizes in ((left, right), (right, left)):
                text = "_by_".join("x".join(map(str, one)) or "scalar" for one in sizes)
                # A quotient by numbers far from 0.
                values = random(*sizes[0]), random(*sizes[1]).abs() + 1
                add(f"{name}_{text}", call, *values)


def types():
    """Calls of tensors of each type, and of two types."""
    names = {
        "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16,
        "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool, "bf16": torch.bfloat16,
    }
    binary = {
        "add": torch.add, "add_2": lambda a, b: torch.add(a, b, alpha=2), "sub": torch.sub, "mul": torch.mul, "div": torch.div,
        "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"), "le": torch.le, "lt": torch.lt, "ge": torch.ge, "gt": torch.gt,
        "eq": torch.eq, "ne": torch.ne, "maximum": torch.maximum, "minimum": torch.minimum, "fmod": torch.fmod, "remainder": torch.remainder,
        "pow": lambda a, b: torch.pow(a * a, b), "logical_and": torch.logical_and, "logical_xor": torch.logical_xor, "bitwise_and": torch.bitwise_and,
        "where": lambda a, b: torch.where(a > b, a, b), "atan2": torch.atan2,
    }
    pairs = [(name, name) for name in names] + [
        ("f32", "i64"), ("i64", "f32"), ("i32", "i64"), ("i64", "i32"), ("f16", "f32"), ("bool", "f32"), ("u8", "i32"), ("i8", "u8"), ("bool", "i64"),
    ]
    for name, call in binary.items():
        for left, right in pairs:
            add(f"{name}_{left}_{right}", call, random(2, 3, dtype=names[left]), divisor(2, 3, dtype=names[right]))
        # Tensors of one element.
        for left, right in [((1,), (1,)), ((1,), (1, 1)), ((1, 1), (1,)), ((), (1,)), ((1,), ()), ((2, 3), ()), ((), (2, 3))]:
            for type_name in ("f32", "i64", "u8"):
                values = random(*left, dtype=names[type_name]), divisor(*right, dtype=names[type_name])
                text = "_by_".join("x".join(map(str, sizes)) or "scalar" for sizes in (left, right))
                add(f"{name}_{type_name}_{text}", call, *values)
    scalars = {
        "add": lambda x: x + 2, "add_float": lambda x: x + 1.5, "rsub": lambda x: 2 - x, "mul": lambda x: x * 3, "mul_float": lambda x: x * 0.5,
        "div": lambda x: x / 3, "div_floor": lambda x: x // 2, "le": lambda x: x <= 2, "le_float": lambda x: x <= 1.5, "lt": lambda x: x < 2,
        "ge": lambda x: x >= 2, "gt": lambda x: x > 1, "eq": lambda x: x == 2, "ne": lambda x: x != 2, "pow": lambda x: x.pow(2), "remainder": lambda x: x % 3,
        "where": lambda x: torch.where(x > 1, x, 2), "fill": lambda x: torch.full_like(x, 2) + x, "masked_fill": lambda x: x.masked_fill(x > 1, 1),
    }
    unary = {
        "relu": torch.relu, "abs": torch.abs, "neg": torch.neg, "exp": torch.exp, "sqrt": lambda x: torch.sqrt(x.abs()), "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
        "sigmoid": torch.sigmoid, "tanh": torch.tanh, "sin": torch.sin, "log": lambda x: torch.log(x.abs() + 1), "clamp": lambda x: x.clamp(1, 2),
        "clamp_min": lambda x: x.clamp(min=1), "sum": torch.sum, "sum_dim": lambda x: x.sum(1), "mean": lambda x: x.mean(1, dtype=torch.float32),
        "amax": lambda x: x.amax(1), "argmax": lambda x: x.argmax(1), "max": lambda x: x.max(1)[0], "cumsum": lambda x: x.cumsum(0), "prod": lambda x: x.prod(1),
        "cat": lambda x: torch.cat([x, x]), "stack": lambda x: torch.stack([x, x]), "permute": lambda x: x.t().contiguous(), "pad": lambda x: functional.pad(x, (1, 1)),
        "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(1), "floor": torch.floor, "round": torch.round, "logical_not": torch.logical_not,
        "bitwise_not": torch.bitwise_not, "index": lambda x: x[torch.tensor([1, 0])], "gelu": functional.gelu, "elu": functional.elu, "leaky_relu": functional.leaky_relu,
        "layer_norm": lambda x: functional.layer_norm(x, (3,)), "any": lambda x: x.any(1), "nonzero": torch.nonzero, "expand": lambda x: x.unsqueeze(0).expand(2, 2, 3) * 1,
        "to_f32": lambda x: x.to(torch.float32), "to_i64": lambda x: x.to(torch.int64), "to_bool": lambda x: x.to(torch.bool), "to_u8": lambda x: x.abs().to(torch.uint8),
        "matmul": lambda x: torch.matmul(x, x.t()), "bmm": lambda x: torch.bmm(x.unsqueeze(0), x.t().unsqueeze(0)), "addmm": lambda x: torch.addmm(x[:, :2], x, x.t()),
        "linear": lambda x: functional.linear(x, x), "embedding": lambda x: functional.embedding(torch.tensor([1, 0, 1]), x), "repeat": lambda x: x.repeat(2, 2),
        "var": lambda x: x.var(1), "triu": torch.triu, "flip": lambda x: x.flip(0), "scatter": lambda x: x.scatter(1, torch.tensor([[0], [1]]), 1),
    }
    for calls in ({f"scalar_{name}": call for name, call in scalars.items()}, unary):
        for name, call in calls.items():
            for type_name, dtype in names.items():
                add(f"{name}_{type_name}", call, random(2, 3, dtype=dtype))


for order, tensor in [("c", random(2, 3, 4, 5)), ("cl", random(2, 3, 4, 5).to(memory_format=CHANNELS_LAST))]:
    reductions(order, tensor)
    elementwise(order, tensor)
    convolutions(order, tensor)
broadcasts()
types()
for order, dtype in [("f16", torch.float16), ("bf16", torch.bfloat16)]:
    for calls in (reductions, elementwise, convolutions):
        calls(order, random(2, 3, 4, 5, dtype=dtype))
# More elements than a vector of the processor has.
for name, dtype in [("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)]:
    for size in (12, 20, 64, 255, 256, 1000):
        add(f"layer_norm_{name}_{size}", lambda x: functional.layer_norm(x, x.shape[1:]), random(2, size, dtype=dtype))
        add(f"softmax_{name}_{size}", lambda x: x.softmax(1), random(2, size, dtype=dtype))
        add(f"log_softmax_{name}_{size}", lambda x: x.log_softmax(1), random(2, size, dtype=dtype))
        add(f"mean_{name}_{size}", lambda x: x.mean(1), random(2, size, dtype=dtype))
    for size in (64, 1024, 8192):
        add(f"group_norm_{name}_{size}", lambda x: functional.group_norm(x, 2), random(1, 4, size, dtype=dtype))
        add(f"batch_norm_{name}_{size}", lambda x: functional.batch_norm(x, x[0, :, 0] * 0, x[0, :, 0] * 0 + 2), random(2, 4, size, dtype=dtype))
        add(f"sum_{name}_{size}", lambda x: x.sum(1), random(2, size, dtype=dtype))
        add(f"var_{name}_{size}", lambda x: x.var(1), random(2, size, dtype=dtype))
        add(f"avg_pool_{name}_{size}", lambda x: functional.avg_pool2d(x, (1, 64)), random(1, 2, 1, size, dtype=dtype))
