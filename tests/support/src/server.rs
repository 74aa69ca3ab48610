//! A web server on loopback, for tests of clients: it serves ranges, counts requests, and can misbehave.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The misbehaviour of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// It behaves correctly.
    #[default]
    None,
    /// It sends the whole file instead of the requested range.
    IgnoresRange,
    /// It reports a file size a thousand times too large.
    Larger,
    /// It reports half of the file size.
    Smaller,
    /// It closes the connection in the middle of each answer.
    Closes,
    /// It sends a terabyte instead of the requested range.
    SendsMore,
    /// It accepts connections and never answers.
    Silent,
    /// It stops in the middle of each answer, without closing.
    Stalls,
    /// It sends one byte per second.
    Drips,
    /// The file changes with each request, and so does its ETag.
    Changes,
    /// The file changes with each request, and so does its ETag, but `If-Match` is ignored.
    ChangesAndIgnoresIfMatch,
    /// The file changes with each request, with the same ETag and another modification time.
    NoEtagAndChanges,
    /// It answers with status 500.
    Fails,
    /// It sends something that is not HTTP.
    Nonsense,
}

#[derive(Default)]
struct State {
    files: Mutex<HashMap<String, Vec<u8>>>,
    fault: Mutex<Fault>,
    requests: AtomicU64,
    sent: AtomicU64,
    delay: AtomicU64,
    stopped: AtomicBool,
}

/// A server that runs until it is dropped.
pub struct Server {
    state: Arc<State>,
    port: u16,
}

impl Server {
    /// Starts without files.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
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

    /// Adds or replaces a file.
    pub fn put(&self, path: &str, bytes: Vec<u8>) {
        self.state.files.lock().unwrap().insert(format!("/{path}"), bytes);
    }

    /// Makes the server misbehave from now on.
    pub fn fault(&self, fault: Fault) {
        *self.state.fault.lock().unwrap() = fault;
    }

    /// Delays each answer from now on.
    pub fn delay(&self, delay: Duration) {
        self.state.delay.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns the number of requests and of sent bytes of files since the last call.
    pub fn spent(&self) -> (u64, u64) {
        (self.state.requests.swap(0, Ordering::Relaxed), self.state.sent.swap(0, Ordering::Relaxed))
    }

    /// Returns the environment variables with which a process finds a bucket here: the first folder of a path is the bucket.
    pub fn bucket_variables(&self) -> [(&'static str, String); 3] {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        [("AWS_ENDPOINT", endpoint), ("AWS_ALLOW_HTTP", "true".into()), ("AWS_SKIP_SIGNATURE", "true".into())]
    }

    /// Returns the URL of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Relaxed);
        // A connection wakes the thread.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Answers the requests of a connection, until it is closed or the server has to misbehave.
fn serve(state: &State, stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Some((method, path, headers)) = request(&mut reader) {
        let number = state.requests.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(state.delay.load(Ordering::Relaxed)));
        if answer(state, stream, number, &method, &path, &headers).is_none() {
            return;
        }
    }
}

/// Reads the method, the path and the headers of the next request.
fn request(reader: &mut impl BufRead) -> Option<(String, String, HashMap<String, String>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|size| *size > 0)?;
    let (method, rest) = line.split_once(' ')?;
    let (method, path) = (method.to_owned(), rest.split(' ').next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    Some((method, path, headers))
}

/// Returns a page of a bucket's listing, as from S3.
fn list(files: &HashMap<String, Vec<u8>>, bucket: &str, query: &str) -> String {
    const PAGE: usize = 100;
    let value = |name: &str| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_default().replace("%2F", "/")
    };
    let root = format!("{}/", bucket.trim_end_matches('/'));
    let (prefix, after) = (value("prefix"), value("continuation-token"));
    let mut keys: Vec<_> =
        files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(&root)?, bytes.len()))).collect();
    keys.retain(|(key, _)| key.starts_with(&prefix) && *key > after.as_str());
    keys.sort();
    let more = keys.len() > PAGE;
    keys.truncate(PAGE);
    let mut page = format!("<ListBucketResult><IsTruncated>{more}</IsTruncated>");
    if let (true, Some((last, _))) = (more, keys.last()) {
        page += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
    }
    for (key, size) in keys {
        page += &format!(
            "<Contents><Key>{key}</Key><LastModified>2026-11-23T04:05:06.000Z</LastModified>\
             <ETag>&quot;v0&quot;</ETag><Size>{size}</Size></Contents>"
        );
    }
    page + "</ListBucketResult>"
}

/// Answers a request. Returns `None` if the connection is not used any further.
fn answer(
    state: &State,
    mut stream: &TcpStream,
    number: u64,
    method: &str,
    path: &str,
    headers: &HashMap<String, String>,
) -> Option<()> {
    let fault = *state.fault.lock().unwrap();
    let wait_for_the_other = |mut stream: &TcpStream| {
        let _ = stream.read(&mut [0; 16]);
    };
    match fault {
        Fault::Silent => {
            wait_for_the_other(stream);
            return None;
        }
        Fault::Fails => {
            return stream.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n").ok();
        }
        Fault::Nonsense => {
            let _ = stream.write_all(b"EHLO\r\n\r\n\0\xff");
            return None;
        }
        _ => {}
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if query.contains("list-type=2") {
        let page = list(&state.files.lock().unwrap(), path, query);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
        return stream.write_all((head + &page).as_bytes()).ok();
    }
    let mut file = state.files.lock().unwrap().get(path).cloned();
    let changes = matches!(fault, Fault::Changes | Fault::ChangesAndIgnoresIfMatch | Fault::NoEtagAndChanges);
    let version = if changes { number } else { 0 };
    if let (Some(last), true) = (file.as_mut().and_then(|file| file.last_mut()), changes) {
        *last = version as u8;
    }
    let Some(file) = file else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok();
    };
    let etag = match fault {
        Fault::NoEtagAndChanges => {
            format!("Last-Modified: Mon, 23 Nov 2026 04:05:{:02} GMT\r\n", version % 60)
        }
        _ => format!("ETag: \"v{version}\"\r\nLast-Modified: Mon, 23 Nov 2026 04:05:06 GMT\r\n"),
    };
    let wanted = headers.get("if-match").filter(|_| fault != Fault::ChangesAndIgnoresIfMatch);
    if wanted.is_some_and(|wanted| *wanted != format!("\"v{version}\"")) {
        return stream.write_all(b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n").ok();
    }
    let range = headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let range = range.and_then(|(start, end)| Some((start.parse::<usize>().ok()?, end.parse::<usize>().ok()?)));
    let range = range.filter(|_| fault != Fault::IgnoresRange);
    let size = match fault {
        Fault::Larger => file.len() * 1000,
        Fault::Smaller => file.len() / 2,
        _ => file.len(),
    };
    let (start, end) = range.map_or((0, size), |(start, end)| (start, (end + 1).min(size)));
    if range.is_some() && start >= size {
        return stream
            .write_all(
                format!("HTTP/1.1 416 No\r\nContent-Range: bytes */{size}\r\nContent-Length: 0\r\n\r\n").as_bytes(),
            )
            .ok();
    }
    let body = &file[start.min(file.len())..end.min(file.len())];
    let status = match range {
        Some(_) => format!("206 Partial Content\r\nContent-Range: bytes {start}-{}/{size}", end - 1),
        None => "200 OK".into(),
    };
    let length = match fault {
        Fault::SendsMore => "Content-Length: 1099511627776".into(),
        _ => format!("Content-Length: {}", end - start),
    };
    stream.write_all(format!("HTTP/1.1 {status}\r\n{etag}{length}\r\n\r\n").as_bytes()).ok()?;
    // With a body, the next request on this connection could fail.
    if method == "HEAD" {
        return Some(());
    }
    let half = &body[..body.len() / 2];
    match fault {
        Fault::Closes => {
            stream.write_all(half).ok()?;
            None
        }
        Fault::Stalls => {
            stream.write_all(half).ok()?;
            wait_for_the_other(stream);
            None
        }
        Fault::Drips => {
            for byte in body {
                stream.write_all(&[*byte]).ok()?;
                thread::sleep(Duration::from_secs(1));
            }
            None
        }
        Fault::SendsMore => {
            stream.write_all(body).ok()?;
            // Endless, until the client stops reading.
            while stream.write_all(&[7; 4096]).is_ok() {}
            None
        }
        _ => {
            // Counted before the client receives the bytes, since it may end immediately.
            state.sent.fetch_add(body.len() as u64, Ordering::Relaxed);
            stream.write_all(body).ok()
        }
    }
}
