"""Tables of many files, computed by engines that distribute work over machines: Ray Data and Spark.

    from executorch_format import catalog

    files = catalog.files("s3://bucket/models")
    rows = catalog.with_ray(files).materialize()      # a ray.data.Dataset with a row for each file
    catalog.ray_table(rows, "nodes").write_parquet("catalog/nodes")

    rows = catalog.with_spark(spark, files).persist() # the same as a DataFrame
    catalog.spark_table(rows, "nodes").groupBy("node").count()

Both engines are lazy: without `materialize` or `persist`, every table computed from the rows reads all files again.

The tables and their columns are those of `pte catalog`, which needs no engine. Workers need this package, pyarrow, and the environment variables for
access to stores (`AWS_ACCESS_KEY_ID` and the like). A file that cannot be read becomes a row with the error, so that it does not end the job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from executorch_format._native import catalog_batch as _batch
from executorch_format._native import catalog_files as _files

if TYPE_CHECKING:
    import pyarrow
    import pyspark.sql
    import ray.data

__all__ = ["TABLES", "batch", "files", "ray_table", "schema", "spark_table", "table", "with_ray", "with_spark"]

TABLES = ("files", "methods", "inputs_outputs", "operators", "delegates", "nodes", "blobs", "metadata", "compile_specs", "findings")


class _Exported:
    """A capsule for pyarrow."""

    def __init__(self, capsules: tuple[Any, Any]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        return self._capsules


def files(*prefixes: str) -> list[str]:
    """Lists the model files with these names, in these folders, or below these prefixes of stores, each once: URLs and absolute paths."""
    return _files(list(prefixes))


def batch(files: Sequence[str], *, hash: bool = False, jobs: int = 64) -> pyarrow.RecordBatch:
    """Returns the contents of some files, by URL or path: a row for each file, with the columns of the table `files`, and for each other table a
    list of its rows. `hash` adds the SHA-256 of each blob, which reads whole files; `jobs` is the number of files to read at a time."""
    import pyarrow

    return pyarrow.record_batch(_Exported(_batch(list(files), hash, jobs)))


def schema() -> pyarrow.Schema:
    """Returns the schema of every batch."""
    return batch([]).schema


def table(rows: pyarrow.Table | pyarrow.RecordBatch, name: str) -> pyarrow.Table:
    """Returns one of `TABLES`, from batches."""
    import pyarrow

    if isinstance(rows, pyarrow.RecordBatch):
        rows = pyarrow.Table.from_batches([rows])
    if name == "files":
        return rows.drop_columns(list(TABLES[1:]))
    item = schema().field(_known(name)).type.value_type
    lists = rows.column(name).combine_chunks()
    return pyarrow.Table.from_struct_array(lists.flatten().cast(item))


def _known(name: str) -> str:
    if name not in TABLES:
        raise ValueError(f"no table {name!r}: expected one of {', '.join(TABLES)}")
    return name


def with_ray(files: Sequence[str], *, hash: bool = False, jobs: int = 64, batch_size: int = 256, **options: Any) -> ray.data.Dataset:
    """Returns the rows of `batch`, computed by Ray, with `batch_size` files in each task. `options` are passed to `ray.data.Dataset.map_batches`.

    The dataset is lazy: `materialize` it before computing several tables from it, so that each file is read once."""
    import ray.data

    def rows(names: pyarrow.Table) -> pyarrow.Table:
        import pyarrow

        return pyarrow.Table.from_batches([batch(names.column("item").to_pylist(), hash=hash, jobs=jobs)])

    blocks = max(1, -(-len(files) // batch_size))
    named = ray.data.from_items(list(files), override_num_blocks=blocks)
    return named.map_batches(rows, batch_format="pyarrow", batch_size=None, **options)


def ray_table(rows: ray.data.Dataset, name: str) -> ray.data.Dataset:
    """Returns one of `TABLES`, from the result of `with_ray`."""
    _known(name)
    return rows.map_batches(lambda rows: table(rows, name), batch_format="pyarrow", batch_size=None)


def with_spark(
    spark: pyspark.sql.SparkSession, files: Sequence[str], *, hash: bool = False, jobs: int = 64, batch_size: int = 256
) -> pyspark.sql.DataFrame:
    """Returns the rows of `batch`, computed by Spark or Spark Connect, with `batch_size` files in each partition.

    The frame is lazy: `persist` it before computing several tables from it, so that each file is read once."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def rows(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for names in batches:
            yield batch(names.column(0).to_pylist(), hash=hash, jobs=jobs)

    partitions = max(1, -(-len(files) // batch_size))
    named = spark.createDataFrame([(name,) for name in files], "file string").repartition(partitions)
    return named.mapInArrow(rows, from_arrow_schema(schema()))


def spark_table(rows: pyspark.sql.DataFrame, name: str) -> pyspark.sql.DataFrame:
    """Returns one of `TABLES`, from the result of `with_spark`."""
    if _known(name) == "files":
        return rows.drop(*TABLES[1:])
    return rows.selectExpr(f"inline({name})")
