"""Names from ETRecords and state dicts, and dequantized numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from files import DATA, fixture

import executorch_format as ef

RECORDS = DATA / "etrecord"
NAME = "layers.0.conv.weight"


def program(name: str) -> ef.Program:
    return ef.Program.open(RECORDS / name)


def test_an_etrecord_beside_the_program_names_its_weights() -> None:
    plain = program("net_portable.pte")
    assert NAME not in plain.tensors
    named = plain.with_names()
    assert NAME in named.tensors and named.tensors.entry(NAME).sizes == (8, 8, 3, 3)
    # Keys still work, and iteration is over keys.
    assert list(named.tensors) == list(plain.tensors)
    assert all(key in named.tensors for key in plain.tensors)
    with pytest.raises(KeyError, match="near it are layers.0.conv.weight"):
        named.tensors["layers.0.conv.weigth"]
    value = named.methods["forward"].values[2]
    assert (value.name, value.named_by) == (NAME, "record")
    assert plain.methods["forward"].values[2].name == "convolution.1 weight"
    instruction = named.methods["forward"].instructions[1]
    assert (instruction.label, instruction.module) == ("convolution.1", "layers.0.conv")
    assert instruction.source is not None and instruction.source.file.endswith("net.py")
    assert any(user.name == NAME for blob in named.blobs().blobs for user in blob.users)
    assert any(user.name == NAME for part in named.size().parts for user in part.users)
    assert any(argument.tensor_name == NAME for node in named.graphs()[0].nodes for argument in node.arguments)
    # The data of a page is compressed.
    assert named.report().to_html() != plain.report().to_html()


def test_names_come_from_the_given_files() -> None:
    by_state = program("net_portable.pte").with_names(RECORDS / "net.safetensors")
    assert by_state.methods["forward"].values[2].named_by == "state_dict"
    by_bytes = program("net_portable.pte").with_names((RECORDS / "net_portable.etrecord").read_bytes())
    assert NAME in by_bytes.tensors
    with pytest.raises(ef.Error, match="not that of this program"):
        program("net_portable.pte").with_names(RECORDS / "net_xnnpack.etrecord")
    with pytest.raises(FileNotFoundError):
        ef.Program.open(fixture("1.5.1/linear/linear.pte")).with_names()
    with pytest.raises(ValueError, match="without a path"):
        ef.Program.open((RECORDS / "net_portable.pte").read_bytes()).with_names()


@pytest.mark.parametrize("name", ["net_portable.pte", "net_xnnpack.pte"])
def test_weights_are_replaced_by_their_names(name: str) -> None:
    named = program(name).with_names()
    new = np.arange(5, dtype="f4")
    if name == "net_portable.pte":
        changed = named.replace("head.bias", new)
    else:
        changed = named.replace("head.bias", new, key="another")
        with pytest.raises(ef.Error, match="without a type"):
            named.replace("head.bias", new.tobytes())
    # Names stay with the edited program.
    if name == "net_portable.pte":
        assert np.array_equal(changed.tensors["head.bias"], new)
    else:
        assert np.array_equal(changed.dequantized["head.bias"], new)
        assert np.array_equal(np.frombuffer(changed.named_data["head.bias"], "f4"), new)
    found = named.diff(changed, tensors=True).differences
    assert [difference.tensor_name for difference in found if difference.subject == "weight"] == ["head.bias"]
    distance = next(difference.distance for difference in found if difference.subject == "weight")
    assert distance is not None and distance.elements == 5


def test_weights_are_moved_by_their_names() -> None:
    _, data = program("net_portable.pte").with_names().externalize([NAME])
    assert len(data.tensors) == 1


def test_numbers_are_elements_times_scales() -> None:
    model = ef.Program.open(fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte"))
    numbers = model.dequantized
    assert len(numbers) == sum(1 for _ in numbers) == 6
    scales = [np.frombuffer(data, "<f4") for key, data in model.named_data.items() if key.startswith("scale_")]
    for key, array in numbers.items():
        stored = np.frombuffer(model.named_data[key], "i1" if array.ndim > 1 else "<i4").astype("f4").reshape(array.shape)
        # XNNPACK has one scale for each output channel.
        shape = (-1, *[1] * (array.ndim - 1))
        assert array.dtype == np.float32
        assert any(np.array_equal(array, stored * of.reshape(shape)) for of in scales if len(of) == len(array)), key
    with pytest.raises(KeyError):
        numbers["missing"]


def test_numbers_of_floats_inside_delegates_are_the_state_dict() -> None:
    import safetensors.numpy

    state = safetensors.numpy.load_file(RECORDS / "net.safetensors")
    numbers = program("net_xnnpack.pte").with_names().dequantized
    assert np.array_equal(numbers["head.weight"], state["head.weight"])
    # XNNPACK stores input channels last; by the model's name, they are in PyTorch's layout.
    assert np.array_equal(numbers["stem.weight"], state["stem.weight"])


def test_weights_of_xnnpack_are_replaced_as_by_the_exporter() -> None:
    folder = fixture("replace/layers.old.pte").parent
    named = ef.Program.open(folder / "layers.old.pte").with_names(folder / "layers.etrecord")
    state = ef.Data.from_safetensors(folder / "layers.safetensors").tensors
    changed = named.replace({name: state[name] for name in named.names if name in state})
    assert changed.to_bytes() == (folder / "layers.new.pte").read_bytes()
    assert changed.changes is not None
    assert "0.weight: permuted OIHW to OHWI" in changed.changes.notes
    with pytest.raises(ef.Error, match=r"i32\[4, 3, 3, 3\]"):
        named.replace("0.weight", np.zeros((4, 3, 3, 3), "i4"))
    with pytest.raises(ValueError, match="nothing to replace"):
        named.replace({})
