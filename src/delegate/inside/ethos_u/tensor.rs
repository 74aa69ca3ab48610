//! The tensors, kernels and copies that registers state.

use crate::delegate::command_stream::{Product, Registers};
use crate::delegate::inside::{InsideNode, InsideTensorType};
use alloc::{format, string::String, vec::Vec};
use core::ops::Range;

/// The region of the weights, which no operation writes.
pub(super) const WEIGHTS: u16 = 0;

/// Places outside memory, as numbers of regions: memory inside the accelerator that a DMA writes, the buffers of a chain of operations, and the
/// accumulators.
pub(super) const INTERNAL: u16 = 0x100;
pub(super) const CHAIN: u16 = 0x200;
pub(super) const ACCUMULATORS: u16 = 0x300;

/// The place in a buffer of a chain or in the accumulators, which have no addresses.
pub(super) const WHOLE: Range<u64> = 0..1;

/// The registers of a tensor: those of its region, its precision, the size less one of its first tile, and its addresses and strides.
pub(super) struct TensorRegisters {
    pub(super) name: &'static str,
    region: usize,
    /// The dimensions of an input that are repeated, and whether it is a number.
    pub(super) broadcast: usize,
    pub(super) precision: usize,
    zero_point: usize,
    width0: usize,
    heights: [usize; 2],
    bases: usize,
}

pub(super) const IFM: TensorRegisters = TensorRegisters {
    name: "ifm",
    region: 0x10f,
    broadcast: 0x108,
    precision: 0x105,
    zero_point: 0x109,
    width0: 0x10a,
    heights: [0x10b, 0x10c],
    bases: 0x000,
};
pub(super) const IFM2: TensorRegisters = TensorRegisters {
    name: "ifm2",
    region: 0x18f,
    broadcast: 0x180,
    precision: 0x185,
    zero_point: 0x189,
    width0: 0x18a,
    heights: [0x18b, 0x18c],
    bases: 0x080,
};
pub(super) const OFM: TensorRegisters = TensorRegisters {
    name: "ofm",
    region: 0x11f,
    broadcast: 0,
    precision: 0x114,
    zero_point: 0x118,
    width0: 0x11a,
    heights: [0x11b, 0x11c],
    bases: 0x010,
};

/// A tensor in memory, with height, width and depth.
pub(super) struct Tensor {
    sizes: [u64; 3],
    pub(super) datatype: &'static str,
    element_size: u64,
    /// `true` if the channels are in blocks of 16.
    is_blocked: bool,
    pub(super) region: u16,
    /// The ranges of its tiles.
    pub(super) ranges: Vec<Range<u64>>,
    zero_point: i16,
}

impl Tensor {
    pub(super) fn of(registers: &Registers, at: &TensorRegisters, sizes: [u64; 3]) -> Self {
        let precision = registers.short(at.precision);
        // The width of the elements is one bit further up in the registers of inputs.
        let width = precision >> if at.precision == OFM.precision { 1 } else { 2 } & 3;
        let (datatype, element_size) = match (precision & 1, width) {
            (0, 0) => ("u8", 1),
            (_, 0) => ("i8", 1),
            (0, 1) => ("u16", 2),
            (_, 1) => ("i16", 2),
            (_, 2) => ("i32", 4),
            _ => ("i64", 8),
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
        // The place of the data: tiles, three tiles in a column, which Vela does not write, a buffer of the chain, or nowhere.
        let storage = if registers.product == Product::U85 { precision >> 14 } else { 0 };
        match (storage, at.precision == OFM.precision) {
            (0, _) => {}
            (2, _) => {
                tensor.region |= CHAIN;
                tensor.ranges.push(WHOLE);
                return tensor;
            }
            (3, true) => {
                tensor.region = ACCUMULATORS;
                tensor.ranges.push(WHOLE);
                return tensor;
            }
            _ => return tensor,
        }
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

    pub(super) fn to_type(&self) -> InsideTensorType {
        InsideTensorType::new(self.datatype, self.sizes.map(Some).into_iter())
    }

    /// Describes the tensor: `i8[1, 5, 8] in region 1, bytes 0..40, zero point -3`.
    pub(super) fn text(&self) -> String {
        let layout = if self.is_blocked { ", channels in blocks of 16" } else { "" };
        let zero_point = if self.zero_point == 0 { String::new() } else { format!(", zero point {}", self.zero_point) };
        let place = match self.region {
            ACCUMULATORS => "the accumulators".into(),
            CHAIN..ACCUMULATORS => format!("chain buffer {}", self.region - CHAIN),
            region => in_region(region, &self.ranges),
        };
        format!("{} in {place}{layout}{zero_point}", self.to_type())
    }
}

/// Describes places: `region 1, bytes 0..40 and 80..120`.
pub(super) fn in_region(region: u16, ranges: &[Range<u64>]) -> String {
    let bytes: Vec<String> = ranges.iter().map(|range| format!("{}..{}", range.start, range.end)).collect();
    match bytes.is_empty() {
        true => format!("region {region}"),
        false => format!("region {region}, bytes {}", bytes.join(" and ")),
    }
}

/// Returns the order of the dimensions in memory and their sizes in that order.
pub(super) fn transposed(registers: &Registers, [h, w, c]: [u64; 3]) -> (Option<&'static str>, [u64; 3]) {
    match registers.short(OFM.precision) >> 11 & 7 {
        1 => (Some("WHC"), [w, h, c]),
        2 => (Some("HCW"), [h, c, w]),
        3 => (Some("WCH"), [w, c, h]),
        6 => (Some("CHW"), [c, h, w]),
        7 => (Some("CWH"), [c, w, h]),
        _ => (None, [h, w, c]),
    }
}

/// The kernel of a convolution or pooling.
pub(super) struct Kernel {
    /// Height and width, without dilation.
    pub(super) sizes: [u64; 2],
    strides: [u64; 2],
    dilations: [u64; 2],
}

impl Kernel {
    pub(super) fn of(registers: &Registers) -> Self {
        let bits = registers.short(0x122);
        let bit = |at: u16| u64::from(bits >> at & 1);
        let dilations = [bit(4) + 1, bit(3) + 1];
        // The stride has its lowest bit and its higher bits in two places.
        let strides = [(bit(1) | u64::from(bits >> 9 & 7) << 1) + 1, (bit(0) | u64::from(bits >> 6 & 7) << 1) + 1];
        let [height, width] = [0x121, 0x120].map(|code| u64::from(registers.short(code)));
        Self { sizes: [height / dilations[0] + 1, width / dilations[1] + 1], strides, dilations }
    }

    /// Returns the height and width that the kernel reads for an output of this height and width, without the padding.
    pub(super) fn input(&self, output: [u64; 2], registers: &Registers) -> [u64; 2] {
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

    pub(super) fn settings(&self, node: &mut InsideNode, registers: &Registers) {
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

/// The registers of the addresses of packed data, one for each stream that a part of the accelerator reads.
pub(super) struct Streams {
    pub(super) weights: &'static [usize],
    pub(super) scales: &'static [usize],
}

impl Streams {
    pub(super) fn of(product: Product) -> Self {
        match product {
            Product::U55 => Self { weights: &[0x020], scales: &[0x022] },
            Product::U65 => Self { weights: &[0x020, 0x090], scales: &[0x022, 0x092] },
            Product::U85 => Self { weights: &[0x020, 0x090, 0x092, 0x094], scales: &[0x022] },
        }
    }
}

/// One side of a DMA.
pub(super) struct Transfer {
    pub(super) region: u16,
    /// From the first to the last byte that it may use.
    pub(super) range: Range<u64>,
    /// `true` if the place of each row is an index.
    pub(super) is_indexed: bool,
}

impl Transfer {
    /// Reads a side of a DMA from the registers of its region, its address, and its strides between rows and planes.
    pub(super) fn of(registers: &Registers, region: usize, base: usize, strides: [usize; 2]) -> Self {
        let (bits, start) = (registers.short(region), registers.long(base));
        let is_indexed = registers.product == Product::U85 && bits >> 11 & 1 == 1;
        let [mut rows, planes] = rows(registers);
        if is_indexed {
            rows = registers.long(0x038).saturating_add(1);
        }
        let [row, plane] = strides.map(|code| registers.long(code));
        let last = |count: u64, stride: u64| count.saturating_sub(1).saturating_mul(stride);
        let distance = last(rows, row).saturating_add(last(planes, plane));
        let end = start.saturating_add(distance).saturating_add(registers.long(0x032));
        // The number of the region has 3 bits.
        Self { region: bits & (INTERNAL | 7), range: start..end, is_indexed }
    }

    pub(super) fn text(&self) -> String {
        let indexed = if self.is_indexed { ", rows by index" } else { "" };
        let Range { start, end } = self.range;
        match self.region & INTERNAL {
            0 => format!("region {}, bytes {start}..{end}{indexed}", self.region),
            _ => format!("the accelerator's memory, bytes {start}..{end}{indexed}"),
        }
    }
}

/// Returns the numbers of rows and planes that a DMA copies. Vela writes only DMAs of one row for accelerators before the Ethos-U85.
pub(super) fn rows(registers: &Registers) -> [u64; 2] {
    let mode = if registers.product == Product::U85 { registers.short(0x130) >> 9 & 3 } else { 0 };
    let size = |code: usize, least: u16| if mode >= least { u64::from(registers.short(code)) } else { 1 };
    [size(0x132, 1), size(0x133, 2)]
}
