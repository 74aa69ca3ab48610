"""Runs the recipes of the README."""

from __future__ import annotations

import doctest
import gzip
import importlib.util
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import fixture

import executorch_format as ef

README = Path(__file__).parents[1] / "README.md"

FILES = {
    "model.pte": "1.5.1/multi_method/multi_method.pte",
    "delegated.pte": "1.5.1/linear_xnnpack/linear_xnnpack.pte",
    "net.pte": "etrecord/net_portable.pte",
    "net.etrecord": "etrecord/net_portable.etrecord",
    "classifier.pte": "replace/layers.old.pte",
    "classifier.etrecord": "replace/layers.etrecord",
    "quantized.pte": "1.5.1/quant_xnnpack/quant_xnnpack.pte",
    "old.pte": "1.5.1/add/add.pte",
    "new.pte": "1.5.1/add_mul/add_mul.pte",
    "traced.pte": "1.5.1/stacktrace/stacktrace.pte",
    "warned.pte": "malformed/segment-unreferenced.pte",
}


STATE = {"0.bias": (4,), "0.weight": (4, 3, 3, 3), "2.bias": (4,), "2.weight": (4, 1, 3, 3), "4.bias": (2,), "4.weight": (2, 16)}


class StandIn:
    """A tensor with the parts of `torch.Tensor` that the recipe needs."""

    def __init__(self, words: Any) -> None:
        self.words = words

    def as_strided(self, sizes: tuple[int, ...], strides: tuple[int, ...]) -> StandIn:
        assert type(sizes) is type(strides) is tuple
        return StandIn(np.lib.stride_tricks.as_strided(self.words, sizes, [2 * stride for stride in strides]))

    def float(self) -> Any:
        return (self.words.astype("<u4") << 16).view("<f4")


def stand_in() -> types.ModuleType:
    """Returns a substitute for `torch` if it is not installed: the real one takes gigabytes with its libraries."""
    torch: Any = types.ModuleType("torch")
    torch.bfloat16 = "<u2"

    def frombuffer(buffer: Any, *, dtype: str) -> StandIn:
        assert not memoryview(buffer).readonly, "PyTorch warns of bytes that do not change"
        return StandIn(np.frombuffer(buffer, dtype))

    torch.frombuffer = frombuffer
    return torch  # type: ignore[no-any-return]


def test_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in FILES.items():
        shutil.copy(fixture(path), tmp_path / name)
    with gzip.open(tmp_path / "model.pte.gz", "wb") as packed:
        packed.write(fixture(FILES["model.pte"]).read_bytes())
    words = (np.arange(6, dtype=np.float32) / 2).view(np.uint32) >> 16
    layout = ("BFLOAT16", [2, 3], [0, 1])
    weight = ef._native.Source.of_bytes(words.astype("<u2").tobytes())
    ef._native.File.create([("weight", layout, weight)], None).save(tmp_path / "bfloat16.ptd", None, False)
    if importlib.util.find_spec("torch") is None:
        monkeypatch.setitem(sys.modules, "torch", stand_in())
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(
        str(README),
        module_relative=False,
        # As `model.state_dict()` would return.
        globs={"state": {name: np.ones(shape, np.float32) for name, shape in STATE.items()}},
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert tried > 30
    assert failed == 0


def test_ten_recipes() -> None:
    assert [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("### ")][9:] != []
