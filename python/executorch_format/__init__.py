"""Reads, verifies and edits ExecuTorch's `.pte` and `.ptd` files.

    import executorch_format as ef

    model = ef.open("model.pte")
    model.tensors["layers.0.weight"]          # a read-only NumPy array of the bytes in the file
    model.methods["forward"].inputs
    model.verify()                            # all findings; empty for a good file
    model.strip().save("smaller.pte")

A fault in a file raises `Error`, which has the rule, the field and the offset.
"""

from executorch_format import answers
from executorch_format._answer import Answer, Answers
from executorch_format._data import Data
from executorch_format._error import Error
from executorch_format._model import AnyFile, Level, Model, Progress, Readable, Report, open
from executorch_format._native import VERSION as __version__
from executorch_format._others import Bundle, Payload, Trace
from executorch_format._program import Delegate, Method, Methods, Program
from executorch_format._tensors import NamedData, Tensor, Tensors

__all__ = [
    "Answer",
    "Answers",
    "AnyFile",
    "Bundle",
    "Data",
    "Delegate",
    "Error",
    "Level",
    "Method",
    "Methods",
    "Model",
    "NamedData",
    "Payload",
    "Program",
    "Progress",
    "Readable",
    "Report",
    "Tensor",
    "Tensors",
    "Trace",
    "__version__",
    "answers",
    "open",
]
