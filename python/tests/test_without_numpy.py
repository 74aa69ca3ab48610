"""Reading without arrays does not need NumPy. This also runs in an environment without NumPy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from files import fixture

import executorch_format as ef

DATA = fixture("1.5.1/ptd_dtypes/ptd_dtypes.ptd")
HAS_NUMPY = importlib.util.find_spec("numpy") is not None


def test_reading_does_not_import_numpy() -> None:
    script = """
import sys, executorch_format as ef
data = ef.open(sys.argv[1])
for entry in data.tensors.entries():
    assert entry.data.nbytes == len(bytes(entry.data))
data.verify(); data.size(); data.tensors.to_dicts(); repr(data); data._repr_html_()
ef.Data.create({"a": b"bytes", "b": data.tensors.entries()[0]}).to_bytes()
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script, DATA], check=True)


@pytest.mark.skipif(HAS_NUMPY, reason="NumPy is here: its lack is tested in another environment")
def test_arrays_without_numpy_raise_an_error_about_it() -> None:
    data = ef.Data.open(DATA)
    name = next(iter(data.tensors))
    with pytest.raises(ImportError, match="pip install numpy"):
        data.tensors[name]
    with pytest.raises(ImportError, match="pip install numpy"):
        ef.Data.create({"a": [1.0]})
    assert data.tensors.entry(name).data.readonly
