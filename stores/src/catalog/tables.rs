//! The tables of a catalogue: their columns, and rows that are converted to Arrow.

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, ListArray, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// The version of the format of all tables. Within a version, columns may be added; none is removed or changes its meaning.
pub const FORMAT: u32 = 2;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A list of texts.
    Texts,
    /// A number.
    Int,
    /// A list of numbers.
    Ints,
    /// A number with a fraction.
    Float,
    /// A boolean.
    Bool,
    /// A time, in microseconds since 1970.
    Time,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// `true` if the column may be null.
    pub nullable: bool,
    /// A description of its values.
    pub about: &'static str,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// The name of the table and of its folder.
    pub name: &'static str,
    /// A description of its rows.
    pub about: &'static str,
    /// The columns. The first two are the file and its folder.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, nullable: false, about }
}

const fn maybe(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, nullable: true, about }
}

use Kind::{Bool, Float, Int, Ints, Text, Texts, Time};

const FILE: Column = column("file", Text, "The file's URL or absolute path");

/// The second column of every table; [`Rows::add`] fills it in.
const FOLDER: Column = column("folder", Text, "The file's name up to its last slash, for partitioning tables");

/// Returns the name of a file up to its last slash.
fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Every table. `files` is the first.
pub const TABLES: &[Table] = &[
    Table {
        name: "files",
        about: "A file",
        columns: &[
            FILE,
            FOLDER,
            maybe("kind", Text, "pte, ptd, bpte, etdp; null if its first bytes are of an unknown kind"),
            maybe("size", Int, "Bytes; null if it could not be opened"),
            maybe("etag", Text, "The store's identifier of this content"),
            maybe("modified", Time, "The time of the last change"),
            maybe("metadata_size", Int, "Bytes of the FlatBuffer with the header; null if it cannot be read"),
            maybe(
                "metadata_sha256",
                Text,
                "Their SHA-256. Files with the same metadata and payloads get the same answers",
            ),
            maybe(
                "program_sha256",
                Text,
                "SHA-256 of the computations of the methods, without weights: programs with the same hash differ at most in weights. Constants of XNNPACK's payloads count as weights; payloads of other backends count by their size",
            ),
            maybe("method_count", Int, "Methods that compute something"),
            column(
                "loads",
                Texts,
                "The releases of ExecuTorch that load it, oldest first: by its format, its operators and XNNPACK's payloads, with the kernels that it needs",
            ),
            column("kernels", Texts, "The kernels that it needs outside the portable library, as library: operator"),
            column("refuses", Texts, "The releases that report an error"),
            column("dies", Texts, "The releases that crash"),
            column("miscomputes", Texts, "The releases that load it, but compute wrong results"),
            maybe(
                "verdict",
                Text,
                "What the newest release with everything in its own libraries does with it: does-not-load, missing (an operator, a backend or external data), refuses-call, dies, miscomputes, unknown, runs; null for traces and unknown kinds",
            ),
            column("because", Texts, "The reasons for the verdict, the worst first"),
            column("native_code", Bool, "True if a payload has machine code that runs on the CPU when it is loaded"),
            column("bytes_read", Int, "Bytes read for its rows, except for hashes"),
            column("requests", Int, "The number of requests for these bytes"),
            column("hashed", Bool, "True if the file and its blobs have hashes"),
            maybe("sha256", Text, "The SHA-256 of the whole file, with --hash"),
            maybe(
                "run",
                Int,
                "The number of the first run that saw this content, which `catalog.json` has for the last one; null for rows of Python",
            ),
            maybe("size_before", Int, "Its size in bytes before it last changed; null if no run saw it change"),
            maybe(
                "error_kind",
                Text,
                "unreadable: it could not be opened, and the next run tries again; invalid: it is not a valid model",
            ),
            maybe("error", Text, "The reason why it has no other data"),
        ],
    },
    Table {
        name: "methods",
        about: "A method that computes something",
        columns: &[
            FILE,
            FOLDER,
            column("method", Text, "Its name"),
            column("inputs", Int, "The number of inputs"),
            column("outputs", Int, "The number of outputs"),
            column("values", Int, "The number of values"),
            column("instructions", Int, "The number of instructions"),
            column("kernel_calls", Int, "The number of them that call a kernel"),
            column("delegate_calls", Int, "The number of them that call a delegate"),
            column("delegates", Int, "The number of delegates"),
            column("planned_memory", Int, "Bytes of planned memory for its tensors"),
            column(
                "method_memory",
                Int,
                "Other bytes that ExecuTorch 1.5 allocates to load it, with pointers of 8 bytes and a temporary allocator, without the memory of backends other than XNNPACK",
            ),
        ],
    },
    Table {
        name: "inputs_outputs",
        about: "An input or output of a method",
        columns: &[
            FILE,
            FOLDER,
            column("method", Text, "The method's name"),
            column("direction", Text, "input or output"),
            column("index", Int, "Its index, from 0"),
            maybe(
                "type",
                Text,
                "The schema's name of its kind: Tensor, Int, ...; null if the value's index is out of range",
            ),
            maybe("name", Text, "A tensor's name, if it has one"),
            maybe("scalar_type", Text, "The type of a tensor's elements"),
            maybe("sizes", Ints, "The size of each dimension: an upper bound if the shape is dynamic"),
            maybe("dim_order", Ints, "The dimensions as they are stored, outermost first"),
            maybe("dynamism", Text, "STATIC, DYNAMIC_BOUND or DYNAMIC_UNBOUND"),
            maybe("bytes", Int, "Bytes of the elements"),
        ],
    },
    Table {
        name: "operators",
        about: "An operator that a method lists",
        columns: &[
            FILE,
            FOLDER,
            column("method", Text, "The method's name"),
            column("operator", Text, "Name and overload: aten::add.out"),
            column("calls", Int, "The number of instructions that call it"),
        ],
    },
    Table {
        name: "delegates",
        about: "A delegate of a method",
        columns: &[
            FILE,
            FOLDER,
            column("method", Text, "The method's name"),
            column("delegate", Int, "Its index in the method"),
            column("backend", Text, "The backend's name: XnnpackBackend"),
            maybe("payload_kind", Text, "The kind of its payload: xnnpack, vulkan, ..."),
            maybe("payload_offset", Int, "The offset of the payload in the file"),
            maybe("payload_size", Int, "Bytes"),
            maybe("accelerator", Text, "For Ethos-U: the accelerator that it was compiled for"),
            column("native_code", Bool, "True if the payload has machine code that runs on the CPU when it is loaded"),
            maybe("nodes", Int, "For XNNPACK, Vulkan, Core ML and Ethos-U: the number of operators inside"),
            maybe("error", Text, "The reason why the payload's contents are unknown"),
        ],
    },
    Table {
        name: "nodes",
        about: "An operator inside the payloads of XNNPACK, Vulkan, Core ML or Ethos-U. A payload that several delegates share has rows only for the first one",
        columns: &[
            FILE,
            FOLDER,
            column("method", Text, "The method's name"),
            column("delegate", Int, "The delegate's index in the method"),
            column("backend", Text, "The backend's name"),
            column("node", Text, "Its name in the payload's schema: XNNConv2d"),
            column("times", Int, "The number of such nodes"),
        ],
    },
    Table {
        name: "blobs",
        about: "A range of bytes with references: segments, constants, payloads, named data",
        columns: &[
            FILE,
            FOLDER,
            column(
                "kind",
                Text,
                "segment, constant, initial_state, delegate, named, external, program, input, expected",
            ),
            maybe("offset", Int, "Bytes from the start of the file; null if it is not in the file"),
            column("size", Int, "Bytes"),
            maybe("sha256", Text, "The SHA-256 of its bytes, with --hash"),
            column("users", Int, "The number of references to it"),
            maybe("method", Text, "The method of its first user, if that belongs to one"),
            maybe("value", Int, "The index of its first user among the method's values, if that is a tensor"),
            maybe("key", Text, "For named and external data: its name"),
            maybe("name", Text, "For a tensor or named data: its name, as far as the program itself contains it"),
            maybe("named_by", Text, "The source of the name: file, input or operator"),
            maybe("scalar_type", Text, "For a tensor: the type of its elements, such as f32"),
            maybe("sizes", Ints, "For a tensor: the size of each dimension"),
            maybe(
                "used",
                Bool,
                "For named data of a program: true if a payload refers to it; null if payloads cannot be read",
            ),
        ],
    },
    Table {
        name: "metadata",
        about: "A value that a constant method returns, such as get_max_seq_len: the metadata of the exporter",
        columns: &[
            FILE,
            FOLDER,
            column("method", Text, "The method's name"),
            column("value", Text, "The value, as JSON: of a tensor, its type and sizes"),
            maybe("number", Float, "The value, if it is a number or a boolean"),
        ],
    },
    Table {
        name: "compile_specs",
        about: "A setting that a delegate was compiled with",
        columns: &[
            FILE,
            FOLDER,
            column("method", Text, "The method's name"),
            column("delegate", Int, "The delegate's index in the method"),
            column("backend", Text, "The backend's name"),
            column("key", Text, "The setting's name"),
            maybe("value", Text, "Its value, shortened; null if it is not text"),
            column("size", Int, "Bytes of the value"),
        ],
    },
    Table {
        name: "findings",
        about: "A broken rule of the level `runtime`: a fault that ExecuTorch 1.5 refuses when it loads the file. `pte verify` checks more",
        columns: &[
            FILE,
            FOLDER,
            column("rule", Text, "The rule's name: pte verify --explain RULE"),
            column("severity", Text, "error or warning"),
            column("path", Text, "The field"),
            maybe("offset", Int, "Bytes from the start of the file"),
            column("message", Text, "The found and the expected value"),
        ],
    },
];

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// Text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A number, or a time.
    Int(i64),
    /// A list of numbers.
    Ints(Vec<i64>),
    /// A number with a fraction.
    Float(f64),
    /// A boolean.
    Bool(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(bit: bool) -> Self {
        Self::Bool(bit)
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl From<$type> for Value {
            fn from(number: $type) -> Self {
                Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
    )*};
}
numbers!(i64 u64 usize);

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The rows of one file, or of several, in every table.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The cells of each table, row by row.
    cells: Vec<Vec<Value>>,
}

impl Default for Rows {
    fn default() -> Self {
        Self { cells: TABLES.iter().map(|_| Vec::new()).collect() }
    }
}

impl Rows {
    /// Adds a row: the file, and the cells of all columns after its folder. Does nothing if there is no such table.
    pub fn add<const N: usize>(&mut self, table: &str, file: &str, row: [Value; N]) {
        let found =
            TABLES.iter().zip(&mut self.cells).find(|(known, _)| known.name == table && known.columns.len() == N + 2);
        debug_assert!(found.is_some(), "{table} does not have {N} columns after the folder");
        if let Some((_, cells)) = found {
            cells.extend([file.into(), folder(file).into()]);
            cells.extend(row);
        }
    }

    /// Returns the rows of a table, given its index in [`TABLES`].
    #[expect(
        clippy::indexing_slicing,
        reason = "callers take the index from `TABLES`, and there are cells for each table"
    )]
    fn of(&self, table: usize) -> std::slice::ChunksExact<'_, Value> {
        self.cells[table].chunks_exact(TABLES[table].columns.len())
    }

    /// Returns the number of rows in a table.
    pub fn count(&self, table: usize) -> usize {
        self.of(table).len()
    }

    /// Returns the approximate memory that the rows take, in bytes.
    pub fn weight(&self) -> usize {
        let of = |value: &Value| match value {
            Value::Text(text) => 40 + text.len(),
            Value::Texts(texts) => 40 + texts.iter().map(|text| 40 + text.len()).sum::<usize>(),
            Value::Ints(numbers) => 40 + 8 * numbers.len(),
            _ => 40,
        };
        self.cells.iter().flatten().map(of).sum()
    }
}

enum Builder {
    Text(StringBuilder),
    Texts(ListBuilder<StringBuilder>),
    Int(Int64Builder),
    Ints(ListBuilder<Int64Builder>),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Time(TimestampMicrosecondBuilder),
}

const ZONE: &str = "UTC";

/// The name of list items: that of Parquet, which Spark accepts.
const ITEM: &str = "element";

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Text => Self::Text(StringBuilder::new()),
            Texts => Self::Texts(ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8))),
            Int => Self::Int(Int64Builder::new()),
            Ints => Self::Ints(ListBuilder::new(Int64Builder::new()).with_field(item(DataType::Int64))),
            Float => Self::Float(Float64Builder::new()),
            Bool => Self::Bool(BooleanBuilder::new()),
            Time => Self::Time(TimestampMicrosecondBuilder::new().with_timezone(ZONE)),
        }
    }

    fn add(&mut self, value: &Value) {
        match (self, value) {
            (Self::Text(builder), Value::Text(text)) => builder.append_value(text),
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Texts(builder), Value::Texts(texts)) => builder.append_value(texts.iter().map(Some)),
            (Self::Texts(builder), _) => builder.append_null(),
            (Self::Int(builder), Value::Int(number)) => builder.append_value(*number),
            (Self::Int(builder), _) => builder.append_null(),
            (Self::Ints(builder), Value::Ints(numbers)) => {
                builder.append_value(numbers.iter().copied().map(Some));
            }
            (Self::Ints(builder), _) => builder.append_null(),
            (Self::Float(builder), Value::Float(number)) => builder.append_value(*number),
            (Self::Float(builder), _) => builder.append_null(),
            (Self::Bool(builder), Value::Bool(bit)) => builder.append_value(*bit),
            (Self::Bool(builder), _) => builder.append_null(),
            (Self::Time(builder), Value::Int(time)) => builder.append_value(*time),
            (Self::Time(builder), _) => builder.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut builder) => Arc::new(builder.finish()),
            Self::Texts(mut builder) => Arc::new(builder.finish()),
            Self::Int(mut builder) => Arc::new(builder.finish()),
            Self::Ints(mut builder) => Arc::new(builder.finish()),
            Self::Float(mut builder) => Arc::new(builder.finish()),
            Self::Bool(mut builder) => Arc::new(builder.finish()),
            Self::Time(mut builder) => Arc::new(builder.finish()),
        }
    }
}

fn item(kind: DataType) -> Field {
    Field::new(ITEM, kind, false)
}

impl Table {
    fn fields(&self) -> Fields {
        let field = |column: &Column| {
            let kind = match column.kind {
                Text => DataType::Utf8,
                Texts => DataType::List(Arc::new(item(DataType::Utf8))),
                Int => DataType::Int64,
                Ints => DataType::List(Arc::new(item(DataType::Int64))),
                Float => DataType::Float64,
                Bool => DataType::Boolean,
                Time => DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into())),
            };
            Field::new(column.name, kind, column.nullable)
        };
        self.columns.iter().map(field).collect()
    }

    /// Returns the schema in Arrow.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields()))
    }
}

/// Returns the rows of several files of one table, in the order of the files.
#[expect(clippy::indexing_slicing, reason = "callers take the index from `TABLES`")]
pub fn batch<'r>(table: usize, rows: impl Iterator<Item = &'r Rows>) -> Result<RecordBatch, ArrowError> {
    let known = &TABLES[table];
    let mut builders: Vec<Builder> = known.columns.iter().map(|column| Builder::new(column.kind)).collect();
    for row in rows.flat_map(|rows| rows.of(table)) {
        builders.iter_mut().zip(row).for_each(|(builder, value)| builder.add(value));
    }
    RecordBatch::try_new(known.schema(), builders.into_iter().map(Builder::finish).collect())
}

/// Returns the rows of several files as one row each: the columns of `files`, and for each other table a column with a list of rows.
pub fn nested(rows: &[Rows]) -> Result<RecordBatch, ArrowError> {
    let files = batch(0, rows.iter())?;
    let mut fields: Vec<Arc<Field>> = files.schema().fields().iter().cloned().collect();
    let mut columns = files.columns().to_vec();
    for (at, table) in TABLES.iter().enumerate().skip(1) {
        let inner = StructArray::from(batch(at, rows.iter())?);
        let lengths = rows.iter().map(|rows| rows.count(at));
        let item = Arc::new(Field::new(ITEM, DataType::Struct(table.fields()), false));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths(lengths);
        let list = ListArray::try_new(Arc::clone(&item), offsets, Arc::new(inner), None)?;
        fields.push(Arc::new(Field::new(table.name, DataType::List(item), false)));
        columns.push(Arc::new(list));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Formats the tables as Markdown for the documentation.
pub fn page() -> String {
    let mut page = String::new();
    for table in TABLES {
        page += &format!("### {}\n\n{}.\n\n| column | type | |\n|---|---|---|\n", table.name, table.about);
        for Column { name, kind, nullable, about } in table.columns {
            let kind = match kind {
                Text => "text",
                Texts => "list of texts",
                Int => "64-bit integer",
                Ints => "list of 64-bit integers",
                Float => "64-bit float",
                Bool => "boolean",
                Time => "timestamp, UTC",
            };
            let null = if *nullable { ", or null" } else { "" };
            page += &format!("| `{name}` | {kind}{null} | {about} |\n");
        }
        page.push('\n');
    }
    page
}
