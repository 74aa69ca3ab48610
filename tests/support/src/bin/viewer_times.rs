//! Measures the pages of `pte report` in a browser: `viewer_times PTE [FILE…]`, where `PTE` is the command, built for release. Prints a
//! Markdown table. Without files, it uses a network like MobileNetV2 (153 instructions), and the program of 3,421 instructions of the
//! benchmarks.
//!
//! Each page is opened 5 times, and the medians are printed: from the start of the navigation to the first frame with the overview; from
//! the call that opens the graph to the second frame after it; from a turn of the mouse wheel over the graph to the end of the next
//! frame, over 60 turns, and the longest of these times.

use executorch_format_support::browser::{Browser, chromium};
use executorch_format_support::networks;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUNS: usize = 5;

/// A script that zooms the graph in and out, a step in each frame. Returns the milliseconds from each wheel event to the end of the next frame.
const FRAMES: &str = r#"(async () => {
  const canvas = document.querySelector(".stage canvas");
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const times = [];
  for (let step = 0; step < 60; step++) {
    await frame();
    const start = performance.now();
    const deltaY = (step % 30 < 15 ? 120 : -120);
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, clientX: left + width / 2, clientY: top + height / 3, bubbles: true, cancelable: true }));
    await frame();
    times.push(performance.now() - start);
  }
  return times;
})()"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let pte = arguments.next().ok_or("usage: viewer_times PTE [FILE…]")?;
    let mut files: Vec<PathBuf> = arguments.collect();
    let folder = std::env::temp_dir().join(format!("executorch-format-viewer-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    if files.is_empty() {
        let (mobilenet, llama) = (folder.join("mobilenet.pte"), folder.join("llama48_narrow.pte"));
        std::fs::write(&mobilenet, networks::mobilenet())?;
        std::fs::write(&llama, networks::llama48_narrow())?;
        files = vec![mobilenet, llama];
    }
    let chromium = chromium().ok_or("no Chromium: apt-get install chromium, or name it in CHROMIUM")?;
    println!("| page of | KiB | open to first click, ms | graph opened, ms | frame, median ms | frame, longest ms |");
    println!("|---|---:|---:|---:|---:|---:|");
    for file in files {
        measure(&pte, &chromium, &file, &folder.join("page.html"))?;
    }
    Ok(std::fs::remove_dir_all(folder)?)
}

fn measure(pte: &Path, chromium: &Path, file: &Path, page: &Path) -> Result<(), Box<dyn Error>> {
    let made = Command::new(pte).args(["report", "--quiet"]).arg(file).arg("-o").arg(page).status()?;
    if !made.success() {
        return Err(format!("pte report fails for {}", file.display()).into());
    }
    let mut figures = [const { Vec::new() }; 4];
    for _ in 0..RUNS {
        let mut browser = Browser::start(chromium, 1280, 800)?;
        browser.open(page)?;
        browser.wait_for("viewer.readyAt")?;
        let ready = browser.evaluate("viewer.readyAt")?.as_f64().ok_or("no number")?;
        let click = "(async () => { const start = performance.now(); viewer.open('graph'); await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); return performance.now() - start; })()";
        let opened = browser.evaluate(click)?.as_f64().ok_or("no number")?;
        let frames = browser.evaluate(FRAMES)?;
        let mut frames: Vec<f64> =
            frames.as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64).collect();
        for (figure, value) in
            figures.iter_mut().zip([ready, opened, median(&mut frames), frames.iter().copied().fold(0.0, f64::max)])
        {
            figure.push(value);
        }
    }
    let [ready, opened, frame, longest] = figures.map(|mut values| median(&mut values));
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let size = std::fs::metadata(page)?.len() >> 10;
    println!("| {name} | {size} | {ready:.0} | {opened:.0} | {frame:.1} | {longest:.1} |");
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
