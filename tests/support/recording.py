"""A recorded hour of work: what the model and the tools send, and what the person does meanwhile.

Always the same for the same seed, so that two programs can be put through it side by side.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from forge_core.approval import Question, QuestionOption, QuestionRequest
from forge_core.events import (
    AgentEvent,
    Compaction,
    LLMChunk,
    LLMEnd,
    LLMStart,
    Notice,
    ToolEnd,
    ToolProgress,
)
from forge_core.llm.models import TokenUsage
from forge_core.result import FileDiff
from forge_core.tools.builtin.todo import TodoItem, TodoStatus
from tests.bench.script import DIFF, MARKDOWN
from tests.support.chat_app import command_request, edit_request
from tests.support.scripted_session import Gate, Step
from tests.support.tool_events import tool_start

EPOCH = 1_700_000_000.0
HOUR_S = 3600.0
GROUND_SIZE = (100, 30)
F1, UP, DOWN, PAGE_UP, PAGE_DOWN = "\x1bOP", "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"
CARDS, TASKS, PALETTE, ESCAPE, MODE, TO_END = "\x0f", "\x14", "\x10", "\x1b", "\x1b[Z", "\x1b[1;5F"
WHEEL_UP, WHEEL_DOWN = "\x1b[<64;9;6M", "\x1b[<65;9;6M"
FIND, TO_PROMPT, RAW = "\x06", "\x1b[1;3A", "\x1br"
FOCUS_IN, FOCUS_OUT = "\x1b[I", "\x1b[O"

TEXTS = (
    MARKDOWN,
    "日本語の文章と English mixed: 混ぜた文、幅の広い文字。" * 4 + "\n\n",
    "Combining: e\u0301 a\u0308 n\u0303 o\u0302\u0323; Hindi नमस्ते; Thai สวัสดี; ZWNJ می\u200cخواهم.\n\n",
    "Hebrew שלום עולם and Arabic مرحبا بالعالم stay **readable** in a line.\n\n",
    "Emoji 🚀 🎉 👍🏽 ✅ ⚠ ❤ 🎈🎈 and a family 👩\u200d👩\u200d👧 in *text*.\n\n",
    "- one\n  - two 漢字\n    - three 🚀\n- [x] done\n- [ ] open\n\n1. first\n2. second\n\n",
    "| Name | 値 | Note |\n|---|---:|:-:|\n| α | 1 | 🚀 rocket |\n| 漢字 | 22 | plain |\n\n",
    "```python\ndef naïve(x: int) -> str:\n\t# タブ and wide 文字\n\treturn f'{x}→{x * 2}'\n```\n\n",
    "> A quote that is long enough to be wrapped at most widths, with `code` and a [link](https://e.org/a).\n\n",
    "Hostile \x1b[31mred\x1b[0m \x1b]0;title\x07 [bold]markup[/bold] \x9b31m and \u202ereversed\u202c text.\n\n",
    "word " * 60 + "\n\n",
    "A-very-long-token-" * 12 + "\n\n",
)
OUTPUTS = (
    "ok\n",
    "\n".join(f"src/module_{n}.py:{n * 7}: match 漢字 {n}" for n in range(40)),
    "\x1b[1;32mPASSED\x1b[0m tests/test_a.py\n\tindented\ttabs\r\nwide 🚀🚀\n",
    "no newline at the end",
)


@dataclass(frozen=True, slots=True)
class Keys:
    """The person types or uses the mouse."""

    text: str


@dataclass(frozen=True, slots=True)
class Size:
    """The window gets another size."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Next:
    """The model, a tool or time goes on."""


@dataclass(frozen=True, slots=True)
class Close:
    """The person leaves a prompt that still stands; nothing happens where there is none."""


Action: TypeAlias = Keys | Size | Next | Close


@dataclass(slots=True)
class Recording:
    """An hour, or its beginning."""

    scripts: list[list[Step]] = field(default_factory=list)
    """What the session plays, one list per message; a gate wherever the next action comes first."""
    gates: list[Gate] = field(default_factory=list)
    """All gates in order."""
    actions: list[Action] = field(default_factory=list)


def record(turns: int, seed: int = 1) -> Recording:
    """The recording of `turns` messages with their answers."""
    return _Recorder(random.Random(seed)).run(turns)


class _Recorder:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._recording = Recording()
        self._script: list[Step] = []
        self._now = EPOCH
        self._calls = 0

    def run(self, turns: int) -> Recording:
        for turn in range(turns):
            self._script = []
            self._recording.scripts.append(self._script)
            self._act(Keys(self._chance.choice(("fix it", "erkläre 日本 🚀", "why?", "go on " * 30)) + "\r"))
            if turn % 3 == 0:
                self._tasks(turn)
            for part in self._chance.sample(self._parts, k=4):
                part()
                self._meddle()
            self._stream(self._chance.choice(TEXTS), "answer")
            self._end_of_call()
            self._meddle()
        return self._recording

    @property
    def _parts(self) -> list[Callable[[], None]]:
        return [
            self._answer,
            self._answer,
            self._think,
            self._tools,
            self._edit,
            self._ask,
            self._question,
            self._tell,
        ]

    # What the session plays

    def _play(self, *steps: Step) -> None:
        """Sends `steps`, then waits for the next action."""
        gate = Gate()
        self._script += [*steps, gate]
        self._recording.gates.append(gate)
        self._act(Next())

    def _stamp(self) -> float:
        self._now += self._chance.uniform(0.1, 3.0)
        return self._now

    def _answer(self) -> None:
        self._script.append(LLMStart(iteration=1, model="test/model", timestamp=self._stamp()))
        for _ in range(self._chance.randint(1, 3)):
            self._stream(self._chance.choice(TEXTS), "answer")
        self._end_of_call()

    def _think(self) -> None:
        self._stream("The person wants 説明 and then an edit; so first look.\nThen act. " * 6, "reasoning")
        self._end_of_call()

    def _stream(self, text: str, kind: str) -> None:
        """Fragments of any size, most of them one to a step and some in bursts."""
        burst: list[AgentEvent] = []
        for fragment in _fragments(text, self._chance):
            burst.append(LLMChunk(text=fragment, kind=kind, timestamp=self._stamp()))  # type: ignore[arg-type]
            if self._chance.random() < 0.6:
                self._play(*burst)
                burst = []
            if self._chance.random() < 0.06:
                self._meddle()
        if burst:
            self._play(*burst)

    def _end_of_call(self) -> None:
        usage = TokenUsage(
            prompt_tokens=self._chance.randint(100, 9000), completion_tokens=70, cost_usd=Decimal("0.0021")
        )
        self._play(
            LLMEnd(
                usage=usage,
                cost_usd=usage.cost_usd,
                finish_reason="stop",
                duration_s=1.5,
                total_usage=usage,
                timestamp=self._stamp(),
            )
        )

    def _tools(self) -> None:
        for _ in range(self._chance.randint(1, 4)):
            name, arguments = self._chance.choice(
                (
                    ("read", {"path": "src/engine/一個の長い名前/retry.py"}),
                    ("grep", {"pattern": "wait[0-9]+", "path": "src"}),
                    ("bash", {"command": "pytest -q tests/ && echo 完了 🚀"}),
                    ("ls", {"path": "."}),
                )
            )
            call = self._call()
            self._play(tool_start(call, name, arguments, timestamp=self._stamp()))
            if name == "bash":
                for line in range(self._chance.randint(1, 6)):
                    self._play(
                        ToolProgress(call_id=call, text=f"step {line} …漢字\n", timestamp=self._stamp())
                    )
            success = self._chance.random() < 0.8
            self._play(self._tool_end(call, name, self._chance.choice(OUTPUTS), success))

    def _edit(self) -> None:
        call = self._call()
        arguments = {"path": "src/http/retry.py"}
        self._play(tool_start(call, "edit", arguments, timestamp=self._stamp()))
        self._play(
            self._tool_end(call, "edit", "edited", True, diffs=(FileDiff("src/http/retry.py", DIFF, 3, 2),))
        )

    def _ask(self) -> None:
        request = self._chance.choice(
            (
                edit_request(call_id=self._call()),
                command_request("rm -rf build && 完了", call_id=self._call()),
            )
        )
        self._play()
        self._script.append(request)
        self._answer_prompt("1", ESCAPE, DOWN + "\r", "4")

    def _question(self) -> None:
        options = (QuestionOption("Postgres", "a server"), QuestionOption("SQLite 軽い", "a file"))
        questions = (
            Question("Which database?", "Storage", options),
            Question("And which names 名前?", "Names", options, multi_select=True),
        )
        self._play()
        self._script.append(QuestionRequest(self._call(), questions))
        self._answer_prompt("1\r \r\r", ESCAPE)

    def _answer_prompt(self, *replies: str) -> None:
        """Looks at the prompt for a while (it takes no key at first), then answers it."""
        for _ in range(2):
            self._act(Next())
        for key in self._chance.choices((DOWN, UP, PAGE_DOWN, FOCUS_OUT + FOCUS_IN), k=2):
            self._act(Keys(key))
        if self._chance.random() < 0.3:
            self._resize()
        self._act(Next())
        for key in _single_keys(self._chance.choice(replies)):
            self._act(Keys(key))
        self._act(Close())

    def _tell(self) -> None:
        level = self._chance.choice(("info", "warning", "error"))
        self._play(Notice(level=level, text="Waits 4 s; 再試行 of the request.", timestamp=self._stamp()))
        self._play(Compaction(before=90_000, after=12_000, timestamp=self._stamp()))

    def _tasks(self, turn: int) -> None:
        states = (TodoStatus.COMPLETED, TodoStatus.IN_PROGRESS, TodoStatus.PENDING)
        items = tuple(
            TodoItem(
                content=f"Step {n} 工程", status=states[min(2, n)], active_form=f"Doing step {n} of {turn}"
            )
            for n in range(self._chance.randint(1, 4))
        )
        self._script.append(items)
        self._play(self._tool_end(self._call(), "todo", "ok", True))

    def _tool_end(
        self, call: str, name: str, result: str, success: bool, *, diffs: tuple[FileDiff, ...] = ()
    ) -> ToolEnd:
        return ToolEnd(
            call_id=call,
            name=name,
            result=result,
            success=success,
            duration_s=0.4,
            summary="" if diffs else "12 lines",
            diffs=diffs,
            timestamp=self._stamp(),
        )

    def _call(self) -> str:
        self._calls += 1
        return f"call-{self._calls}"

    # What the person does

    def _act(self, action: Action) -> None:
        self._recording.actions.append(action)

    def _meddle(self) -> None:
        for step in self._chance.choice(_MEDDLINGS):
            self._act(Keys(step))
        match self._chance.randrange(8):
            case 0:
                self._resize()
            case 1:
                self._drag()
            case 2:
                self._act(Keys(f"/theme forge-{self._chance.choice(('dark', 'light'))}\r"))

    def _resize(self) -> None:
        sizes = [(self._chance.randint(30, 150), self._chance.randint(8, 40)) for _ in range(2)]
        if self._chance.random() < 0.2:
            sizes += [(20, 5), (1, 1), (2, 3), (1, 40), (150, 1)]
        for size in (*sizes, GROUND_SIZE):
            self._act(Size(*size))

    def _drag(self) -> None:
        x, y = self._chance.randint(4, 40), self._chance.randint(3, 6)
        moves = [(x + self._chance.randint(0, 30), y + self._chance.randint(0, 3)) for _ in range(3)]
        last = moves[-1]
        dragged = "".join(f"\x1b[<32;{column};{row}M" for column, row in moves)
        self._act(Keys(f"\x1b[<0;{x};{y}M{dragged}\x1b[<0;{last[0]};{last[1]}m"))
        self._act(Keys("\x1b[<0;2;2M\x1b[<0;2;2m"))


_MEDDLINGS: tuple[tuple[str, ...], ...] = (
    (),
    (PAGE_UP, PAGE_UP, WHEEL_UP, WHEEL_DOWN, TO_END),
    (WHEEL_UP,) * 5 + (PAGE_DOWN, TO_END),
    (CARDS, PAGE_UP, CARDS, TO_END),
    (F1, PAGE_DOWN, ESCAPE),
    (PALETTE, "the", DOWN, ESCAPE),
    ("/t", DOWN, ESCAPE, "\x7f\x7f"),
    ("draft 下書き 🚀", "\x1b[D\x1b[D", "é", "\x15" + "\x7f" * 20),
    (FOCUS_OUT, FOCUS_IN),
    (MODE, MODE, MODE, MODE),
    (TASKS, TASKS),
    ("/help\r", PAGE_UP, TO_END),
    ("/theme\r", DOWN, ESCAPE),
    (FIND, "wor", "d", "\r", "\r", DOWN, ESCAPE, TO_END),
    (TO_PROMPT, TO_PROMPT, TO_END),
    (RAW, RAW),
    ("/cost\r", "/context\r", TO_END),
    ("/diff\r", "n", "]", "v", "b", "?", ESCAPE, "q", ESCAPE),
)


def _fragments(text: str, chance: random.Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = chance.choice((3, 8, 20, 60, 200))
        yield text[at : at + size]
        at += size


def _single_keys(keys: str) -> list[str]:
    return [keys] if keys.startswith("\x1b") else list(keys)
