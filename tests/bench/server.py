"""A model on loopback that streams what it is told to and stamps its marks.

The last user message says what: `say 900 tokens at 200 marked ab` streams 900 tokens at 200 a second with a mark
word every 20 tokens; `at 0` four to a chunk, as fast as the socket takes them; `lines` instead of `tokens` gives
one long open fence; `seconds` says nothing for so long. `say 400 tokens at 100 beside 4 agents of 500 at 50 marked
ab` first calls four agents in the background, each to be answered with 500 unmarked tokens; `after` instead of
`beside` has the answer wait for them.
"""

from __future__ import annotations

import itertools
import json
import re
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler

from tests.bench.script import pieces, prose_positions, tokens_per_round
from tests.bench.wires import ChatCompletions, Responses, Wire

_ORDER = re.compile(
    r"say (?P<count>\d+) (?P<kind>tokens|lines|seconds) at (?P<rate>\d+)"
    r"(?: (?P<place>beside|after) (?P<agents>\d+) agents of (?P<each>\d+) at (?P<their_rate>\d+))?"
    r"(?: marked (?P<mark>[a-z]+))?"
)
_MARK_EVERY = 20
_numbers = itertools.count()


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
        """Set when an answer with a mark has been sent in full."""
        self._lock = threading.Lock()
        self._unmarked = 0
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
                model._answer(body, wire, self, came)
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

    @property
    def runs_agents(self) -> bool:
        """Whether the answer to an agent is being sent."""
        return self._unmarked > 0

    def _answer(
        self, body: dict[str, object], wire: Wire, handler: BaseHTTPRequestHandler, came: float
    ) -> None:
        def send(data: bytes) -> None:
            handler.wfile.write(data)
            handler.wfile.flush()

        order, is_first = _order(body)
        send(wire.start())
        if order is None:
            send(wire.text("Ok.") + wire.end(1))
            return
        count, rate, mark = int(order["count"]), int(order["rate"]), order["mark"]
        if order["agents"] and is_first:
            send(_agent_calls(order))
            return
        if mark is None:
            self._answer_agent(count, rate, wire, send)
            return
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

    def _answer_agent(self, count: int, rate: int, wire: Wire, send: Callable[[bytes], None]) -> None:
        with self._lock:
            self._unmarked += 1
        try:
            for text in self._timed(pieces(count, size=1 if rate else 4), rate, ""):
                send(wire.text(text))
            send(wire.end(count))
        finally:
            with self._lock:
                self._unmarked -= 1

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


def _order(body: dict[str, object]) -> tuple[re.Match[str] | None, bool]:
    """The order in the last message of the user, and whether nothing has followed it."""
    messages = body.get("messages") or body.get("input")
    assert isinstance(messages, list)
    last = next((message for message in reversed(messages) if message.get("role") == "user"), {})
    return _ORDER.search(json.dumps(last.get("content", ""))), bool(messages) and messages[-1] is last


def _agent_calls(order: re.Match[str]) -> bytes:
    """An answer that calls the agents of an order."""
    prompt = f"say {order['each']} tokens at {order['their_rate']}"
    is_beside = order["place"] == "beside"
    # No two alike: Forge asks the user about a call that is repeated.
    tasks = [
        {
            "description": f"stream {number}",
            "prompt": f"{prompt}, number {next(_numbers)}",
            "background": is_beside,
        }
        for number in range(int(order["agents"]))
    ]
    return ChatCompletions().calls([("task", task) for task in tasks])


def _fence(lines: int) -> Iterator[str]:
    yield "```python\n"
    for number in range(lines):
        yield f"value_{number} = compute({number}, 'text')  # a comment\n"
    yield "```\n"
