"""Every module that writes files either redacts keys from them, or is listed here with the reason why it need not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
REDACTING = {
    "forge_core/headless/output_folder.py",
    "forge_core/session/prompt_history.py",
    "forge_core/store/export.py",
    "forge_core/store/forking.py",
    "forge_core/store/journal.py",
    "forge_core/store/log.py",
    "forge_core/tools/output.py",
    "forge_core/undo/storage/turn_log.py",
    "forge_tui/crash.py",
}
"""Writers of what a conversation contains; each gets its `Redactor` from the caller."""
EXACT = {
    "forge_core/commands/git/pr_command.py": "the text that the user saw, in the file that they named",
    "forge_core/commands/saved_command_uses.py": "names of commands and how often each was used",
    "forge_core/batch/batch_log.py": "amounts, and texts that `forge run` has redacted",
    "forge_core/batch/local_engine.py": "the user's prompt, what `forge run` has redacted, and exact patches",
    "forge_core/batch/driver.py": "amounts, and answers that `forge run` has redacted",
    "forge_core/batch/results.py": "amounts, and texts that `forge run` has redacted",
    "forge_core/config/project_state.py": "rules must match exactly, and hold what the user granted",
    "forge_core/config/save.py": "settings, none of which is a key",
    "forge_core/config/model_lists.py": "names of models and of endpoints",
    "forge_core/config/saved_keys.py": "the user's own keys, in a file that only they can read",
    "forge_core/extensions/accepted.py": "files of the project as the user accepted them, to show what differs",
    "forge_core/extensions/approvals.py": "scripts as the user approved them, to show what differs",
    "forge_core/images/image_store.py": "the user's images, in a folder that only they can enter",
    "forge_core/workspace/worktrees.py": "copies of the user's files, and an empty lock",
    "forge_core/workspace/record_file.py": "writes the records of the journal and of undo as it gets them",
    "forge_core/llm/account/catalog_cache.py": "the public list of models",
    "forge_core/store/session_index.py": "titles from journals, which hold no key",
    "forge_core/session/draft_keeper.py": "the journal redacts the text",
    "forge_core/session/session_servers.py": "files in the results of MCP servers, which are not text",
    "forge_core/session/retention.py": "the time of the last pruning",
    "forge_core/store/spending_ledger.py": "days and amounts",
    "forge_core/store/spending_reservations.py": "amounts",
    "forge_core/store/usage/usage_index.py": "names of models, tools and folders, and figures",
    "forge_core/integrations/ray/node_files.py": "files of a batch's task, as its run has redacted them",
    "forge_core/integrations/ray/ray_engine.py": "the same, on the other machine",
    "forge_core/undo/storage/blobs.py": "before-images are exact",
    "forge_core/undo/storage/file_tree.py": "restores the user's files",
    "forge_core/undo/storage/retention.py": "an empty lock",
    "forge_core/tools/editing/atomic_write.py": "the user's files",
    "forge_core/permissions/sandbox/placeholders.py": "placeholders and their paths",
    "forge_core/permissions/sandbox/probing.py": "a probe of the sandbox",
    "forge_core/permissions/sandbox/sandbox.py": "fixed notes for the sandbox",
    "forge_core/headless/run.py": "the null device",
    "forge_core/headless/worktree_session.py": "an empty lock",
    "forge_core/mcp/server_edits.py": "what the user declares, keys in it included",
    "forge_core/mcp/sign_in_store.py": "the user's own tokens, in a file that only they can read",
    "forge_core/mcp/bridge/bridge.py": "the pipe to the session, and the null device",
    "forge_core/mcp/bridge/silent_servers.py": "hashes of entries and times",
    "forge_core/mcp/connect.py": "binary contents of results, for the program that asked for them",
    "forge_tui/cli.py": "the null device",
    "forge_tui/terminal/editor.py": "the message or plan for the user's editor, in a folder that is deleted",
    "forge_tui/terminal/known_backgrounds.py": "kinds of terminals, without what tells windows apart",
    "forge_tui/terminal/piped_text.py": "the terminal, opened to read keys",
    "forge_tui/terminal/terminal_file.py": "the terminal",
}
_FLAGS = ("O_WRONLY", "O_RDWR", "O_APPEND", "O_CREAT", "NEW_FILE", "_NEW_FLAGS")
_CALLS = ("write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "RecordFile", "replace_file")


def test_every_writer_is_known() -> None:
    found = {path for path in _sources() if any(_writes(_tree(path)))}
    assert found == REDACTING | set(EXACT)


def test_writers_of_conversations_are_given_a_redactor() -> None:
    for path in REDACTING:
        names = {
            arg.arg
            for node in ast.walk(_tree(path))
            if isinstance(node, ast.FunctionDef)
            for arg in (*node.args.args, *node.args.kwonlyargs)
        }
        assert "redact" in names, path


def _sources() -> Iterator[str]:
    for package in ("forge_core", "forge_tui"):
        yield from (path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py"))


def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def _writes(tree: ast.Module) -> Iterator[bool]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield any("FileHandler" in ast.unparse(base) for base in node.bases)
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        yield name in _CALLS
        if name not in ("open", "fdopen"):
            continue
        # os.open gets its flags in place or by a name in this module; `open` and `fdopen` get a mode.
        words = [ast.unparse(arg) for arg in (*node.args, *(k.value for k in node.keywords))]
        flags = [_value(tree, word) for word in words]
        yield name == "open" and any(flag in text for text in flags for flag in _FLAGS)
        yield any(
            isinstance(arg, ast.Constant) and isinstance(arg.value, str) and {*arg.value} & {*"wax+"} != set()
            for arg in node.args
            if isinstance(arg, ast.Constant) and len(str(arg.value)) <= 3
        )


def _value(tree: ast.Module, name: str) -> str:
    """Return what an assignment anywhere in the module gives the name, else the name itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and name in {ast.unparse(one) for one in node.targets}:
            return ast.unparse(node.value)
    return name
