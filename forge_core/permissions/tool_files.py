"""The files that programs and assistants act on without being asked, outside of a build.

What is written into one of them may be executed, or followed as an instruction, as soon as the user opens the
folder, commits or pushes. Files that every build reads (Makefile, package.json, conftest.py) are not among
them: whoever runs a build expects it to run what they say.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolFiles:
    """The files that one program acts on."""

    program: str
    """Shown in prompts."""
    names: str
    """Files and folders at any depth, separated by blanks; `*` stands for a part of one name."""


# fmt: off
TOOL_FILES = (
    ToolFiles("git", ".git .gitmodules .gitattributes .gitconfig"),
    ToolFiles("Forge", ".forge"),
    ToolFiles("a git hook",
        ".husky .githooks .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml"
        " lefthook.yml lefthook.yaml lefthook.toml lefthook.json lefthook-local.* .lefthook"
        " .lefthook-local .lefthook.* .lefthook-local.* .overcommit.yml .lintstagedrc .lintstagedrc.*"),
    ToolFiles("an editor",
        ".vscode *.code-workspace .idea .fleet .zed .helix .dir-locals.el .dir-locals-2.el .exrc"
        " .vimrc .lvimrc .nvimrc .nvim.lua .gdbinit .lldbinit"),
    ToolFiles("a development environment",
        ".devcontainer .devcontainer.json .gitpod.yml .gitpod.Dockerfile .replit"),
    ToolFiles("an assistant",
        "AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md .claude"
        " .codex .gemini .qwen .cursor .cursorrules .windsurf .windsurfrules .aider* .clinerules"
        " .cline .roo .roorules .roorules-* .roomodes .continue .continuerules .kilocode"
        " .kilocodemodes .opencode opencode.json opencode.jsonc .crush.json crush.json .amazonq .kiro"
        " .junie .augment .augment-guidelines .goosehints .trae .rules .mcp.json"
        " .github/copilot-instructions.md .github/instructions .github/prompts .github/agents"
        " .github/chatmodes .github/hooks .github/skills .github/copilot .agents .agent .rovodev"
        " .aiassistant .openhands .devin .factory .firebender .ruler WARP.md CRUSH.md"),
    ToolFiles("the CI service",
        ".github/workflows .github/actions .github/dependabot.yml .gitlab-ci.yml .gitlab/ci .circleci"
        " .travis.yml .appveyor.yml appveyor.yml azure-pipelines.yml azure-pipelines.yaml"
        " bitbucket-pipelines.yml .buildkite .cirrus.yml .drone.yml .woodpecker .woodpecker.yml"
        " .gitea/workflows .forgejo/workflows .semaphore .teamcity Jenkinsfile cloudbuild.yaml"
        " buildspec.yml"),
    ToolFiles("a shell or version manager",
        ".envrc .tool-versions .mise .mise.toml .mise.*.toml mise.toml mise.*.toml .config/mise"
        " .config/mise.toml .rtx.toml"),
    ToolFiles("a package manager",
        ".npmrc .yarnrc .yarnrc.yml .yarn/releases .yarn/plugins .pnpmfile.cjs"),
    ToolFiles("an interpreter", ".Rprofile .irbrc .pryrc .pdbrc"),
)
# fmt: on
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` there."""


def folded_name(name: str) -> str:
    """Return the name as a file system that folds case and Unicode forms compares it."""
    return unicodedata.normalize("NFC", _IGNORED.sub("", name)).casefold()


def acting_program(path: str, *, folds: bool = False) -> str:
    """Return who acts on the file at this path, which has forward slashes, without being asked; "" for a file
    that is not on the list. `folds`: the file system takes names that differ only in case for one."""
    found = (_FOLDED if folds else _EXACT).search(f"/{folded_name(path) if folds else path}/")
    return TOOL_FILES[int(found.lastgroup[1:])].program if found and found.lastgroup else ""


def _pattern(*, folds: bool) -> re.Pattern[str]:
    groups: list[str] = []
    for number, entry in enumerate(TOOL_FILES):
        names = (folded_name(name) if folds else name for name in entry.names.split())
        either = "|".join(re.escape(name).replace(r"\*", "[^/]*") for name in names)
        groups.append(f"(?P<p{number}>{either})")
    return re.compile(f"/(?:{'|'.join(groups)})/")


_EXACT, _FOLDED = _pattern(folds=False), _pattern(folds=True)
