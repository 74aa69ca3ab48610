//! Planned memory as SVG: instructions from left to right, addresses from bottom to top, and a box for each tensor.

use super::DARK;
use super::xml::Xml;
use crate::inspect::{BufferMemory, Memory, MethodMemory, PlannedTensor};
use crate::names::shortened;
use crate::sizes::format_size;
use alloc::{borrow::ToOwned, format, string::String, string::ToString, vec::Vec};
use core::fmt;

/// The size of the plot, in pixels.
const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 320.0;

/// The margins of a plot for labels of addresses and the title, and its total height including labels of instructions.
const LEFT: f64 = 90.0;
const TOP: f64 = 52.0;
const PANEL: f64 = TOP + HEIGHT + 64.0;

/// The height of the page above the first plot.
const HEAD: f64 = 78.0;

/// The fill colours. Neighbours differ, and dark text is readable on them, also without colour vision (after Okabe and Ito).
const COLOURS: [&str; 6] = ["#8ecae6", "#f6c667", "#9bd3ae", "#f2a69e", "#c9b6e4", "#d9d4a3"];

/// The colour of tensors that keep their content from run to run.
const KEPT: &str = "#c4c9cf";

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#22272e}.h{font-size:15px;font-weight:600}.s{fill:#57606a}\
.a{text-anchor:end}.m{text-anchor:middle}.g{stroke:#d0d7de}.f{fill:#fafbfc;stroke:#d0d7de}\
.o{stroke:#22272e;stroke-opacity:.45;stroke-width:.6}.t:hover{stroke:#22272e;stroke-opacity:1;stroke-width:2}\
.p{stroke:#cf222e;stroke-dasharray:5 4;stroke-width:1.5}.r{fill:#cf222e}.l{pointer-events:none}";

type Out<'f, 'g> = &'f mut fmt::Formatter<'g>;

/// Planned memory as an SVG picture, written by its `Display` implementation: one plot for each buffer of each method.
///
/// Instructions go from left to right, addresses from bottom to top. Each tensor is a box, with its details in a tooltip.
#[derive(Clone, Copy, Debug)]
pub struct MemorySvg<'m> {
    memory: &'m Memory<'m>,
    file: &'m str,
}

impl<'t> Memory<'t> {
    /// Returns the planned memory as a picture. `file` is the name in its title.
    pub fn svg<'m>(&'m self, file: &'m str) -> MemorySvg<'m> {
        MemorySvg { memory: self, file }
    }
}

impl fmt::Display for MemorySvg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods = self.memory.methods.iter();
        let plots: Vec<(&MethodMemory<'_>, &BufferMemory<'_>)> =
            methods.flat_map(|method| method.buffers.iter().map(move |buffer| (method, buffer))).collect();
        let (width, height) = (LEFT + WIDTH + 30.0, HEAD + PANEL * plots.len().max(1) as f64);
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
        )?;
        writeln!(f, "<style>{STYLE}{DARK}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>")?;
        write_text(f, "h", LEFT, 28.0, &format!("Planned memory of {}", shortened(self.file)))?;
        let explanation = [
            "A box is a tensor, by its value's number: from left to right, the instructions while it is needed; from bottom to top, its bytes.",
            "White: memory that nothing needs then. Grey: kept from run to run. Dashed line: when the most is needed.",
        ];
        for (line, explanation) in explanation.into_iter().enumerate() {
            write_text(f, "s", LEFT, 48.0 + 17.0 * line as f64, explanation)?;
        }
        if plots.is_empty() {
            write_text(f, "", LEFT, HEAD + TOP, "No method plans memory.")?;
        }
        for (index, (method, buffer)) in plots.into_iter().enumerate() {
            writeln!(f, "<g transform=\"translate({LEFT} {})\">", HEAD + PANEL * index as f64 + TOP)?;
            plot(f, method, buffer)?;
            writeln!(f, "</g>")?;
        }
        writeln!(f, "</svg>")
    }
}

fn write_text(out: Out<'_, '_>, class: &str, x: f64, y: f64, text: &str) -> fmt::Result {
    writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", Xml(text))
}

/// Converts times and addresses to pixels.
struct Scale {
    times: f64,
    bytes: f64,
}

impl Scale {
    fn x(&self, time: usize) -> f64 {
        time as f64 / self.times * WIDTH
    }

    fn y(&self, address: u64) -> f64 {
        HEIGHT - address as f64 / self.bytes * HEIGHT
    }
}

fn plot(out: Out<'_, '_>, method: &MethodMemory<'_>, buffer: &BufferMemory<'_>) -> fmt::Result {
    let size = buffer.buffer.size;
    let highest = buffer.tensors.iter().map(PlannedTensor::end).max().unwrap_or_default();
    // All times have the same width: inputs, the instructions, outputs.
    let scale = Scale { times: method.instructions as f64 + 2.0, bytes: size.max(highest).max(1) as f64 };
    let title = format!("method {}, buffer {}", shortened(method.name), buffer.buffer);
    write_text(out, "h", 0.0, -26.0, &title)?;
    let lost = if buffer.lost == 0 { "nothing lost".to_owned() } else { format!("{} lost", format_size(buffer.lost)) };
    let about = if method.assumed.is_empty() { "" } else { "about " };
    let lost = if buffer.lost == 0 { lost } else { format!("{about}{lost}") };
    let facts = format!("{} planned, {about}{} needed at once, {lost}", format_size(size), format_size(buffer.needed));
    write_text(out, "s", 0.0, -9.0, &facts)?;
    writeln!(out, "<rect class=\"f\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>")?;
    for quarter in 0..=4 {
        let address = (u128::from(size.max(highest)) * quarter / 4) as u64;
        let y = scale.y(address);
        writeln!(out, "<path class=\"g\" d=\"M-5 {y:.1}H0\"/>")?;
        write_text(out, "s a", -9.0, y + 4.0, &format_size(address))?;
    }
    for time in labelled(method.instructions) {
        let x = scale.x(time) + scale.x(1) / 2.0;
        writeln!(out, "<path class=\"g\" d=\"M{x:.1} {HEIGHT}v5\"/>")?;
        write_text(out, "s m", x, HEIGHT + 19.0, &method.moment(time).to_string())?;
    }
    write_text(out, "s m", WIDTH / 2.0, HEIGHT + 37.0, "instruction")?;
    for (tensor, colour) in buffer.tensors.iter().zip(COLOURS.into_iter().cycle()) {
        box_of(out, &scale, method, tensor, if tensor.kept { KEPT } else { colour })?;
    }
    if buffer.needed > 0 {
        let x = scale.x(buffer.needed_at) + scale.x(1) / 2.0;
        writeln!(out, "<path class=\"p\" d=\"M{x:.1} -2V{HEIGHT}\"/>")?;
    }
    Ok(())
}

/// Returns the times with a label: inputs, outputs, and instructions with round numbers that are not too close to these.
fn labelled(instructions: usize) -> Vec<usize> {
    let step = step(instructions + 2);
    let far = |index: &usize| step == 1 || (*index >= step && instructions - index >= step);
    let between = (0..instructions).step_by(step).filter(far).map(|index| index + 1);
    [0].into_iter().chain(between).chain([instructions + 1]).collect()
}

/// Returns the distance between labels: 1, 2 or 5 times a power of ten, so that there are at most 12.
fn step(times: usize) -> usize {
    let steps = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.saturating_pow(power)));
    steps.take(60).find(|step| times / step <= 12).unwrap_or(usize::MAX)
}

fn box_of(
    out: Out<'_, '_>,
    scale: &Scale,
    method: &MethodMemory<'_>,
    tensor: &PlannedTensor<'_>,
    colour: &str,
) -> fmt::Result {
    let (x, y) = (scale.x(tensor.first), scale.y(tensor.end()));
    let (width, height) = (scale.x(tensor.last + 1) - x, scale.y(tensor.offset) - y);
    let shape = tensor.shape.shape().to_string_with(tensor.shape.shape_dynamism);
    let (value, size) = (tensor.value, format_size(tensor.size));
    let mut tip = format!("value {value}: {shape}, {size} at {}", tensor.offset);
    if let Some(name) = &tensor.shape.name {
        tip = format!("{}, {tip}", shortened(name));
    }
    tip += &if tensor.kept {
        ", kept from run to run".to_owned()
    } else {
        let [first, last] = [tensor.first, tensor.last].map(|time| method.moment(time));
        format!(", needed from {first:#} to {last:#}")
    };
    for (what, values) in [
        ("a view of", &tensor.views),
        ("shares memory with", &tensor.shares_with),
        ("in the place of", &tensor.replaces),
    ] {
        let values: Vec<String> = values.iter().take(8).map(usize::to_string).collect();
        if !values.is_empty() {
            tip += &format!(", {what} {}", values.join(", "));
        }
    }
    // Outlines of many thin boxes would hide their colours.
    let class = if width >= 3.0 && height >= 5.0 { "t o" } else { "t" };
    writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"><title>{}</title></rect>",
        Xml(&tip)
    )?;
    // The longest label that fits in the box: a character is about 7 pixels wide.
    let fits = |label: &str| height >= 15.0 && width >= 7.0 * label.chars().count() as f64 + 6.0;
    let labels = [format!("{value}: {shape}, {size}"), format!("{value}: {size}"), value.to_string()];
    if let Some(label) = labels.iter().find(|label| fits(label)) {
        write_text(out, "m l", x + width / 2.0, y + height / 2.0 + 4.0, label)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_at_both_ends_and_at_round_instructions() {
        assert_eq!(labelled(2), [0, 1, 2, 3]);
        assert_eq!(labelled(0), [0, 1]);
        assert_eq!(labelled(153), [0, 21, 41, 61, 81, 101, 121, 154]);
    }

    #[test]
    fn label_steps_are_round_and_give_at_most_13_labels() {
        assert_eq!([2, 12, 25, 153, 3423].map(step), [1, 1, 2, 20, 500]);
        assert!((4..=12).contains(&(usize::MAX / step(usize::MAX))));
    }
}
