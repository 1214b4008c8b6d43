"""A model on loopback that streams what it is told to and stamps its marks.

The last user message says what: `say 900 tokens at 200 marked ab` streams 900 tokens at 200 a second with a mark
word every 20 tokens; `at 0` four to a chunk, as fast as the socket takes them; `lines` instead of `tokens` gives
one long open fence; `seconds` says nothing for so long.
"""

from __future__ import annotations

import json
import re
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

from tests.bench.script import pieces, prose_positions, tokens_per_round
from tests.bench.wires import ChatCompletions, Responses, Wire

_ORDER = re.compile(
    r"say (?P<count>\d+) (?P<kind>tokens|lines|seconds) at (?P<rate>\d+) marked (?P<mark>[a-z]+)"
)
_MARK_EVERY = 20


class Model:
    """The server, in threads of its own."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        """Mark → when it was written to the socket."""
        self.asked: dict[str, float] = {}
        """Mark of an order → when its request came."""
        self.progress = 0
        """Pieces of the last answer that have been sent."""
        self.finished = threading.Event()
        """Set when an answer has been sent in full."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                self._json({"data": []})

            def do_POST(self) -> None:
                came = time.monotonic()
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if not body.get("stream"):
                    message = {"role": "assistant", "content": "Ok."}
                    self._json({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
                    return
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                wire: Wire = Responses() if self.path.endswith("/responses") else ChatCompletions()
                model._answer(_order(body), wire, self, came)
                self.close_connection = True

            def _json(self, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_: object) -> None:
                pass  # a program that was ended in the middle of an answer

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(
        self, order: re.Match[str] | None, wire: Wire, handler: BaseHTTPRequestHandler, came: float
    ) -> None:
        def send(data: bytes) -> None:
            handler.wfile.write(data)
            handler.wfile.flush()

        send(wire.start())
        if order is None:
            send(wire.text("Ok.") + wire.end(1))
            return
        count, rate, mark = int(order["count"]), int(order["rate"]), order["mark"]
        self.progress = 0
        self.asked[mark] = came
        if order["kind"] == "seconds":
            time.sleep(count)
        else:
            is_prose = order["kind"] == "tokens"
            texts = pieces(count, size=1 if rate else 4) if is_prose else _fence(count)
            for text in self._timed(texts, rate, mark if is_prose and rate else ""):
                send(wire.text(text))
                self.progress += 1
        word = f"mk{mark}ENDz"
        self.sent[word] = time.monotonic()
        send(wire.text(f"\n\n{word}"))
        send(wire.end(count))
        self.finished.set()

    def _timed(self, texts: Iterator[str], rate: int, mark: str) -> Iterator[str]:
        """The texts when they are due, with the marks among them."""
        prose, round_length = prose_positions(), tokens_per_round()
        due = _MARK_EVERY // 2
        started = time.monotonic()
        for number, text in enumerate(texts):
            if rate:
                time.sleep(max(0.0, started + number / rate - time.monotonic()))
            if mark and number >= due and number % round_length in prose:
                due += _MARK_EVERY
                word = f"mk{mark}{number:05d}z"
                self.sent[word] = time.monotonic()
                yield f" {word} {text}"
            else:
                yield text


def _order(body: dict[str, object]) -> re.Match[str] | None:
    """The order in the last thing that the person said."""
    messages = body.get("messages") or body.get("input")
    assert isinstance(messages, list)
    last = next((message for message in reversed(messages) if message.get("role") == "user"), {})
    return _ORDER.search(json.dumps(last.get("content", "")))


def _fence(lines: int) -> Iterator[str]:
    yield "```python\n"
    for number in range(lines):
        yield f"value_{number} = compute({number}, 'text')  # a comment\n"
    yield "```\n"
