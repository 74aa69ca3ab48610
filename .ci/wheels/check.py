"""Runs self-checking programs in the runtimes of ExecuTorch's releases, and compares what happens with `pte verify --runtime`.

    PTE=target/release/pte python .ci/wheels/check.py OUT [--only REGEX]

Needs executorch 1.5.1 with torch 2.13; wheels of other releases are downloaded from PyPI. OUT gets the programs, which are not made again,
and the wheels' libraries. Prints a table, and each program whose verdict is wrong."""

import argparse, collections, glob, importlib.util, json, logging, os, pathlib, re, subprocess, sys, tempfile, warnings, zipfile

RELEASES = ["0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.0", "1.1.0", "1.2.0", "1.3.1", "1.4.1", "1.5.1"]


def export(out, only):
    """Writes a program for each case that the exporter takes."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch
    import executorch.exir.program._program as manager
    from executorch.exir import EdgeCompileConfig, to_edge
    from programs import CASES

    class Checked(torch.nn.Module):
        """Ends with an index out of range if the call's result differs from the expected one."""

        def __init__(self, call, inputs, expected, precision):
            super().__init__()
            self.call, self.count = call, len(inputs)
            for index, value in enumerate(inputs):
                self.register_buffer(f"input_{index}", value)
            self.register_buffer("expected", expected)
            self.register_buffer("row", torch.zeros(1))
            self.tolerance = precision * max(1.0, expected.abs().max().item() if expected.numel() else 1.0)

        def forward(self):
            found = self.call(*[getattr(self, f"input_{index}") for index in range(self.count)])
            found = found.contiguous().to(torch.float32).reshape(-1)
            differs = torch.logical_not(torch.le(torch.abs(found - self.expected), self.tolerance)).to(torch.int64)
            return self.row[torch.sum(differs, 0, True) * 1000]

    emit = manager.emit_program

    def emit_without_outputs(*arguments, **settings):
        # Runtimes of old wheels crash when they return a tensor to today's PyTorch.
        emitted = emit(*arguments, **settings)
        for plan in emitted.program.execution_plan:
            plan.outputs = []
        return emitted

    manager.emit_program = emit_without_outputs
    for name, (call, inputs) in CASES.items():
        path = out / f"{name}.pte"
        if path.exists() or not re.search(only, name):
            continue
        try:
            with torch.no_grad():
                result = call(*inputs)
            expected = result.contiguous().to(torch.float32).reshape(-1).clone()
            # A few steps of the type of the result.
            precision = {torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(result.dtype, 1e-4)
            program = torch.export.export(Checked(call, inputs, expected, precision), (), strict=False)
            edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
            path.write_bytes(edge.to_executorch().buffer)
        except Exception as error:
            print("not exported:", name, str(error)[:100], file=sys.stderr)


def runtime(release, wheels):
    """Returns the module of a release's runtime."""
    sys.setdlopenflags(os.RTLD_LAZY)
    import torch

    if release == "1.5.1":
        import executorch.extension.pybindings.portable_lib as module

        return module
    folder = wheels / release
    if not folder.exists():
        with tempfile.TemporaryDirectory() as downloads:
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", downloads]
            subprocess.run([*pip, f"executorch=={release}"], check=True)
            with zipfile.ZipFile(glob.glob(downloads + "/*.whl")[0]) as wheel:
                wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".so") or ".libs/" in name])
    import ctypes

    for name in ("libqnn_executorch_backend.so", "libextension_threadpool.so"):
        for library in folder.rglob(name):
            try:
                ctypes.CDLL(str(library), mode=os.RTLD_LAZY)
            except OSError:
                pass
    (library,) = folder.glob("executorch/extension/pybindings/_portable_lib*.so")
    sys.path.insert(0, str(library.parent))
    spec = importlib.util.spec_from_file_location("_portable_lib", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(release, out):
    """Prints what each program does in a release, as JSON."""
    module = runtime(release, out / "wheels")
    results = {}
    for path in sorted(out.glob("*.pte")):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1), os.dup2(silent, 2)
            try:
                data = path.read_bytes()
                module._load_for_executorch_from_buffer(data).run_method("forward", ())
                answer = "right"
            except BaseException as error:
                answer = str(error)[:200]
            os.write(writer, answer.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read().decode()
        _, status = os.waitpid(child, 0)
        results[path.name] = answer or f"signal {os.WTERMSIG(status)}"
    print(json.dumps(results))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", type=pathlib.Path)
    options.add_argument("--only", default="", help="export only cases whose name has a match of this regular expression")
    options.add_argument("--run", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.run:
        return run(arguments.run, arguments.out)
    arguments.out.mkdir(parents=True, exist_ok=True)
    export(arguments.out, arguments.only)
    print("| release | right, without a finding | right, with one | wrong or refused, with a finding | wrong or refused, without |")
    print("|---|---|---|---|---|")
    for release in RELEASES:
        answer = subprocess.run([sys.executable, __file__, arguments.out, "--run", release], stdout=subprocess.PIPE, check=True).stdout
        results = json.loads(answer.splitlines()[-1])
        files = sorted(arguments.out.glob("*.pte"))
        short = ".".join(release.split(".")[:2])
        verify = [os.environ.get("PTE", "pte"), "verify", "--runtime", short, "--libraries", "python-wheel", "--json", *files]
        counts = collections.Counter()
        for file in json.loads(subprocess.run(verify, capture_output=True).stdout)["files"]:
            name = os.path.basename(file["file"])
            is_right, outcome = results[name] == "right", file["releases"][0]["verdict"]["outcome"]
            counts[is_right, outcome != "runs"] += 1
            # `unknown` stands for what is not known, for example calls that earlier releases were not asked for.
            if is_right and outcome not in ("runs", "unknown") or not is_right and outcome == "runs":
                print(release, name, results[name], outcome, file=sys.stderr)
        print(f"| {short} |", " | ".join(str(counts[key]) for key in [(True, False), (True, True), (False, True), (False, False)]), "|")


main()
