//! Makes a picture of a page: `picture PAGE WIDTH HEIGHT OUT.png [EXPRESSION…]`. Expressions are evaluated in the page first.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use executorch_format_support::browser::{Browser, chromium};
use serde_json::json;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [page, width, height, out, expressions @ ..] = arguments.as_slice() else {
        return Err("usage: picture PAGE WIDTH HEIGHT OUT.png [EXPRESSION…]".into());
    };
    let chromium = chromium().ok_or("no Chromium: apt-get install chromium, or name it in CHROMIUM")?;
    let mut browser = Browser::start(&chromium, width.parse()?, height.parse()?)?;
    // The window has a frame, which is not in the picture.
    let (width, height): (u32, u32) = (width.parse()?, height.parse()?);
    let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", size)?;
    browser.open(&Path::new(page).canonicalize()?)?;
    if page.ends_with(".html") {
        browser.wait_for("viewer.readyAt")?;
    }
    for expression in expressions {
        println!("{}", browser.evaluate(expression)?);
    }
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")?;
    std::fs::write(out, STANDARD.decode(browser.screenshot()?)?)?;
    Ok(())
}
