"""A model on loopback that streams what it is told to, in OpenRouter's protocol, and stamps its marks.

The last user message says what: `say 900 tokens at 200 marked b` streams 900 tokens at 200 a second with a mark
word every 20 tokens; `at 0` four to a chunk, as fast as the socket takes them; `code` instead of `tokens` one long open fence.
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

_ORDER = re.compile(r"say (?P<count>\d+) (?P<kind>tokens|code) at (?P<rate>\d+) marked (?P<mark>[a-z]+)")


class Model:
    """The server, in threads of its own."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        """Mark → when it was written to the socket."""
        self.asked: list[float] = []
        """When each streaming request came."""
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
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if not body.get("stream"):
                    message = {"role": "assistant", "content": "Ok."}
                    self._json({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
                    return
                model.asked.append(time.monotonic())
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                model._answer(_last_text(body["messages"]), self)
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

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, order: str, handler: BaseHTTPRequestHandler) -> None:
        found = _ORDER.search(order)
        count = int(found["count"]) if found else 5
        rate = int(found["rate"]) if found else 0
        mark = found["mark"] if found else ""
        texts = _code(count) if found and found["kind"] == "code" else pieces(count, size=1 if rate else 4)
        prose, round_length = prose_positions(), tokens_per_round()
        due = 10
        started = time.monotonic()
        for number, text in enumerate(texts):
            if rate:
                time.sleep(max(0.0, started + number / rate - time.monotonic()))
            if mark and rate and number >= due and number % round_length in prose:
                due += 20
                word = f"mk{mark}{number:05d}z"
                text = f" {word} {text}"
                self.sent[word] = time.monotonic()
            _send(handler, {"choices": [{"index": 0, "delta": {"content": text}}]})
        word = f"mk{mark}ENDz"
        self.sent[word] = time.monotonic()
        _send(
            handler, {"choices": [{"index": 0, "delta": {"content": f"\n\n{word}"}, "finish_reason": None}]}
        )
        usage = {"prompt_tokens": 100, "completion_tokens": count, "total_tokens": count + 100, "cost": 0.001}
        _send(handler, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})
        handler.wfile.write(b"data: [DONE]\n\n")
        handler.wfile.flush()
        self.finished.set()


def _send(handler: BaseHTTPRequestHandler, value: dict[str, object]) -> None:
    chunk = {"id": "gen-1", "object": "chat.completion.chunk", "model": "bench/model", **value}
    handler.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    handler.wfile.flush()


def _last_text(messages: list[dict[str, object]]) -> str:
    content = next((m["content"] for m in reversed(messages) if m["role"] == "user"), "")
    return content if isinstance(content, str) else json.dumps(content)


def _code(lines: int) -> Iterator[str]:
    yield "```python\n"
    for number in range(lines):
        yield f"value_{number} = compute({number}, 'text')  # a comment\n"
    yield "```\n"
