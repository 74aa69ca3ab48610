"""Compares this package with ExecuTorch's own Python on the same files: opening, listing all tensors, summing one, saving.

    python compare.py PROGRAM.pte [--official PYTHON] [--data-size BYTES]

`--official` is a Python with executorch (and torch); without it, only this package is measured. Each step runs in its own process, so that
the steps share no caches, and each has its own peak memory. Files are in the page cache. The `.ptd` is created, and removed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Each script is timed after its imports. The time of the imports is printed too; memory is that of the whole process.
OURS = {
    "open": "m = ef.open(path)",
    "list": "m = ef.open(path); n = [(t.name, t.sizes) for t in m.tensors.entries()]",
    "sum": "m = ef.open(path); s = next(a for a in m.tensors.values() if a.size).sum()",
    "save": "m = ef.open(path); m.save(path + '.saved')",
}
OFFICIAL_PTE = {
    "open": "m = deserialize_pte_binary(read())",
    "list": "m = deserialize_pte_binary(read()); n = tensors(m)",
    "sum": "m = deserialize_pte_binary(read()); s = first_sum(m)",
    "save": "m = deserialize_pte_binary(read()); write(serialize_pte_binary(m))",
}
OFFICIAL_PTD = {
    "open": "m = ptd.deserialize(read())",
    "list": "m = ptd.deserialize(read()); n = [(k, e.tensor_layout.sizes) for k, e in m.named_data.items()]",
    "sum": "m = ptd.deserialize(read()); e = m.named_data[next(iter(m.named_data))]; s = np.frombuffer(m.buffers[e.buffer_index], np.float32).sum()",
    "save": "m = ptd.deserialize(read()); write(ptd.serialize(m))",
}
RUNTIME = {
    "open": "p = Runtime.get().load_program(path)",
    "list": "p = Runtime.get().load_program(path); n = [p.metadata(m) for m in p.method_names]",
}

IMPORT_OURS = "import executorch_format as ef, numpy"
IMPORT_PTE = """
import numpy as np
from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
def plans(m):
    return getattr(m, "program", m).execution_plan
def tensors(m):
    return [(v.val.sizes, v.val.scalar_type) for plan in plans(m) for v in plan.values if type(v.val).__name__ == "Tensor"]
def first_sum(m):
    program = getattr(m, "program", m)
    used = [v.val for plan in plans(m) for v in plan.values if type(v.val).__name__ == "Tensor" and v.val.data_buffer_idx > 0]
    return np.frombuffer(program.constant_buffer[used[0].data_buffer_idx].storage, np.uint8).sum()
"""
IMPORT_PTD = """
import numpy as np
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorConfig, FlatTensorSerializer
ptd = FlatTensorSerializer(FlatTensorConfig())
"""
IMPORT_RUNTIME = "from executorch.runtime import Runtime"

FRAME = """
import resource, sys, time
path = sys.argv[1]
def read():
    with open(path, "rb") as file: return file.read()
def write(data):
    with open(path + ".saved", "wb") as file: file.write(bytes(data))
start = time.perf_counter()
{imports}
imported = time.perf_counter()
{step}
end = time.perf_counter()
import json
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps(dict(imports=imported - start, time=end - imported, peak=peak * 1024)))
"""


def measure(python: str, imports: str, step: str, path: Path) -> dict[str, float] | str:
    """Returns the best of three runs: seconds for the imports and for the step, and the peak memory in bytes."""
    best: dict[str, float] = {}
    for _ in range(3):
        command = [python, "-c", FRAME.format(imports=imports, step=step), str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        Path(f"{path}.saved").unlink(missing_ok=True)
        if ended.returncode:
            return ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else f"ended with {ended.returncode}"
        found = json.loads(ended.stdout.splitlines()[-1])
        best = {key: min(value, best.get(key, value)) for key, value in found.items()}
    return best


def compare(title: str, path: Path, official: str | None, peers: list[tuple[str, str, dict[str, str]]]) -> None:
    print(f"\n{title}: {path.stat().st_size:,} bytes")
    print(f"{'step':6} {'with':20} {'import s':>9} {'step s':>10} {'peak MiB':>9} {'time ratio':>11} {'peak ratio':>11}")
    for step, code in OURS.items():
        ours = measure(sys.executable, IMPORT_OURS, code, path)
        if isinstance(ours, str):
            sys.exit(f"executorch_format: {ours}")
        row(step, "executorch_format", ours, None)
        for name, imports, steps in peers if official else []:
            if step in steps and official:
                row(step, name, measure(official, imports, steps[step], path), ours)


def row(step: str, name: str, found: dict[str, float] | str, ours: dict[str, float] | None) -> None:
    if isinstance(found, str):
        print(f"{step:6} {name:20} {found}")
        return
    ratios = f" {found['time'] / ours['time']:10.0f}x {found['peak'] / ours['peak']:10.1f}x" if ours else ""
    print(f"{step:6} {name:20} {found['imports']:9.3f} {found['time']:10.5f} {found['peak'] / 2**20:9.1f}{ratios}")


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--official", help="a Python that has executorch")
    parser.add_argument("--data-size", type=int, default=1 << 30)
    arguments = parser.parse_args()
    peers = [("exir._serialize", IMPORT_PTE, OFFICIAL_PTE), ("executorch.runtime", IMPORT_RUNTIME, RUNTIME)]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        program = Path(folder) / "program.pte"
        program.write_bytes(Path(arguments.program).read_bytes())
        compare(Path(arguments.program).name, program, arguments.official, peers)
        data = Path(folder) / "data.ptd"
        make = """
import sys, numpy as np, executorch_format as ef
size, path = int(sys.argv[1]), sys.argv[2]
ef.Data.create({f"layers.{i}.weight": np.full((size // 256,), i, np.float32) for i in range(64)}).save(path)
"""
        subprocess.run([sys.executable, "-c", make, str(arguments.data_size), str(data)], check=True)
        compare("a .ptd of 64 tensors", data, arguments.official, [("FlatTensorSerializer", IMPORT_PTD, OFFICIAL_PTD)])


if __name__ == "__main__":
    main()
