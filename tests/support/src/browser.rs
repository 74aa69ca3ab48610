//! A headless Chromium, driven through its DevTools protocol over two pipes.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A browser with one open page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    events: VecDeque<Value>,
    profile: PathBuf,
}

/// Returns the path of Chromium: from `CHROMIUM`, or one of its names in `PATH`.
pub fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file());
    std::env::var_os("CHROMIUM").map(PathBuf::from).or(found)
}

impl Browser {
    /// Starts Chromium with a window of this size.
    pub fn start(chromium: &Path, width: u32, height: u32) -> io::Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let profile = std::env::temp_dir().join(format!("executorch-format-chromium-{}-{number}", std::process::id()));
        // Chromium reads commands from file 3 and writes answers to file 4.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 >/dev/null 2>&1"#, "sh"])
            .arg(chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (to, from) = child.stdin.take().zip(child.stdout.take()).ok_or(io::ErrorKind::BrokenPipe)?;
        let from = BufReader::new(from);
        let mut browser = Self { child, to, from, session: String::new(), next: 0, events: VecDeque::new(), profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session =
            browser.call("Target.attachToTarget", attach)?["sessionId"].as_str().unwrap_or_default().into();
        browser.call("Page.enable", json!({}))?;
        browser.call("Runtime.enable", json!({}))?;
        browser.call("Network.enable", json!({}))?;
        Ok(browser)
    }

    fn receive(&mut self) -> io::Result<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message)?;
        if message.pop() != Some(0) {
            return Err(io::Error::other("the browser has ended"));
        }
        Ok(serde_json::from_slice(&message)?)
    }

    /// Calls a method of the protocol.
    pub fn call(&mut self, method: &str, parameters: Value) -> io::Result<Value> {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        write!(self.to, "{message}\0")?;
        self.to.flush()?;
        loop {
            let mut answer = self.receive()?;
            if answer["id"] != self.next {
                self.events.push_back(answer);
            } else if answer["error"].is_object() {
                return Err(io::Error::other(format!("{method}: {}", answer["error"])));
            } else {
                return Ok(answer["result"].take());
            }
        }
    }

    /// Opens a file, and waits until it is loaded.
    pub fn open(&mut self, file: &Path) -> io::Result<()> {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}))?;
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.receive()?,
            };
            if event["method"] == "Page.loadEventFired" {
                return Ok(());
            }
            if event["method"] == "Runtime.exceptionThrown" {
                return Err(io::Error::other(event["params"].to_string()));
            }
        }
    }

    /// Evaluates an expression in the page and awaits a promise.
    pub fn evaluate(&mut self, expression: &str) -> io::Result<Value> {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", parameters)?;
        if answer["exceptionDetails"].is_object() {
            return Err(io::Error::other(format!("{expression}: {}", answer["exceptionDetails"])));
        }
        Ok(answer["result"]["value"].take())
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) -> io::Result<()> {
        let wait = format!(
            "new Promise((done, failed) => {{ const end = Date.now() + 60000; const look = () => {{ if ({expression}) done(); else if (Date.now() > end) failed(new Error('not in a minute')); else setTimeout(look, 5); }}; look(); }})"
        );
        self.evaluate(&wait).map(drop)
    }

    /// Clicks at a place of the page.
    pub fn click(&mut self, x: f64, y: f64) -> io::Result<()> {
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let parameters = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", parameters)?;
        }
        Ok(())
    }

    /// Presses a key, given by its name in pages: `Enter`, `Tab`, `Escape`, `ArrowLeft` and the other arrows.
    pub fn press(&mut self, key: &str) -> io::Result<()> {
        let codes = [
            ("Tab", 9),
            ("Enter", 13),
            ("Escape", 27),
            ("ArrowLeft", 37),
            ("ArrowUp", 38),
            ("ArrowRight", 39),
            ("ArrowDown", 40),
        ];
        let code = codes.iter().find(|(name, _)| *name == key).ok_or(io::ErrorKind::InvalidInput)?.1;
        let mut parameters = json!({"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code});
        if key == "Enter" {
            parameters["text"] = "\r".into();
        }
        self.call("Input.dispatchKeyEvent", parameters)?;
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "code": key}))?;
        Ok(())
    }

    /// Gives files to the input element that matches a selector.
    pub fn give(&mut self, selector: &str, files: &[String]) -> io::Result<()> {
        let document = self.call("DOM.getDocument", json!({}))?;
        let root = &document["root"]["nodeId"];
        let input = self.call("DOM.querySelector", json!({"nodeId": root, "selector": selector}))?;
        self.call("DOM.setFileInputFiles", json!({"nodeId": input["nodeId"], "files": files})).map(drop)
    }

    /// Types a text at the cursor.
    pub fn type_text(&mut self, text: &str) -> io::Result<()> {
        self.call("Input.insertText", json!({"text": text})).map(drop)
    }

    /// Takes a picture of the window's content: base64 of a PNG.
    pub fn screenshot(&mut self) -> io::Result<String> {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}))?;
        Ok(answer["data"].as_str().unwrap_or_default().into())
    }

    /// Returns the URLs that the page requested, and exceptions that it did not catch, since it was opened.
    pub fn events(&mut self) -> impl Iterator<Item = &Value> {
        self.events.iter()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
