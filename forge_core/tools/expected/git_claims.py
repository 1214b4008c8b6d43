"""What a call of git may do to files of the work tree."""

from __future__ import annotations

import re
from pathlib import Path

from forge_core.permissions.shell.syntax import SimpleCommand
from forge_core.tools.expected.claims import Claims
from forge_core.undo.expected_effects import FileEffect, Proof

_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_MAILED_PATCH = r"From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001\n(?s:.*)"


def git_claims(claims: Claims, one: SimpleCommand, cwd: Path) -> None:
    """Claims for git: what it writes is in its object database, but for patches, moves and clones."""
    words = list(one.words[1:])
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in _VALUED and words:
            value = words.pop(0)
            cwd = cwd / value if option == "-C" else cwd
    command = words.pop(0) if words else ""
    operands = [word for word in words if not word.startswith("-")]
    takes_untracked = command == "clean" or (
        command == "stash"
        and any(re.fullmatch(r"-\w*[ua]\w*|--include-untracked|--all", word) for word in words)
    )
    claims.add(
        FileEffect.GIT, claims.root, cwd, below=True, details=("untracked",) if takes_untracked else ()
    )
    match command:
        case "apply" | "am":
            patches = [str(cwd / word) for word in [*operands, *one.reads] if (cwd / word).is_file()]
            details = (*patches, *(f"{text}\n" for text in one.fed))
            claims.add(FileEffect.PATCH, ".", cwd, below=True, details=details)
        case "mv" if len(operands) > 1:
            target = operands.pop()
            for word in operands:
                name = f"{target}/{Path(word).name}" if (cwd / target).is_dir() else target
                source = claims.relative(word, cwd)
                claims.add(FileEffect.COPY, name, cwd, below=True, details=(source,) if source else ())
                claims.add(FileEffect.REMOVE, word, cwd, below=True)
        case "rm":
            for word in operands:
                claims.add(FileEffect.REMOVE, word, cwd, below=not re.search(r"[*?\[]", word))
        case "clone" | "worktree" | "submodule" | "init":
            for word in operands[-2:]:
                name = word if "/" not in word else Path(word).name.removesuffix(".git")
                for path in (word, name):
                    if not (cwd / path).exists() and re.search(r"\w", path) and ":" not in path:
                        claims.add(FileEffect.CREATE, path, cwd, below=True, proof=Proof.NONE)
                        claims.add(FileEffect.CREATE, f"{path}/", cwd, times=0)
        case "format-patch":
            claims.add(FileEffect.TEMPLATE, "[0-9][0-9][0-9][0-9]-*.patch", cwd, details=(_MAILED_PATCH,))
        case "bundle" if operands[:1] == ["create"]:
            for word in operands[1:2]:
                claims.add(FileEffect.WRITE, word, cwd)
