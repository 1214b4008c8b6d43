"""Nothing but the model's own address is ever contacted: no tracing service, no tokenizer download."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.sse_server import SseServer

_PROGRAM = """
import asyncio, json, sys

contacted = []

def watch(event, args):
    if event == "socket.connect":
        contacted.append(list(args[1][:2]) if isinstance(args[1], tuple) else str(args[1]))
    elif event == "socket.getaddrinfo":
        contacted.append([str(args[0]), args[1]])

sys.addaudithook(watch)

from forge_core.langchain import ConversationMemory, ForgeAgent, LoggingCallback, OpenRouterLLM
from forge_core.tools.builtin.read import ReadTool

async def main():
    llm = OpenRouterLLM(model="test/model", api_key="sk-or-test", base_url=sys.argv[1])
    llm.get_num_tokens("some text")
    agent = ForgeAgent(
        llm=llm, tools=[ReadTool()], memory=ConversationMemory(max_tokens=9000), callbacks=[LoggingCallback()]
    )
    result = await agent.run("read 'setup.py'")
    await llm.aclose()
    print(json.dumps({"contacted": contacted, "reason": result.stopped_reason, "calls": result.iterations}))

asyncio.run(main())
"""


def test_a_run_with_tools_contacts_the_model_alone(server: SseServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, server.base_url],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["reason"], report["calls"]) == ("complete", 2)
    assert report["contacted"]
    assert {tuple(address) for address in report["contacted"]} == {("127.0.0.1", server.port)}
