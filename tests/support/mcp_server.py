"""An MCP server of the standard library, with the faults that its arguments name. Run as a program.

    python mcp_server.py [FAULT ...] [script=FILE] [record=FILE]

It knows the tools echo, add, slow, crash, image and structured, one prompt and one resource. A script, which
is read at each request, is a JSON object of what it does in place of that: "METHOD" or "METHOD NAME", with the
name or the URI of what is requested, leads to

- "asks": requests that it sends, each `{"method", "params"}`, and whose answers it waits for,
- "sends": notifications that it sends then; "$token" in them is the progress token,
- "result" or "error": the answer; without one, a text with the answers in JSON.

All that it receives is appended to the file of `record`.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

FAULTS = frozenset(sys.argv[1:])
SCRIPT = next((one.removeprefix("script=") for one in sys.argv if one.startswith("script=")), "")
RECORD = next((one.removeprefix("record=") for one in sys.argv if one.startswith("record=")), "")
TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "description": "Return the text.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {"name": "slow", "description": "Answer after progress.", "inputSchema": {"type": "object"}},
    {"name": "hang", "description": "Never answer.", "inputSchema": {"type": "object"}},
    {"name": "crash", "description": "Exit during the call.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Fail.", "inputSchema": {"type": "object"}},
    {"name": "image", "description": "Return a picture.", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Ask the user.", "inputSchema": {"type": "object"}},
    {"name": "roots", "description": "Return the roots.", "inputSchema": {"type": "object"}},
    {"name": "change", "description": "Add a tool, and reword echo.", "inputSchema": {"type": "object"}},
    {"name": "environment", "description": "Return the environment.", "inputSchema": {"type": "object"}},
    {
        "name": "structured",
        "description": "Return structured output.",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_writing = threading.Lock()
_answers: dict[str, Any] = {}
_answered = threading.Condition()


def send(message: dict[str, Any]) -> None:
    with _writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method: str, params: dict[str, Any]) -> Any:
    """Send a request to the client and wait for its answer."""
    request_id = f"server-{time.monotonic_ns()}"
    send({"id": request_id, "method": method, "params": params})
    with _answered:
        _answered.wait_for(lambda: request_id in _answers, timeout=20)
        return _answers.pop(request_id)


class ScriptedError(Exception):
    """The script answers a request with an error: its message, or all of it."""


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def call(name: str, arguments: dict[str, Any], token: Any) -> dict[str, Any] | None:
    """Return the result of a tool; None: there is no answer."""
    match name:
        case "echo":
            return text(arguments.get("text", ""))
        case "slow":
            for step in (1, 2, 3):
                params = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
                send({"method": "notifications/progress", "params": params})
            return text("done")
        case "hang":
            return None
        case "crash":
            print("fatal: out of cheese", file=sys.stderr, flush=True)
            os._exit(7)
        case "fail":
            return text("no such thing", isError=True)
        case "image":
            return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
        case "ask":
            schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            answer = ask("elicitation/create", {"message": "Who?", "requestedSchema": schema})
            return text(json.dumps(answer, sort_keys=True))
        case "roots":
            return text(json.dumps(ask("roots/list", {})))
        case "change":
            TOOLS.append({"name": "added", "description": "New.", "inputSchema": {"type": "object"}})
            TOOLS[0]["description"] = "Return the text, and keep it."
            send({"method": "notifications/tools/list_changed"})
            return text("changed")
        case "attempt":  # not listed
            return text(json.dumps({key: attempt(*value) for key, value in arguments.items()}))
        case "environment":
            return text(json.dumps(dict(os.environ)))
        case "structured":
            wrong = "mismatch" in FAULTS
            return {"content": [], "structuredContent": {"n": "one" if wrong else 1}}
    return text(f"unknown tool {name}", isError=True)


def attempt(what: str, where: str) -> str:
    """Read or write a file, connect to a port of this machine, or unmount; return what was read, or how it
    went."""
    try:
        if what == "unmount":
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.umount2(os.fsencode(where), 2):
                raise OSError(ctypes.get_errno(), "umount2")
            return "done"
        if what == "read":
            return Path(where).read_text()
        if what == "connect":
            socket.create_connection(("127.0.0.1", int(where)), 5).close()
        else:
            Path(where).write_text("written")
    except OSError as error:
        return type(error).__name__
    return "done"


def scripted(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result that the script has for a request, after all that it has before that."""
    name = params.get("name", params.get("uri"))
    script = json.loads(Path(SCRIPT).read_text(encoding="utf-8")) if SCRIPT else {}
    found = script.get(f"{method} {name}", script.get(method))
    if found is None:
        return None
    answers = [ask(one["method"], one["params"]) for one in found.get("asks", ())]
    token = json.dumps(params.get("_meta", {}).get("progressToken"))
    for one in found.get("sends", ()):
        send(json.loads(json.dumps(one).replace('"$token"', token)))
    if "error" in found:
        raise ScriptedError(found["error"])
    result: dict[str, Any] = found.get("result") or text(json.dumps(answers, sort_keys=True))
    return result


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; None: there is no answer."""
    if (result := scripted(method, params)) is not None:
        return result
    match method:
        case "initialize":
            capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
            capabilities |= {"completions": {}}
            info = {"name": "bench", "version": "1.0"}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        case "ping":
            return {}
        case "tools/list":
            return _page(TOOLS, params)
        case "prompts/list":
            return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
        case "prompts/get":
            said = f"Greet {params.get('arguments', {}).get('who')}."
            return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
        case "resources/list":
            return {"resources": [{"name": "readme", "uri": "file:///readme"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": "Read me."}]}
        case "tools/call":
            token = params.get("_meta", {}).get("progressToken")
            return call(params["name"], params.get("arguments", {}), token)
    return None


def _page(tools: list[dict[str, Any]], params: dict[str, Any]) -> dict[str, Any]:
    if "many" in FAULTS:
        tools = [{**tools[0], "name": f"tool-{number}"} for number in range(10_500)]
    if "heavy" in FAULTS:
        return {"tools": [{**tools[0], "description": "x" * 2_000_000}], "nextCursor": "again"}
    if "endless" in FAULTS:
        return {"tools": [], "nextCursor": "again"}
    if "pages" not in FAULTS and "many" not in FAULTS:
        return {"tools": tools}
    size = 1_000 if "many" in FAULTS else 2
    start = int(params.get("cursor") or 0)
    more = {"nextCursor": str(start + size)} if start + size < len(tools) else {}
    return {"tools": tools[start : start + size], **more}


def handle(message: dict[str, Any]) -> None:
    method, request_id = message.get("method"), message.get("id")
    if method is None:
        with _answered:
            _answers[str(request_id)] = message.get("result", message.get("error"))
            _answered.notify_all()
        return
    if method == "notifications/cancelled":
        print("cancelled", file=sys.stderr, flush=True)
    if method == "notifications/roots/list_changed":
        print(json.dumps(ask("roots/list", {})), file=sys.stderr, flush=True)
    if request_id is None:
        return
    try:
        result = answer(method, message.get("params") or {})
    except ScriptedError as error:
        [content] = error.args
        content = content if isinstance(content, dict) else {"code": -32000, "message": content}
        send({"id": request_id, "error": content})
        return
    if result is not None:
        send({"id": request_id, "result": result})
    elif method != "tools/call":
        send({"id": request_id, "error": {"code": -32601, "message": f"unknown method {method}"}})


def main() -> None:
    if "exits" in FAULTS:
        print("fatal: not a repository\nnpm notice\nnpm notice Run npm install\nnpm notice", file=sys.stderr)
        sys.exit(3)
    if "silent" in FAULTS:
        time.sleep(3600)
    if "garbage" in FAULTS:
        print("Welcome to the server!", flush=True)
    if "chatty" in FAULTS:
        print(f"the token is {os.environ.get('API_TOKEN')}\x1b[31m", file=sys.stderr, flush=True)
    if "leaves-child" in FAULTS:
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
    if "huge" in FAULTS:
        block = "x" * 1_000_000
        while True:
            sys.stdout.write(block)
    for line in sys.stdin:
        if RECORD:
            with Path(RECORD).open("a", encoding="utf-8") as record:
                record.write(line)
        message = json.loads(line)
        threading.Thread(target=handle, args=(message,), daemon=True).start()


if __name__ == "__main__":
    main()
