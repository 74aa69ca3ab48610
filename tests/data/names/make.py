"""Exports small models, quantized in several ways: NAME.pte with NAME.etrecord, and the state dict before quantization as MODEL.safetensors.
Needs torch 2.13, torchao 0.18 and executorch 1.5.1.

`make.py releases` makes the records of older releases instead: it needs the wheel of each release, unpacked into releases/VERSION, and
setuptools 79."""

import copy, json, logging, os, struct, subprocess, sys, warnings, zipfile

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import torch
import torch.nn as nn
from torch.export import export

EDGE, EXPORTED = "edge_dialect_exported_program", "exported_program"


def save_tensors(tensors, path):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def shrink(path):
    """Keeps what names need: the graph, without paths of source files, the handles of its nodes, and the parameters before lowering."""
    kept = {}
    with zipfile.ZipFile(path) as record:
        for entry in record.namelist():
            if entry in (EXPORTED, EDGE, f"{EDGE}/forward"):
                program = json.loads(record.read(entry))
                graph = program["graph_module"]["graph"]
                for node in graph["nodes"]:
                    node["metadata"] = {key: node["metadata"][key] for key in ("debug_handle", "nn_module_stack") if key in node["metadata"]}
                if entry == EXPORTED:
                    graph["nodes"] = []
                program["graph_module"].pop("module_call_graph", None)
                program["guards_code"] = []
                kept[entry] = json.dumps(program, separators=(",", ":")).encode()
            elif entry in ("ETRECORD_V0", "debug_handle_map"):
                kept[entry] = record.read(entry)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as record:
        for entry, content in kept.items():
            record.writestr(zipfile.ZipInfo(entry), content, zipfile.ZIP_DEFLATED)


class Cnn(nn.Module):
    """Convolutions of each kind, a matrix, and a parameter of the model itself."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.dw = nn.Conv2d(8, 8, 3, groups=8)
        self.up = nn.ConvTranspose2d(8, 6, 2, 2)
        self.head = nn.Linear(6, 7)
        self.own = nn.Parameter(torch.randn(5, 7))

    def forward(self, x):
        x = torch.relu(self.up(torch.relu(self.dw(torch.relu(self.stem(x))))))
        return nn.functional.linear(self.head(x.mean((2, 3))), self.own)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(20, 32)
        self.layers = nn.ModuleList([nn.Linear(32, 32, bias=False), nn.Linear(32, 16)])

    def forward(self, i):
        x = self.tok(i)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


class Masked(nn.Module):
    """A causal mask, which has infinite elements, as a constant and as an argument."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.register_buffer("mask", torch.full((3, 3), float("-inf")).triu(1))

    def forward(self, x):
        y = self.proj(x)
        a = y @ y.transpose(1, 2) + self.mask
        a = a.masked_fill(a > 9, float("inf")).masked_fill(a < -1e30, float("-inf"))
        return torch.softmax(a, -1) @ y


class Norms(nn.Module):
    """Normalizations that XNNPACK's partitioner folds into a convolution and a matrix without biases."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 6, 1, bias=False), nn.BatchNorm2d(6)
        self.head, self.last = nn.Linear(24, 3, bias=False), nn.BatchNorm1d(3)
        for norm in (self.norm, self.last):
            norm.running_mean.normal_()

    def forward(self, x):
        return self.last(self.head(torch.relu(self.norm(self.conv(x))).flatten(1)))


def new(model):
    torch.manual_seed(len(model.__name__))
    return model().eval()


IMAGE, IDS = (torch.randn(1, 3, 8, 8),), (torch.tensor([[1, 2, 3]]),)


def static(model, inputs, per_channel, dynamic=False):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic))
    module = prepare_pt2e(export(model, inputs).module(), quantizer)
    module(*inputs)
    return convert_pt2e(module)


def four_bits(model):
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup

    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    return model


def embedding(model, bits):
    from executorch.examples.models.llama.source_transformation.quantize import EmbeddingQuantHandler

    return EmbeddingQuantHandler(model, bitwidth=bits, group_size=16, packed=bits < 8).quantized_model()


def save(name, model, inputs, delegated):
    import executorch.kernels.quantized
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower

    config = EdgeCompileConfig(_check_ir_validity=False)
    program = export(model, inputs)
    if delegated:
        edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=config, generate_etrecord=True)
    else:
        edge = to_edge(program, compile_config=config, generate_etrecord=True)
    made = edge.to_executorch()
    open(f"{name}.pte", "wb").write(made.buffer)
    made.get_etrecord().save(f"{name}.etrecord")
    shrink(f"{name}.etrecord")


def save_lowered(name, model, inputs):
    """Saves a record of the lowered program alone, as a copy of it makes one."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.devtools import generate_etrecord
    from executorch.exir import to_edge_transform_and_lower

    edge = to_edge_transform_and_lower(export(model, inputs), partitioner=[XnnpackPartitioner()])
    before = copy.deepcopy(edge)
    made = edge.to_executorch()
    open(f"{name}.pte", "wb").write(made.buffer)
    generate_etrecord(f"{name}.etrecord", before, made)
    shrink(f"{name}.etrecord")


def main():
    save_tensors(new(Cnn).state_dict(), "cnn.safetensors")
    save("cnn", new(Cnn), IMAGE, True)
    save("cnn_portable", new(Cnn), IMAGE, False)
    save("cnn_tensor", static(new(Cnn), IMAGE, False), IMAGE, True)
    save("cnn_channel", static(new(Cnn), IMAGE, True), IMAGE, True)
    save("cnn_channel_portable", static(new(Cnn), IMAGE, True), IMAGE, False)
    save_tensors(new(Language).state_dict(), "language.safetensors")
    save("language_dynamic", static(new(Language), IDS, True, True), IDS, True)
    save("language_8da4w", four_bits(new(Language)), IDS, True)
    for bits in (2, 4, 8):
        save(f"language_embedding_{bits}", embedding(new(Language), bits), IDS, False)
    save("norms", new(Norms), (torch.randn(2, 4, 2, 2),), False)
    save_lowered("norms_lowered", new(Norms), (torch.randn(2, 4, 2, 2),))
    save("masked_1.5.1", new(Masked), (torch.randn(1, 3, 4),), False)


def release(version):
    """Runs with the release's own Python code."""
    from executorch.exir import to_edge

    try:
        from executorch.devtools import generate_etrecord
    except ImportError:
        from executorch.sdk import generate_etrecord
    edge = to_edge(export(new(Masked), (torch.randn(1, 3, 4),)))
    before = copy.deepcopy(edge)
    made = edge.to_executorch()
    generate_etrecord(f"masked_{version}.etrecord", before, made)
    open(f"masked_{version}.pte", "wb").write(made.buffer)
    shrink(f"masked_{version}.etrecord")


if len(sys.argv) == 1:
    main()
elif sys.argv[1] == "releases":
    for version in sorted(os.listdir("releases")):
        wheel = os.path.abspath(f"releases/{version}")
        environment = dict(os.environ, PYTHONPATH=f"{wheel}:{os.environ.get('PYTHONPATH', '')}", PATH=f"{wheel}/executorch/data/bin:{os.environ['PATH']}")
        subprocess.run([sys.executable, __file__, version], env=environment)
else:
    release(sys.argv[1])
