//! A hostile web server on loopback: endless responses, endless listings, keys that are not paths, redirects.
//!
//! It is bounded itself: it stops when it is dropped, sends at most [`MAX_SENT`] bytes in an answer, and answers at most [`MAX_REQUESTS`]
//! requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The largest number of bytes in an answer.
pub const MAX_SENT: u64 = 2 << 30;

/// The largest number of answered requests.
pub const MAX_REQUESTS: u64 = 200_000;

/// The hostile behaviour of a server. Listings answer `GET` with a query, as from S3, or `PROPFIND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each answer has this status and an endless body.
    EndlessError(u16),
    /// A page of a listing is endless.
    EndlessPage,
    /// The pages of a listing have keys and always the same continuation token.
    SameToken,
    /// The pages of a listing have no keys and always the same continuation token.
    SameTokenWithoutKeys,
    /// The pages of a listing have no keys and always another continuation token.
    EmptyPages,
    /// The pages of a listing always have other keys and another continuation token.
    NewTokens,
    /// A listing has one key with a file, and keys that cannot be paths.
    BadKeys,
    /// A listing has this many thousand keys without files, and then repeats a token.
    Keys(u64),
    /// A listing arrives at one byte per second.
    SlowPage,
    /// Each request is redirected to another port.
    RedirectAway(u16),
    /// Each request is redirected to the same server.
    RedirectForEver,
    /// Each request is redirected to the metadata service of cloud machines.
    RedirectToMetadata,
    /// A range of a file is answered with all of an endless file.
    EndlessFile,
}

/// Every mode, except those with an argument that a caller chooses.
pub const MODES: [Mode; 13] = [
    Mode::EndlessError(400),
    Mode::EndlessError(403),
    Mode::EndlessError(404),
    Mode::EndlessPage,
    Mode::SameToken,
    Mode::SameTokenWithoutKeys,
    Mode::EmptyPages,
    Mode::NewTokens,
    Mode::BadKeys,
    Mode::SlowPage,
    Mode::RedirectForEver,
    Mode::RedirectToMetadata,
    Mode::EndlessFile,
];

struct State {
    mode: Mode,
    file: Vec<u8>,
    requests: AtomicU64,
    sent: AtomicU64,
    stopped: AtomicBool,
}

/// A server that runs until it is dropped.
pub struct HostileServer {
    state: Arc<State>,
    port: u16,
}

impl HostileServer {
    /// Starts, with the file of the only valid key, `good.pte`.
    pub fn start(mode: Mode, file: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State {
            mode,
            file,
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.stopped.load(Ordering::Relaxed) {
                    break;
                }
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&state, &stream));
            }
        });
        Self { state, port }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes in endless answers so far, including bytes that no client has received yet.
    pub fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::Relaxed)
    }

    /// Returns the URL of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Returns the environment variables with which a process finds a bucket here.
    pub fn bucket_variables(&self) -> [(&'static str, String); 3] {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        [("AWS_ENDPOINT", endpoint), ("AWS_ALLOW_HTTP", "true".into()), ("PTE_ANONYMOUS", "1".into())]
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Relaxed);
        // A connection wakes the thread.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Answers the requests of a connection.
fn serve(state: &State, stream: &TcpStream) {
    let _ = (stream.set_nodelay(true), stream.set_read_timeout(Some(Duration::from_secs(60))));
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if !reader.read_line(&mut line).is_ok_and(|size| size > 0) {
            return;
        }
        let mut is_range = false;
        loop {
            let mut header = String::new();
            match reader.read_line(&mut header) {
                Ok(size) if size > 0 && header.trim_end() != "" => {
                    is_range |= header.to_ascii_lowercase().starts_with("range:")
                }
                _ => break,
            }
        }
        let number = state.requests.fetch_add(1, Ordering::Relaxed);
        if state.stopped.load(Ordering::Relaxed)
            || number >= MAX_REQUESTS
            || answer(state, stream, &line, number, is_range).is_none()
        {
            return;
        }
    }
}

/// Sends the bytes repeatedly, until the client closes the connection.
fn for_ever(state: &State, mut stream: &TcpStream, bytes: &[u8], pause: Duration) -> Option<()> {
    let mut sent = 0;
    while sent < MAX_SENT && !state.stopped.load(Ordering::Relaxed) {
        stream.write_all(bytes).ok()?;
        sent += bytes.len() as u64;
        state.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        thread::sleep(pause);
    }
    None
}

fn entry(key: &str) -> String {
    format!(
        "<Contents><Key>{key}</Key><LastModified>2026-11-23T04:05:06.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>5</Size></Contents>"
    )
}

/// Answers a request. Returns `None` if the connection is not used any further.
fn answer(state: &State, mut stream: &TcpStream, line: &str, number: u64, is_range: bool) -> Option<()> {
    let (method, rest) = line.split_once(' ')?;
    let path = rest.split(' ').next()?;
    let is_listing = method == "PROPFIND" || path.contains("list-type=2");
    let mut send = |status: &str, headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).ok()?;
        if method == "HEAD" { Some(()) } else { stream.write_all(body).ok() }
    };
    let filler = [b'x'; 1 << 16];
    let endless = "Content-Length: 1099511627776\r\n\r\n";
    match state.mode {
        Mode::EndlessError(status) => {
            stream.write_all(format!("HTTP/1.1 {status} No\r\n{endless}").as_bytes()).ok()?;
            return for_ever(state, stream, &filler, Duration::ZERO);
        }
        Mode::RedirectAway(port) => {
            return send("307 Other", &format!("Location: http://127.0.0.1:{port}{path}\r\n"), b"");
        }
        Mode::RedirectForEver => return send("307 Other", &format!("Location: {path}\r\n"), b""),
        Mode::RedirectToMetadata => {
            return send("307 Other", "Location: http://169.254.169.254/latest/meta-data/\r\n", b"");
        }
        Mode::EndlessFile if !is_listing => {
            stream
                .write_all(
                    format!(
                        "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nLast-Modified: Mon, 23 Nov 2026 04:05:06 GMT\r\n{endless}"
                    )
                    .as_bytes(),
                )
                .ok()?;
            return for_ever(state, stream, &filler, Duration::ZERO);
        }
        _ => {}
    }
    if !is_listing {
        if !path.ends_with("good.pte") {
            return send("404 Not Found", "", b"");
        }
        let last = state.file.len() - 1;
        let facts = "ETag: \"e\"\r\nLast-Modified: Mon, 23 Nov 2026 04:05:06 GMT\r\n";
        let range = format!("{facts}Content-Range: bytes 0-{last}/{}\r\n", state.file.len());
        return match is_range {
            true => send("206 Partial Content", &range, &state.file),
            false => send("200 OK", facts, &state.file),
        };
    }
    let head = "<ListBucketResult><IsTruncated>true</IsTruncated>";
    let keys = || (0..1000).map(|index| entry(&format!("models/{number:06}/{index:04}.pte"))).collect::<String>();
    let page = |token: &str, entries: &str| {
        format!("{head}<NextContinuationToken>{token}</NextContinuationToken>{entries}</ListBucketResult>")
    };
    let body = match state.mode {
        Mode::EndlessPage | Mode::SlowPage | Mode::EndlessFile => {
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{endless}{head}").as_bytes()).ok()?;
            return match state.mode {
                Mode::SlowPage => for_ever(state, stream, b" ", Duration::from_secs(1)),
                _ => for_ever(state, stream, keys().as_bytes(), Duration::ZERO),
            };
        }
        Mode::SameToken => page("same", &keys()),
        Mode::SameTokenWithoutKeys => page("same", ""),
        Mode::EmptyPages => page(&format!("t{number}"), ""),
        Mode::NewTokens => page(&format!("t{number}"), &keys()),
        Mode::Keys(thousands) => page(&format!("t{}", number.min(thousands - 1)), &keys()),
        _ => {
            let bad = ["../../x.pte", "models//x.pte", "models/./x.pte", "models/a&#10;b.pte", "models/../secret.pte"];
            let entries = bad.iter().map(|key| entry(key)).collect::<String>();
            format!("<ListBucketResult>{entries}{}</ListBucketResult>", entry("models/good.pte"))
        }
    };
    send("200 OK", "", body.as_bytes())
}
