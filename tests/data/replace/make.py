"""Exports each model twice, with its weights and with others: NAME.old.pte with NAME.etrecord, NAME.new.pte, and the other weights in
NAME.safetensors. Needs torch 2.13, torchao 0.18 and executorch 1.5.1."""

import copy, json, logging, os, struct, warnings, zipfile

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import torch
import torch.nn as nn
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

TYPES = {torch.float32: "F32", torch.float16: "F16", torch.int8: "I8", torch.int32: "I32", torch.int64: "I64"}


def save_tensors(tensors, path):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def lowered(model, inputs, portable, config, record=None):
    program = export(model, inputs)
    if portable:
        edge = to_edge(program, generate_etrecord=record is not None)
    else:
        edge = to_edge_transform_and_lower(
            program, partitioner=[XnnpackPartitioner()], generate_etrecord=record is not None,
            compile_config=EdgeCompileConfig(_check_ir_validity=False))
    made = edge.to_executorch(config)
    if record:
        made.get_etrecord().save(record)
        shrink(record)
    return made


def shrink(path):
    """Keeps what names need: the graph, without paths of source files, and the handles of its nodes."""
    kept = {}
    with zipfile.ZipFile(path) as record:
        for entry in ("ETRECORD_V0", "edge_dialect_exported_program/forward", "debug_handle_map"):
            kept[entry] = record.read(entry)
    entry = "edge_dialect_exported_program/forward"
    program = json.loads(kept[entry])
    for node in program["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {key: node["metadata"][key] for key in ("debug_handle", "nn_module_stack") if key in node["metadata"]}
    program["graph_module"].pop("module_call_graph", None)
    program["guards_code"] = []
    kept[entry] = json.dumps(program, separators=(",", ":")).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as record:
        for entry, content in kept.items():
            record.writestr(zipfile.ZipInfo(entry), content, zipfile.ZIP_DEFLATED)


def other(tensor):
    if tensor.dtype == torch.int8:
        return torch.randint(-127, 128, tensor.shape, dtype=torch.int8)
    return torch.randn(tensor.shape).to(tensor.dtype)


def weights(model):
    """The tensors to replace, by name, each once."""
    return dict(model.named_parameters()) | {n: b for n, b in model.named_buffers() if b.dtype in (torch.int8, torch.float32) and "scale" not in n}


def external(name, model, inputs):
    """The same with the weights in a .ptd: NAME.old.ptd and NAME.new.ptd."""
    from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted

    torch.manual_seed(sum(map(ord, name)))
    replaced = {}
    for kind in ("old", "new"):
        if kind == "new":
            with torch.no_grad():
                for key, tensor in model.named_parameters():
                    tensor.copy_(other(tensor))
                    replaced[key] = tensor.clone()
        module = export(model.eval(), inputs).module()
        delegate_external_constants_pass_unlifted(module=module, gen_tag_fn=lambda node: "weights")
        made = lowered(module, inputs, False, ExecutorchBackendConfig(), f"{name}.etrecord" if kind == "old" else None)
        open(f"{name}.{kind}.pte", "wb").write(made.buffer)
        made.write_tensor_data_to_file(".")
        os.rename("weights.ptd", f"{name}.{kind}.ptd")
    save_tensors(replaced, f"{name}.safetensors")


def make(name, model, inputs, portable=False, config=None, names=None):
    torch.manual_seed(sum(map(ord, name)))
    model = model.eval() if not isinstance(model, torch.fx.GraphModule) else model
    made = lowered(model, inputs, portable, config or ExecutorchBackendConfig(), f"{name}.etrecord")
    open(f"{name}.old.pte", "wb").write(made.buffer)
    new = copy.deepcopy(model)
    replaced = {}
    with torch.no_grad():
        for key, tensor in weights(new).items():
            if names is not None and key not in names:
                continue
            if hasattr(tensor, "qdata"):
                tensor = tensor.qdata
                tensor.copy_(torch.randint(-8, 8, tensor.shape, dtype=torch.int8))
            else:
                tensor.copy_(other(tensor))
            replaced[names[key] if names else key] = tensor.clone()
    made = lowered(new, inputs, portable, config or ExecutorchBackendConfig())
    open(f"{name}.new.pte", "wb").write(made.buffer)
    save_tensors(replaced, f"{name}.safetensors")
    return new


def quantized(model, inputs, per_channel, dynamic):
    module = export(model.eval(), inputs).module()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic))
    module = prepare_pt2e(module, quantizer)
    module(*inputs)
    return convert_pt2e(module)


class Shared(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.sin(self.first(x)))


class Cut(nn.Module):
    """Two delegates, since no operator of XNNPACK is between them, with one weight."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x):
        return self.conv(torch.atan(self.conv(x)))


class Zeros(nn.Module):
    """Biases with the same bytes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        for layer in self.layers:
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Constant(nn.Module):
    """A constant next to a tensor in NHWC, and one next to a tensor in the natural order."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 1)
        self.shift = nn.Parameter(torch.randn(1, 4, 3, 5))
        self.scale = nn.Parameter(torch.randn(3, 5))

    def forward(self, x):
        return (self.conv(x) + self.shift).reshape(4, 3, 5) * self.scale


class Grouped(nn.Module):
    """A matrix in 4 bits with a scale for each group, as torchao quantizes it for dynamically quantized inputs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 4, bias=False)

    def forward(self, x):
        return self.linear(x)


def four_bits(model, group):
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup

    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(group)))
    return model


def main():
    image, wide = (torch.randn(1, 3, 6, 6),), (torch.randn(1, 4, 6, 6),)
    row, sound = (torch.randn(2, 8),), (torch.randn(1, 3, 9),)
    make("conv2d", nn.Conv2d(3, 8, (3, 2)), image)
    make("conv2d_square", nn.Conv2d(3, 3, 3), image)
    make("conv2d_stride", nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False), wide)
    make("conv2d_grouped", nn.Conv2d(4, 8, 3, groups=2), wide)
    make("conv2d_depthwise", nn.Conv2d(4, 4, 3, groups=4), wide)
    make("conv2d_multiplier", nn.Conv2d(4, 8, (3, 2), groups=4), wide)
    make("transposed", nn.ConvTranspose2d(4, 6, (3, 2), stride=2), wide)
    make("transposed_square", nn.ConvTranspose2d(3, 3, 3), image)
    make("transposed_grouped", nn.ConvTranspose2d(4, 6, 3, groups=2), wide)
    make("conv1d", nn.Conv1d(3, 5, 3), sound)
    make("conv1d_depthwise", nn.Conv1d(3, 3, 3, groups=3), sound)
    make("pointwise", nn.Conv2d(4, 4, 1), wide)
    make("linear", nn.Linear(8, 4), row)
    make("linear_square", nn.Linear(8, 8, bias=False), row)
    make("linear_half", nn.Linear(8, 4).half(), (torch.randn(2, 8).half(),))
    make("prelu", nn.Sequential(nn.Conv2d(3, 4, 1), nn.PReLU(4)), image)
    make("layers", nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3, groups=4), nn.Flatten(), nn.Linear(16, 2)), image)
    make("shared", Shared(), (torch.randn(2, 4),), names={"first.weight": "second.weight", "first.bias": "first.bias", "second.bias": "second.bias"})
    make("cut", Cut(), image)
    make("zeros", Zeros(), (torch.randn(2, 4),))
    make("constant", Constant(), (torch.randn(1, 2, 3, 5),))
    frozen = lambda *names: {f"_frozen_param{index}": name for index, name in enumerate(names)}
    make("int8_channel", quantized(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3, groups=4)), image, True, False), image, names=frozen("0.weight", "2.weight"))
    make("int8_tensor", quantized(nn.Conv2d(3, 4, (3, 2)), image, False, False), image, names=frozen("weight"))
    make("int8_square", quantized(nn.Conv2d(3, 3, 3), image, True, False), image, names=frozen("weight"))
    make("int8_linear", quantized(nn.Sequential(nn.Linear(8, 4)), row, True, False), row, names=frozen("0.weight"))
    make("int8_dynamic", quantized(nn.Sequential(nn.Linear(8, 4)), row, True, True), row, names=frozen("0.weight"))
    make("int4_dynamic", four_bits(Grouped(), 32), (torch.randn(1, 64),))
    external("external", nn.Conv2d(3, 4, (3, 2)), image)
    make("portable", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), image, portable=True)
    make("portable_channels_last", nn.Conv2d(3, 4, (3, 2)).to(memory_format=torch.channels_last), (image[0].to(memory_format=torch.channels_last),), portable=True)
    make("norm_folded", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), image)
    make("norm_alone", nn.Sequential(nn.BatchNorm2d(3)), image)


main()
