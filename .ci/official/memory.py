#!/usr/bin/env python3
"""Compares the memory of runs that `pte memory` computes with that of ExecuTorch's Python runtime.

Usage: .ci/official/memory.py PTE FOLDER [NAME…]

PTE is the command, FOLDER gets the programs. Needs `executorch` and `torch` (1.5.1 and 2.13 made the figures in docs/memory.md) and Linux. Each
program is run in a process of its own, twice, after an empty one; the growth of VmHWM, the highest resident memory, is compared. Exit code 1 if a
difference is larger than 15 %.
"""

import json
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

MIB = 1 << 20
LIMIT = 15


def save(folder, name, model, inputs, dynamic=None, quantize=None):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    model = model.eval()
    if quantize:
        model = quantize(model, inputs)
    program = torch.export.export(model, inputs, dynamic_shapes=dynamic, strict=True)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    (folder / f"{name}.pte").write_bytes(lowered.buffer)
    torch.save(list(inputs), folder / f"{name}.inputs")


def pt2e(dynamic=False):
    def quantize(model, inputs):
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
            XNNPACKQuantizer, get_symmetric_quantization_config)
        config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
        prepared = prepare_pt2e(torch.export.export(model, inputs, strict=True).module(), XNNPACKQuantizer().set_global(config))
        prepared(*inputs)
        return convert_pt2e(prepared)
    return quantize


def four_bits(model, inputs):
    from torchao.quantization.granularity import PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    from torchao.utils import unwrap_tensor_subclass
    return unwrap_tensor_subclass(model)


def linears(count, width):
    return nn.Sequential(*[layer for _ in range(count) for layer in (nn.Linear(width, width), nn.ReLU())])


def convs(channels, first=3):
    layers, last = [], first
    for width in channels:
        layers += [nn.Conv2d(last, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        last = width
    return nn.Sequential(*layers)


class Inverted(nn.Module):
    def __init__(self, width, wide):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, wide, 1), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, width, 1), nn.BatchNorm2d(width))

    def forward(self, x):
        return x + self.body(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (self.qkv(x).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)).unbind(0)
        weights = torch.softmax(q @ k.transpose(-1, -2) * (w // self.heads) ** -0.5, -1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(b, t, w))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = convs([16], 3), convs([32], 16), convs([64], 32)
        self.down = nn.MaxPool2d(2)
        self.up1, self.up2 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
        self.d, self.e = convs([32], 64), convs([16, 1], 32)

    def forward(self, x):
        a = self.a(x)
        b = self.b(self.down(a))
        c = self.c(self.down(b))
        d = self.d(torch.cat([self.up1(c), b], 1))
        return self.e(torch.cat([self.up2(d), a], 1))


class Resize(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = convs([24], 3), convs([24, 3], 24)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.a(x), 2)
        return self.b(nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False))


class Split(nn.Module):
    """An operator that XNNPACK does not take divides it into delegates."""
    def __init__(self):
        super().__init__()
        self.a, self.b = convs([32, 64], 3), convs([64, 64, 8], 64)

    def forward(self, x):
        return self.b(torch.cumsum(self.a(x), 2))


class Empty(nn.Module):
    def forward(self, x):
        return x + x


def models():
    r = torch.rand
    side = torch.export.Dim("side", min=16, max=512)
    image = (r(1, 3, 512, 512),)
    inverted = nn.Sequential(*convs([24]), *[Inverted(24, 144) for _ in range(4)])
    attention = nn.Sequential(Attention(512, 8), Attention(512, 8))
    return {
        "empty": (Empty(), (r(2, 2),), {}),
        "linear_f32": (linears(4, 2048), (r(1, 2048),), {}),
        "linear_f16": (linears(6, 2048).half(), (r(1, 2048).half(),), {}),
        "linear_dynamic_int8": (linears(8, 3072), (r(64, 3072),), {"quantize": pt2e(True)}),
        "linear_4_bits": (linears(8, 4096), (r(8, 4096),), {"quantize": four_bits}),
        "conv_dynamic_shape": (convs([32, 64, 64, 16]), image, {"dynamic": ({2: side, 3: side},)}),
        "conv_int8": (convs([32, 64, 128, 64, 8]), image, {"quantize": pt2e()}),
        "inverted_residuals": (inverted, (r(1, 3, 320, 320),), {}),
        "attention": (attention, (r(1, 1024, 512),), {}),
        "unet": (UNet(), image, {}),
        "resize": (Resize(), image, {}),
        "several_delegates": (Split(), (r(1, 3, 384, 384),), {}),
        "wide_convs": (convs([256, 512, 1024, 1024]), (r(1, 3, 28, 28),), {}),
    }


def high_water():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmHWM in /proc/self/status")


def run(empty, program):
    """Prints the growth of resident memory in bytes."""
    from executorch.extension.pybindings.portable_lib import _load_for_executorch

    _load_for_executorch(str(empty)).forward(torch.load(empty.with_suffix(".inputs")), clone_outputs=False)
    inputs = torch.load(program.with_suffix(".inputs"))
    # Sets the highest resident memory to the current one.
    Path("/proc/self/clear_refs").write_text("5")
    before = high_water()
    module = _load_for_executorch(str(program))
    for _ in range(2):
        module.forward(inputs, clone_outputs=False)
    print("growth", high_water() - before)


def main():
    pte, folder, only = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, (model, inputs, options) in models().items():
        if not (folder / f"{name}.pte").exists() and (name == "empty" or not only or name in only):
            save(folder, name, model, inputs, **options)
    print("| program | measured | computed | difference |\n|---|---|---|---|")
    worst = 0
    for path in sorted(folder.glob("*.pte")):
        if path.stem == "empty" or (only and path.stem not in only):
            continue
        answer = json.loads(subprocess.run([pte, "memory", "--json", path], check=True, capture_output=True).stdout)
        computed = answer["files"][0]["methods"][0]["run_memory"]["total"]
        command = [sys.executable, __file__, "--run", folder / "empty.pte", path]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        measured = next(int(line.split()[1]) for line in output.splitlines() if line.startswith("growth "))
        difference = 100 * (computed - measured) / measured
        worst = max(worst, abs(difference))
        print(f"| `{path.stem}` | {measured / MIB:.1f} MiB | {computed / MIB:.1f} MiB | {difference:+.1f} % |", flush=True)
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
