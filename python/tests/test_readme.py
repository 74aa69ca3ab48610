"""The recipes of the README, run as they stand."""

from __future__ import annotations

import doctest
import shutil
from pathlib import Path

import numpy as np
import pytest
from files import fixture

README = Path(__file__).parents[1] / "README.md"

FILES = {
    "model.pte": "1.5.1/multi_method/multi_method.pte",
    "delegated.pte": "1.5.1/linear_xnnpack/linear_xnnpack.pte",
    "old.pte": "1.5.1/add/add.pte",
    "new.pte": "1.5.1/add_mul/add_mul.pte",
    "traced.pte": "1.5.1/stacktrace/stacktrace.pte",
    "warned.pte": "malformed/segment-unreferenced.pte",
}


def test_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in FILES.items():
        shutil.copy(fixture(path), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(
        str(README),
        module_relative=False,
        # What `model.state_dict()` would give.
        globs={"state": {"encode.0": np.ones((2, 4), np.float32), "encode.1": np.zeros(2, np.float32)}},
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert tried > 30
    assert failed == 0


def test_ten_recipes() -> None:
    assert [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("### ")][9:] != []
