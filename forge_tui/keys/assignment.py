"""Decides which keys do what: the table, changed by a preset, changed by the user's file.

An assignment replaces all keys of an id. What it takes from another id of the same part of the screen, that
one loses. These rules hold for every assignment:

- The keys of prompts are fixed: no file changes what answers a request for permission.
- Esc and Ctrl+C keep their meaning everywhere.
- Where text is typed, no key that types a character can be assigned.
- A message can always be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forge_core.sanitize import safe_line
from forge_tui.keymap import KEYS, WITHOUT_TEXT, KeyContext, with_both_cases
from forge_tui.keys.effective import EffectiveKeys, default_keys
from forge_tui.keys.names import KeyNameError, needs_extended_protocol, parse_keys, show, types_text

FIXED_CONTEXTS = frozenset(
    {KeyContext.PROMPT, KeyContext.QUESTIONS, KeyContext.NOTE, KeyContext.PLAN, KeyContext.PROGRAMS}
)
FIXED_KEYS = frozenset({"escape", "ctrl+c", "super+c"})
_SEND = "composer.submit"
_SEND_KEY = "enter"
_MOST_KEYS = 3
"""Keys of one chord."""
_TOGETHER = (frozenset({KeyContext.COMPOSER, KeyContext.CHAT}),)
"""Parts of the screen whose keys work at the same time."""
_CONTEXTS = {key.id: key.context for key in KEYS}


@dataclass(frozen=True, slots=True)
class Assignment:
    """The keys that someone wants for an id."""

    id: str
    keys: tuple[str, ...]
    """As written; none to unbind it."""
    line: int = 0
    """Where it is written, from 1; 0 if that is not known."""


class _Layer:
    """Assignments of one origin, applied over the keys before them."""

    def __init__(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        self.keys = dict(keys)
        self.problems: list[str] = []
        self._owners: dict[tuple[frozenset[KeyContext], str], Assignment] = {}
        """By the parts of the screen and the key."""

    def apply(self, assignments: Iterable[Assignment]) -> None:
        for one in assignments:
            self._apply(one)
        self._displace()
        if not self.keys[_SEND]:
            self._restore_sending()

    def _apply(self, one: Assignment) -> None:
        if problem := _problem_with_id(one.id):
            self._report(one, problem)
            return
        group = together_with(_CONTEXTS[one.id])
        fixed = tuple(key for key in default_keys()[one.id] if key in FIXED_KEYS)
        taken = tuple(dict.fromkeys(key for name in one.keys for key in self._checked(one, name, group)))
        if one.keys and not taken:
            return  # reported
        if not (taken or fixed) and one.id == _SEND:
            self._report(one, f"{one.id} must have a key")
            return
        for key in taken:
            self._owners[group, key] = one
        self.keys[one.id] = (*taken, *fixed)

    def _checked(self, one: Assignment, name: str, group: frozenset[KeyContext]) -> Sequence[str]:
        try:
            keys = parse_keys(name)
        except KeyNameError as error:
            self._report(one, f"{one.id}: {error}")
            return ()
        if problem := self._problem_with_keys(one, keys, group):
            self._report(one, f"{one.id}: {problem}")
            return ()
        if any(map(needs_extended_protocol, keys.split())):
            self._report(
                one,
                f"{one.id}: not all terminals send {show(keys)}; forge doctor keys shows what yours sends",
            )
        return (keys,)

    def _problem_with_keys(self, one: Assignment, keys: str, group: frozenset[KeyContext]) -> str:
        first, *rest = keys.split()
        if fixed := next((key for key in (first, *rest) if key in FIXED_KEYS), ""):
            return f"{show(fixed)} keeps its meaning and cannot be assigned"
        if len(rest) >= _MOST_KEYS:
            return f"a chord has at most {_MOST_KEYS} keys"
        if types_text(first) and not group <= WITHOUT_TEXT:
            return f"{show(first)} types a character here; use Ctrl, Alt or a function key"
        for (owned_in, owned), other in self._owners.items():
            is_same_start = f"{owned} ".startswith(f"{keys} ") or f"{keys} ".startswith(f"{owned} ")
            if owned_in == group and other.id != one.id and is_same_start:
                where = f" (line {other.line})" if other.line else ""
                return f"{show(keys)} clashes with {show(owned)} of {other.id}{where}"
        return ""

    def _displace(self) -> None:
        """Take the assigned keys from the ids that had them before."""
        assigned = {one.id for one in self._owners.values()}
        for key_id, names in list(self.keys.items()):
            group = together_with(_CONTEXTS[key_id])
            lost = [(key, owner) for key in names if (owner := self._owner(group, key, key_id)) is not None]
            if not lost:
                continue
            self.keys[key_id] = tuple(key for key in names if key not in {key for key, _ in lost})
            if not self.keys[key_id] and key_id not in {*assigned, _SEND}:
                key, owner = lost[0]
                self._report(owner, f"{owner.id}: {show(key)} was {key_id}, which has no key now")

    def _restore_sending(self) -> None:
        """Give the key that sends a message back to its id."""
        group = together_with(KeyContext.COMPOSER)
        owner = self._owner(group, _SEND_KEY, _SEND)
        assert owner is not None
        self._owners = {at: one for at, one in self._owners.items() if one is not owner or at[0] != group}
        self.keys[owner.id] = tuple(key for key in self.keys[owner.id] if key.split()[0] != _SEND_KEY)
        self.keys[_SEND] = (_SEND_KEY,)
        self._report(owner, f"{owner.id}: Enter sends a message; give {_SEND} another key first")

    def _owner(self, group: frozenset[KeyContext], key: str, key_id: str) -> Assignment | None:
        """Return the assignment of another id that takes this key, or begins a chord with it."""
        for (owned_in, owned), one in self._owners.items():
            is_taken = owned == key or owned.startswith(f"{key} ")
            if is_taken and owned_in == group and one.id != key_id and key not in FIXED_KEYS:
                return one
        return None

    def _report(self, one: Assignment, problem: str) -> None:
        self.problems.append(f"line {one.line}: {problem}" if one.line else problem)

    @property
    def claimed(self) -> dict[KeyContext, frozenset[str]]:
        """The keys that were assigned, and those that begin a chord, by part of the screen."""
        claimed: dict[KeyContext, set[str]] = {}
        for (group, key), _ in self._owners.items():
            for context in group:
                claimed.setdefault(context, set()).update((key, key.split()[0]))
        return {context: frozenset(keys) for context, keys in claimed.items()}


def assign(
    assignments: Sequence[Assignment], preset: Sequence[Assignment] = (), preset_name: str = "default"
) -> tuple[EffectiveKeys, list[str]]:
    """Return the keys that result, and what is wrong with `assignments`, each with its line."""
    base = _Layer(default_keys())
    base.apply(preset)
    layer = _Layer(base.keys)
    layer.apply(assignments)
    claimed = {
        context: base.claimed.get(context, frozenset()) | layer.claimed.get(context, frozenset())
        for context in KeyContext
    }
    keys, bound = layer.keys, dict(layer.keys)
    for context in WITHOUT_TEXT:
        bound |= with_both_cases({key_id: keys[key_id] for key_id in keys if _CONTEXTS[key_id] is context})
    usual = default_keys()
    changed = frozenset(key_id for key_id in usual if keys[key_id] != usual[key_id])
    return EffectiveKeys(keys, bound, changed, claimed, preset_name), layer.problems


def together_with(context: KeyContext) -> frozenset[KeyContext]:
    """Return the parts of the screen whose keys work at the same time as those of this one."""
    return next((group for group in _TOGETHER if context in group), frozenset({context}))


def _problem_with_id(key_id: str) -> str:
    """Return why the keys of this id cannot be changed; empty if they can."""
    if _CONTEXTS.get(key_id) in FIXED_CONTEXTS:
        return f"{key_id} cannot be changed: the keys of prompts are fixed"
    if key_id in default_keys():
        return ""
    import difflib

    near = difflib.get_close_matches(key_id, default_keys(), n=1)
    advice = f"; did you mean {near[0]}?" if near else "; /keys lists the ids"
    return f"there is no key {safe_line(key_id[:60])!r}{advice}"
