"""A loopback MCP server over HTTP, of the standard library, in a thread: one JSON answer a request, and faults.

    with HttpMcpServer("html") as server:
        ServerLaunch(name="one", url=server.url, protocol="auto")

Faults, by name: `status:500` (and other numbers), `html`, `silent`, `cut` (the connection, in a call), `huge`, `cut-stream`,
`stream` (answers calls as events), `restart` (in a call: the session is unknown afterwards), `silent-discover`, `redirect:URL`,
`modern` (it knows the revision 2026-07-28 only).
They can be changed while it runs. Each request is kept in `requests`.
"""

from __future__ import annotations

import json
import ssl
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl

VERSION = "2025-11-25"


@dataclass(frozen=True)
class SeenRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: dict[str, Any]

    @property
    def rpc(self) -> str:
        return self.body.get("method", "")


Answer = tuple[int, bytes, Mapping[str, str]]
"""Status, body and headers."""
Page = Callable[[Mapping[str, str], bytes, Mapping[str, str]], Answer]
"""Answers a request, given its query, its body and its headers."""


class HttpMcpServer:
    """Serves from `with` on. `token`: what a bearer must present, if anything."""

    def __init__(self, *faults: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.faults = set(faults)
        self.token = token
        self.challenge = "Bearer"
        self.requests: list[SeenRequest] = []
        self.sessions: set[str] = set()
        self.redirects: dict[str, str] = {}
        """Path → where it is moved to."""
        self.pages: dict[str, Page] = {}
        """Path → what answers requests to it, with GET or POST, in the place of MCP."""
        self.has_request = threading.Event()
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._httpd.daemon_threads = True
        self._httpd.block_on_close = False
        if tls is not None:
            self._httpd.socket = tls.wrap_socket(self._httpd.socket, server_side=True)
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self._httpd.server_address[1]}"
        self.url = f"{self.origin}/mcp"

    def __enter__(self) -> HttpMcpServer:
        threading.Thread(target=self._httpd.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._httpd.shutdown()
        self._httpd.server_close()

    def fault(self, name: str) -> str | None:
        """Return what follows the colon of a fault; None without that fault."""
        for one in self.faults:
            if one.partition(":")[0] == name:
                return one.partition(":")[2]
        return None

    def accepts(self, authorization: str) -> bool:
        """Return whether a request with this header may be answered."""
        return not self.token or authorization == f"Bearer {self.token}"

    def refusal(self, body: Mapping[str, Any], authorization: str) -> tuple[int, str] | None:
        """Return status and challenge for a request that is refused."""
        return None if self.accepts(authorization) else (401, self.challenge)

    def calls(self, rpc: str) -> list[SeenRequest]:
        return [one for one in self.requests if one.rpc == rpc]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: ClassVar[HttpMcpServer]

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._keep({})
        if self._is_page(b""):
            return
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._keep({})
        self._send(200, b"")

    def do_POST(self) -> None:
        state = self.server_state
        data = self.rfile.read(int(self.headers["content-length"]))
        if self._is_page(data):
            return
        body = json.loads(data)
        self._keep(body)
        method, is_call = body.get("method", ""), body.get("method") == "tools/call"
        if self.path in state.redirects:
            self._send(307, b"", {"location": state.redirects[self.path]})
            return
        if self._is_faulty(method):
            return
        if refused := state.refusal(body, self.headers.get("authorization", "")):
            self._send(refused[0], b"", {"www-authenticate": refused[1]})
            return
        session = self.headers.get("mcp-session-id", "")
        if session and session not in state.sessions:
            self._forgotten()
        elif "id" not in body:
            self._send(202, b"")
        elif is_call and "cut" in state.faults:
            self.close_connection = True
            self.connection.close()
        elif is_call and "restart" in state.faults:
            state.faults.discard("restart")
            state.sessions.clear()
            self._forgotten()
        elif is_call and ({"stream", "cut-stream"} & state.faults):
            self._stream(body)
        else:
            self._answer(body)

    def _forgotten(self) -> None:
        """Say that the session is not known; `forgets:400` as servers made from the examples of an SDK do."""
        if self.server_state.fault("forgets") is None:
            self._send(404, b"session not found", {"content-type": "text/plain"})
            return
        error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
        body = json.dumps({"jsonrpc": "2.0", "error": error}).encode()  # without the id
        self._send(400, body, {"content-type": "application/json"})

    def _is_page(self, data: bytes) -> bool:
        path, _, query = self.path.partition("?")
        page = self.server_state.pages.get(path)
        if page is None:
            return False
        self._send(*page(dict(parse_qsl(query)), data, self.headers))
        return True

    def _is_faulty(self, method: str) -> bool:
        """Return whether a fault that concerns every request was answered."""
        state = self.server_state
        if state.fault("silent") is not None or (
            method == "server/discover" and "silent-discover" in state.faults
        ):
            state.closing.wait(60)
            self.close_connection = True
            return True
        if status := state.fault("status"):
            self._send(int(status), b"no such luck", {"content-type": "text/plain"})
            return True
        if "html" in state.faults:
            self._send(200, b"<html>Welcome</html>", {"content-type": "text/html; charset=utf-8"})
            return True
        if to := state.fault("redirect"):
            self._send(307, b"", {"location": to})
            return True
        return False

    def _answer(self, body: dict[str, Any]) -> None:
        result = _result(body["method"], body.get("params", {}), self.server_state)
        headers = {"content-type": "application/json"}
        if body["method"] == "initialize":
            session = uuid.uuid4().hex
            self.server_state.sessions.add(session)
            headers["mcp-session-id"] = session
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": body["id"]}
        message |= (
            {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
        )
        self._send(200, json.dumps(message).encode(), headers)

    def _stream(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        token = body["params"].get("_meta", {}).get("progressToken")
        progress = {"progressToken": token, "progress": 1, "message": "half"}
        self._event({"method": "notifications/progress", "params": progress})
        if "cut-stream" not in self.server_state.faults:
            self._event(
                {"id": body["id"], "result": _result("tools/call", body["params"], self.server_state)}
            )
        self.close_connection = True

    def _event(self, message: dict[str, Any]) -> None:
        self.wfile.write(f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
        self.wfile.flush()

    def _keep(self, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server_state.requests.append(SeenRequest(self.command, self.path, headers, body))
        self.server_state.has_request.set()

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _result(method: str, params: dict[str, Any], state: HttpMcpServer) -> dict[str, Any] | None:
    newest = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    newest = newest if "modern" in state.faults else {}
    match method:
        case "server/discover" if newest:
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **newest}
        case "initialize" if newest:
            return None
        case "initialize":
            info = {"name": "loopback", "version": "1.0"}
            return {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}], **newest}
        case "tools/call":
            text = "x" * 17_000_000 if "huge" in state.faults else params.get("arguments", {}).get("text", "")
            return {"content": [{"type": "text", "text": text}]}
    return None
