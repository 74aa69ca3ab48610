"""Exports small models with random options of the exporter, runs each program several times in a row beside eager PyTorch, and compares what
happens with what `pte verify` says.

    PTE=target/release/pte python .ci/zoo/options.py OUT [--seed 1] [--programs 200]
    python .ci/zoo/options.py OUT --table

Needs executorch 1.5.1 and torch 2.13. OUT gets the programs, and a line of JSON for each in `options.jsonl`."""

import argparse, copy, json, pathlib, random, warnings

warnings.filterwarnings("ignore")

import torch
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch.export import Dim, export
from zoo import compare, in_child, print_table, verify, worst

BATCH = ({0: Dim("batch", min=1, max=8)},)


class Call(nn.Module):
    """A function of the module and the inputs, with buffers."""

    def __init__(self, call, **buffers):
        super().__init__()
        self.call = call
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs):
        return self.call(self, *inputs)


def count(self, x):
    self.n.add_(x)
    return self.n * 2


def swap(self, x):
    old = self.a.clone()
    self.a.copy_(self.b + x)
    self.b.copy_(old)
    return self.a + self.b, old


def write_cache(self, x, position):
    self.keys.index_copy_(1, position, x)
    return (x @ self.keys.transpose(1, 2)).softmax(-1) @ self.keys


def branch(_, x, y):
    a, b = torch.cond(x.sum() > 0, lambda x, y: (x + y, x * y), lambda x, y: (x - y, y.clone()), (x, y))
    return a @ b, a, x.view(-1) + 1


def view(_, x):
    y = x.view(4, 6).permute(1, 0).reshape(2, 12)
    z = y.unsqueeze(0).squeeze(0)[:, 2:10].reshape(4, 4)
    return z @ z, z.sum(), x.flatten()


def view_rows(self, x):
    return (x.view(x.shape[0], 2, 6).transpose(1, 2).reshape(x.shape[0], 12) @ self.weight).softmax(-1)


def join_rows(_, x):
    y = torch.cat([x, x * 2], 0)
    return y.view(-1, 3).relu(), y.sum(0)


def change(_, x):
    y = x.clone().add_(1)
    y[:, 1:3] = 0
    return y.mul_(x), y.t().contiguous()


def choose(_, x):
    return *x.topk(3), x.argmax(-1), x.max(-1)[0]


def divide(_, x):
    return x // 3, x % 5, (x > 2) & (x < 9), x.float().mean(), torch.where(x > 4, x, -x)


def twice(_, x):
    y = x * 2
    return y, y, y + 1


def last(tensor):
    return tensor.to(memory_format=torch.channels_last)


R = torch.randn

# For each name, a function that returns a module, its inputs and its dynamic shapes.
MODELS = {
    "mlp": lambda: (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (R(2, 8),), None),
    "conv": lambda: (
        nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5)),
        (R(1, 3, 8, 8),), None),
    "conv_channels_last": lambda: (last(nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.Hardswish(), nn.Conv2d(4, 4, 1))), (last(R(1, 4, 6, 6)),), None),
    "transposed": lambda: (nn.Sequential(nn.ConvTranspose2d(2, 3, 3, stride=2), nn.GroupNorm(3, 3), nn.Upsample(scale_factor=2)), (R(1, 2, 4, 4),), None),
    "shuffle": lambda: (nn.Sequential(nn.PixelShuffle(2), nn.Conv2d(1, 2, 3), nn.PixelUnshuffle(2)), (R(1, 4, 4, 4),), None),
    "lstm": lambda: (nn.LSTM(4, 6, batch_first=True), (R(1, 5, 4),), None),
    "norms": lambda: (nn.Sequential(nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 6), nn.Softmax(-1)), (R(2, 6),), None),
    "embedding": lambda: (nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 3)), (torch.randint(0, 10, (2, 3)),), None),
    "count": lambda: (Call(count, n=torch.zeros(3)), (R(3),), None),
    "swap": lambda: (Call(swap, a=torch.zeros(3), b=torch.zeros(3)), (R(3),), None),
    "write_cache": lambda: (Call(write_cache, keys=torch.zeros(1, 8, 4)), (R(1, 1, 4), torch.tensor([2])), None),
    "branch": lambda: (Call(branch), (R(4, 4), R(4, 4)), None),
    "map": lambda: (Call(lambda _, x, y: map_rows(lambda a, b: (a + b).relu(), x, y)), (R(3, 4), R(4)), None),
    "scan": lambda: (Call(lambda _, x: scan(lambda c, a: (c + a, (c * a).clone()), torch.zeros(4), x)), (R(3, 4),), None),
    "view": lambda: (Call(view), (R(2, 12),), None),
    "view_rows": lambda: (Call(view_rows, weight=R(12, 5)), (R(4, 12),), BATCH),
    "join_rows": lambda: (Call(join_rows), (R(4, 3),), BATCH),
    "change": lambda: (Call(change), (R(4, 4),), None),
    "choose": lambda: (Call(choose), (R(2, 6),), None),
    "divide": lambda: (Call(divide), (torch.randint(0, 12, (3, 4)),), None),
    "twice": lambda: (Call(twice), (R(3),), None),
    "returned_inputs": lambda: (Call(lambda _, x, y: (x, x + y, y)), (R(3), R(3)), None),
    "returned_constant": lambda: (Call(lambda self, x: (self.c, x + self.c), c=R(3)), (R(3),), None),
}


def choices(random):
    """Returns random options of the exporter."""
    rarely = [False, False, True]
    plans_buffers = not random.choice(rarely)
    return {
        "algorithm": random.choice(["default", "greedy", "naive"]),
        "alignment": random.choice([16, 16, 1, 64]),
        "methods": random.choice([1, 1, 2]),
        "xnnpack": random.choice([False, True]),
        "planning": {
            "alloc_graph_input": not random.choice(rarely),
            "alloc_graph_output": not random.choice(rarely),
            "alloc_mutable_buffers": plans_buffers,
            "share_mutable_buffers": plans_buffers and random.choice(rarely),
            "allow_lifetime_and_storage_overlap": random.choice(rarely),
        },
        "config": {
            "remove_view_copy": not random.choice(rarely),
            "run_reinplace_pass": random.choice([False, True]),
            "external_constants": random.choice(rarely),
            # Buffers without planned memory need names.
            "emit_mutable_buffer_names": not plans_buffers or random.choice([False, True]),
            "do_quant_fusion_and_const_prop": random.choice(rarely),
            # The exporter refuses it for most programs with delegates.
            "emit_stacktrace": random.choice([False] * 7 + [True]),
            "extract_delegate_segments": not random.choice(rarely),
        },
    }


def lower(programs, options):
    """Returns the program of several methods."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive
    from executorch.exir.passes import MemoryPlanningPass

    config = EdgeCompileConfig(_check_ir_validity=False)
    if options["xnnpack"]:
        edge = to_edge_transform_and_lower(programs, partitioner=[XnnpackPartitioner()], compile_config=config)
    else:
        edge = to_edge(programs, compile_config=config)
    planning = dict(options["planning"], alignment=options["alignment"])
    if options["algorithm"] != "default":
        planning["memory_planning_algo"] = MemoryPlanningAlgorithmSuite([{"greedy": greedy, "naive": naive}[options["algorithm"]]])
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(**planning), **options["config"]))


def fresh(inputs):
    """Returns other inputs of the same types and sizes."""
    return tuple(torch.randn_like(one) if one.is_floating_point() else torch.randint(0, 8, one.shape) for one in inputs)


def run(path, data, calls):
    """Runs calls in a row, and returns the largest difference from eager."""

    def differences():
        import executorch.extension.pybindings.portable_lib as runtime
        import executorch.kernels.quantized

        program = runtime._load_for_executorch(str(path), *map(str, data))
        return worst([compare(program.run_method(method, inputs), expected) for method, inputs, expected in calls])

    return in_child(differences)


def make(out, name, random):
    options = choices(random)
    models = [random.choice(list(MODELS)) for _ in range(options["methods"])]
    row = {"program": name, "models": models, "options": options}
    try:
        programs, methods = {}, []
        for method, model in zip(("forward", "other"), models):
            module, inputs, shapes = MODELS[model]()
            # The inputs of a `Call` are one argument.
            shapes = (shapes,) if shapes and isinstance(module, Call) else shapes
            programs[method] = export(copy.deepcopy(module.eval()), inputs, dynamic_shapes=shapes, strict=False)
            methods.append((method, module, inputs))
        made = lower(programs, options)
        path, data = out / f"{name}.pte", []
        path.write_bytes(made.buffer)
        for key, bytes_ in (made._tensor_data or {}).items():
            data.append(out / f"{name}.{key}.ptd")
            data[-1].write_bytes(bytes_)
        calls = []
        with torch.no_grad():
            for method, module, inputs in methods + random.choices(methods, k=4):
                inputs = fresh(inputs)
                calls.append((method, inputs, copy.deepcopy(module(*inputs))))
        row["run"] = run(path, data, calls)
        row["truth"] = "wrong" if isinstance(row["run"], str) or row["run"] > 1e-3 else "right"
        row["findings"] = verify(path, data)
    except Exception as error:
        row["failed"] = f"{type(error).__name__}: {error}"[:300]
    return row


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", type=pathlib.Path)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--programs", type=int, default=200)
    options.add_argument("--table", action="store_true", help="only print the table of the log")
    arguments = options.parse_args()
    log = arguments.out / "options.jsonl"
    if not arguments.table:
        import executorch.kernels.quantized

        torch.set_num_threads(1)
        arguments.out.mkdir(parents=True, exist_ok=True)
        for number in range(arguments.programs):
            name = f"options_{arguments.seed}_{number}"
            torch.manual_seed(number)
            row = make(arguments.out, name, random.Random(name))
            with open(log, "a") as lines:
                lines.write(json.dumps(row) + "\n")
    print_table(map(json.loads, open(log)), ("program", "models"), [])


if __name__ == "__main__":
    main()
