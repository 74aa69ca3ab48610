"""Programs of one call that check themselves. `CASES` has a function of tensors and its inputs for each name."""

import torch
from torch.nn import functional

CASES = {}
CHANNELS_LAST = torch.channels_last
torch.manual_seed(3)


def add(name, call, *inputs):
    CASES[name] = call, inputs


def random(*sizes, dtype=torch.float32):
    return (torch.randn(sizes) * 1.3).to(dtype) if dtype.is_floating_point else torch.randint(1, 5, sizes, dtype=dtype)


def reductions(order, tensor):
    over_dims = {
        "sum": lambda x, dims: x.sum(dims, keepdim=True), "mean": lambda x, dims: x.mean(dims, keepdim=True),
        "amax": lambda x, dims: x.amax(dims, keepdim=True), "amin": lambda x, dims: x.amin(dims, keepdim=True),
        "var": lambda x, dims: x.var(dims, keepdim=True), "var_0": lambda x, dims: x.var(dims, correction=0, keepdim=True),
        "any": lambda x, dims: torch.ops.aten.any.dims(x > 1.5, dims, True),
    }
    lists = [[dim for dim in range(4) if bits >> dim & 1] for bits in range(1, 16)]
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
        for dim in range(4):
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
        add(f"{name}_{order}", call, tensor, weight)
        add(f"{name}_{order}_weight_cl", call, tensor, weight.to(memory_format=CHANNELS_LAST))
    add(f"conv_transpose_{order}", lambda x, w: functional.conv_transpose2d(x, w, stride=2, padding=1), tensor, random(3, 4, 3, 3))


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


for order, tensor in [("c", random(2, 3, 4, 5)), ("cl", random(2, 3, 4, 5).to(memory_format=CHANNELS_LAST))]:
    reductions(order, tensor)
    elementwise(order, tensor)
    convolutions(order, tensor)
broadcasts()
