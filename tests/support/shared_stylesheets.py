"""One parse of the widgets' CSS for all apps of a process.

Each app parses the CSS of every widget anew, 50 texts at each start: an eighth of the CPU time of a start in tests.
Relies on `Stylesheet._parse_rules` of Textual 8.2.8, whose results an app keeps for its own later use unchanged.
"""

from __future__ import annotations

from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


def share_parsed_rules() -> None:
    """Keep what is parsed with the same variables, which a theme sets."""
    parse = Stylesheet._parse_rules
    known: dict[tuple[Any, ...], list[RuleSet]] = {}

    def parse_once(
        self: Stylesheet,
        css: str,
        read_from: tuple[str, str],
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        where = css, read_from, is_default_rules, tie_breaker, scope
        key = (*where, frozenset(self._variables.items()))
        if key not in known:
            known[key] = parse(self, *where)
        return known[key]

    Stylesheet._parse_rules = parse_once  # type: ignore[method-assign]
