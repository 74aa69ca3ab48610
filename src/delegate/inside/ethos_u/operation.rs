//! The node of an operation, from the registers at its time.

use super::memory::Memory;
use super::name;
use super::tensor::{
    ACCUMULATORS, IFM, IFM2, Kernel, OFM, Streams, Tensor, TensorRegisters, Transfer, WHOLE, in_region, rows,
    transposed,
};
use crate::delegate::command_stream::{OperationKind, Product, Registers};
use crate::delegate::inside::{InsideArgument, InsideNode, InsideTensorType};
use alloc::{format, sync::Arc, vec::Vec};
use core::ops::Range;

impl Memory {
    /// Adds the tensor that an operation reads.
    fn take(&mut self, node: &mut InsideNode, name: &'static str, tensor: &Tensor) {
        node.set(name, tensor.text());
        node.arguments.extend(self.taken(name, tensor.region, &tensor.ranges, &Arc::new(tensor.to_type())));
    }

    /// Adds an input of an element-wise operation that has an output of these sizes.
    fn element(&mut self, node: &mut InsideNode, registers: &Registers, at: &TensorRegisters, sizes: [u64; 3]) {
        let broadcast = registers.short(at.broadcast);
        let number = match registers.product {
            Product::U55 | Product::U65 => (broadcast >> 7 & 1 == 1).then(|| i64::from(registers.short(0x181) as i16)),
            Product::U85 => (broadcast >> 3 & 1 == 1).then(|| i64::from(registers.long(0x027) as i32)),
        };
        if let Some(number) = number {
            return node.set(at.name, format!("the number {number}"));
        }
        let [height, width, depth] = sizes;
        let sizes = [(0, height), (1, width), (2, depth)];
        let sizes = sizes.map(|(bit, size)| if broadcast >> bit & 1 == 1 { 1 } else { size });
        self.take(node, at.name, &Tensor::of(registers, at, sizes));
    }

    pub(super) fn node(&mut self, kind: OperationKind, registers: &Registers) -> InsideNode {
        let mut node = InsideNode::new(name(kind));
        match kind {
            OperationKind::Dma => self.dma(&mut node, registers),
            OperationKind::Branch(condition, target) => {
                node.set("condition", if condition & 1 == 0 { "always" } else { "if true" });
                node.set("target", format!("byte {target} of the commands"));
            }
            _ => self.operation(&mut node, kind, registers),
        }
        node
    }

    fn operation(&mut self, node: &mut InsideNode, kind: OperationKind, registers: &Registers) {
        // The sizes before a transposition.
        let output = [0x112, 0x111, 0x113].map(|code| registers.size(code));
        let [height, width, depth] = output;
        let input_depth = registers.size(0x104);
        let kernel = Kernel::of(registers);
        match kind {
            OperationKind::Elementwise(mode) => {
                self.element(node, registers, &IFM, output);
                let is_unary = matches!(mode, 5..=7 | 36);
                if !is_unary {
                    self.element(node, registers, &IFM2, output);
                    if registers.short(IFM2.broadcast) >> 6 & 1 == 1 {
                        node.set("order", "reversed");
                    }
                }
            }
            // The registers of the kernel have the part of the input that is read.
            OperationKind::Resize(_) => {
                let [height, width] = [0x121, 0x120].map(|code| registers.size(code));
                self.take(node, "ifm", &Tensor::of(registers, &IFM, [height, width, input_depth]));
            }
            // Nothing is pooled: the accumulators, which are the second input, are the result.
            OperationKind::Pool(4) => {}
            _ => {
                let [height, width] = kernel.input([height, width], registers);
                self.take(node, "ifm", &Tensor::of(registers, &IFM, [height, width, input_depth]));
            }
        }
        let has_kernel = !matches!(kind, OperationKind::Elementwise(_) | OperationKind::Resize(_));
        if has_kernel {
            self.accumulators(node, registers, output);
            let streams = Streams::of(registers.product);
            match kind {
                OperationKind::Convolution(true) => {
                    self.take(node, "weights", &Tensor::of(registers, &IFM2, [1, depth, input_depth]));
                }
                OperationKind::Pool(_) => {}
                _ => self.packed(node, "weights", registers, 0x128, streams.weights),
            }
            // Else one scale is for all channels.
            let is_per_channel = registers.short(OFM.precision) >> 8 & 1 == 0;
            if is_per_channel {
                self.packed(node, "scales", registers, 0x129, streams.scales);
            }
            kernel.settings(node, registers);
        }
        if let OperationKind::Resize(_) = kind {
            resize(node, registers);
        }
        let block = [0x116, 0x115, 0x117].map(|code| registers.size(code));
        node.set("block", format!("{}x{}x{}", block[0], block[1], block[2]));
        let (order, sizes) = transposed(registers, output);
        let tensor = Tensor::of(registers, &OFM, sizes);
        activation(node, registers, &tensor);
        if let Some(order) = order {
            node.set("transpose", order);
        }
        match registers.short(OFM.precision) >> 9 & 3 {
            0 => {}
            1 => node.set("reverse", "height"),
            2 => node.set("reverse", "width"),
            _ => node.set("reverse", "depth"),
        }
        node.set("ofm", tensor.text());
        let argument = self.given(tensor.region, &tensor.ranges, Arc::new(tensor.to_type()));
        node.arguments.push(argument);
    }

    /// Adds the first content of the accumulators, if they are not zero.
    fn accumulators(&mut self, node: &mut InsideNode, registers: &Registers, sizes: [u64; 3]) {
        match registers.short(0x124) >> 4 & 3 {
            0 => {}
            1 => {
                node.set("accumulators", "those of the operation before");
                let tensor = Arc::new(InsideTensorType::new("i32", sizes.map(Some).into_iter()));
                node.arguments.extend(self.taken("accumulators", ACCUMULATORS, &[WHOLE], &tensor));
            }
            _ => self.take(node, "accumulators", &Tensor::of(registers, &IFM2, sizes)),
        }
    }

    /// Adds packed weights or scales. `bases` has the registers of the addresses of their streams; those of the lengths follow.
    fn packed(
        &mut self,
        node: &mut InsideNode,
        name: &'static str,
        registers: &Registers,
        region: usize,
        bases: &[usize],
    ) {
        let region = registers.short(region);
        let ranges = bases.iter().map(|base| {
            let start = registers.long(*base);
            start..start.saturating_add(registers.long(base + 1))
        });
        let ranges: Vec<Range<u64>> = ranges.filter(|range| !range.is_empty()).collect();
        node.set(name, format!("in {}", in_region(region, &ranges)));
        let length = ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start));
        let tensor = InsideTensorType::new("packed u8", [Some(length)].into_iter());
        node.arguments.extend(self.taken(name, region, &ranges, &Arc::new(tensor)));
    }

    fn dma(&mut self, node: &mut InsideNode, registers: &Registers) {
        let source = Transfer::of(registers, 0x130, 0x030, [0x033, 0x034]);
        let destination = Transfer::of(registers, 0x131, 0x031, [0x035, 0x036]);
        node.set("from", source.text());
        node.set("to", destination.text());
        let type_of = |range: &Range<u64>| {
            let length = range.end - range.start;
            Arc::new(InsideTensorType::new("u8", [Some(length)].into_iter()))
        };
        let tensor = type_of(&source.range);
        node.arguments = self.taken("from", source.region, &[source.range], &tensor);
        if source.is_indexed || destination.is_indexed {
            let (region, start, [rows, planes]) = (registers.short(0x134), registers.long(0x037), rows(registers));
            // Indices have 4 bytes; those of each plane are this far from those of the one before.
            let plane = rows.saturating_mul(4);
            let distance = plane.saturating_add(registers.long(0x039));
            let end = start.saturating_add(planes.saturating_sub(1).saturating_mul(distance)).saturating_add(plane);
            let range = start..end;
            node.set("indices", format!("in {}", in_region(region, core::slice::from_ref(&range))));
            let tensor = Arc::new(InsideTensorType::new("i32", [Some(planes), Some(rows)].into_iter()));
            node.arguments.extend(self.taken("indices", region, &[range], &tensor));
        }
        let tensor = type_of(&destination.range);
        let argument = self.given(destination.region, &[destination.range], tensor);
        node.arguments.push(InsideArgument { name: "to".into(), ..argument });
    }
}

/// Adds the function and the range of the results.
fn activation(node: &mut InsideNode, registers: &Registers, output: &Tensor) {
    let bits = registers.short(0x125);
    let is_u85 = registers.product == Product::U85;
    match (is_u85, bits & 0x1f) {
        (_, 0) => {}
        (false, 3) | (true, 10) => node.set("activation", "tanh"),
        (false, 4) | (true, 11) => node.set("activation", "sigmoid"),
        (false, table @ 16..=23) => node.set("activation", format!("table {}", table - 16)),
        (true, 1 | 4 | 5 | 7..=9) => node.set("activation", format!("table {}", bits >> 5 & 7)),
        (_, other) => node.set("activation", format!("{other}")),
    }
    let has_range = !is_u85 || bits >> 12 & 1 == 0;
    if has_range {
        let is_unsigned = output.datatype.starts_with('u');
        let [least, most] = [0x126, 0x127].map(|code| {
            let bound = registers.short(code);
            if is_unsigned { i32::from(bound) } else { i32::from(bound as i16) }
        });
        node.set("range", format!("{least}..={most}"));
    }
}

/// Adds the settings of a resize operation.
fn resize(node: &mut InsideNode, registers: &Registers) {
    // A step of one output is a whole number and a rest of the input, of which the scale is the denominator.
    let scale = |code: usize, step: usize| {
        let (scale, step) = (registers.short(code) & 0x7ff, registers.long(step));
        let (whole, rest) = (step >> 32 & 0xf, step & 0x7ff);
        let scale = u64::from(scale) + 1;
        format!("{scale}/{}", whole * scale + rest)
    };
    node.set("scale", format!("{}x{}", scale(0x12b, 0x097), scale(0x12a, 0x096)));
    // Numbers of 12 bits, with a sign.
    let [y, x] = [0x12d, 0x12c].map(|code| (registers.short(code) << 4) as i16 >> 4);
    if [y, x] != [0; 2] {
        node.set("offset", format!("{y}, {x}"));
    }
}
