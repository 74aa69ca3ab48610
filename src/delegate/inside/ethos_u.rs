//! The nodes of a payload for an Ethos-U: the operations of its command stream.

use super::budget::GraphBudget;
use super::{InsideArgument, InsideData, InsideNode, InsideTensorType};
use crate::delegate::command_stream::{self, OperationKind, Product, Registers};
use crate::delegate::ethos_u::VelaIo;
use crate::delegate::{EthosU, NamedBlobs};
use crate::error::Result;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, string::String, sync::Arc, vec::Vec};
use core::ops::Range;

/// The region of the weights, which no operation writes.
const WEIGHTS: u16 = 0;

/// The maximum number of earlier results that a node takes for one argument.
const MAX_SOURCES: usize = 16;

/// Returns the nodes, or `None` if the payload has no command stream, or one for an accelerator with other registers.
pub(super) fn nodes(
    payload: &EthosU<'_>,
    blobs: &NamedBlobs<'_>,
    budget: &mut GraphBudget,
) -> Result<Option<Vec<InsideNode>>> {
    let Some(block) = payload.blocks.iter().find(|block| block.name == b"cmd_data") else { return Ok(None) };
    let data = match block.external {
        true => blobs.of_payload(&String::from_utf8_lossy(block.data))?,
        false => block.data,
    };
    let mut nodes = Vec::new();
    let mut reader = Reader::of(payload);
    let product = command_stream::read(data, &mut |kind, registers| {
        let mut node = reader.node(kind, registers);
        node.macs = macs(kind, registers);
        budget.push(&mut nodes, node)
    });
    let product = product.map_err(|error| match block.external {
        true => error,
        false => error.inside(block.offset),
    })?;
    reader.mark_outputs(&mut nodes);
    Ok(product.map(|_: Product| nodes))
}

/// Bytes in a region.
type Place = (u16, Range<u64>);

/// The registers of a tensor: those of its region, its precision, the size less one of its first tile, and its addresses and strides.
struct TensorRegisters {
    region: usize,
    precision: usize,
    zero_point: usize,
    width0: usize,
    heights: [usize; 2],
    bases: usize,
}

const IFM: TensorRegisters = TensorRegisters {
    region: 0x10f,
    precision: 0x105,
    zero_point: 0x109,
    width0: 0x10a,
    heights: [0x10b, 0x10c],
    bases: 0x000,
};
const IFM2: TensorRegisters = TensorRegisters {
    region: 0x18f,
    precision: 0x185,
    zero_point: 0x189,
    width0: 0x18a,
    heights: [0x18b, 0x18c],
    bases: 0x080,
};
const OFM: TensorRegisters = TensorRegisters {
    region: 0x11f,
    precision: 0x114,
    zero_point: 0x118,
    width0: 0x11a,
    heights: [0x11b, 0x11c],
    bases: 0x010,
};

/// A tensor in memory, with height, width and depth.
struct Tensor {
    sizes: [u64; 3],
    datatype: &'static str,
    element_size: u64,
    /// `true` if the channels are in blocks of 16.
    is_blocked: bool,
    region: u16,
    /// The ranges of its tiles.
    ranges: Vec<Range<u64>>,
    zero_point: i16,
}

impl Tensor {
    fn of(registers: &Registers, at: &TensorRegisters, sizes: [u64; 3]) -> Self {
        let precision = registers.short(at.precision);
        // The width of the elements is one bit further up in the registers of inputs.
        let width = precision >> if at.precision == OFM.precision { 1 } else { 2 } & 3;
        let (datatype, element_size) = match (precision & 1, width) {
            (0, 0) => ("u8", 1),
            (_, 0) => ("i8", 1),
            (0, 1) => ("u16", 2),
            (_, 1) => ("i16", 2),
            _ => ("i32", 4),
        };
        let mut tensor = Self {
            sizes,
            datatype,
            element_size,
            is_blocked: precision >> 6 & 1 == 1,
            region: registers.short(at.region),
            ranges: Vec::new(),
            zero_point: registers.short(at.zero_point) as i16,
        };
        let [height, width, _] = sizes;
        let first_width = width.min(registers.size(at.width0));
        let [left, right] = at.heights.map(|code| height.min(registers.size(code)));
        // The tiles: top left, top right, bottom left, bottom right.
        let (rest, below) = (width.saturating_sub(first_width), height.saturating_sub(left));
        let tiles = [(left, first_width), (right, rest), (below, first_width), (height.saturating_sub(right), rest)];
        for (tile, (height, width)) in tiles.into_iter().enumerate() {
            if height > 0 && width > 0 {
                let base = registers.long(at.bases + tile);
                let [x, y, c] = [4, 5, 6].map(|stride| registers.long(at.bases + stride));
                tensor.ranges.push(base..base.saturating_add(tensor.extent([height, width], [x, y, c])));
            }
        }
        tensor
    }

    /// Returns the distance from the first byte of a tile to its end.
    fn extent(&self, [height, width]: [u64; 2], [x, y, c]: [u64; 3]) -> u64 {
        const BLOCK: u64 = 16;
        let [.., depth] = self.sizes;
        let last = |size: u64, stride: u64| size.saturating_sub(1).saturating_mul(stride);
        let of_rows = last(height, y).saturating_add(last(width, x));
        let of_channels = match self.is_blocked {
            true => last(depth.div_ceil(BLOCK), c).saturating_add(BLOCK * self.element_size),
            false => depth.saturating_mul(self.element_size),
        };
        of_rows.saturating_add(of_channels)
    }

    fn to_type(&self) -> InsideTensorType {
        InsideTensorType::new(self.datatype, self.sizes.map(Some).into_iter())
    }

    /// Describes the tensor: `i8[1, 5, 8] in region 1, bytes 0..40, zero point -3`.
    fn text(&self) -> String {
        let layout = if self.is_blocked { ", channels in blocks of 16" } else { "" };
        let zero_point = if self.zero_point == 0 { String::new() } else { format!(", zero point {}", self.zero_point) };
        let ranges: Vec<String> = self.ranges.iter().map(|range| format!("{}..{}", range.start, range.end)).collect();
        format!("{} in region {}, bytes {}{layout}{zero_point}", self.to_type(), self.region, ranges.join(" and "))
    }
}

/// The last value written to each byte: by region and start, the end and the value.
type Written = BTreeMap<(u16, u64), (u64, u32)>;

/// Follows the values through memory.
struct Reader {
    written: Written,
    /// The types of values, by id.
    types: Vec<Arc<InsideTensorType>>,
    /// The delegate's arguments that values are, by id.
    arguments: BTreeMap<u32, u32>,
    /// The ids of data that no operation wrote.
    unwritten: BTreeMap<(u16, u64, u64), u32>,
    /// The places of the outputs.
    outputs: Vec<(Place, u32)>,
}

impl Reader {
    fn of(payload: &EthosU<'_>) -> Self {
        let mut reader = Self {
            written: BTreeMap::new(),
            types: Vec::new(),
            arguments: BTreeMap::new(),
            unwritten: BTreeMap::new(),
            outputs: Vec::new(),
        };
        let inputs = payload.inputs().unwrap_or_default();
        for (input, position) in inputs.iter().zip(0..) {
            let (region, range) = place_of(input);
            let id = reader.value(Arc::new(type_of(input)));
            reader.arguments.insert(id, position);
            reader.write(region, range, id);
        }
        let outputs = payload.outputs().unwrap_or_default();
        reader.outputs = outputs.iter().map(place_of).zip(inputs.len() as u32..).collect();
        reader
    }

    /// Returns the id of a new value.
    fn value(&mut self, tensor: Arc<InsideTensorType>) -> u32 {
        self.types.push(tensor);
        // A stream has fewer operations than bytes.
        (self.types.len() - 1) as u32
    }

    /// Records that bytes now hold a value.
    fn write(&mut self, region: u16, range: Range<u64>, id: u32) {
        if range.is_empty() {
            return;
        }
        // The last older value that starts before may continue inside or after the range.
        if let Some((key, (end, older))) = self.written.range(..(region, range.start)).next_back() {
            let (start, end, older) = (*key, *end, *older);
            if start.0 == region && end > range.start {
                self.written.insert(start, (range.start, older));
                if end > range.end {
                    self.written.insert((region, range.end), (end, older));
                }
            }
        }
        let inside: Vec<u64> =
            self.written.range((region, range.start)..(region, range.end)).map(|(key, _)| key.1).collect();
        for start in inside {
            if let Some((end, older)) = self.written.remove(&(region, start)).filter(|(end, _)| *end > range.end) {
                self.written.insert((region, range.end), (end, older));
            }
        }
        self.written.insert((region, range.start), (range.end, id));
    }

    /// Returns the values in some bytes, in the order of their bytes, at most [`MAX_SOURCES`].
    fn read(&self, region: u16, range: &Range<u64>) -> Vec<u32> {
        let before = self.written.range(..(region, range.start)).next_back();
        let before = before.filter(|((of, _), (end, _))| *of == region && *end > range.start);
        let inside = self.written.range((region, range.start)..(region, range.end.max(range.start)));
        let mut ids: Vec<u32> = Vec::new();
        for (_, (_, id)) in before.into_iter().chain(inside).take(MAX_SOURCES) {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        ids
    }

    /// Returns the arguments for data that an operation reads.
    fn taken(
        &mut self,
        name: &'static str,
        region: u16,
        ranges: &[Range<u64>],
        tensor: &Arc<InsideTensorType>,
    ) -> Vec<InsideArgument> {
        let mut ids: Vec<u32> = Vec::new();
        for range in ranges {
            for id in self.read(region, range) {
                if !ids.contains(&id) && ids.len() < MAX_SOURCES {
                    ids.push(id);
                }
            }
        }
        let written = !ids.is_empty();
        if let (false, Some(range)) = (written, ranges.first()) {
            let place = (region, range.start, range.end);
            let known = self.unwritten.get(&place).copied();
            ids.push(known.unwrap_or_else(|| {
                let id = self.value(tensor.clone());
                self.unwritten.insert(place, id);
                id
            }));
        }
        let constant = !written && region == WEIGHTS;
        let data = ranges.first().filter(|_| constant).map(|range| InsideData::Index(range.start));
        let argument = |id: u32| InsideArgument {
            name: Cow::Borrowed(name),
            id,
            tensor: self.types.get(id as usize).cloned().unwrap_or_default(),
            argument: self.arguments.get(&id).copied(),
            constant,
            data: data.clone(),
            ..InsideArgument::default()
        };
        ids.into_iter().map(argument).collect()
    }

    /// Returns the argument for data that an operation writes.
    fn given(&mut self, region: u16, ranges: &[Range<u64>], tensor: Arc<InsideTensorType>) -> InsideArgument {
        let id = self.value(tensor.clone());
        for range in ranges {
            self.write(region, range.clone(), id);
        }
        InsideArgument { name: "ofm".into(), id, output: true, tensor, ..InsideArgument::default() }
    }

    /// Adds the tensor that an operation reads.
    fn take(&mut self, node: &mut InsideNode, name: &'static str, tensor: &Tensor) {
        node.set(name, tensor.text());
        node.arguments.extend(self.taken(name, tensor.region, &tensor.ranges, &Arc::new(tensor.to_type())));
    }

    fn node(&mut self, kind: OperationKind, registers: &Registers) -> InsideNode {
        if kind == OperationKind::Dma {
            return self.dma(registers);
        }
        let mut node = InsideNode::new(name(kind));
        let output = [0x112, 0x111, 0x113].map(|code| registers.size(code));
        let [height, width, _] = output;
        let kernel = Kernel::of(registers);
        // The input of an element-wise operation has the size of the output. Others read as far as their kernel reaches.
        let input = match kind {
            OperationKind::Elementwise(_) => output,
            _ => {
                let [height, width] = kernel.input([height, width], registers);
                [height, width, registers.size(0x104)]
            }
        };
        let is_unary = matches!(kind, OperationKind::Elementwise(5..=7));
        self.take(&mut node, "ifm", &Tensor::of(registers, &IFM, input));
        if matches!(kind, OperationKind::Elementwise(_)) && !is_unary {
            let broadcast = registers.short(0x180);
            if broadcast >> 7 & 1 == 1 {
                node.set("ifm2", format!("the number {}", registers.short(0x181) as i16));
            } else {
                let [height, width, depth] = output;
                let sizes = [(0, height), (1, width), (2, depth)];
                let sizes = sizes.map(|(bit, size)| if broadcast >> bit & 1 == 1 { 1 } else { size });
                self.take(&mut node, "ifm2", &Tensor::of(registers, &IFM2, sizes));
            }
            if broadcast >> 6 & 1 == 1 {
                node.set("order", "reversed");
            }
        }
        if matches!(kind, OperationKind::Convolution | OperationKind::Depthwise) {
            for (name, region, base) in [("weights", 0x128, 0x020), ("scales", 0x129, 0x022)] {
                self.packed(&mut node, name, registers.short(region), registers.long(base), registers.long(base + 1));
            }
        }
        if !matches!(kind, OperationKind::Elementwise(_)) {
            kernel.settings(&mut node, registers);
        }
        let block = [0x116, 0x115, 0x117].map(|code| registers.size(code));
        node.set("block", format!("{}x{}x{}", block[0], block[1], block[2]));
        match registers.short(0x125) & 0x1f {
            0 => {}
            3 => node.set("activation", "tanh"),
            4 => node.set("activation", "sigmoid"),
            table @ 16..=23 => node.set("activation", format!("table {}", table - 16)),
            other => node.set("activation", format!("{other}")),
        }
        let [least, most] = [0x126, 0x127].map(|code| registers.short(code) as i16);
        node.set("range", format!("{least}..={most}"));
        let tensor = Tensor::of(registers, &OFM, output);
        node.set("ofm", tensor.text());
        let argument = self.given(tensor.region, &tensor.ranges, Arc::new(tensor.to_type()));
        node.arguments.push(argument);
        node
    }

    /// Adds packed weights or scales.
    fn packed(&mut self, node: &mut InsideNode, name: &'static str, region: u16, base: u64, length: u64) {
        let range = base..base.saturating_add(length);
        node.set(name, format!("in region {region}, bytes {}..{}", range.start, range.end));
        let tensor = InsideTensorType::new("packed u8", [Some(length)].into_iter());
        node.arguments.extend(self.taken(name, region, &[range], &Arc::new(tensor)));
    }

    fn dma(&mut self, registers: &Registers) -> InsideNode {
        let mut node = InsideNode::new(name(OperationKind::Dma));
        let [from, to, length] = [0x030, 0x031, 0x032].map(|code| registers.long(code));
        // The regions have 8 bits, with flags for memory inside the accelerator above them.
        let [source, destination] = [0x130, 0x131].map(|code| registers.short(code));
        let tensor = Arc::new(InsideTensorType::new("u8", [Some(length)].into_iter()));
        let [read, written] = [from, to].map(|start| start..start.saturating_add(length));
        let region = |region: u16| match region >> 8 & 1 {
            0 => format!("region {region}"),
            _ => "the accelerator's memory".into(),
        };
        node.set("from", format!("{}, bytes {}..{}", region(source), read.start, read.end));
        node.set("to", format!("{}, bytes {}..{}", region(destination), written.start, written.end));
        node.arguments = self.taken("from", source, &[read], &tensor);
        let argument = self.given(destination, &[written], tensor);
        node.arguments.push(InsideArgument { name: "to".into(), ..argument });
        node.macs = Some(0);
        node
    }

    /// Marks the values that are in the places of the outputs at the end.
    fn mark_outputs(&self, nodes: &mut [InsideNode]) {
        let mut positions: BTreeMap<u32, u32> = BTreeMap::new();
        for ((region, range), position) in &self.outputs {
            for id in self.read(*region, range) {
                positions.entry(id).or_insert(*position);
            }
        }
        for argument in nodes.iter_mut().flat_map(|node| &mut node.arguments).filter(|argument| argument.output) {
            argument.argument = positions.get(&argument.id).copied();
        }
    }
}

fn place_of(io: &VelaIo) -> Place {
    let elements =
        io.shape.iter().fold(1u64, |product, size| product.saturating_mul(u64::try_from(*size).unwrap_or(0)));
    let size = elements.saturating_mul(u64::try_from(io.element_size).unwrap_or(0));
    let (region, start) = (u16::try_from(io.region).unwrap_or(u16::MAX), u64::try_from(io.offset).unwrap_or(0));
    (region, start..start.saturating_add(size))
}

/// Returns the type of an input or output: the payload states the sizes, but only the bytes of an element.
fn type_of(io: &VelaIo) -> InsideTensorType {
    let datatype = match io.element_size {
        1 => Cow::Borrowed("i8"),
        2 => Cow::Borrowed("i16"),
        4 => Cow::Borrowed("i32"),
        size => Cow::Owned(format!("{size} bytes")),
    };
    // The first sizes are 1 if there are fewer dimensions.
    let first = io.shape.iter().position(|size| *size != 1).unwrap_or(io.shape.len());
    InsideTensorType::new(datatype, io.shape.iter().skip(first).map(|size| u64::try_from(*size).ok()))
}

/// The kernel of a convolution or pooling.
struct Kernel {
    /// Height and width, without dilation.
    sizes: [u64; 2],
    strides: [u64; 2],
    dilations: [u64; 2],
}

impl Kernel {
    fn of(registers: &Registers) -> Self {
        let bits = registers.short(0x122);
        let bit = |at: u16| u64::from(bits >> at & 1);
        let dilations = [bit(4) + 1, bit(3) + 1];
        // The stride has its lowest bit and its higher bits in two places.
        let strides = [(bit(1) | u64::from(bits >> 9 & 7) << 1) + 1, (bit(0) | u64::from(bits >> 6 & 7) << 1) + 1];
        let [height, width] = [0x121, 0x120].map(|code| u64::from(registers.short(code)));
        Self { sizes: [height / dilations[0] + 1, width / dilations[1] + 1], strides, dilations }
    }

    /// Returns the height and width that the kernel reads for an output of this height and width, without the padding.
    fn input(&self, output: [u64; 2], registers: &Registers) -> [u64; 2] {
        let padding = [[0x100, 0x103], [0x101, 0x102]];
        let upscale = if registers.short(0x107) & 3 == 0 { 1 } else { 2 };
        let mut sizes = [0; 2];
        for (axis, size) in sizes.iter_mut().enumerate() {
            let [output, stride, kernel, dilation] =
                [&output, &self.strides, &self.sizes, &self.dilations].map(|list| list.get(axis).copied().unwrap_or(1));
            let reach = (kernel - 1).saturating_mul(dilation).saturating_add(1);
            let all = output.saturating_sub(1).saturating_mul(stride).saturating_add(reach);
            let padding = padding.get(axis).into_iter().flatten().map(|code| u64::from(registers.short(*code))).sum();
            *size = all.saturating_sub(padding).div_ceil(upscale).max(1);
        }
        sizes
    }

    fn settings(&self, node: &mut InsideNode, registers: &Registers) {
        let pair = |[height, width]: [u64; 2]| format!("{height}x{width}");
        node.set("kernel", pair(self.sizes));
        node.set("stride", pair(self.strides));
        if self.dilations != [1, 1] {
            node.set("dilation", pair(self.dilations));
        }
        let [top, left, bottom, right] = [0x100, 0x101, 0x103, 0x102].map(|code| registers.short(code));
        if [top, left, bottom, right] != [0; 4] {
            node.set("padding", format!("top {top}, left {left}, bottom {bottom}, right {right}"));
        }
        match registers.short(0x107) & 3 {
            0 => {}
            1 => node.set("upscale", "2x2, nearest"),
            _ => node.set("upscale", "2x2, zeros between"),
        }
    }
}

fn name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Convolution => "conv",
        OperationKind::Depthwise => "depthwise",
        OperationKind::Pool(0) => "pool_max",
        OperationKind::Pool(1) => "pool_average",
        OperationKind::Pool(2) => "pool_reduce_sum",
        OperationKind::Pool(_) => "pool",
        OperationKind::Elementwise(mode) => match mode {
            0 => "elementwise_mul",
            1 => "elementwise_add",
            2 => "elementwise_sub",
            3 => "elementwise_min",
            4 => "elementwise_max",
            5 => "elementwise_lrelu",
            6 => "elementwise_abs",
            7 => "elementwise_clz",
            8 => "elementwise_shr",
            9 => "elementwise_shl",
            _ => "elementwise",
        },
        OperationKind::Dma => "dma",
    }
}

/// Returns the multiply-accumulates of an operation. The sums of a pooling are not counted, as for other backends.
fn macs(kind: OperationKind, registers: &Registers) -> Option<u64> {
    let output = [0x112, 0x111, 0x113].map(|code| registers.size(code)).into_iter().fold(1, u64::saturating_mul);
    let [height, width] = Kernel::of(registers).sizes;
    let taps = output.saturating_mul(height).saturating_mul(width);
    Some(match kind {
        OperationKind::Convolution => taps.saturating_mul(registers.size(0x104)),
        OperationKind::Depthwise => taps,
        _ => 0,
    })
}
