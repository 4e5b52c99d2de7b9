"""An MCP server over SSE that announces its endpoint and then sends nothing, ever."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    over: threading.Event
    heard: list[str]

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"event: endpoint\r\ndata: /messages?id=1\r\n\r\n")
        self.wfile.flush()
        self.over.wait()
        self.close_connection = True

    def do_POST(self) -> None:
        """Accept messages silently; streamable HTTP is unknown here."""
        self.heard.append(self.path)
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.send_response(202 if self.path.startswith("/messages") else 405)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # the name http.server requires
        del format, args


@contextlib.contextmanager
def mute_sse() -> Iterator[tuple[str, list[str]]]:
    """Serve; yield the address and the paths of received messages."""
    over = threading.Event()
    heard: list[str] = []
    handler = type("Handler", (_Handler,), {"over": over, "heard": heard})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/sse", heard
    finally:
        over.set()
        server.shutdown()
        server.server_close()
