"""Arrays: their values, that they are views, and that they keep their bytes alive."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from files import fixture

import executorch_format as ef

DTYPES = "1.5.1/ptd_dtypes/ptd_dtypes.ptd"


def test_types() -> None:
    types = {
        name: ef.Data.create({"a": np.zeros(3, name)}).tensors["a"].dtype
        for name in "bool uint8 int8 int16 int32 int64 float16 float32 float64 uint16 uint32 uint64 complex64 complex128".split()
    }
    assert all(str(found) == name for name, found in types.items())


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"])
def test_types_of_ml_dtypes(name: str) -> None:
    array = np.array([[0.5, -2.0], [1.0, 0.0]], dtype=getattr(ml_dtypes, name))
    found = ef.Data.create({"a": array}).tensors["a"]
    assert found.dtype == array.dtype
    assert found.astype(np.float32).tolist() == [[0.5, -2.0], [1.0, 0.0]]


def test_types_without_ml_dtypes_are_raw(monkeypatch: pytest.MonkeyPatch) -> None:
    data = ef.Data.create({"a": np.array([1.0], dtype=ml_dtypes.bfloat16), "b": np.array([1.0], dtype=ml_dtypes.float8_e5m2)})
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert data.tensors["a"].dtype == np.uint16
    assert data.tensors["a"].tolist() == [0x3F80]
    assert data.tensors["b"].dtype == np.uint8


def test_all_types_of_a_real_file() -> None:
    data = ef.Data.open(fixture(DTYPES))
    assert len(data.tensors) > 10
    for name, array in data.tensors.items():
        entry = data.tensors.entry(name)
        assert array.shape == entry.sizes
        assert array.nbytes == entry.data.nbytes
        assert array.tobytes() == bytes(entry.data)


def test_big_endian_arrays_are_stored_little_endian() -> None:
    array = np.array([1, 2, 300], dtype=">i4")
    assert ef.Data.create({"a": array}).tensors["a"].tolist() == [1, 2, 300]


def test_dim_order_gives_strides() -> None:
    program = ef.Program.open(fixture("1.5.1/channels_last/channels_last.pte"))
    entries = [entry for entry in program.tensors.entries() if entry.dim_order == (0, 2, 3, 1)]
    assert entries
    for entry in entries:
        array = entry.numpy()
        assert not array.flags.c_contiguous
        assert array.transpose(0, 2, 3, 1).tobytes() == bytes(entry.data)
        # Values written by index are read back by index, in the dim order of the program.
        changed = program.replace(entry.name, np.ascontiguousarray(array) + 1)
        assert np.array_equal(changed.tensors[entry.name], array + 1)
        assert changed.tensors.entry(entry.name).dim_order == entry.dim_order


def test_arrays_are_read_only_views() -> None:
    for model in (ef.open(fixture(DTYPES)), ef.open(fixture(DTYPES).read_bytes())):
        assert isinstance(model, ef.Data)
        for name in model.tensors:
            array = model.tensors[name]
            assert not array.flags.owndata
            assert not array.flags.writeable
            with pytest.raises(ValueError):
                array.flags.writeable = True
            # Both arrays share memory.
            again = model.tensors[name]
            assert array.__array_interface__["data"] == again.__array_interface__["data"]
        view = next(iter(model.tensors.entries())).data
        assert view.readonly


def test_bytes_are_not_copied_either() -> None:
    content = fixture(DTYPES).read_bytes()
    model = ef.Data.open(content)
    start = np.frombuffer(content, np.uint8).__array_interface__["data"][0]
    for array in model.tensors.values():
        if array.nbytes:
            assert start <= array.__array_interface__["data"][0] < start + len(content)


def test_arrays_outlive_their_model() -> None:
    model = ef.Program.open(fixture("1.5.1/add_mul/add_mul.pte"))
    gone = weakref.ref(model)
    name = next(iter(model.tensors))
    array, expected = model.tensors[name], model.tensors[name].copy()
    del model
    gc.collect()
    assert gone() is None
    assert np.array_equal(array, expected)


def test_arrays_of_an_edited_model_keep_shared_bytes() -> None:
    program = ef.Program.open(fixture("1.5.1/add_mul/add_mul.pte"))
    names = list(program.tensors)
    expected = [program.tensors[name].copy() for name in names]
    changed = program.replace(names[0], expected[0] + 1)
    arrays = [changed.tensors[name] for name in names]
    del program, changed
    gc.collect()
    assert np.array_equal(arrays[0], expected[0] + 1)
    assert all(np.array_equal(one, other) for one, other in zip(arrays[1:], expected[1:]))


def test_bytes_are_released_with_the_last_view() -> None:
    content = bytes(bytearray(fixture(DTYPES).read_bytes()))
    before = sys.getrefcount(content)
    model = ef.Data.open(content)
    arrays = list(model.tensors.values())
    assert sys.getrefcount(content) > before
    del model
    assert sys.getrefcount(content) > before
    arrays.clear()
    gc.collect()
    assert sys.getrefcount(content) == before


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs Linux to list what is mapped")
def test_maps_are_released_with_the_last_view(tmp_path: Path) -> None:
    path = tmp_path / "released.ptd"
    path.write_bytes(fixture(DTYPES).read_bytes())

    def mapped() -> bool:
        return "released.ptd" in Path("/proc/self/maps").read_text()

    model = ef.Data.open(path)
    array = next(array for array in model.tensors.values() if array.nbytes)
    assert mapped()
    del model
    gc.collect()
    assert mapped()
    array.sum()
    del array
    gc.collect()
    assert not mapped()


def test_opening_and_reading_leaks_no_memory() -> None:
    script = """
import resource, sys, executorch_format as ef
def once():
    model = ef.open(sys.argv[1])
    for array in model.tensors.values():
        array.sum()
    model.strip().to_bytes(); model.verify(); model.size(); model.methods["forward"].instructions
    try:
        ef.open(b"nothing")
    except ef.Error:
        pass
for _ in range(50):
    once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(1000):
    once()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    path = fixture("1.5.1/add_mul/add_mul.pte")
    grown = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout
    # In KiB. Leaking one kilobyte a thousand times would be 1,000.
    assert int(grown) < 1000


def test_a_tensor_is_an_array_for_numpy() -> None:
    for path in (DTYPES, "1.5.1/channels_last/channels_last.pte"):
        model = ef.open(fixture(path))
        assert isinstance(model, (ef.Data, ef.Program))
        for entry in model.tensors.entries():
            array = np.asarray(entry)
            assert array.dtype == entry.numpy().dtype
            assert array.strides == entry.numpy().strides
            assert array.__array_interface__["data"] == entry.numpy().__array_interface__["data"]
            assert not array.flags.writeable
            copied = np.array(entry)
            assert copied.flags.writeable
            assert copied.tobytes() == array.tobytes()
    floats = ef.Data.create({"a": np.arange(4, dtype=np.float32)}).tensors.entry("a")
    assert np.asarray(floats, np.float64).tolist() == [0, 1, 2, 3]
    assert np.asarray(floats, np.float64).dtype == np.float64
    assert (np.add(floats, 1) == [1, 2, 3, 4]).all()
    with pytest.raises(ValueError, match="needs a copy"):
        floats.__array__(np.float64, copy=False)


def test_a_tensor_is_read_by_dlpack() -> None:
    entry = ef.Data.create({"a": np.arange(6, dtype=np.int32).reshape(2, 3)}).tensors.entry("a")
    found = np.from_dlpack(entry)
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not found.flags.writeable or not np.shares_memory(found, entry.numpy())
    # A reader without support for read-only tensors gets a copy, or an error if it refuses copies.
    assert "dltensor" in repr(entry.__dlpack__())
    for reader in ({"copy": False}, {"copy": False, "max_version": (0, 8)}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            entry.__dlpack__(**reader)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert "dltensor_versioned" in repr(entry.__dlpack__(max_version=(1, 0)))
        assert np.shares_memory(found, entry.numpy())


def test_missing_names() -> None:
    data = ef.Data.open(fixture(DTYPES))
    with pytest.raises(KeyError, match="no tensor 'bolo'"):
        data.tensors["bolo"]
    assert "bolo" not in data.tensors
    assert data.tensors.get("bolo") is None


def test_types_that_executorch_does_not_have() -> None:
    with pytest.raises(TypeError, match="elements of type"):
        ef.Data.create({"a": np.array(["text"])})
    with pytest.raises(TypeError, match="elements of type"):
        ef.Data.create({"a": np.array([object()])})
