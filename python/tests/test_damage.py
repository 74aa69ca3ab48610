"""Damaged files raise `Error` or work, for every call. A panic would be a `PanicException`, which is not an `Exception`, and fails the test."""

from __future__ import annotations

import os
import random
import struct
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from files import DATA, GOOD, MALFORMED

import executorch_format as ef

VARIANTS = int(os.environ.get("PTE_DAMAGED", "10000"))
"""The number of damaged files that are opened and verified. All methods are called on every hundredth."""

# Small, so that damage is likely to hit bytes that are read, and of different kinds.
SMALL = [path for path in GOOD if path.stat().st_size < 6_000]

WORDS = [0, 1, 2, 4, 8, 0x7F, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Changes a byte, a word or a few of them, or cuts off the end."""
    new = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        kind, place = chance.randrange(8), chance.randrange(len(new))
        if kind == 0:
            new[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            new[place] = chance.randrange(256)
        elif kind == 2 and len(new) > 8:
            del new[max(place, 1) :]
        else:
            place = min(place & ~3, max(len(new) - 4, 0))
            word = chance.choice(WORDS) if kind < 6 else (int.from_bytes(new[place : place + 4], "little") + chance.randint(-8, 8))
            new[place : place + 4] = struct.pack("<I", word & 0xFFFFFFFF)
    return bytes(new)


def ask_everything(model: ef.Model) -> None:
    questions: list[Callable[[], Any]] = [
        lambda: model.verify("strict"),
        model.size,
        model.blobs,
        model.releases,
        model.savings,
        model.tree,
        lambda: model.summary,
        lambda: model.diff(model),
        lambda: model.report().to_dict(),
        lambda: model.to_bytes(),
        lambda: repr(model),
        lambda: model._repr_html_(),
    ]
    if isinstance(model, (ef.Program, ef.Data)):
        questions += [
            lambda: [array.sum() for array in model.tensors.values() if array.dtype.kind in "iufb"],
            lambda: [len(data) for data in model.named_data.values()],
            model.dedup,
        ]
    if isinstance(model, ef.Program):
        questions += [
            model.operators,
            model.memory,
            model.graphs,
            model.strip,
            model.externalize,
            lambda: model.metadata,
            lambda: model.select(*list(model.methods)[:1]),
            lambda: model.set_metadata("get_x", 1),
            lambda: [method.to_dict() for method in model.methods.values()],
            lambda: [delegate.graph for method in model.methods.values() for delegate in method.delegates],
            lambda: [method.tensor(value) for method in model.methods.values() for value in method.values],
            lambda: [(method.to_svg(), method.to_dot()) for method in model.methods.values()],
        ]
    if isinstance(model, ef.Data):
        questions += [lambda: model.split(1000), lambda: model.merge(model)]
    if isinstance(model, ef.Bundle):
        questions += [lambda: model.program]
    if isinstance(model, ef.Trace):
        questions += [model.profile]
    for question in questions:
        try:
            question()
        except (ef.Error, KeyError):
            pass


def use(content: bytes, everything: bool) -> str:
    """Returns the outcome: the broken rule, or whether the file is good."""
    try:
        model = ef.open(content)
        findings = model.verify("structure")
    except ef.Error as error:
        assert error.rule
        return error.rule
    if everything:
        ask_everything(model)
    return "findings" if findings else "good"


def test_damaged_files_raise_or_work() -> None:
    contents = [path.read_bytes() for path in SMALL]

    def run(part: int) -> Counter[str]:
        chance, seen = random.Random(part), Counter[str]()
        for index in range(VARIANTS // 20):
            content = damaged(chance.choice(contents), chance)
            seen[use(content, index % 100 == 0)] += 1
        return seen

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        seen = sum(pool.map(run, range(20)), Counter[str]())
    assert sum(seen.values()) == VARIANTS
    # The damage is diverse, and not only in outer structures.
    assert len(seen) >= 10
    assert seen["good"] > VARIANTS // 20
    assert seen["good"] < VARIANTS * 0.9


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case["file"])
def test_malformed_corpus(case: dict[str, Any]) -> None:
    folder = DATA / "malformed"
    try:
        model = ef.open(folder / case["file"])
    except ef.Error as error:
        assert error.rule == (case["also"] or case["rule"])
        assert str(error)
        return
    data = [ef.Data.open(folder / case["data"])] if case["data"] else []
    findings = [*model.verify("strict", data=data), *(finding for one in data for finding in one.verify())]
    found = {finding.rule: finding for finding in findings}
    assert case["rule"] in found
    # A call that only some kernels refuse is a warning.
    severities = {case["severity"], "warning"} if case["rule"].startswith("kernel-") else {case["severity"]}
    assert found[case["rule"]].severity in severities
    assert case["level"] != "structure" or case["rule"] in {finding.rule for finding in model.verify("structure", data=data)}
    ask_everything(model)


def test_every_length_of_a_file() -> None:
    content = (DATA / "1.5.1/add_mul/add_mul.pte").read_bytes()
    for length in range(len(content)):
        use(content[:length], length % 50 == 0)


def test_a_method_may_have_a_name_that_is_not_utf_8() -> None:
    content = (DATA / "1.5.1/linear_xnnpack/linear_xnnpack.pte").read_bytes()
    good, bad = ef.Program.open(content), ef.Program.open(content.replace(b"forward", b"\xfforward"))
    assert list(bad.methods) == ["\ufffdorward"]
    method, expected = bad.methods["\ufffdorward"], good.methods["forward"]
    assert bytes(method.delegates[0].data) == bytes(expected.delegates[0].data)
    assert method.delegates[0].graph == expected.delegates[0].graph
    assert method.to_dict()["delegates"] == expected.to_dict()["delegates"]
    assert method.graph().nodes == expected.graph().nodes
    assert method.to_svg().startswith("<svg")
    plain = (DATA / "1.5.1/add_mul/add_mul.pte").read_bytes()
    method = ef.Program.open(plain.replace(b"forward", b"\xfforward")).methods["\ufffdorward"]
    constants = [tensor for tensor in map(method.tensor, method.values) if tensor]
    assert [constant.name for constant in constants] == ["\ufffdorward:%0", "\ufffdorward:%1"][: len(constants)] or constants
    assert len(constants) == 2
    ask_everything(bad)


def test_values_that_no_type_holds() -> None:
    program = ef.Program.open(DATA / "1.5.1/add_mul/add_mul.pte")
    method = program.methods["forward"]
    for ask in (
        lambda: method.tensor(-1),
        lambda: ef.Data.create({"a": b""}, alignment=-1),
        lambda: method.tensor(1 << 70),
        lambda: program.set_metadata("get_x", 1 << 70),
        lambda: program.externalize(alignment=-1),
        lambda: program.externalize(alignment=3),
        lambda: ef.Data.create({"a": b""}, alignment=1 << 40),
        lambda: program.set_metadata("x", object()),  # type: ignore[arg-type]
        lambda: program.verify("all"),  # type: ignore[arg-type]
        lambda: program.replace(("forward", -1), b""),
        lambda: program.set_metadata("\ud800", 1),
    ):
        with pytest.raises((ef.Error, OverflowError, TypeError, ValueError)):
            ask()
    assert method.tensor(10_000) is None
