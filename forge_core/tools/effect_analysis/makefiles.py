"""The commands of the rules of a makefile and of the scripts of a package.json.

An approximation: simple variables are expanded, functions are not evaluated.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_ASSIGNMENT = re.compile(r"^(?:export\s+|override\s+)?([\w.-]+)\s*(?:\?|:{0,2}|\+)=\s*(.*)$")
_RULE = re.compile(r"^([^\t#:=][^:=#]*?)\s*::?(?!=)\s*([^;#]*)(?:;(.*))?$")
_VARIABLE = re.compile(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
_PRESET = {"CC": "cc", "CXX": "c++", "RM": "rm -f", "MAKE": "make", "CURDIR": "."}
_MAX_RECIPES = 400


@dataclass(frozen=True, slots=True)
class Recipe:
    """One rule of a makefile."""

    target: str
    """In a pattern rule with `*` in place of `%`."""
    lines: tuple[str, ...]
    is_phony: bool
    needs: tuple[str, ...] = ()


def recipes(text: str) -> Iterator[Recipe]:
    """Yield the rules of a makefile, one for each target."""
    variables = dict(_PRESET)
    phony: set[str] = set()
    rules: list[tuple[list[str], str, list[str]]] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            if rules:
                command = line.strip().lstrip("@-+")
                # After `-` make ignores a failure, so the success of make proves nothing about the command.
                ignores_failure = "-" in line.strip()[: len(line.strip()) - len(command)]
                rules[-1][2].append(f"{command} || true" if ignores_failure else command)
            continue
        assignment = _ASSIGNMENT.match(line)
        if assignment is not None:
            variables[assignment[1]] = assignment[2].partition(" #")[0].strip()
            continue
        rule = _RULE.match(line)
        if rule is not None:
            targets = _expanded(rule[1], variables).split()
            needs = _expanded(rule[2], variables)
            if ".PHONY" in targets:
                phony |= set(needs.split())
            rules.append((targets, needs, [rule[3].strip()] if rule[3] else []))
    for targets, needs, lines in rules[:_MAX_RECIPES]:
        for target in targets:
            if not target.startswith(".") or "/" in target:
                ready = tuple(_automatic(_expanded(one, variables), target, needs) for one in lines)
                yield Recipe(target.replace("%", "*"), ready, target in phony, tuple(needs.split()))


def made_for_certain(rules: Sequence[Recipe], goals: Sequence[str], cwd: Path) -> set[str]:
    """Return the targets whose recipes certainly run when make succeeds with these goals.

    These are the needed targets that do not exist or are phony, as far as they have a single rule.
    """
    counts = Counter(rule.target for rule in rules)
    known = {rule.target: rule for rule in rules if counts[rule.target] == 1}
    todo = list(goals) or [rule.target for rule in rules[:1]]
    found: set[str] = set()
    while todo:
        rule = known.pop(todo.pop(), None)
        if rule is not None and (rule.is_phony or not (cwd / rule.target).exists()):
            found.add(rule.target)
            todo += rule.needs
    return found


def package_scripts(text: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines that `npm run` runs for each name, including its pre and post scripts."""
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return
    for name in names:
        for key in (f"pre{name}", name, f"post{name}"):
            if isinstance(scripts, dict) and isinstance(scripts.get(key), str):
                yield scripts[key]


def _expanded(text: str, variables: dict[str, str]) -> str:
    for _ in range(5):
        changed = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), text)
        if changed == text:
            break
        text = changed[:4_000]
    return text


def _automatic(line: str, target: str, needs: str) -> str:
    first = needs.split()[0] if needs.split() else ""
    folder = target.rpartition("/")[0] or "."
    for sign, value in (("$@", target), ("$(@)", target), ("$<", first), ("$^", needs), ("$(@D)", folder)):
        line = line.replace(sign, value)
    return line.replace("%", "*").replace("$$", "$")
