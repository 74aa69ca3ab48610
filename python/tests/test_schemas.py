"""The classes of `answers` have the same fields and types as the JSON Schemas of the command's documents."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from files import fixture
from test_answers import same

import executorch_format as ef
from executorch_format import answers
from executorch_format._answer import Answer, Answers

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"

# The document and the definition in it that correspond to each class.
DEFINITIONS = {
    answers.Finding: ("verify", "Finding"),
    answers.Blob: ("list", "Row"),
    answers.BlobUser: ("size", "BlobUser"),
    answers.SizePart: ("size", "SizePart"),
    answers.MethodSize: ("size", "MethodSize"),
    answers.ScalarTypeSize: ("size", "TypeSize"),
    answers.OperatorSize: ("size", "OperatorSize"),
    answers.Size: ("size", "FileSize"),
    answers.Idle: ("memory", "Period"),
    answers.PlannedTensor: ("memory", "PlannedTensor"),
    answers.Arena: ("memory", "PlannedBuffer"),
    answers.Buffer: ("memory", "BufferMemory"),
    answers.Assumed: ("memory", "Assumption"),
    answers.MethodMemory: ("memory", "MethodMemory"),
    answers.Memory: ("memory", "FileMemory"),
    answers.KernelTensor: ("ops", "TensorUse"),
    answers.Kernel: ("ops", "Named2"),
    answers.Operator: ("ops", "Named"),
    answers.Backend: ("ops", "Named3"),
    answers.Count: ("ops", "OperatorCalls"),
    answers.Operators: ("ops", "FileOperators"),
    answers.Argument: ("disasm", "Argument"),
    answers.Value: ("disasm", "CodeValue"),
    answers.Instruction: ("disasm", "Code"),
    answers.CompileSpec: ("disasm", "CompileSetting"),
    answers.InsideArgument: ("disasm", "InsideArgument"),
    answers.InsideNode: ("disasm", "InsideNode"),
    answers.GraphArgument: ("graph", "GraphArgument"),
    answers.GraphNode: ("graph", "Node"),
    answers.GraphEdge: ("graph", "Edge"),
    answers.Graph: ("graph", "Graph"),
    answers.Difference: ("diff", "Difference"),
    answers.Distance: ("diff", "Distance"),
    answers.SourceLine: ("disasm", "SourceLine"),
    answers.EventTarget: ("profile", "EventTarget"),
    answers.ProfiledNode: ("profile", "ProfiledNode"),
    answers.Event: ("profile", "EventProfile"),
    answers.Run: ("profile", "RunProfile"),
    answers.Profile: ("profile", "FileProfile"),
    answers.Reason: ("info", "Reason"),
    answers.Support: ("info", "Answer"),
    answers.Release: ("info", "ReleaseVerdict"),
    answers.Change: ("edit", "Change"),
    answers.ChangeUser: ("edit", "User"),
    answers.Skipped: ("convert", "Skipped"),
}

# Fields that only documents have, and fields that only classes have.
OTHERS: dict[type[Answer], set[str]] = {
    # Only `pte list --hash` has it.
    answers.Blob: {"sha256"},
    # `Model.savings` has the former; only the command counts by module, and multiply-accumulates.
    answers.Size: {"savings", "modules"},
    answers.Memory: {"modules"},
    answers.Operators: {"modules", "macs"},
    # The index in a list of the document.
    answers.Value: {"index"},
    # In other documents, a file has this name.
    answers.SourceLine: {"file"},
    # The index in a list of the document.
    answers.Instruction: {"chain", "index"},
    # Only with a trace.
    answers.GraphNode: {"time"},
}


def forms(schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields a schema and all parts of it: references, alternatives."""
    yield schema
    if "$ref" in schema:
        yield from forms(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(keyword, ()):
            yield from forms(part, definitions)


def kinds(schema: dict[str, Any], definitions: dict[str, Any]) -> set[str]:
    """Returns the kinds of values that a schema allows."""
    found = set()
    for form in forms(schema, definitions):
        named = form.get("type", ())
        found |= {named} if isinstance(named, str) else set(named)
        found |= {"string" for value in form.get("enum", ()) if isinstance(value, str)}
    return found


def kinds_of_hint(hint: Any) -> set[str]:
    """Returns the kinds of values that a hint allows."""
    if hint is answers.Place:
        # A place without fields is a word in JSON.
        return {"object", "string"}
    if hint is Any:
        return {"array", "boolean", "integer", "null", "number", "object", "string"}
    if get_origin(hint) is not None and get_origin(hint) not in (tuple, Answers):
        return set().union(*map(kinds_of_hint, get_args(hint)))
    known = {int: "integer", str: "string", float: "number", bool: "boolean", type(None): "null"}
    if hint in known:
        return {known[hint]}
    return {"object"} if isinstance(hint, type) and issubclass(hint, Answer) else {"array"}


@pytest.mark.parametrize("cls", DEFINITIONS, ids=lambda cls: cls.__name__)
def test_classes_have_the_fields_of_the_documents(cls: type[Answer]) -> None:
    document, name = DEFINITIONS[cls]
    definitions = json.loads((SCHEMAS / f"{document}.json").read_text(encoding="utf-8"))["$defs"]
    schemas = [form for form in forms(definitions[name], definitions) if "properties" in form]
    fields: dict[str, set[str]] = {}
    for schema in schemas:
        for field, value in schema["properties"].items():
            optional = field not in schema.get("required", ()) and "array" not in kinds(value, definitions)
            absent = any(field not in other["properties"] for other in schemas)
            fields.setdefault(field, set()).update(kinds(value, definitions), {"null"} if optional or absent else ())
    fields = {field: kinds for field, kinds in fields.items() if field not in ("file", "program_offset")}
    hints = get_type_hints(cls)
    found = {field.name.rstrip("_"): kinds_of_hint(hints[field.name]) for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    assert set(found) ^ set(fields) == OTHERS.get(cls, set())
    for field in set(found) & set(fields):
        assert found[field] >= fields[field] - {"null"}, f"{field}: {found[field]}, {fields[field]}"


def test_a_profile_with_its_program_keeps_all_data_of_the_native_half() -> None:
    trace, program = ef.Trace.open(fixture("payloads/profile_xnnpack.etdp")), ef.Program.open(fixture("payloads/profile_xnnpack.pte"))
    profile = trace.profile(program)
    same(profile, trace._native.profile(program._native, None))
    assert any(event.node for run in profile.runs for event in run.events)
    assert any(event.runs and event.runs.backend for run in profile.runs for event in run.events)
