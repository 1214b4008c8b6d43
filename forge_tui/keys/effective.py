"""The keys in effect, for what handles keys and for what shows them.

There is one set of keys per process: the texts that name a key are spread over the whole screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forge_tui.keymap import KEYS, KeyContext, help_rows
from forge_tui.keys.names import show


def default_keys() -> dict[str, tuple[str, ...]]:
    """Return the keys of each row of the table that has any, by id."""
    return {key.id: tuple(key.keys.split(",")) for key in KEYS if key.keys}


@dataclass(frozen=True, slots=True)
class EffectiveKeys:
    """Which keys do what."""

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=default_keys)
    """By id; none for an id that has no key now. A chord is written with spaces."""
    bound: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same, with letters in both cases where that means the same."""
    changed: frozenset[str] = frozenset()
    """The ids whose keys are not those of the table."""
    claimed: Mapping[KeyContext, frozenset[str]] = field(default_factory=dict)
    """Keys that were assigned in a part of the screen: what a widget there does with them by itself, it does
    no longer."""
    preset: str = "default"

    @property
    def prefixes(self) -> frozenset[str]:
        """The keys that begin a chord."""
        return frozenset(chord.split()[0] for names in self.keys.values() for chord in names if " " in chord)

    def hint(self, default: str, *ids: str) -> str:
        """Return the keys of these ids as a hint names them: `default`, as long as they are unchanged."""
        if self.changed.isdisjoint(ids):
            return default
        shown = (show(self.keys[key_id][0]) for key_id in ids if self.keys.get(key_id))
        return " ".join(shown) or "no key"

    def help_rows(self, context: KeyContext) -> list[tuple[str, str]]:
        """Return (keys, what they do) for the help: the rows of the table, with the keys in effect."""
        if not self.changed:
            return help_rows(context)
        return [(row.label, row.summary) for row in self.rows(context)]

    def rows(self, context: KeyContext) -> list[HelpRow]:
        """Return the rows of the help for one part of the screen, each with the ids that it stands for."""
        rows: list[HelpRow] = []
        for key in KEYS:
            if key.context is not context:
                continue
            if key.label:
                rows.append(HelpRow(key.label, key.summary, (key.id,)))
            elif rows:
                last = rows[-1]
                rows[-1] = HelpRow(last.label, last.summary, (*last.ids, key.id))
        return [row if self.changed.isdisjoint(row.ids) else self._changed_row(row) for row in rows]

    def _changed_row(self, row: HelpRow) -> HelpRow:
        names = [show(name) for key_id in row.ids for name in self.keys.get(key_id, ())]
        return HelpRow(", ".join(dict.fromkeys(names)) or "no key", row.summary, row.ids, is_changed=True)


@dataclass(frozen=True, slots=True)
class HelpRow:
    """One line of the help on keys."""

    label: str
    summary: str
    ids: tuple[str, ...]
    is_changed: bool = False


_effective = EffectiveKeys()


def effective_keys() -> EffectiveKeys:
    """Return the keys in effect."""
    return _effective


def fold_key() -> str:
    """Return the key that expands cards, for the line that says how much is hidden."""
    return _effective.hint("Ctrl+O", "chat.toggle_cards")


def command_keys() -> dict[str, str]:
    """Return the key that does the same as a slash command, by the command's name, as it is shown."""
    found = {}
    for key in KEYS:
        if key.command and not key.keys:
            found[key.command] = key.label
        elif key.command and (names := _effective.keys.get(key.id)):
            found[key.command] = show(names[0])
    return found


def use_keys(keys: EffectiveKeys) -> None:
    """Put these keys into effect. Widgets follow at the next key: see `dispatch`."""
    global _effective
    _effective = keys
