"""Threads share models, and work in parallel."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from files import GOOD, fixture

import executorch_format as ef


def test_threads_share_a_model() -> None:
    program = ef.Program.open(fixture("1.5.1/multi_method/multi_method.pte"))
    expected = program.size(), program.verify(), program.tensors["encode.0"].sum(), program.strip().to_bytes()

    def ask(_: int) -> bool:
        found = program.size(), program.verify(), program.tensors["encode.0"].sum(), program.strip().to_bytes()
        return found == expected and len(program.methods["forward"].instructions) > 0

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(200)))


def test_threads_share_a_changed_model() -> None:
    for _ in range(20):
        changed = ef.Program.open(fixture("1.5.1/add_mul/add_mul.pte")).strip()
        with ThreadPoolExecutor(8) as pool:
            sizes = list(pool.map(lambda _: changed.size(), range(16)))
        assert all(size == sizes[0] for size in sizes)


def test_threads_open_and_drop() -> None:
    def use(path: object) -> None:
        model = ef.open(path)  # type: ignore[arg-type]
        errors = [finding for finding in model.verify() if finding.severity == "error"]
        if isinstance(model, (ef.Program, ef.Data)) and not errors:
            assert all(array.size >= 0 for array in model.tensors.values())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, GOOD))


def test_other_threads_run_during_a_call() -> None:
    """Hashing a file takes long enough to observe that Python runs at the same time."""
    data = ef.Data.create({str(index): np.full(64, index, np.float32) for index in range(20_000)})
    turns, done = 0, threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.5:
        data.dedup()
    done.set()
    other.join()
    # If the lock were held, it would run only between two calls.
    assert turns > 50
