"""python -m tests.bench.shell_fuzz_options [--lines 20000] [--seed 1]

Tries the list of what plainly only reads with what its programs really take: options from their own --help, whole,
shortened, in clusters and as globs, and operands of a folder full of hostile names. Lines that would run unasked are
run by a real bash in bubblewrap, where that folder can be written. Bars: nothing is made, changed or executed, and
nothing from outside the folder is printed. Prints every line that breaks one.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from forge_core.approval import Effect
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.programs.argument_spec import ArgumentSpec
from forge_core.permissions.programs.git_command_line import READ_ONLY_ARGUMENTS
from forge_core.permissions.programs.program_catalog import READERS, VERSIONS
from forge_core.tools.base import ToolUse
from tests.bench.shell_canaries import wall

SECRET = "only-outside-4711"
_PROGRAMS = (
    *sorted({*READERS, *VERSIONS, "find", "ps", "[", "test", "echo"} - {"sleep"}), *["git", "sed", "sort", "find", "rg"] * 4,
    "xargs cat", "xargs sort", "awk", "gawk", "less", "tee", "dd", "env", "timeout 5 sort", "nice cat",
)  # fmt: skip
_EXTRA = {
    "find": "-exec -execdir -ok -delete -fprint -fls -printf -fprintf -L -H -follow -name -type -newer -files0-from",
    "git": " ".join(f"{' '.join(one.split())}" for one in READ_ONLY_ARGUMENTS),
    "rg": "--pre --pre-glob --hostname-bin -z -f -L --follow --files --replace -r -g",
}
_HOSTILE = (
    "README", "evil.sh", "big.txt", "sub", "sub/a.txt", "notes.txt", "away", "away/secret", "sub/up/../secret",
    "away/../outside/secret", "../outside/secret", "@list", "@{u}", "list", "names0", "-", "--", ".", "p", "1e touch pwned",
    "w pwned", "'1e touch pwned'", "'1w pwned'", "'$p'", "5p", "'/a/p'", "*", "?", "-*", "-?pwned", "--o*", "--p*", "s*",
    "*/secret", "n*", "[a-z]*", ".*", "sub/*", "sub/*/secret", "version", "--version", "-V", "newname", "HEAD", "main",
    "HEAD:README", "'a[$(touch pwned)]'", "%n", "'%s\\n'", "$_", "\"$_\"", "{a,b}", "pwned", "=pwned", "-o", "+1", "1", "10",
    "bash", "./evil.sh", "'BEGIN{system(\"touch pwned\")}'", "'include \"evil\"; .'", ".x", "';'", "'{}'", "+", "(", "!", "~",
)  # fmt: skip
_TAILS = (
    "", "", "", "", "", " < list", " < away/secret", " < sub/up/../secret", " <<< ../outside/secret", " <<< -opwned",
    " | xargs cat", " | xargs sort", " 2>&1", " > /dev/null", " | head -3", " && cat README",
)  # fmt: skip
_HEADS = (
    "",
    "",
    "",
    "",
    "",
    "true -v; ",
    "cd sub && ",
    "cd away && ",
    "ls | ",
    "cat list | ",
    "echo ../outside/secret | ",
)
_RUN = """
import hashlib, json, os, subprocess, sys
folder, found = sys.argv[1], []
def look():
    for place, folders, names in os.walk(folder):
        for name in sorted(folders + names):
            path = os.path.join(place, name)
            status = os.lstat(path)
            is_file = os.path.isfile(path) and not os.path.islink(path)
            data = hashlib.sha1(open(path, 'rb').read()).hexdigest() if is_file else ''
            yield path, status.st_mode, data
before = set(look())
env = {'PATH': os.environ['PATH'], 'HOME': folder + '/../home', 'LC_ALL': 'C.UTF-8', 'GIT_OPTIONAL_LOCKS': '0'}
for line in json.load(sys.stdin):
    process = subprocess.Popen(['/bin/bash', '-c', line], cwd=folder, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output = process.communicate(timeout=3)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output = process.communicate()[0]
    after = set(look())
    changed = sorted({os.path.relpath(one[0], folder) for one in before ^ after})
    before = after
    found.append([changed, output[:2000000].decode(errors='replace')])
print(json.dumps(found))
"""


@dataclass(slots=True)
class Tally:
    """What came out."""

    lines: int = 0
    allowed: int = 0
    programs: set[str] = field(default_factory=set)
    """Those of which at least one line was allowed."""
    changed: list[tuple[str, list[str]]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """Lines that printed what lies outside."""


def scene(scratch: Path) -> Path:
    """A folder whose file names are options, beside one that must not be read."""
    outside, root = scratch / "outside", scratch / "work"
    for folder in (outside / "deep", root / "sub", scratch / "home"):
        folder.mkdir(parents=True)
    for path in (outside / "secret", outside / "deep/secret"):
        path.write_text(f"{SECRET}\n")
    for name in ("-opwned", "--output=pwned", "--pre=evil.sh", "-Sbash evil.sh", "--compress-program=evil.sh", "version",
                 "-delete", "-i", "-x", "p", "sub/a.txt", "README", "--files0-from=names0", "-flist"):  # fmt: skip
        (root / name).write_text("a\nb\n")
    (root / "big.txt").write_text("b\na\n" * 20_000)
    for name in ("evil.sh", "version", "conftest.py", "Makefile"):
        (root / name).write_text("#!/bin/sh\ntouch pwned\n")
        (root / name).chmod(0o755)
    (root / "list").write_text("../outside/secret\n-opwned\n")
    (root / "names0").write_text("../outside/secret\0")
    (root / "away").symlink_to(outside)
    (root / "notes.txt").symlink_to(outside / "secret")
    (root / "sub/up").symlink_to(outside / "deep")
    (root / "sub/back").symlink_to("..")
    if shutil.which("git"):
        calls = (("init", "-q"), ("add", "README", "sub"), ("commit", "-qm", "x"))
        for words in calls:
            author = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main")
            subprocess.run(["git", *author, *words], cwd=root, check=True, capture_output=True)
    return root


@cache
def options(program: str) -> tuple[str, ...]:
    """What the program's own --help names, one by one."""
    name = program.split()[-1]
    found = set(_EXTRA.get(name, "").split())
    if shutil.which(name) and name not in ("sleep", "yes"):
        done = subprocess.run(
            [name, "--help"], capture_output=True, text=True, timeout=10, stdin=subprocess.DEVNULL, cwd="/", check=False,
        )  # fmt: skip
        found |= set(re.findall(r"(?<![\w-])--?[A-Za-z0-9][\w-]*", done.stdout + done.stderr))
    form = READERS.get(name)
    if form is not None:
        found |= _named(form)
    if name == "git":
        found |= {one for sub in READ_ONLY_ARGUMENTS.values() for one in _named(sub)}
    return tuple(sorted(found)) or ("-x",)


def _named(form: ArgumentSpec) -> set[str]:
    """The options that a form names."""
    return {f"-{one}" for one in (*form.flags, *form.value_kinds)} | {name for name, _ in form.long_kinds}


def line(random: Random) -> str:
    program = random.choice(_PROGRAMS)
    words = [program]
    if program == "git":
        words.append(random.choice(sorted(READ_ONLY_ARGUMENTS)))
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        words.append(_option(random, options(program)))
    for _ in range(random.choice((0, 1, 1, 2))):
        words.insert(random.randrange(1 + (program == "git"), len(words) + 1), random.choice(_HOSTILE))
    if program in ("[",):
        words.append("]")
    return random.choice(_HEADS) + " ".join(words) + random.choice(_TAILS)


def _option(random: Random, names: tuple[str, ...]) -> str:
    name = random.choice(names)
    value = random.choice(_HOSTILE)
    match random.randrange(7):
        case 0 if name.startswith("--"):
            return f"{name}={value}"
        case 1 if len(name) > 4:
            return name[: random.randrange(3, len(name))]
        case 2 if not name.startswith("--"):
            return name + random.choice(names).lstrip("-")[:1] + random.choice(("", "", value, "n", "p"))
        case 3:
            return f"{name} {value}"
        case 4 if len(name) > 2:
            at = random.randrange(1, len(name))
            return name[:at] + random.choice("*?") + name[at + 1 :]
        case _:
            return name


def fuzz(count: int, seed: int, scratch: Path) -> Tally:
    """Makes `count` lines of a seed and runs those that are allowed."""
    random = Random(seed)
    root = scene(scratch)
    policy = PermissionPolicy(root, sandbox="full")
    lines = list(dict.fromkeys(line(random) for _ in range(count)))
    allowed = [
        one for one in lines if policy.decide("bash", ToolUse(Effect.RUN, one)).decision is Decision.ALLOW
    ]
    return Tally(len(lines), len(allowed), {one.split()[0] for one in allowed}, *run(allowed, scratch, root))


def run(lines: list[str], scratch: Path, root: Path) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """The lines that changed something, and those that told what lies outside."""
    command = [*wall(scratch), sys.executable, "-c", _RUN, str(root)]
    done = subprocess.run(command, input=json.dumps(lines), capture_output=True, text=True, check=True)
    results = list(zip(lines, json.loads(done.stdout), strict=True))
    changed = [(one, names) for one, (names, _) in results if names]
    return changed, [one for one, (_, output) in results if SECRET in output]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        tally = fuzz(arguments.lines, arguments.seed, Path(folder))
    print(
        f"{tally.lines:,} lines, {tally.allowed:,} allowed of {len(tally.programs)} programs; "
        f"changed something: {len(tally.changed)}, told what lies outside: {len(tally.told)}"
    )
    for one in (*tally.changed, *tally.told):
        print(f"UNSAFE: {one!r}")


if __name__ == "__main__":
    main()
