"""Properties that hold for any content."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from files import fixture
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import executorch_format as ef

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

# The runtime reads names up to a NUL, which `verify` reports.
KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
TYPES = st.sampled_from("bool u1 i1 i2 i4 i8 f2 f4 f8 u2 u4 u8 c8 c16".split()).map(np.dtype)
ARRAYS = TYPES.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)))


def same(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@given(st.dictionaries(KEYS, st.one_of(ARRAYS, st.binary(max_size=40)), max_size=8), st.sampled_from([None, 1, 16, 256]))
def test_created_files_are_read_back(entries: dict[str, Any], alignment: int | None) -> None:
    data = ef.Data.create(entries, alignment=alignment)
    for found in (data, ef.Data.open(data.to_bytes())):
        assert set(found.tensors) | set(found.named_data) == set(entries)
        for key, value in entries.items():
            if isinstance(value, bytes):
                assert bytes(found.named_data[key]) == value
            else:
                assert same(found.tensors[key], value)
    assert data.file_size == len(data.to_bytes())
    assert not [finding for finding in data.verify() if finding.severity == "error"]


@given(st.dictionaries(KEYS, ARRAYS, min_size=1, max_size=6), st.integers(1, 200))
def test_parts_merge_to_the_whole(entries: dict[str, Any], largest: int) -> None:
    data = ef.Data.create(entries)
    first, *others = data.split(largest)
    merged = first.merge(*others)
    assert set(merged.tensors) == set(entries)
    assert all(same(merged.tensors[key], value) for key, value in entries.items())


@given(st.dictionaries(KEYS.filter(lambda key: key != "__metadata__"), ARRAYS, max_size=6))
def test_safetensors_and_back(entries: dict[str, Any]) -> None:
    data = ef.Data.create(entries)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        skipped = {one.name for one in data.to_safetensors(path, skip=True)}
        found = ef.Data.from_safetensors(path)
        assert set(found.tensors) == set(entries) - skipped
        assert all(same(found.tensors[key], entries[key]) for key in found.tensors)
    # Types that safetensors does not have.
    assert all(entries[key].dtype.kind == "c" for key in skipped)


@given(arrays.arrays(np.float32, (2, 2)), arrays.arrays(np.float32, (2, 2)))
def test_replaced_weights_have_the_new_values(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
    program = ef.Program.open(fixture("1.5.1/add_mul/add_mul.pte"))
    first, second = program.tensors
    changed = ef.Program.open(program.replace({first: one, second: other}).to_bytes())
    assert same(changed.tensors[first], one)
    assert same(changed.tensors[second], other)
    moved, data = changed.externalize([second])
    assert same(data.tensors[second], other)
    assert same(moved.internalize(data).tensors[second], other)


@given(st.one_of(st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(), st.text(st.characters(exclude_categories=["Cs"]))))
def test_metadata_has_the_value_that_was_set(value: Any) -> None:
    program = ef.Program.open(fixture("1.5.1/add/add.pte")).set_metadata("get_it", value)
    found = ef.Program.open(program.to_bytes()).metadata["get_it"]
    assert type(found) is type(value)
    assert found == value or (found != found and value != value)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        ef.open(content)
    except ef.Error as error:
        assert error.rule
