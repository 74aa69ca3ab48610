"""Measures `pte catalog` on many small models and some large ones, from this machine's disk and from a real S3 server (moto) on loopback, without and with a
delay of 20 ms. For comparison, measures ExecuTorch's own Python on 100 of them.

    python measure.py PTE WORK [--small N] [--large N] [--stored N] [--official PYTHON]

PTE is a release build with the feature `remote`; WORK is a folder for some GB of apparent size. Needs moto[server,s3] for the store. Files on disk are in the
page cache: large files are sparse after their metadata, and small ones are hard links to the test files.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "1.5.1"
LARGE = 14 << 20

SERVER = """
import sys, time
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple
app, delay = DomainDispatcherApplication(create_backend_app), float(sys.argv[2])
def late(environ, start):
    time.sleep(delay)
    return app(environ, start)
WSGIRequestHandler.protocol_version = "HTTP/1.1"
WSGIRequestHandler.log = lambda *_: None
run_simple("127.0.0.1", int(sys.argv[1]), late, threaded=True)
"""

OFFICIAL = """
import sys, time, resource
from executorch.exir._serialize._program import deserialize_pte_binary
files = open(sys.argv[1]).read().split()
start, operators = time.monotonic(), 0
for file in files:
    program = deserialize_pte_binary(open(file, "rb").read()).program
    operators += sum(len(plan.operators) for plan in program.execution_plan)
print(len(files), time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def make(folder: Path, small: int, large: int) -> None:
    programs = [path for path in sorted(DATA.glob("*/*.pte")) if path.stat().st_size < 64 << 10]
    originals = folder / "originals"
    originals.mkdir(parents=True, exist_ok=True)
    for at in range(small):
        source = programs[at % len(programs)]
        # A file can have about ten thousand names at most.
        copy = originals / f"{at % len(programs)}-{at // 500_000}"
        if not copy.exists():
            shutil.copy(source, copy)
        place = folder / "small" / f"{at // 1000:04}"
        place.mkdir(parents=True, exist_ok=True)
        os.link(copy, place / f"{at:07}.pte")
    (folder / "large").mkdir(parents=True, exist_ok=True)
    source = DATA / "quant_xnnpack" / "quant_xnnpack.pte"
    for at in range(large):
        path = folder / "large" / f"{at:05}.pte"
        shutil.copy(source, path)
        os.truncate(path, LARGE)


def run(pte: str, prefix: str, out: Path, jobs: int, **variables: str) -> None:
    shutil.rmtree(out, ignore_errors=True)
    command = ["/usr/bin/env", pte, "catalog", prefix, "--output", str(out), "--jobs", str(jobs)]
    start = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | variables)
    assert process.stderr
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    assert status == 0, said
    count = re.search(r"(\d+) files, (\d+)", said)
    assert count, said
    files = int(count[1])
    print(f"{prefix} (jobs {jobs}): {files} files in {seconds:.1f} s: {files / seconds:.0f} a second, "
          f"{usage.ru_utime + usage.ru_stime:.1f} s of CPU, {usage.ru_maxrss // 1024} MiB at most", flush=True)
    spent(out, files)


def spent(out: Path, files: int) -> None:
    try:
        import pyarrow.compute as compute
        import pyarrow.parquet as parquet
    except ImportError:
        return
    table = parquet.read_table(out / "files", columns=["bytes_read", "requests"])
    mean = [compute.mean(table.column(name)).as_py() for name in table.column_names]
    size = sum(path.stat().st_size for path in out.glob("*/*.parquet"))
    print(f"    a model: {mean[0]:.0f} bytes in {mean[1]:.2f} requests; tables of {size / files:.0f} bytes", flush=True)


def upload(endpoint: str, folder: Path, names: list[Path]) -> None:
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint, aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")
    client.create_bucket(Bucket="models")
    for name in names:
        client.put_object(Bucket="models", Key=str(name.relative_to(folder)), Body=name.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pte")
    parser.add_argument("work", type=Path)
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=1000)
    parser.add_argument("--stored", type=int, default=2000, help="small models in the store; a twentieth of it large ones")
    parser.add_argument("--official", help="a Python with executorch")
    arguments = parser.parse_args()
    work = arguments.work
    shutil.rmtree(work, ignore_errors=True)
    make(work, arguments.small, arguments.large)
    for kind in ("small", "large"):
        for jobs in (8, 64):
            run(arguments.pte, str(work / kind), work / "catalog", jobs)
    run_again(arguments.pte, work)
    if arguments.official:
        names = sorted((work / "small").glob("*/*.pte"))[:100]
        (work / "names").write_text("\n".join(map(str, names)))
        output = subprocess.run([arguments.official, "-c", OFFICIAL, str(work / "names")], capture_output=True, text=True)
        assert output.returncode == 0, output.stderr
        count, seconds, memory = output.stdout.split()
        print(f"executorch.exir._serialize: {count} files in {float(seconds):.2f} s: {int(count) / float(seconds):.0f} a second, {memory} MiB at most")
    for port, delay in ((5901, 0.0), (5902, 0.02)):
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(port), str(delay)], stderr=subprocess.DEVNULL)
        try:
            time.sleep(4)
            endpoint = f"http://127.0.0.1:{port}"
            small = sorted((work / "small").glob("*/*.pte"))[: arguments.stored]
            large = sorted((work / "large").glob("*.pte"))[: arguments.stored // 20]
            upload(endpoint, work, small + large)
            variables = {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
            print(f"S3 with a delay of {delay * 1000:.0f} ms:")
            run(arguments.pte, "s3://models/small", work / "catalog", 64, **variables)
            run(arguments.pte, "s3://models/large", work / "catalog", 64, **variables)
        finally:
            server.kill()
    shutil.rmtree(work)


def run_again(pte: str, work: Path) -> None:
    start = time.monotonic()
    said = subprocess.run([pte, "catalog", str(work / "large"), "--output", str(work / "catalog")], capture_output=True, text=True).stderr
    print(f"again: {said.strip().split(': ')[-1]}, in {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
