"""The memory, descriptors and maps that models hold, and when they are released."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from files import fixture

import executorch_format as ef

ADD_MUL = fixture("1.5.1/add_mul/add_mul.pte")
DELEGATED = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte")
linux = pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs Linux to list what a process holds")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def maps(name: str) -> int:
    return Path("/proc/self/maps").read_text().count(name)


@linux
def test_a_model_holds_no_descriptor() -> None:
    before = descriptors()
    models = [ef.Program.open(ADD_MUL) for _ in range(100)]
    arrays = [array for model in models for array in model.tensors.values()]
    assert descriptors() == before
    assert len(models) == 100
    assert arrays


@linux
def test_a_model_is_mapped_once(tmp_path: Path) -> None:
    path = tmp_path / "mapped-once.pte"
    path.write_bytes(ADD_MUL.read_bytes())
    model = ef.Program.open(path)
    arrays = list(model.tensors.values())
    assert arrays
    assert maps(path.name) == 1


def use_all(model: ef.Program) -> None:
    for method in model.methods.values():
        method.values, method.instructions, method.memory(), method.delegates
        for delegate in method.delegates:
            delegate.graph, delegate.data, delegate.compile_specs
    list(model.tensors.values()), model.named_data, model.metadata, model.report().to_dict(), repr(model)


def test_models_are_released_without_a_collection_of_cycles() -> None:
    gc.collect()
    gc.disable()
    try:
        for path in (ADD_MUL, DELEGATED):
            model = ef.Program.open(path)
            use_all(model)
            gone = weakref.ref(model)
            native = weakref.ref(model._inside)
            del model
            assert gone() is None
            assert native() is None
    finally:
        gc.enable()


def test_methods_outlive_their_model() -> None:
    method = ef.Program.open(DELEGATED).methods["forward"]
    gc.collect()
    assert method.instructions
    assert method.delegates[0].graph.nodes
    assert len(method.delegates[0].data) > 100
    assert method.memory().name == "forward"


def grown(code: str, calls: int, *arguments: object) -> int:
    """Returns the growth of memory in bytes over that many calls of `once`, after a tenth as many calls to warm up."""
    script = f"""
import os, sys, executorch_format as ef
{code}
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
for _ in range({calls // 10}):
    once()
before = resident()
for _ in range({calls}):
    once()
print(resident() - before)
"""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return int(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


@linux
@pytest.mark.parametrize(
    ("calls", "once"),
    [
        (20_000, "delegate.data"),
        (20_000, "program.methods['forward'].tensor(0)"),
        (5_000, "ef.open(sys.argv[1])"),
        (5_000, "ef.open(sys.argv[1]).methods"),
    ],
)
def test_a_call_leaks_nothing(calls: int, once: str) -> None:
    code = f"""
program = ef.open(sys.argv[1])
delegate = program.methods["forward"].delegates[0]
def once():
    {once}
"""
    # The allocator may take a few pages. Leaking even the smallest objects takes more.
    assert grown(code, calls, DELEGATED) < 32 * calls


@linux
def test_close_unmaps_the_file(tmp_path: Path) -> None:
    path = tmp_path / "closed-model.pte"
    path.write_bytes(ADD_MUL.read_bytes())
    with ef.Program.open(path) as model:
        array = model.tensors["forward.0"]
        expected = array.copy()
        assert not model.closed
        assert maps(path.name)
    assert model.closed
    assert maps(path.name)
    assert np.array_equal(array, expected)
    del array
    assert not maps(path.name)


def test_questions_to_a_closed_model_raise_an_error() -> None:
    model = ef.Program.open(ADD_MUL)
    use_all(model)
    stripped = model.strip()
    model.close()
    model.close()
    questions: list[Callable[[], object]] = [
        model.size,
        model.to_bytes,
        model.memory,
        model.strip,
        lambda: model.tensors,
        lambda: model.methods,
        lambda: model.file_size,
        lambda: model.__enter__(),
    ]
    for question in questions:
        with pytest.raises(ValueError, match="'add_mul.pte' is closed"):
            question()
    assert repr(model) == "<Program 'add_mul.pte': closed>"
    assert model.path == str(ADD_MUL)
    # Objects that came from the model stay valid.
    assert stripped.verify() is not None


def test_an_exception_closes_too() -> None:
    with pytest.raises(KeyError):
        with ef.open(ADD_MUL) as model:
            raise KeyError
    assert model.closed
