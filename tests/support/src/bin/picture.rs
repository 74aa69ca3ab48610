//! Takes a picture of a page: `picture PAGE WIDTH HEIGHT OUT.png [--dark] [--file FILE]… [EXPRESSION…]`. First, files are dropped on the
//! page that `web/build` makes, and expressions are evaluated in the page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use executorch_format_support::browser::{Browser, chromium};
use serde_json::json;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [page, width, height, out, rest @ ..] = arguments.as_slice() else {
        return Err("usage: picture PAGE WIDTH HEIGHT OUT.png [--dark] [--file FILE]… [EXPRESSION…]".into());
    };
    let (mut dark, mut files, mut expressions) = (false, Vec::new(), Vec::new());
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--dark" => dark = true,
            "--file" => files.push(Path::new(rest.next().ok_or("--file needs a file")?).canonicalize()?),
            _ => expressions.push(argument),
        }
    }
    let chromium = chromium().ok_or("no Chromium: apt-get install chromium, or name it in CHROMIUM")?;
    let mut browser = Browser::start(&chromium, width.parse()?, height.parse()?)?;
    // The window has a frame, which is not in the picture.
    let (width, height): (u32, u32) = (width.parse()?, height.parse()?);
    let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", size)?;
    if dark {
        let scheme = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
        browser.call("Emulation.setEmulatedMedia", json!({"features": scheme}))?;
    }
    browser.open(&Path::new(page).canonicalize()?)?;
    if !files.is_empty() {
        let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        browser.give("#input", &files)?;
        browser.wait_for("page.taken")?;
        browser.evaluate("page.taken.then(() => page.rest)")?;
    } else if page.ends_with(".html") {
        browser.wait_for("viewer.readyAt || typeof page !== 'undefined'")?;
    }
    for expression in expressions {
        println!("{}", browser.evaluate(expression)?);
    }
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")?;
    std::fs::write(out, STANDARD.decode(browser.screenshot()?)?)?;
    Ok(())
}
