"""Edits return a new model, leave the old one unchanged, and raise an exception for names that match nothing."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from files import GOOD, beside, fixture, name

import executorch_format as ef

ADD_MUL = "1.5.1/add_mul/add_mul.pte"
EXTERNAL = "1.5.1/add_mul_external/add_mul_external.pte"
EXTERNAL_DATA = "1.5.1/add_mul_external/_default_external_constant.ptd"


@pytest.mark.parametrize("path", [path for path in GOOD if path.suffix == ".pte"], ids=name)
def test_edits_make_good_programs_and_leave_the_old_one(path: Path) -> None:
    program = ef.Program.open(path)
    before = program.to_bytes()
    assert before == path.read_bytes()
    errors = {finding.rule for finding in program.verify() if finding.severity == "error"}
    changed = [program.strip(), program.dedup(), program.select(*program.methods), program.set_metadata("get_new", 1)]
    # An ambiguous plan may keep only its wrong reading once its state is moved: the edit is refused then.
    undecided = any(finding.rule == "planned-memory-unknown" for finding in program.verify())
    # Constants inside payloads stay there.
    own = set(program.tensors) - {key for key, *_ in program._native.inside()}
    if own and not undecided:
        moved, data = program.externalize()
        assert set(data.tensors) >= own
        changed.append(moved)
        # The given files must have all external data.
        if not any(finding.rule == "external-missing" for finding in moved.verify(data=data)):
            changed.append(moved.internalize(data))
    for model in changed:
        again = ef.Program.open(model.to_bytes())
        assert again.file_size == model.file_size
        assert {finding.rule for finding in again.verify() if finding.severity == "error"} <= errors
    assert program.to_bytes() == before


def test_replace_one_and_many() -> None:
    program = ef.Program.open(ADD := fixture(ADD_MUL))
    names = list(program.tensors)
    assert len(names) == 2
    ones = np.ones((2, 2), np.float32)
    one = program.replace(names[0], ones)
    assert np.array_equal(one.tensors[names[0]], ones)
    assert np.array_equal(one.tensors[names[1]], program.tensors[names[1]])
    both = program.replace({name: ones * index for index, name in enumerate(names)})
    assert [both.tensors[name].max() for name in names] == [0.0, 1.0]
    assert program.to_bytes() == ADD.read_bytes()
    assert one.changes is not None
    assert [change.action for change in one.changes.changes] == ["replaced"]


def test_replace_takes_values_bytes_lists_and_tensors() -> None:
    program = ef.Program.open(fixture(ADD_MUL))
    first = next(iter(program.tensors))
    value = next(value for value in program.methods["forward"].values if value.place and value.place.kind == "constant")
    other = program.replace(("forward", value.index), np.full((2, 2), 3, np.float32))
    tensor = other.methods["forward"].tensor(value)
    assert tensor is not None
    assert tensor.numpy().tolist() == [[3, 3], [3, 3]]
    raw = program.replace(first, bytes(16))
    assert not raw.tensors[first].any()
    copied = raw.replace(first, program.tensors.entry(first))
    assert np.array_equal(copied.tensors[first], program.tensors[first])


def test_replace_refuses_another_type_or_shape() -> None:
    program = ef.Program.open(fixture(ADD_MUL))
    first = next(iter(program.tensors))
    for wrong in (np.ones(4, np.float32), np.ones((2, 2)), np.ones((2, 2), np.float16), b"short"):
        with pytest.raises(ef.Error) as raised:
            program.replace(first, wrong)
        assert raised.value.rule == "tensor"


def test_names_that_match_nothing() -> None:
    program, data = ef.Program.open(fixture(ADD_MUL)), ef.Data.open(fixture(EXTERNAL_DATA))
    for ask in (
        lambda: program.replace("nothing", b""),
        lambda: program.select("nothing"),
        lambda: program.externalize(["nothing"]),
        lambda: program.remove_metadata("nothing"),
        lambda: program.internalize(data, ["nothing"]),
        lambda: program.methods["nothing"],
        lambda: data.replace("nothing", b""),
        lambda: data.select(["nothing"]),
        lambda: data.select(lambda key: False),
        lambda: data.rename({"nothing": "more"}),
    ):
        with pytest.raises(KeyError):
            ask()
    with pytest.raises(ef.Error, match="no data was selected"):
        program.externalize(lambda candidate: False)


def test_externalize_by_name_and_by_choice() -> None:
    program = ef.Program.open(fixture(ADD_MUL))
    names = list(program.tensors)
    moved, data = program.externalize([names[1]])
    assert list(data.tensors) == [names[1]]
    assert list(moved.tensors) == [names[0]]
    renamed, data = program.externalize(lambda candidate: f"w.{candidate.key}" if candidate.size == 16 else None)
    assert list(data.tensors) == [f"w.{name}" for name in names]
    assert renamed.verify(data=data) == ()
    assert np.array_equal(renamed.internalize(data).methods["forward"].tensor(0).numpy(), program.tensors[names[0]])  # type: ignore[union-attr]


def test_internalize_real_pair() -> None:
    program, data = ef.Program.open(fixture(EXTERNAL)), ef.Data.open(fixture(EXTERNAL_DATA))
    whole = program.internalize(data)
    assert set(whole.tensors) == set(data.tensors)
    for key in data.tensors:
        assert np.array_equal(whole.tensors[key], data.tensors[key])


def test_select_methods() -> None:
    program = ef.Program.open(fixture("1.5.1/multi_method/multi_method.pte"))
    assert list(program.select("encode").methods) == ["encode"]
    assert program.select("encode").file_size < program.file_size


def test_metadata_of_each_type() -> None:
    program = ef.Program.open(fixture(ADD_MUL))
    for value in (7, -1, True, 0.5, "text"):
        changed = program.set_metadata("get_it", value)
        assert changed.metadata["get_it"] == value
        assert type(changed.metadata["get_it"]) is type(value)
        assert "get_it" not in changed.remove_metadata("get_it").metadata
    for items in ([5, 6], [0.5], [True, False], ["a", "b"]):
        assert program.set_metadata("get_it", items).metadata["get_it"] == items
    for bad in ([], [[1]], [None]):
        with pytest.raises((ef.Error, TypeError)):
            program.set_metadata("get_it", bad)  # type: ignore[arg-type]
    named = program.set_metadata("metadata.author", "someone")
    assert named.metadata["metadata.author"] == b"someone"
    assert bytes(named.named_data["metadata.author"]) == b"someone"


def test_an_edit_that_breaks_a_rule_is_refused() -> None:
    data = ef.Data.open(fixture(EXTERNAL_DATA))
    with pytest.raises(ef.Error):
        data.rename({key: "same" for key in data.tensors})


def test_data_made_merged_split_selected_renamed() -> None:
    arrays = {f"layer.{index}": np.full((8, 4), index, np.float32) for index in range(6)}
    data = ef.Data.create({**arrays, "note": b"hello"}, alignment=64)
    assert bytes(data.named_data["note"]) == b"hello"
    assert data.verify() == ()
    parts = data.split(300)
    assert len(parts) > 2
    merged = parts[0].merge(*parts[1:])
    assert set(merged.tensors) == set(arrays)
    assert all(np.array_equal(merged.tensors[key], array) for key, array in arrays.items())
    by_part = data.split(parts=lambda key: 1 if key == "note" else 0)
    assert [len(part.tensors) for part in by_part] == [6, 0]
    assert list(data.select(["layer.3"]).tensors) == ["layer.3"]
    assert len(data.select(lambda key: key.startswith("layer")).named_data) == 0
    assert "first" in data.rename({"layer.0": "first"}).tensors
    with pytest.raises(TypeError):
        data.split()
    with pytest.raises(ef.Error):
        data.merge(data.replace("layer.1", arrays["layer.2"]))
    same = ef.Data.create({"a": arrays["layer.0"], "b": arrays["layer.0"]})
    assert same.dedup().file_size <= same.file_size


def test_data_is_aligned_as_asked(tmp_path: Path) -> None:
    data = ef.Data.create({"a": np.ones(3, np.int8), "b": np.ones(3, np.int8)}, alignment=4096)
    data.save(tmp_path / "aligned.ptd")
    offsets = [blob.offset for blob in ef.open(tmp_path / "aligned.ptd").blobs().blobs]
    assert offsets
    assert all(offset is not None and offset % 4096 == 0 for offset in offsets)


def test_safetensors_both_ways(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    arrays = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array([True, False]), "c": np.ones((), np.float16)}
    save_file(arrays, tmp_path / "in.safetensors")
    data = ef.Data.from_safetensors(tmp_path / "in.safetensors")
    assert data.skipped == ()
    for key, array in arrays.items():
        assert np.array_equal(data.tensors[key], array)
        assert data.tensors[key].dtype == array.dtype
    assert data.to_safetensors(tmp_path / "out.safetensors") == ()
    for key, array in load_file(tmp_path / "out.safetensors").items():
        assert np.array_equal(arrays[key], array)
    # Also from memory and from a file object.
    content = (tmp_path / "in.safetensors").read_bytes()
    assert ef.Data.from_safetensors(io.BytesIO(content)).to_bytes() == data.to_bytes()
    with pytest.raises(ef.Error):
        ef.Data.from_safetensors(content[:-1])


def test_weights_of_a_program_as_safetensors(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    program = ef.Program.open(fixture("1.5.1/linear/linear.pte"))
    program.to_safetensors(tmp_path / "weights.safetensors")
    found = load_file(tmp_path / "weights.safetensors")
    assert set(found) == set(program.tensors)
    assert all(np.array_equal(found[key], program.tensors[key]) for key in found)
    # A payload is not a tensor: it is an error, or is listed as left out.
    delegated = ef.Program.open(fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte"))
    skipped = delegated.to_safetensors(tmp_path / "none.safetensors", skip=True)
    assert {one.kind for one in skipped} >= {"payload"}


def test_a_kind_that_does_not_fit() -> None:
    with pytest.raises(ef.Error, match="expected a .pte, found a .ptd") as raised:
        ef.Program.open(fixture(EXTERNAL_DATA))
    assert raised.value.rule == "foreign"
    bundle = ef.Bundle.open(fixture("1.5.1/bundled/bundled.bpte"))
    assert list(bundle.program.methods) == ["forward"]
    assert beside(fixture(ADD_MUL), "").read_bytes() == bundle.program.to_bytes()


def test_findings_of_external_data() -> None:
    program = ef.Program.open(fixture(EXTERNAL))
    assert {finding.rule for finding in program.verify()} == {"external-unchecked"}
    assert program.verify(data=ef.Data.open(fixture(EXTERNAL_DATA))) == ()
    wrong = ef.Data.create({"other": np.ones(1)})
    assert "external-missing" in {finding.rule for finding in program.verify(data=[wrong])}
    with pytest.raises(ef.Error, match=r"has no \.ptd files"):
        wrong.verify(data=wrong)


def test_programs_share_their_data_in_one_file() -> None:
    portable, delegated = (ef.Program.open(fixture(f"1.5.1/{name}/{name}.pte")) for name in ("linear", "linear_xnnpack"))
    other = ef.Program.open(fixture("1.5.1/multi_method/multi_method.pte"))
    (first, second, third), data = portable.share(delegated, other)
    assert len(data.tensors) == len(data.named_data) == 2
    for before, after in ((portable, first), (delegated, second)):
        assert after.file_size < before.file_size and after.changes is not None and len(after.changes.changes) == 2
        assert after.verify(data=data) == before.verify()
        again = after.internalize(data)
        assert {name: array.tolist() for name, array in again.dequantized.items()} == {
            name: array.tolist() for name, array in before.dequantized.items()
        }
    assert third.to_bytes() == other.to_bytes()
    (unchanged, _), none = portable.share(delegated, min_size=1000)
    assert unchanged.to_bytes() == portable.to_bytes() and len(none.tensors) == 0


def test_the_hash_of_the_content_is_the_same_after_a_move() -> None:
    program = ef.Program.open(fixture("1.5.1/linear/linear.pte"))
    before = program.content_hash()
    assert [method.name for method in before.methods] == ["forward"] and len(before.weights) == 2
    moved, data = program.externalize()
    assert moved.content_hash(data=data) == before
    with pytest.raises(ef.Error, match="give the .ptd too"):
        moved.content_hash()
    assert data.content_hash().weights == before.weights
    other = program.replace("forward.0", program.tensors["forward.0"] + 1)
    assert other.content_hash().sha256 != before.sha256
