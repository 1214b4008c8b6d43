"""Which declared hooks may run, and what the user is shown of those that wait for approval."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forge_core.config.forge_config import ForgeConfig
from forge_core.extensions.approvals import (
    ApprovalState,
    ApprovalStore,
    DeclaredProgram,
    Judgement,
    ProgramKind,
    WaitingProgram,
)
from forge_core.extensions.hooks.hook_files import MAX_SUMMARY, Hook, HookTable, SkippedHook, load_hooks
from forge_core.extensions.program_files import (
    UncheckableError,
    named_files,
    words_of_arguments,
    words_of_line,
    words_that_run,
)
from forge_core.workspace.trust import is_trusted


@dataclass(frozen=True, slots=True)
class JudgedHook:
    """A hook that needs approval."""

    hook: Hook
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class HookApprovals:
    """All hooks that were declared, and which of them may run."""

    table: HookTable
    judged: Mapping[tuple[Path, str], JudgedHook]
    """By the key of the hook; those of the user's own file need no approval."""
    named: Collection[str]
    """The names that are approved for this run."""
    untrusted: Path | None = None
    """The working folder, if the user does not trust it: no hook may run a file in it, not even their own."""

    @classmethod
    def load(cls, config: ForgeConfig) -> HookApprovals:
        """Return the hooks as they are now. Runs nothing. Blocks while it reads."""
        table, store = load_hooks(config), ApprovalStore(config.state_dir)
        judged: dict[tuple[Path, str], JudgedHook] = {}
        skipped: dict[tuple[Path, str], SkippedHook] = {}
        for hook in table.hooks:
            if hook.source.needs_approval:
                try:
                    judged[hook.key] = JudgedHook(hook, store.judge(declared_program(hook)))
                except UncheckableError as error:
                    what = hook.command_line[:MAX_SUMMARY]
                    skipped[hook.key] = SkippedHook(hook.source, str(hook.event), what, str(error))
        kept = tuple(hook for hook in table.hooks if hook.key not in skipped)
        table = replace(table, hooks=kept, skipped=(*table.skipped, *skipped.values()))
        untrusted = None if is_trusted(config) else config.working_dir
        return cls(table, judged, frozenset(config.approved_programs), untrusted)

    def state(self, hook: Hook) -> ApprovalState | None:
        """Return whether a hook is approved; None where it needs no approval."""
        found = self.judged.get(hook.key)
        if found is None:
            return None
        return ApprovalState.APPROVED if hook.name in self.named else found.judgement.state

    def approved_at(self, hook: Hook) -> int | None:
        """Return when the user approved a hook, in seconds since the epoch; None where they did not, or for
        this run only."""
        found = self.judged.get(hook.key)
        is_approved = found is not None and found.judgement.state is ApprovalState.APPROVED
        return found.judgement.at if found is not None and is_approved else None

    @property
    def allowed(self) -> list[Hook]:
        """The hooks that may run."""
        return [hook for hook in self.table.hooks if self.state(hook) in (None, ApprovalState.APPROVED)]

    @property
    def waiting(self) -> list[JudgedHook]:
        """The hooks about which the user has not decided as they are now."""
        return [
            one for one in self.judged.values() if one.judgement.waits and one.hook.name not in self.named
        ]

    @property
    def shown(self) -> list[WaitingProgram]:
        """What the user is shown of those."""
        return [
            WaitingProgram(
                one.hook.source.folder,
                one.hook.name,
                one.judgement.seen.digest,
                one.hook.source.label,
                one.hook.command_line,
                ", ".join(filter(None, (str(one.hook.event), one.hook.matcher, one.hook.condition))),
                one.judgement.differences,
            )
            for one in self.waiting
        ]

    def decide(
        self, config: ForgeConfig, shown: Sequence[WaitingProgram], approved: Collection[int]
    ) -> list[Hook]:
        """Store the decision about each program that was shown and still waits as it was: it is approved if
        its index is given. Return the approved hooks. Raises ConfigError when it cannot be stored."""
        waiting = {one.hook.key: one.hook for one in self.waiting}
        judged = ((declared_program(one.hook), one.judgement) for one in self.waiting)
        agreed = ApprovalStore(config.state_dir).decide_shown(judged, shown, approved)
        return [waiting[program.folder, program.name] for program in agreed]

    def refusal(self, hook: Hook) -> str:
        """Return why a hook must not run now: it or its files have changed since it was approved, or it runs
        a file of a folder that the user does not trust. Blocks while it reads the files."""
        found = self.judged.get(hook.key)
        try:
            if self.untrusted is not None:
                known = _places(self.untrusted)
                for path in named_files(words_that_run(hook.command_line, known), self.untrusted):
                    name = os.path.relpath(path, self.untrusted)
                    return f"it runs {name!r} of this folder, which you do not trust; /trust yes allows it"
            if found is None:
                return ""
            change = found.judgement.change_in(declared_program(hook))
        except UncheckableError as error:
            return str(error)
        return f"{change} since it was approved; /hooks approve shows it again" if change else ""


def declared_program(hook: Hook) -> DeclaredProgram:
    """Return a hook as what the user approves."""
    folder, known = hook.source.folder, _places(hook.source.folder)
    if hook.args is None:
        words = words_of_line(hook.command, known)
    else:
        words = words_of_arguments([hook.command, *hook.args], known)
    return DeclaredProgram(ProgramKind.HOOK, hook.name, folder, hook.entry, tuple(words))


def _places(folder: Path) -> dict[str, str]:
    """Return the variables of a command line that name folders, if `folder` is the project."""
    names = ("CLAUDE_PROJECT_DIR", "FORGE_PROJECT_DIR", "PWD")
    return {**dict.fromkeys(names, str(folder)), "HOME": str(Path.home())}
