"""Compares every fixture with the results of ExecuTorch's own Python and flatc."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from files import GOOD, beside, name

import executorch_format as ef

ORACLES = [path for path in GOOD if beside(path, ".oracle.json").exists()]
# Older releases print other names.
TREES = [path for path in GOOD if beside(path, ".json").exists() and path.parts[-3] == "1.5.1"]
OPLISTS = [path for path in GOOD if beside(path, ".oplist.yaml").exists()]


def sha256(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


def oracle(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(beside(path, ".oracle.json").read_text())
    return found


def same_tensor(tensor: ef.Tensor, expected: dict[str, Any], digest: str) -> None:
    assert list(tensor.sizes) == expected["sizes"]
    assert list(tensor.dim_order) == expected["dim_order"]
    # The schema has no names for complex numbers.
    assert tensor.scalar_type in (expected["scalar_type_name"], expected["scalar_type"])
    assert tensor.data.nbytes == expected["nbytes"]
    assert sha256(tensor.data) == digest
    # Arrays are indexed logically, whatever the order in memory is.
    array = tensor.numpy()
    assert array.shape == tensor.sizes
    assert sha256(array.transpose(tensor.dim_order).tobytes()) == digest


@pytest.mark.parametrize("path", ORACLES, ids=name)
def test_agrees_with_official_python(path: Path) -> None:
    expected, model = oracle(path), ef.open(path)
    assert model.file_size == expected["file_size"]
    assert sha256(model.to_bytes()) == expected["sha256"]
    # Some files have a schema that the official reader refuses.
    if expected["official_deserialize"]["ok"] is not True and "kind" not in expected:
        return
    assert model.summary["identifier"] == expected["identifier"]
    assert model.kind == expected["kind"]
    named = {named["key"]: named for named in expected["named_data"]}
    if isinstance(model, ef.Data):
        assert set(model.tensors) | set(model.named_data) == set(named)
        for key, entry in named.items():
            if entry.get("tensor_layout"):
                same_tensor(model.tensors.entry(key), entry["tensor_layout"], entry["sha256"])
            else:
                assert sha256(model.named_data[key]) == entry["sha256"]
        return
    assert isinstance(model, ef.Program)
    assert list(model.named_data) == list(named)
    for key, entry in named.items():
        assert sha256(model.named_data[key]) == entry["sha256"]
    assert list(model.methods) == [method["name"] for method in expected["methods"]]
    for method in expected["methods"]:
        same_method(model.methods[method["name"]], method)


def same_method(method: ef.Method, expected: dict[str, Any]) -> None:
    assert [value.index for value in method.inputs] == expected["inputs"]
    assert [value.index for value in method.outputs] == expected["outputs"]
    assert len(method.values) == expected["num_values"]
    assert len(method.instructions) == sum(expected["num_instructions"])
    kinds: dict[str | None, int] = {}
    for value in method.values:
        kinds[value.type] = kinds.get(value.type, 0) + 1
    assert kinds == expected["value_kinds"]
    assert len(method.delegates) == len(expected["delegates"])
    for delegate, other in zip(method.delegates, expected["delegates"]):
        assert delegate.id == other["id"]
        assert (len(delegate.data), sha256(delegate.data)) == (other["size"], other["sha256"])
    for other in expected["tensors"]:
        value, tensor = method.values[other["value"]], method.tensor(other["value"])
        assert value.sizes == tuple(other["sizes"])
        data = other.get("data")
        if data and "sha256" in data:
            assert tensor is not None
            same_tensor(tensor, other, data["sha256"])
        else:
            assert tensor is None
        if other["planned"] and value.place is not None and value.place.kind == "planned":
            assert (value.place.buffer, value.place.offset) == (other["planned"]["memory_id"], other["planned"]["offset"])


def flatc(path: Path) -> Any:
    text = beside(path, ".json").read_text()
    # flatc prints numbers that are not valid JSON.
    return json.loads(re.sub(r"(?<=[:\[,])\s*(-?)(nan|inf)(?=[,\]}\s])", lambda found: f'"{found[1]}{found[2]}"', text))


def same_tree(found: Any, expected: Any, place: str) -> None:
    if isinstance(expected, dict):
        # flatc prints an absent field as null or leaves it out.
        for key in found.keys() | expected.keys():
            same_tree(found.get(key), expected.get(key), f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for index, (one, other) in enumerate(zip(found, expected)):
            same_tree(one, other, f"{place}[{index}]")
    elif isinstance(expected, float) and isinstance(found, float):
        # flatc prints 12 digits.
        assert found == pytest.approx(expected, rel=1e-6), place
    else:
        assert found == expected, place


@pytest.mark.parametrize("path", TREES, ids=name)
def test_tree_agrees_with_flatc(path: Path) -> None:
    same_tree(ef.open(path).tree(), flatc(path), "")


@pytest.mark.parametrize("path", OPLISTS, ids=name)
def test_operators_are_those_of_gen_oplist(path: Path) -> None:
    text = beside(path, ".oplist.yaml").read_text()
    expected = set(re.findall(r"^- (\S+)$", text, re.MULTILINE))
    model = ef.open(path)
    assert isinstance(model, ef.Program)
    assert set(model.operators().names()) == expected
