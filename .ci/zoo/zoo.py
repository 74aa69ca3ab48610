"""Exports public architectures by the official recipes, runs each program beside eager PyTorch, and compares what happens with what
`pte verify` says.

    PTE=target/release/pte python .ci/zoo/zoo.py OUT [--part 0/1] [--models REGEX] [--recipes portable,xnnpack]
    python .ci/zoo/zoo.py OUT --table

Needs executorch 1.5.1, torch 2.13, torchvision 0.28, timm and transformers (5 GB; no weights are downloaded). OUT gets the programs, and a
line of JSON for each in `log.jsonl`; a program that has a line is not made again."""

import argparse, collections, inspect, json, logging, os, pathlib, re, signal, subprocess, sys, time, warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

# The largest difference between the runtime and eager, relative to the largest number of the output, that rounding explains.
ROUNDING = {"half": 3e-2, "dynamic": 6e-2, "static": 0.15}
SECONDS = 900


def quantized(module, inputs, dynamic):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torch.export import export
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic))
    prepared = prepare_pt2e(export(module, inputs, strict=False).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


# The parts of each recipe.
RECIPES = {
    "portable": (), "xnnpack": ("xnnpack",), "xnnpack_dynamic": ("xnnpack", "dynamic"), "xnnpack_static": ("xnnpack", "static"),
    "portable_static": ("static",), "channels_last": ("channels_last",), "xnnpack_channels_last": ("xnnpack", "channels_last"),
    "batch": ("batch",), "xnnpack_batch": ("xnnpack", "batch"), "xnnpack_half": ("xnnpack", "half"), "unplanned": ("unplanned",),
}


def build(make, parts):
    """Returns the program, the inputs, and what eager computes; `None` if the recipe does not apply to the model."""
    import torch
    from torch.export import Dim, export
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    torch.manual_seed(1)
    module, inputs = make()
    module, shapes = module.eval(), None
    for parameter in module.parameters():
        # Behind a head of zeros, no fault is seen.
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.1)
    if "channels_last" in parts:
        if all(tensor.dim() != 4 for tensor in inputs):
            return None
        inputs = tuple(t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in inputs)
        if "xnnpack" not in parts:  # whose partitioner takes only contiguous weights
            module = module.to(memory_format=torch.channels_last)
    if "batch" in parts:
        inputs = tuple(torch.cat([t, t], 0)[:2] if t.shape[0] == 1 else t for t in inputs)
        if inputs[0].dim() < 2 or any(t.shape[0] != inputs[0].shape[0] for t in inputs):
            return None
        batch = Dim("batch", min=1, max=4)
        shapes = tuple({0: batch} for _ in inputs)
        # Inputs without names are one argument.
        if any(one.kind == one.VAR_POSITIONAL for one in inspect.signature(module.forward).parameters.values()):
            shapes = (shapes,)
    if "half" in parts:
        module, inputs = module.half(), tuple(t.half() if t.is_floating_point() else t for t in inputs)
    if "dynamic" in parts or "static" in parts:
        module = quantized(module, inputs, "dynamic" in parts)
    with torch.no_grad():
        expected = module(*inputs)
    program = export(module, inputs, dynamic_shapes=shapes, strict=False)
    config = EdgeCompileConfig(_check_ir_validity=False)
    if "xnnpack" in parts:
        edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=config)
    else:
        edge = to_edge(program, compile_config=config)
    planning = ExecutorchBackendConfig()
    if "unplanned" in parts:
        planning = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False))
    return edge.to_executorch(planning).buffer, inputs, expected


def compare(outputs, expected):
    """Returns the largest difference relative to the largest number of an output, or what else differs."""
    import torch
    from torch.utils._pytree import tree_flatten

    expected = [item for item in tree_flatten(expected)[0] if isinstance(item, torch.Tensor)]
    outputs = [item for item in outputs if isinstance(item, torch.Tensor)]
    if len(outputs) != len(expected):
        return f"{len(outputs)} outputs, expected {len(expected)}"
    worst = 0.0
    for found, right in zip(outputs, expected):
        if list(found.shape) != list(right.shape):
            return f"sizes {list(found.shape)}, expected {list(right.shape)}"
        found, right = found.double(), right.double()
        if torch.isfinite(found).ne(torch.isfinite(right)).any():
            return "infinite or NaN"
        finite = torch.isfinite(right)
        if finite.any():
            scale = max(1e-3, right[finite].abs().max().item())
            worst = max(worst, (found - right)[finite].abs().max().item() / scale)
    return worst


def in_child(function):
    """Returns the answer of a function that runs in a process of its own, where the runtime may crash."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1), os.dup2(silent, 2)
        try:
            result = function()
        except BaseException as error:
            result = "refused: " + str(error)[:200]
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(answer) if answer else f"crashes: signal {os.WTERMSIG(status)}"


def worst(differences):
    """Returns the first difference that is not a number, or the largest."""
    return next((one for one in differences if isinstance(one, str)), None) or max(differences)


def run(program, inputs, expected):
    """Runs a program twice, and compares both runs with eager."""

    def differences():
        import executorch.extension.pybindings.portable_lib as runtime
        import executorch.kernels.quantized

        loaded = runtime._load_for_executorch_from_buffer(program)
        return worst([compare(loaded.run_method("forward", tuple(inputs)), expected) for _ in range(2)])

    return in_child(differences)


def judge(result, parts):
    """Returns `right`, or `wrong` if the runtime computes other numbers, refuses the program, or crashes."""
    if isinstance(result, str):
        return "wrong"
    return "right" if result <= max([2e-4] + [ROUNDING.get(part, 0) for part in parts]) else "wrong"


def verify(path, data=()):
    """Returns the findings in a program with its `.ptd` files."""
    command = [os.environ.get("PTE", "pte"), "verify", "--json", path, *(one for file in data for one in ("--data", file))]
    answer = subprocess.run(command, capture_output=True, timeout=SECONDS)
    findings = json.loads(answer.stdout)["files"][-1].get("findings", [])
    return [{"rule": found["rule"], "severity": found["severity"], "message": found["message"][:300]} for found in findings]


# The columns of a table: the truth about a program, and whether it has an error if it is right, or a finding if it is not.
COLUMNS = {
    ("right", False): "right, without error", ("right", True): "right, with an error", ("wrong", True): "wrong or refused, with a finding",
    ("wrong", False): "wrong or refused, without", None: "not exported",
}


def column(row):
    """Returns the column of a program."""
    if "truth" not in row:
        return None
    right = row["truth"] == "right"
    return row["truth"], any(not right or found["severity"] == "error" for found in row["findings"])


def print_table(rows, name, recipes):
    """Prints the number of programs in each column, by recipe, and the programs that are judged wrong. `name` has the fields that name a program."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        for recipe in (row.get("recipe"), "all"):
            counts[recipe][column(row)] += 1
        if column(row) in [("right", True), ("wrong", False)]:
            print(*(row[field] for field in name), row["truth"], row["run"], sorted({found["rule"] for found in row["findings"]}), file=sys.stderr)
    print("| recipe |", " | ".join(COLUMNS.values()), "|")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for recipe in [*recipes, "all"]:
        print(f"| {recipe} |", " | ".join(str(counts[recipe][column]) for column in COLUMNS), "|")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", type=pathlib.Path)
    options.add_argument("--part", default="0/1", help="every N-th model, from the I-th: I/N")
    options.add_argument("--models", default="", help="only models whose name has a match of this regular expression")
    options.add_argument("--recipes", default=",".join(RECIPES))
    options.add_argument("--table", action="store_true", help="only print the table of the log")
    arguments = options.parse_args()
    log = arguments.out / "log.jsonl"
    if arguments.table:
        return print_table(map(json.loads, open(log)), ("model", "recipe"), RECIPES)
    import torch
    import executorch.kernels.quantized  # the operators of quantized portable programs
    from models import MODELS

    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    done = {(row["model"], row["recipe"]) for row in map(json.loads, open(log))} if log.exists() else set()
    first, step = map(int, arguments.part.split("/"))

    def expire(*_):
        raise TimeoutError(f"more than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, expire)
    for recipe in arguments.recipes.split(","):
        for model in [name for name in list(MODELS)[first::step] if re.search(arguments.models, name)]:
            if (model, recipe) in done:
                continue
            row, start = {"model": model, "recipe": recipe}, time.time()
            signal.alarm(SECONDS)
            try:
                made = build(MODELS[model], RECIPES[recipe])
                if made is None:
                    continue
                path = arguments.out / f"{model}.{recipe}.pte"
                path.write_bytes(made[0])
                row["size"] = len(made[0])
                row["run"] = run(*made)
                row["truth"] = judge(row["run"], RECIPES[recipe])
                row["findings"] = verify(path)
            except Exception as error:
                row["failed"] = f"{type(error).__name__}: {error}"[:300]
                row.pop("truth", None)
            finally:
                signal.alarm(0)
            row["seconds"] = round(time.time() - start, 1)
            with open(log, "a") as lines:
                lines.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
