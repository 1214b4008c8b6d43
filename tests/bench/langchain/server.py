"""A model on loopback in a process of its own, so that its work is not counted as the client's.

The last user message orders an answer: `stream 2000 every 0.002` sends 2,000 chunks, one every two
milliseconds, each text a word and the moment it was written (`time.monotonic`, one clock for all processes);
`every 0` sends them as fast as the socket takes them. Each event is an HTTP chunk of its own, in OpenRouter's
shape.
"""

from __future__ import annotations

import json
import re
import socketserver
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.sse_server import DONE, USAGE, chunk, event

_ORDER = re.compile(r"stream (\d+) every ([0-9.]+)")


def order(chunks: int, every_s: float = 0.0) -> str:
    """The message that asks for such an answer."""
    return f"stream {chunks} every {every_s}"


class ModelProcess:
    """The server's process; a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.langchain.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.base_url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/api/v1"

    def __enter__(self) -> ModelProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=10)  # its standard input ends, and so does it


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = _ORDER.search(_last_text(body["messages"]))
        count, every_s = (int(found[1]), float(found[2])) if found else (1, 0.0)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if every_s:
            self._send_paced(count, every_s)
        else:
            self.wfile.write(b"".join(_framed(event(chunk(f" word{number}"))) for number in range(count)))
        last = {**chunk("", usage={**USAGE, "completion_tokens": count}), "choices": []}
        for data in (event(chunk("", finish_reason="stop")), event(last), DONE):
            self.wfile.write(_framed(data))
        self.wfile.write(b"0\r\n\r\n")

    def _send_paced(self, count: int, every_s: float) -> None:
        started = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, started + number * every_s - time.monotonic()))
            self.wfile.write(_framed(event(chunk(f"w{number} {time.monotonic():.7f}"))))


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _last_text(messages: list[dict[str, Any]]) -> str:
    content = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    return content if isinstance(content, str) else json.dumps(content)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def main() -> None:
    import threading

    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
