"""`/compact`: shortens the conversation, shows the last compaction, or undoes it."""

from __future__ import annotations

from forge_core.commands.columns import columns, table
from forge_core.commands.context_command import kind_name
from forge_core.commands.figures import tokens_text
from forge_core.commands.result import CommandNotice, CommandResult, CompactConversation, Text
from forge_core.context.ledger import Kind
from forge_core.context.pinned_facts import Fact
from forge_core.sanitize import safe_line, safe_text
from forge_core.session.compacting import CompactionReport
from forge_core.session.session import ForgeSession
from forge_core.text_width import clip_middle

FACT_CELLS = 40
"""So that a row fits 80 columns."""


async def compact(argument: str, session: ForgeSession) -> CommandResult:
    """Compact the conversation; the argument is what the summary must keep above all."""
    match argument.lower():
        case "fast":
            return CompactConversation(is_fast=True)
        case "show":
            report = session.compaction.report
            return Text("Nothing was compacted yet." if report is None else _shown(report), "Compaction")
        case "undo":
            before, after = session.compaction.undo()
            figures = f"~{tokens_text(before)} → ~{tokens_text(after)} tokens"
            return CommandNotice(f"Compaction undone: {figures}{_warning(session, after)}")
    return CompactConversation(argument)


def _warning(session: ForgeSession, used: int) -> str:
    due = session.compaction.compacts_at
    return ". It comes again with the next message: the window is nearly full." if due and used >= due else ""


def _shown(report: CompactionReport) -> str:
    result = report.result
    rows = [("", "Before", "After")]
    rows += [
        (kind_name(kind), _tokens(report.before.get(kind)), _tokens(report.after.get(kind)))
        for kind in Kind
        if report.before.get(kind) or report.after.get(kind)
    ]
    rows.append(("Total", _tokens(sum(report.before.values())), _tokens(sum(report.after.values()))))
    rows.append(("Messages", str(report.messages_before), str(report.messages_after)))
    blocks = [table(rows), _facts(result.pinned, result.added)]
    if result.failure:
        blocks.append(f"There is no new summary: {safe_line(result.failure)}")
    if result.summary:
        blocks.append(f"Summary\n{safe_text(result.summary)}")
    blocks.append("/compact undo restores the conversation as it was before.")
    return "\n\n".join(block for block in blocks if block)


def _facts(pinned: list[Fact], added: list[Fact]) -> str:
    """Return the pinned facts, each with where the model finds it."""
    if not pinned:
        return ""
    rows = [
        (
            f"✓ {fact.kind}: {clip_middle(safe_line(fact.text), FACT_CELLS)}",
            "added by Forge" if fact in added else "in the conversation",
        )
        for fact in pinned
    ]
    return f"Checked to be still there\n{columns(rows)}"


def _tokens(count: int | None) -> str:
    return tokens_text(count) if count else "-"
