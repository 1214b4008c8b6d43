"""python -m tests.bench.replay CLONE… [--commits 400] [--edits 3] [--wrong FOLDER]

Replays real commits against the edit engine. Each modified text file is cut into edits as a model would send
them, in three styles, and these are applied in order: the bytes must be the commit's. Then old_string (alone,
and together with new_string) is spoilt the ways models spoil it: the edit must be recovered or refused, never
write wrong bytes. See `replay_judge.Outcome` for what counts as what.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from forge_core.errors import ToolError
from forge_core.tools.editing.replace import replace
from forge_core.tools.editing.text import TERMINATOR, FileText, decode, with_newlines
from tests.bench.perturb import Perturbed, perturbed
from tests.bench.replay_cut import STYLES, Step, Style, steps
from tests.bench.replay_history import FileChange, History
from tests.bench.replay_judge import Outcome, has_mixed_ends, judge

_MAX_PERTURBED_CHARS = 400_000
"""Larger texts are replayed exactly but not spoilt: the time goes into more commits instead."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """An edit that wrote what it should not have."""

    change: str
    mistake: str
    before: bytes
    after: bytes
    made: bytes
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.mistake:<40} {self.change}"


@dataclass(slots=True)
class Tally:
    """What came out, to be added up."""

    files: Counter[str] = field(default_factory=Counter)
    edits: Counter[str] = field(default_factory=Counter)
    mistakes: dict[str, Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: list[Wrong] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    commits: int = 0

    def add(self, other: Tally) -> None:
        self.files += other.files
        self.edits += other.edits
        self.commits += other.commits
        self.wrong += other.wrong
        self.crashes += other.crashes
        for name, outcomes in other.mistakes.items():
            self.mistakes[name] += outcomes


def replay_change(change: FileChange, tally: Tally, most_edits: int) -> None:
    """One file of one commit: exactly in every style, then spoilt in one of them."""
    kind = _kind(change)
    if kind is not None:
        tally.files[kind] += 1
        return
    before, after = decode(change.before), decode(change.after)
    for style in STYLES:
        outcome = _replay_exactly(change, before, after, style, tally)
        tally.files[f"{style}: {outcome}"] += 1
    if len(before.text) <= _MAX_PERTURBED_CHARS:
        rng = random.Random(f"{change.commit}:{change.path}")
        style = rng.choice(STYLES)
        every = list(steps(before.text, after.text, style, rng))
        for step in rng.sample(every, min(most_edits, len(every))):
            _spoil(change, before, step, tally)


def _kind(change: FileChange) -> str | None:
    """Why no edit can express the change; None when one can."""
    if not change.is_text:
        return "passed over: binary"
    before, after = decode(change.before), decode(change.after)
    if (before.encoding, before.bom, before.errors) != (after.encoding, after.bom, after.errors):
        return "passed over: the commit changes the encoding"
    if before.errors != "strict" and before.text != before.readable:
        return "passed over: bytes that are no text"
    if with_newlines(before.text) == with_newlines(after.text):
        return "passed over: the commit changes line ends only"
    ends = [set(TERMINATOR.findall(file.text)) for file in (before, after)]
    if all(ends) and ends[0] != ends[1]:
        return "passed over: the commit converts line ends"
    return None


def _replay_exactly(
    change: FileChange, before: FileText, after: FileText, style: Style, tally: Tally
) -> Outcome:
    data = change.before
    asked = None
    for step in steps(before.text, after.text, style, random.Random(f"{change.commit}:{change.path}")):
        asked = Perturbed("as it is", step.old, step.new, None)
        made = _made(data, asked, change, tally)
        wanted = before.bom + before.encode(step.after)
        outcome = judge(step, before, made, asked)
        tally.edits[f"{style}: {outcome}"] += 1
        if made != wanted and not (has_mixed_ends(step.before) or has_mixed_ends(step.after)):
            outcome = Outcome.REFUSED if made is None else Outcome.WRONG
        if outcome in (Outcome.WRONG, Outcome.REFUSED):
            tally.wrong.append(_wrong(change, f"{style}: {outcome}", step, before, made or b"", asked))
            return outcome
        data = wanted
    return Outcome.EXACT if data == change.after else Outcome.WRONG


def _spoil(change: FileChange, file: FileText, step: Step, tally: Tally) -> None:
    data = file.bom + file.encode(step.before)
    for asked in perturbed(step):
        made = _made(data, asked, change, tally)
        outcome = judge(step, file, made, asked)
        tally.mistakes[asked.name][outcome] += 1
        if outcome is Outcome.WRONG:
            tally.wrong.append(_wrong(change, asked.name, step, file, made or b"", asked))


def _made(data: bytes, asked: Perturbed, change: FileChange, tally: Tally) -> bytes | None:
    try:
        return replace(data, asked.old, asked.new).data
    except ToolError:
        return None
    except Exception as error:
        tally.crashes.append(f"{asked.name}: {change.name}: {error!r}")
        return None


def _wrong(change: FileChange, name: str, step: Step, file: FileText, made: bytes, asked: Perturbed) -> Wrong:
    before, after = (file.bom + file.encode(text) for text in (step.before, step.after))
    return Wrong(change.name, name, before, after, made, asked.old, asked.new)


def replay_clone(clone: Path, commits: list[str], most_edits: int) -> Tally:
    tally = Tally(commits=len(commits))
    for change in History(clone).changes(commits):
        replay_change(change, tally, most_edits)
    return tally


def table(tally: Tally) -> str:
    """The rates of each mistake, in Markdown."""
    rows = [
        f"| {'mistake':<48} | {'edits':>6} | {'exact':>7} | {'alike':>7} | as asked | {'refused':>7} | WRONG |",
        f"|{'-' * 50}|{'-' * 8}|{'-' * 9}|{'-' * 9}|{'-' * 10}|{'-' * 9}|{'-' * 7}|",
    ]
    total: Counter[Outcome] = Counter()
    for name, outcomes in tally.mistakes.items():
        rows.append(_row(name, outcomes))
        total += outcomes
    return "\n".join([*rows, _row("all", total)])


def _row(name: str, outcomes: Counter[Outcome]) -> str:
    count = sum(outcomes.values())
    shares = [
        f"{100 * outcomes[one] / max(count, 1):6.1f} %"
        for one in (Outcome.EXACT, Outcome.ALIKE, Outcome.AS_ASKED, Outcome.REFUSED)
    ]
    exact, alike, asked, refused = (share[1:] for share in shares)
    wrong = outcomes[Outcome.WRONG]
    return f"| {name:<48} | {count:>6,} | {exact:>7} | {alike:>7} | {asked:>8} | {refused:>7} | {wrong:>5} |"


def report(tally: Tally) -> Iterable[str]:
    yield f"{tally.commits:,} commits"
    for counts in (tally.files, tally.edits):
        yield "files:" if counts is tally.files else "edits:"
        yield from (f"  {name:<48} {count:>7,}" for name, count in sorted(counts.items()))
    yield table(tally)
    yield f"\n{len(tally.wrong)} wrong, {len(tally.crashes)} crashes"
    yield from map(str, tally.wrong[:200])
    yield from tally.crashes[:50]


def _keep(wrong: list[Wrong], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(wrong):
        text = f"{one.change}\n{one.mistake}\nold = {one.old!r}\nnew = {one.new!r}\n"
        (folder / f"{number:03}.txt").write_text(text, "utf-8", "surrogateescape")
        for name in ("before", "after", "made"):
            (folder / f"{number:03}.{name}").write_bytes(getattr(one, name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("clones", nargs="+", type=Path, help="git directories or work trees")
    parser.add_argument("--commits", type=int, default=400, help="in all, spread over each history")
    parser.add_argument("--edits", type=int, default=3, help="most edits of a file to spoil")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--wrong", type=Path, help="a folder to keep wrong cases in")
    options = parser.parse_args()
    started = time.perf_counter()
    tally = Tally()
    each = max(options.commits // len(options.clones), 1)
    with ProcessPoolExecutor(options.jobs) as pool:
        work = []
        for clone in options.clones:
            commits = History(clone).commits(each)
            parts = [commits[at : at + 20] for at in range(0, len(commits), 20)]
            work += [pool.submit(replay_clone, clone, part, options.edits) for part in parts]
        for one in work:
            tally.add(one.result())
    print("\n".join(report(tally)))
    print(f"took {time.perf_counter() - started:.0f} s")
    if options.wrong:
        _keep(tally.wrong, options.wrong)
    return 1 if tally.wrong or tally.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
