"""A catalogue computed by Ray Data and by Spark, each with two workers, one of which dies midway: the rows are those of `pte catalog`. Also with a counting
web server: each object is read as often for all tables together as for one batch.

    python engines.py CATALOG FOLDER [ray] [spark]

CATALOG is the output of `pte catalog FOLDER --hash`.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from counting import Server

from executorch_format import catalog


# Tables that the engines unpack themselves.
SOME = ("files", "nodes")

# Files that are also read from a counting server.
COUNTED = 20


def rows(table: pyarrow.Table) -> list[str]:
    """Returns each row as text, sorted."""
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in table.to_pylist())


def same(name: str, found: pyarrow.Table, expected: pyarrow.Table) -> None:
    assert found.column_names == expected.column_names, name
    left, right = rows(found), rows(expected)
    assert left == right, f"{name}: {next(pair for pair in zip(left, right) if pair[0] != pair[1]) if len(left) == len(right) else (len(left), len(right))}"


def die_once(flag: str) -> None:
    """Kills the first process that calls this."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def once(engine: str, server: Server, urls: list[str], tables: Callable[[], dict[str, pyarrow.Table]]) -> None:
    """Checks that each object is requested as often for all tables of an engine as for one batch."""
    server.take()
    batch = catalog.batch(urls)
    expected = server.take()
    assert len(expected) == len(urls), expected
    found = tables()
    counted = server.take()
    assert counted == expected, f"{engine}: {counted}, expected {expected}"
    for name, table in found.items():
        rows = catalog.table(batch, name)
        if rows.num_rows or table.num_rows:
            same(f"{engine}, {name}", table, rows)
    print(f"{engine}: {counted.total()} requests for {len(urls)} objects and {len(found)} tables, as for one batch")


def by_ray(files: list[str], flag: str, server: Server) -> dict[str, pyarrow.Table]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.WARNING)

    def dying(rows: pyarrow.Table) -> pyarrow.Table:
        die_once(flag)
        return rows

    found = catalog.with_ray(files, hash=True, batch_size=30).map_batches(dying, batch_format="pyarrow", batch_size=None)
    found = found.materialize()

    def collected(dataset: Any) -> pyarrow.Table:
        parts = [ray.get(part) for part in dataset.to_arrow_refs()]
        # Parts without rows have no columns.
        filled = [part for part in parts if part.num_rows]
        return pyarrow.concat_tables(filled) if filled else pyarrow.table({})

    whole = collected(found)
    tables = {name: catalog.table(whole, name) for name in catalog.TABLES}
    for name in SOME:
        same(f"ray, {name}", collected(catalog.ray_table(found, name)), tables[name])

    def counted() -> dict[str, pyarrow.Table]:
        rows = catalog.with_ray(urls).materialize()
        return {name: collected(catalog.ray_table(rows, name)) for name in catalog.TABLES}

    urls = [server.url(file) for file in files[:COUNTED]]
    once("ray", server, urls, counted)
    ray.shutdown()
    return tables


def by_spark(files: list[str], flag: str, server: Server) -> dict[str, pyarrow.Table]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    # Two executors, each in its own process.
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    found = catalog.with_spark(spark, files, hash=True, batch_size=30)

    def dying(batches: Any) -> Any:
        for rows in batches:
            die_once(flag)
            yield rows

    found = found.mapInArrow(dying, found.schema).cache()
    whole = found.toArrow()
    tables = {name: catalog.table(whole, name) for name in catalog.TABLES}
    for name in SOME:
        same(f"spark, {name}", catalog.spark_table(found, name).toArrow(), tables[name])

    def counted() -> dict[str, pyarrow.Table]:
        rows = catalog.with_spark(spark, urls).persist()
        return {name: catalog.spark_table(rows, name).toArrow() for name in catalog.TABLES}

    urls = [server.url(file) for file in files[:COUNTED]]
    once("spark", server, urls, counted)
    spark.stop()
    return tables


def main(written: Path, folder: str, engines: list[str]) -> None:
    files = catalog.files(folder)
    expected = {name: pyarrow.parquet.read_table(written / name) for name in catalog.TABLES}
    # Only `pte catalog` numbers its runs.
    numbers = pyarrow.nulls(expected["files"].num_rows, pyarrow.int64())
    column = expected["files"].schema.get_field_index("run")
    expected["files"] = expected["files"].set_column(column, "run", numbers)
    assert expected["files"].num_rows == len(files) > 50
    # Runs in this process.
    alone = catalog.batch(files, hash=True)
    assert alone.schema == catalog.schema()
    for name, table in expected.items():
        same(name, catalog.table(alone, name), table)
    server = Server(folder)
    for engine in engines:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            flag = os.path.join(place, "died")
            found = {"ray": by_ray, "spark": by_spark}[engine](files, flag, server)
            assert os.path.exists(flag), f"{engine}: no worker died"
        for name, table in expected.items():
            same(f"{engine}, {name}", found[name], table)
        print(f"{engine}: {len(files)} files, the same rows in {len(found)} tables, in {time.monotonic() - start:.1f} s with a worker that died")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:] or ["ray", "spark"])
