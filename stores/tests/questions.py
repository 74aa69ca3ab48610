"""Runs the questions of docs/catalog.md on a catalogue of the test files with DuckDB and with DataFusion: both must give the same, non-empty answers.

    python questions.py CATALOG
"""

from __future__ import annotations

import sys
from pathlib import Path

import datafusion
import duckdb

TABLES = ("files", "methods", "inputs_outputs", "operators", "delegates", "nodes", "blobs", "metadata", "compile_specs", "findings")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "catalog.md"


def main(catalog: Path) -> None:
    duck = duckdb.connect()
    fusion = datafusion.SessionContext()
    for table in TABLES:
        parts = catalog / table
        duck.execute(f"CREATE VIEW {table} AS SELECT * FROM '{parts}/*.parquet'")
        fusion.register_parquet(table, str(parts))
    questions = [block.split("```")[0] for block in PAGE.read_text().split("```sql\n")[1:]]
    assert len(questions) == 10, len(questions)
    for question in questions:
        first = duck.execute(question).fetchall()
        batches = fusion.sql(question).collect()
        second = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        assert first, f"no answer: {question}"
        assert [tuple(map(int_or_text, row)) for row in first] == [tuple(map(int_or_text, row)) for row in second], question
        print(f"{len(first):5} rows: {question.splitlines()[0]}")


def int_or_text(value: object) -> object:
    return int(value) if isinstance(value, (int, float)) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
