"""Answers keep all data of the native half, and convert to plain data."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from files import GOOD, fixture, name

import executorch_format as ef
from executorch_format import _answer, answers

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


# In JSON, the place of a tensor's bytes is a word with fields; in Python, it is fields with a kind.
def without_places(native: Any) -> Any:
    if isinstance(native, dict):
        if isinstance(native.get("place"), dict):
            ((kind, fields),) = native["place"].items()
            native = {**native, "place": {"kind": kind, **fields}}
        return {key: without_places(value) for key, value in native.items()}
    return [without_places(item) for item in native] if isinstance(native, list) else native


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_answers_keep_all_data_of_the_native_half(path: Path) -> None:
    model = ef.open(path)
    native = model._native
    same(model.size(), native.size())
    same(model.blobs(), native.blobs())
    same(model.verify(), native.verify("strict", []))
    releases = native.releases([])
    same(model.releases(), releases["releases"])
    same(model.loads_in(), releases["loads_in"])
    same(model.savings(), native.savings())
    assert repr(path.name)[1:-1] in repr(model)


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_program_answers_are_complete(path: Path) -> None:
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
            assert graph.to_dict()["kind"] == native.payload(method._index, delegate.index)["kind"]
        json.dumps(method.to_dict())


def test_trace_answers_are_complete() -> None:
    trace = ef.Trace.open(fixture("1.5.1/etdump/etdump.etdp"))
    same(trace.profile(), trace._native.profile(None, None))
    assert trace.profile().runs[0].total > 0


def test_diff_is_complete() -> None:
    one, other = ef.open(fixture("1.5.1/add/add.pte")), ef.open(fixture("1.5.1/add_mul/add_mul.pte"))
    same(one.diff(other), one._native.diff(other._native, False))
    assert one.diff(other).differences
    assert not one.diff(one).differences
    assert not one.diff(one).storage


def test_edit_report_is_complete() -> None:
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
    # The page is an attribute: its text must not end the attribute.
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


def test_node_data_has_numbers_for_the_nodes_in_model_explorer() -> None:
    model = ef.Program.open(fixture("payloads/ethos_u85/conv.pte"))
    explorer = model.to_model_explorer()
    assert explorer["label"] == model.path
    [graph] = explorer["graphs"]
    labels = {node["id"]: node["label"] for node in graph["nodes"]}
    macs = model.node_data("macs")[graph["id"]]["results"]
    convolutions = [(labels[id], int(result["value"])) for id, result in macs.items() if result["value"] > 0]
    assert convolutions == [("conv", 13824), ("depthwise", 4608), ("conv", 4096), ("conv", 160)]
    sizes = model.node_data("sizes")[graph["id"]]["results"].values()
    assert [int(result["value"]) for result in sizes] == [512, 288, 336, 432]
    assert json.loads(json.dumps(explorer)) == explorer
    with pytest.raises(ValueError, match="no amount \"bytes\": expected 'times', 'macs' or 'sizes'"):
        model.node_data("bytes")  # type: ignore[arg-type]


def test_node_data_has_the_times_of_a_trace() -> None:
    model = ef.Program.open(fixture("payloads/profile_portable.pte"))
    trace = ef.Trace.open(fixture("payloads/profile_portable.etdp"))
    times = model.node_data("times", trace=trace)["forward"]["results"].values()
    [run] = [run for run in trace.profile(model).runs if run.method == "forward"]
    events = [event.total for event in run.events if event.kind == "instruction"]
    assert sum(time["value"] for time in times) == pytest.approx(sum(events) / run.count)
    with pytest.raises(ValueError, match="'times' requires a trace"):
        model.node_data("times")
    with pytest.raises(ef.Error, match="is not an ETDump"):
        model.node_data("times", trace=model)  # type: ignore[arg-type]
    with pytest.raises(ef.Error):
        ef.Program.open(fixture("1.5.1/add/add.pte")).node_data("times", trace=trace)


def test_answers_about_a_changed_model_are_those_about_its_file(tmp_path: Path) -> None:
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
    with pytest.raises(ef.Error, match="a text file") as raised:
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


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_answers_have_a_hash_and_do_not_change(path: Path) -> None:
    def ask() -> list[Any]:
        model = ef.open(path)
        answers = [model.size(), model.blobs(), *model.verify(), *model.releases(), *model.savings()]
        if isinstance(model, ef.Program):
            answers += [model.memory(), model.operators(), *model.graphs()]
            for method in model.methods.values():
                answers += [*method.values, *method.instructions]
                answers += [delegate.graph for delegate in method.delegates]
        if isinstance(model, ef.Trace):
            answers.append(model.profile())
        return answers

    def unchanging(value: Any) -> None:
        assert isinstance(value, (ef.Answer, tuple, str, bytes, int, float, _answer.Fields, type(None)))
        if isinstance(value, dict):
            with pytest.raises(TypeError):
                value["new"] = 1
            for item in value.values():
                unchanging(item)
        elif isinstance(value, tuple):
            for item in value:
                unchanging(item)
        elif isinstance(value, ef.Answer):
            for item in vars(value).values():
                unchanging(item)

    one, other = ask(), ask()
    # NaN is not equal to itself.
    if one == other:
        assert list(map(hash, one)) == list(map(hash, other))
        assert set(one) == set(other)
    for answer in one:
        hash(answer)
        unchanging(answer)
    assert pickle.loads(pickle.dumps(one)) == one or one != other


def test_slices_of_answers_are_answers() -> None:
    parts = ef.open(fixture("1.5.1/add_mul/add_mul.pte")).size().parts
    assert parts[1:3].to_dicts() == parts.to_dicts()[1:3]
    assert parts[::-1][0] == parts[-1]
    assert isinstance(parts[0], answers.SizePart)


def test_releases_compare_by_their_numbers() -> None:
    releases = ef.open(fixture("1.5.1/add/add.pte")).releases()
    assert [release.release for release in releases if release.version >= (1, 4)] == ["1.4", "1.5"]
    assert sorted(releases, key=lambda release: release.version) == list(releases)
    assert dataclasses.replace(releases[0], release="1.10").version > (1, 5)


def test_the_verdict_is_that_of_the_newest_release() -> None:
    for path in ["1.5.1/add/add.pte", "kernels/add_mixed.pte", "kernels/adds_dim.pte", "kernels/dropout_training_mode.pte"]:
        model = ef.open(fixture(path))
        verdict = model.verdict()
        assert verdict is not None
        assert verdict == model.report().verdict == list(model.releases())[-1].verdict
        assert (verdict.outcome == "runs") == (not verdict.because)
    program = ef.Program.open(fixture("1.5.1/add/add.pte"))
    bare = program.fit({"runtime": "1.5", "libraries": ["quantized"]}).verdict
    assert [(cause.outcome, cause.name) for cause in bare.because] == [("missing", "missing-operators")]
    with pytest.raises(ValueError, match='"9.9" is not a release'):
        program.fit({"runtime": "9.9"})


def test_answers_show_the_first_and_the_number_of_all() -> None:
    program = ef.open(fixture("1.5.1/multi_method/multi_method.pte"))
    assert isinstance(program, ef.Program)
    shown = repr(program.releases())
    assert shown.startswith("Answers(Release(release='0.2', behaviour='loads'") and shown.endswith("…, … 12 in all)")
    assert len(shown) < 600
    assert repr(program.verify()) == "Answers()"
    assert repr(program.methods["forward"].inputs).startswith("Answers(Value(index=4, type='Tensor'")


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_times_are_instructions_or_those_of_inputs_and_outputs(path: Path) -> None:
    program = ef.Program.open(path)
    for memory in program.memory().methods:
        method = program.methods[memory.name]
        assert memory.instructions == len(method.instructions)
        outputs = {value.index for value in method.outputs}
        for tensor in [tensor for buffer in memory.buffers for tensor in buffer.tensors]:
            assert -1 <= tensor.first <= tensor.last <= memory.instructions
            last = memory.moment(tensor.last)
            # A method that never ends has no outputs.
            if tensor.value in outputs and path.stem != "jump_forever":
                assert last == "outputs"
            if isinstance(last, int):
                assert method.instructions[last]
            if tensor.first == -1:
                assert memory.moment(tensor.first) == "inputs"
        for buffer in memory.buffers:
            assert memory.moment(buffer.needed_at) in ("inputs", "outputs", *range(memory.instructions))


def test_a_scalar_type_has_one_spelling() -> None:
    program = ef.Program.open(fixture("1.5.1/const_complex/const_complex.pte"))
    named = {entry.name: entry.scalar_type for entry in program.tensors.entries()}
    assert named == {"get_c64.0": 9, "get_c128.0": 10, "get_c32.0": 8}
    for name, scalar_type in named.items():
        method = program.methods[name.partition(".")[0]]
        (value,) = method.outputs
        tensor = method.tensor(value)
        assert tensor is not None
        assert tensor.scalar_type == value.scalar_type == scalar_type
    assert [one.scalar_type for one in program.size().scalar_types] == [9, 10, 8]
    assert {entry.to_dict()["scalar_type"] for entry in program.tensors.entries()} == {8, 9, 10}
    assert program.externalize()[1].tensors.entry("get_c64.0").scalar_type == 9


def test_lists_of_answers_are_lists_of_dicts() -> None:
    rows = ef.open(fixture("1.5.1/add_mul/add_mul.pte")).size().parts.to_dicts()
    assert {tuple(row) for row in rows} == {("kind", "size", "pieces", "detail", "name", "offset", "users")}
    assert sum(row["size"] for row in rows) == ef.open(fixture("1.5.1/add_mul/add_mul.pte")).file_size


def test_every_answer_has_a_docstring() -> None:
    for value in vars(answers).values():
        if isinstance(value, type) and issubclass(value, ef.Answer):
            assert value.__doc__
            assert not value.__doc__.startswith(value.__name__ + "("), f"{value.__name__} has no docstring of its own"


def test_fit_lists_what_a_target_lacks_and_all_needs() -> None:
    program = ef.open(fixture("answers/banks.pte"))
    assert isinstance(program, ef.Program)
    fit = program.fit({"runtime": "1.5", "memories": {"1": "26KiB", "2": 4096}})
    assert fit.verdict.outcome == "does-not-fit"
    lacking = {"missing": "memory", "method": "forward", "memory_id": 2, "span": 1, "needed": 8192, "available": 4096}
    assert fit.missing == (lacking,) and fit.unknown == ()
    method = fit.needs.methods[0]
    assert [(buffer.memory_id, buffer.span, buffer.size) for buffer in method.buffers] == [(1, 0, 8224), (2, 1, 8192)]
    assert program.fit({"memories": {"1": 8224, "2": "8KiB"}}).verdict == program.verdict()
    program = ef.open(fixture("answers/kwargs_dict_outputs.pte"))
    assert isinstance(program, ef.Program)
    method = program.fit({}).needs.methods[0]
    assert [value.name for value in method.inputs] == [None, "bias", "mask"]
    assert [value.name for value in method.outputs] == ["y", "a"]
