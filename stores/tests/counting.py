"""A web server on loopback that serves ranges of a folder's files and counts the requests for each."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from pathlib import Path


class Server(http.server.ThreadingHTTPServer):
    """A server that runs until it is closed."""

    daemon_threads = True

    def __init__(self, folder: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = Path(folder)
        self.requests: Counter[str] = Counter()
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, file: str) -> str:
        """Returns the URL of a file in the folder."""
        return f"http://127.0.0.1:{self.server_port}/{Path(file).relative_to(self.folder)}"

    def take(self) -> Counter[str]:
        """Returns the requests since the last call, by path."""
        with self.lock:
            counted, self.requests = self.requests, Counter()
        return counted


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def answer(self, *, body: bool) -> None:
        with self.server.lock:
            self.server.requests[self.path] += 1
        content = (self.server.folder / self.path.lstrip("/")).read_bytes()
        start, end = 0, len(content)
        asked = self.headers.get("Range")
        if asked:
            first, last = asked.removeprefix("bytes=").split("-")
            start = int(first) if first else max(0, end - int(last))
            end = min(end, int(last) + 1) if first and last else end
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{len(content)}"')
        self.end_headers()
        if body:
            self.wfile.write(content[start:end])

    def do_GET(self) -> None:
        self.answer(body=True)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def log_message(self, format: str, *arguments: object) -> None:
        pass
