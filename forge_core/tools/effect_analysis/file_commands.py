"""What git and the commands that copy, move, pack, edit and format files do to them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from forge_core.permissions.programs.git_command_line import option_values, subcommand
from forge_core.permissions.shell.syntax import SimpleCommand
from forge_core.tools.effect_analysis.claim_builder import ClaimBuilder, has_glob
from forge_core.tools.effect_analysis.command_words import operands, option_value, sed_words
from forge_core.tools.effect_analysis.program_effects import ALSO_FIX, CHECK_ONLY, FORMATTERS
from forge_core.undo.expected_effects import FileEffect, Proof

_SKIPPING = re.compile(
    r"-\w*[nilsuC]\w*|--(?:no-clobber|interactive|update|backup|link|symbolic-link|compare)\S*"
)
"""Options with which `cp`, `mv` and `install` may succeed without writing the target."""
_PACKED = ("gz", "bz2", "xz", "zst", "lz4", "Z")
_MAILED_PATCH = r"From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001\n(?s:.*)"


def sed(claims: ClaimBuilder, one: SimpleCommand, cwd: Path) -> None:
    arguments, files, suffix = sed_words(one.words)
    if suffix is None:
        return
    known = [word for word in files if not re.search(r"[$`]|^\{\}$", word)]
    for word in known:
        claims.add(FileEffect.SED, word, cwd, details=arguments)
        if suffix:
            backup = suffix.replace("*", word) if "*" in suffix else word + suffix
            claims.add(FileEffect.COPY, backup, cwd, details=_known_sources(claims, [word], cwd))
    if len(known) < len(files) or not files or "xargs" in one.wrappers:
        claims.add(FileEffect.SED, ".", cwd, below=True, details=arguments)


def transfer(claims: ClaimBuilder, one: SimpleCommand, cwd: Path) -> None:
    words = operands(one, "tSm")
    target = option_value(one.words, "-t")
    if target is None and len(words) > 1:
        target = words.pop()
    elif target is None and one.program == "ln":
        target = "."
    if target is None:
        return
    sources = _known_sources(claims, words, cwd)
    if one.program == "ln":
        sources += tuple(words)  # the target of a symbolic link
    into_folder = len(words) > 1 or target.endswith("/") or claims.has_folder(target, cwd)
    may_skip = one.program in ("rsync", "scp", "ln") or any(_SKIPPING.fullmatch(word) for word in one.words)
    for word in words:
        names = [f"{target}/{Path(word).name}"] if into_folder else [target]
        if one.program == "rsync" or (cwd / word).is_dir():
            names.append(target)
        for name in dict.fromkeys(names):
            is_tree = (cwd / word).is_dir() or one.program == "rsync" or not (cwd / word).exists()
            is_sure = not may_skip and len(names) == 1
            claims.add(FileEffect.COPY, name, cwd, details=sources, proof=None if is_sure else Proof.NONE)
            if is_tree or has_glob(word):
                claims.add(FileEffect.COPY, name, cwd, below=True, details=sources)
            claims.add(FileEffect.CREATE, f"{name}/", cwd, times=0) if is_tree else None
        if one.program == "mv":
            claims.add(FileEffect.REMOVE, word, cwd, below=not has_glob(word))


def archive(claims: ClaimBuilder, one: SimpleCommand, cwd: Path) -> None:
    words = list(one.words[1:])
    folder = option_value(words, "-C", "-d", "--directory") or "."
    if one.program == "tar" or one.program == "bsdtar":
        letters = "".join(re.findall(r"^-?([A-Za-z]+)$", words[0]) if words else ())
        letters += "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))
        is_made = "c" in letters or "--create" in words
        named = [name for word, name in pairwise(words) if re.fullmatch(r"-?[A-Za-z]*f|--file", word)]
        named += [word.removeprefix("--file=") for word in words if word.startswith("--file=")]
    else:
        is_made = one.program == "zip" or "a" in words[:1]
        named = [word for word in words if not word.startswith("-") and len(word) > 1][:1]
    for name in named[:1]:
        if is_made:
            is_short = one.program == "zip" and "." not in Path(name).name
            claims.add(FileEffect.WRITE, f"{name}.zip" if is_short else name, cwd)
        else:
            archive = cwd / name
            zipped = archive.with_name(archive.name + ".zip")
            path = zipped if zipped.exists() and not archive.exists() else archive
            claims.add(FileEffect.ARCHIVE, folder, cwd, below=True, details=(str(path),))
            claims.add(FileEffect.CREATE, f"{folder}/", cwd, times=0)


def pack(claims: ClaimBuilder, one: SimpleCommand, cwd: Path) -> None:
    is_kept = any(re.match(r"-\w*[ctl]|--(?:stdout|test|list|to-stdout)", word) for word in one.words[1:])
    proof = Proof.NONE if is_kept else None
    for word in operands(one):
        claims.add(FileEffect.REMOVE, word, cwd)
        stem, dot, ending = word.rpartition(".")
        is_packed = dot and ending in (*_PACKED, "tgz")
        for name in [stem] if is_packed else [f"{word}.{end}" for end in _PACKED]:
            claims.add(FileEffect.WRITE, name, cwd, proof=proof)


def formatter(claims: ClaimBuilder, one: SimpleCommand, cwd: Path) -> bool:
    needed, effect = FORMATTERS[one.program]
    words = one.words[1:]
    fixes = one.program in ALSO_FIX and any(
        re.fullmatch(r"--(?:unsafe-)?fix\S*|fix|run", word) for word in words
    )
    if CHECK_ONLY.intersection(words) or not (
        fixes or not needed or any(re.fullmatch(needed, word) for word in words)
    ):
        return False
    named = [
        word
        for word in operands(one)
        if (cwd / word).exists() or re.search(r"[*?\[/.]", word) or claims.has_folder(word, cwd)
    ]
    for word in named or ["."]:
        is_tree = not named or not (cwd / word).is_file()
        claims.add(effect, word, cwd, below=is_tree)
        if fixes and effect is not FileEffect.FIX:
            claims.add(FileEffect.FIX, word, cwd, below=is_tree, times=0)
    return True


def rewriter(claims: ClaimBuilder, one: SimpleCommand, cwd: Path) -> None:
    words = operands(one)
    is_in_place = one.program not in ("perl", "ruby") or any(
        re.fullmatch(r"-\w*i\S*", word) for word in one.words[1:4]
    )
    if not is_in_place:
        return
    files = [word for word in words if (cwd / word).is_file() or re.search(r"^[\w./-]*[*?][\w./*?-]*$", word)]
    is_sure = one.program in ("perl", "ruby") and not re.search(
        r"\b(?:exit|last|die|BEGIN)\b", " ".join(one.words)
    )
    for word in files:
        claims.add(FileEffect.WRITE, word, cwd, proof=None if is_sure else Proof.NONE)
    claims.add(FileEffect.REWRITE, ".", cwd, below=True)


def git(claims: ClaimBuilder, one: SimpleCommand, cwd: Path) -> None:
    """Claim what git does: what it writes is in its object database, except for patches, moves and clones."""
    for folder in option_values(one.words[1:], "-C"):
        cwd = cwd / folder
    command, *words = subcommand(one.words[1:]) or [""]
    operands = [word for word in words if not word.startswith("-")]
    takes_untracked = command == "clean" or (
        command == "stash"
        and any(re.fullmatch(r"-\w*[ua]\w*|--include-untracked|--all", word) for word in words)
    )
    details: tuple[str, ...] = ("untracked",) if takes_untracked else ()
    here = os.path.realpath(cwd)
    for top in (claims.root, *(one for one in claims.added if Path(here).is_relative_to(one))):
        claims.add(FileEffect.GIT, top, cwd, below=True, details=details)
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
                claims.add(FileEffect.REMOVE, word, cwd, below=not has_glob(word))
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


def _known_sources(claims: ClaimBuilder, words: Sequence[str], cwd: Path) -> tuple[str, ...]:
    """Return sources relative to the workspace, "/" for those outside; for a pattern, its folder."""
    plain = (re.sub(r"[^/]*[*?\[].*", "", word) or "." for word in words)
    found = (claims.relative(word, cwd) for word in plain)
    return tuple(path if path is not None else "/" for path in found)
