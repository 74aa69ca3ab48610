"""Answers: nothing is lost between the native half and Python's classes, and all of them are plain data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from files import GOOD, fixture, name

import executorch_format as ef
from executorch_format import answers

PROGRAMS = [path for path in GOOD if path.suffix == ".pte"]


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield repr(value)


def same(answer: ef.Answer | Iterable[ef.Answer], native: Any) -> None:
    found = answer.to_dict() if isinstance(answer, ef.Answer) else [one.to_dict() for one in answer]
    assert sorted(leaves(found)) == sorted(leaves(native))
    json.dumps(found)
    assert len(repr(answer)) < 20_000 or not isinstance(answer, ef.Answer)


# Where a tensor's bytes are is a word with fields in JSON, and fields with a kind in Python.
def without_places(native: Any) -> Any:
    if isinstance(native, dict):
        if isinstance(native.get("place"), dict):
            ((kind, fields),) = native["place"].items()
            native = {**native, "place": {"kind": kind, **fields}}
        return {key: without_places(value) for key, value in native.items()}
    return [without_places(item) for item in native] if isinstance(native, list) else native


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_says_all_that_the_native_half_says(path: Path) -> None:
    model = ef.open(path)
    native = model._native
    same(model.size(), native.size())
    same(model.blobs(), native.blobs())
    same(model.verify(), native.verify("strict", []))
    same(model.releases(), native.releases())
    same(model.savings(), native.savings())
    assert repr(path.name)[1:-1] in repr(model)


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_says_all_about_a_program(path: Path) -> None:
    model = ef.Program.open(path)
    native = model._native
    same(model.memory(), native.memory())
    same(model.operators(), native.operators())
    same(model.graphs(), without_places(native.graphs()))
    code = native.disassembly()
    for method, expected in zip(model.methods.values(), code["methods"]):
        for chain, instructions in enumerate(expected["chains"]):
            found = [one for one in method.instructions if one.chain == chain]
            assert [one.index for one in found] == list(range(len(found)))
            for one, other in zip(found, instructions["instructions"]):
                same(one, {**other, "chain": one.chain, "index": one.index})
        for value, other in zip(method.values, without_places(expected["values"])):
            other = {**other, "index": value.index, "name": value.name}
            if value.type in ("Double", "DoubleList"):
                other["constant"] = value.constant
            same(value, other)
        for delegate in method.delegates:
            graph = delegate.graph
            assert graph.to_dict()["kind"] == native.payload(method.name, delegate.index)["kind"]
        json.dumps(method.to_dict())


def test_says_all_about_a_trace() -> None:
    trace = ef.Trace.open(fixture("1.5.1/etdump/etdump.etdp"))
    same(trace.profile(), trace._native.profile(None, None))
    assert trace.profile().runs[0].total > 0


def test_says_all_that_differs() -> None:
    one, other = ef.open(fixture("1.5.1/add/add.pte")), ef.open(fixture("1.5.1/add_mul/add_mul.pte"))
    same(one.diff(other), one._native.diff(other._native))
    assert one.diff(other).differences
    assert not one.diff(one).differences
    assert not one.diff(one).storage


def test_says_all_that_an_edit_did() -> None:
    program = ef.Program.open(fixture("1.5.1/stacktrace/stacktrace.pte"))
    stripped = program.strip()
    assert stripped.changes is not None
    assert program.changes is None
    same(stripped.changes, program._native.strip(True, True, True, True)[1])


def test_report_has_all_answers() -> None:
    report = ef.open(fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte")).report()
    data = report.to_dict()
    assert set(data) == {"summary", "size", "memory", "operators", "graphs", "findings", "savings"}
    json.dumps(data)
    assert report.size is not None
    assert data["size"] == report.size.to_dict()
    assert report.to_html().startswith("<!")
    assert ef.open(fixture("1.5.1/ptd_names/ptd_names.ptd")).report().to_dict()["memory"] is None


def test_report_is_a_page(tmp_path: Path) -> None:
    report = ef.open(fixture("1.5.1/add/add.pte")).report()
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == report.to_html()
    assert page.startswith("<!doctype html>")
    # The data is compressed: what is in it is about this file.
    assert page != ef.open(fixture("1.5.1/add_mul/add_mul.pte")).report().to_html()


def test_notebook_shows_the_viewer() -> None:
    model = ef.Program.open(fixture("1.5.1/multi_method/multi_method.pte"))
    shown = model._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    # The page is an attribute: nothing of it ends that.
    assert shown.count('"') == 6


def test_graphs_are_those_of_their_methods() -> None:
    model = ef.Program.open(fixture("1.5.1/multi_method/multi_method.pte"))
    for name in ("encode", "decode", "forward"):
        method = model.methods[name]
        assert method.graph().method == name
        assert model.graph(name) == method.graph()
        assert method.to_svg().lstrip().startswith("<svg")
        assert method._repr_html_() == method.to_svg()
        assert method.to_dot().startswith(f'digraph "{name}"')
        assert method.memory().name == name
    assert model.graph().method == "decode"
    # It returns a constant.
    assert model.methods["get_int"]._repr_html_() is None
    for ask in (model.methods["get_int"].graph, model.methods["get_int"].to_svg):
        with pytest.raises(ef.Error, match="get_int has no graph"):
            ask()


def test_answers_about_what_is_changed_are_those_about_its_file(tmp_path: Path) -> None:
    changed = ef.Program.open(fixture("1.5.1/stacktrace/stacktrace.pte")).strip().set_metadata("metadata.author", "someone")
    changed.save(tmp_path / "changed.pte")
    again = ef.Program.open(tmp_path / "changed.pte")
    questions: list[Callable[[ef.Program], Any]] = [
        lambda program: program.size(),
        lambda program: program.blobs(),
        lambda program: program.verify(),
        lambda program: program.memory(),
        lambda program: program.operators(),
        lambda program: program.graphs(),
        lambda program: program.summary,
        lambda program: program.tree(),
        lambda program: program.metadata,
        lambda program: program.file_size,
        lambda program: program.savings(),
        lambda program: program.to_bytes(),
    ]
    for question in questions:
        assert question(changed) == question(again)
    assert not changed.diff(again).differences


def test_fields_have_the_place_and_rule_of_an_error() -> None:
    with pytest.raises(ef.Error, match="identifier") as raised:
        ef.open(b"no model at all, whatever it is called")
    assert raised.value.rule == "identifier"
    assert raised.value.offset is not None
    assert isinstance(raised.value, ValueError)
    assert str(raised.value) == raised.value.args[0]


def test_answers_are_frozen_and_equal() -> None:
    one, other = (ef.open(fixture("1.5.1/add/add.pte")).size() for _ in range(2))
    assert one == other
    with pytest.raises(AttributeError):
        one.file_size = 0  # type: ignore[misc]


def test_lists_of_answers_are_lists_of_dicts() -> None:
    rows = ef.open(fixture("1.5.1/add_mul/add_mul.pte")).size().parts.to_dicts()
    assert {tuple(row) for row in rows} == {("kind", "name", "detail", "size", "pieces", "offset", "users")}
    assert sum(row["size"] for row in rows) == ef.open(fixture("1.5.1/add_mul/add_mul.pte")).file_size


def test_every_answer_has_a_docstring() -> None:
    for value in vars(answers).values():
        if isinstance(value, type) and issubclass(value, ef.Answer):
            assert value.__doc__
            assert not value.__doc__.startswith(value.__name__ + "("), f"{value.__name__} has no docstring of its own"
