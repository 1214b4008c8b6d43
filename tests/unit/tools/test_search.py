import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from forge_core.permissions import PermissionPolicy
from forge_core.tools import (
    BaseTool,
    ExecutionContext,
    GlobTool,
    GrepTool,
    LsTool,
    ToolExecutor,
    ToolResult,
)
from forge_core.tools.builtin.glob import MAX_RESULTS
from forge_core.tools.searching.engine import SearchEngine
from tests.support.promptness import assert_prompt

pytestmark = pytest.mark.slow


RIPGREP = shutil.which("rg")
needs_ripgrep = pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")
ENGINES = [pytest.param(RIPGREP, id="ripgrep", marks=needs_ripgrep), pytest.param(None, id="own")]


async def run(tool: BaseTool, root: Path, **params: Any) -> ToolResult:
    return await ToolExecutor().execute(tool, params, ExecutionContext(root))


@pytest.fixture(params=[True, False], ids=["repository", "plain folder"])
def tree(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / ".gitignore").write_text("above/\n*.above\n")
    root = tmp_path / "root"
    files: dict[str, bytes] = {
        ".gitignore": b"build/\n*.log\n!keep.log\n",
        ".hidden/x.py": b"needle in hidden\n",
        ".env": b"SECRET=needle\n",
        "server.pem": b"needle\n",
        ".git/objects/needle": b"needle\n",
        ".ignore": b"src/\n",
        "a.above": b"needle\n",
        "src/a.py": b"import os\n\ndef needle():\n    return 'Needle'\n\nx = needle()\n",
        "src/b.ts": b"const needle = 1;\r\nconst other = 2;\r\n// needle\r\n",
        "src/deep/c.py": b"first\nsecond needle\nthird\n",
        "src/deep/.gitignore": b"local.txt\n",
        "src/deep/local.txt": b"needle\n",
        "build/out.py": b"needle\n",
        "debug.log": b"needle\n",
        "keep.log": b"needle\n",
        "latin.txt": b"caf\xe9 needle\n",
        "utf16.txt": "x\nneedle \u00e9\n".encode("utf-16"),
        "binary.bin": b"needle\n\0\n",
        "late.bin": b"needle\n" + b"x" * 100_000 + b"\0",
        "long.txt": b"x" * 3_000 + b"needle\n",
        "no-end.txt": b"a\nneedle",
        "empty.txt": b"",
        "blank.txt": b"\n\n\n",
        "spaces in name.txt": b"needle\n",
        "new\nline.txt": b"needle\n",
    }
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (root / "link.py").symlink_to("src/a.py")
    (root / "linked").symlink_to("src")
    os.mkfifo(root / "pipe")
    if request.param:
        shutil.rmtree(root / ".git")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


QUESTIONS: list[dict[str, Any]] = [
    {"pattern": "needle"},
    {"pattern": "NEEDLE", "ignore_case": True},
    {"pattern": "needle", "glob": "*.py"},
    {"pattern": "needle", "glob": "src/**/*.py"},
    {"pattern": "needle", "glob": "*.{py,ts}"},
    {"pattern": "needle", "path": "src"},
    {"pattern": "needle", "path": "src", "glob": "deep/*"},
    {"pattern": "needle", "path": "src/a.py"},
    {"pattern": "needle", "path": "build"},
    {"pattern": "needle", "path": "src/deep/local.txt"},
    {"pattern": "needle", "path": "linked"},
    {"pattern": "needle", "output_mode": "files"},
    {"pattern": "needle", "output_mode": "count"},
    {"pattern": "needle", "context": 1},
    {"pattern": "needle", "before": 2},
    {"pattern": "needle", "after": 1, "glob": "*.ts"},
    {"pattern": "needle", "head_limit": 3},
    {"pattern": "needle", "head_limit": 3, "offset": 2},
    {"pattern": "needle", "head_limit": 2, "offset": 3, "context": 1},
    {"pattern": "needle", "head_limit": 0},
    {"pattern": "needle", "offset": 500},
    {"pattern": "needle", "output_mode": "files", "head_limit": 2, "offset": 1},
    {"pattern": "^needle"},
    {"pattern": "needle$"},
    {"pattern": r"\bneedle\b"},
    {"pattern": r"needle\(\)"},
    {"pattern": r"^\s*$", "path": "blank.txt"},
    {"pattern": r"^$"},
    {"pattern": "^[[:alpha:]]+$"},
    {"pattern": r"(?<name>nee)dle"},
    {"pattern": r"second.*\n.*third", "multiline": True},
    {"pattern": "second needle\nthird"},
    {"pattern": r"def.*return", "multiline": True, "context": 1},
    {"pattern": "caf"},
    {"pattern": "\u00e9"},
    {"pattern": "-needle"},
    {"pattern": "--help"},
    {"pattern": "no such text"},
    {"pattern": "x{2000}"},
]


@needs_ripgrep
async def test_both_engines_give_the_same_answers(tree: Path) -> None:
    # A plain folder differs only in the ignore files that count: there the gate asks some of the questions.
    is_whole = (tree / ".git").is_dir() or bool(os.environ.get("FORGE_FULL"))
    for question in QUESTIONS[:: 1 if is_whole else 3]:
        ours = await run(GrepTool(SearchEngine(None)), tree, **question)
        theirs = await run(GrepTool(SearchEngine(RIPGREP)), tree, **question)
        assert ours.success, (question, ours.error)
        assert (question, ours.output, ours.summary) == (question, theirs.output, theirs.summary)


@pytest.mark.parametrize("engine", ENGINES)
class TestGrep:
    async def test_ignored_secret_and_binary_files_and_links_are_not_searched(
        self, tree: Path, engine: str | None
    ) -> None:
        result = await run(GrepTool(SearchEngine(engine)), tree, pattern="needle", output_mode="files")
        assert sorted(result.output.split("\n")) == sorted(
            [
                ".hidden/x.py",
                "a.above",
                "keep.log",
                "latin.txt",
                "long.txt",
                "new",
                "line.txt",
                "no-end.txt",
                "spaces in name.txt",
                "src/a.py",
                "src/b.ts",
                "src/deep/c.py",
                "utf16.txt",
            ]
        )

    async def test_a_named_folder_is_searched_although_it_is_ignored(
        self, tree: Path, engine: str | None
    ) -> None:
        tool = GrepTool(SearchEngine(engine))
        result = await run(tool, tree, pattern="needle", path="build", output_mode="files")
        assert result.output == "build/out.py"

    async def test_each_result_page_refers_to_the_next(self, tree: Path, engine: str | None) -> None:
        tool = GrepTool(SearchEngine(engine))
        whole = (await run(tool, tree, pattern="needle", head_limit=0)).output.splitlines()
        pages: list[str] = []
        for offset in range(0, 100, 4):
            page = (await run(tool, tree, pattern="needle", head_limit=4, offset=offset)).output.splitlines()
            pages += [row for row in page if not row.startswith("[")]
            if "continue with" not in page[-1]:
                break
        assert pages == whole

    async def test_a_bad_pattern_is_explained(self, tree: Path, engine: str | None) -> None:
        result = await run(GrepTool(SearchEngine(engine)), tree, pattern="needle(")
        assert "cannot be searched for" in (result.error or "")

    async def test_an_unsearchable_path_is_reported(self, tree: Path, engine: str | None) -> None:
        tool = GrepTool(SearchEngine(engine))
        assert "does not exist" in ((await run(tool, tree, pattern="x", path="sorc")).error or "")
        assert "binary" in ((await run(tool, tree, pattern="x", path="binary.bin")).error or "")
        assert "empty" in ((await run(tool, tree, pattern="")).error or "")

    async def test_an_rgignore_file_is_not_respected(self, tree: Path, engine: str | None) -> None:
        (tree / ".rgignore").write_text("src/\n")
        assert "src/a.py" in (await run(GrepTool(SearchEngine(engine)), tree, pattern="needle")).output

    async def test_long_matching_lines_are_truncated(self, tree: Path, engine: str | None) -> None:
        (tree / "min.js").write_text("needle" + "y" * 5_000_000 + "\n")
        result = await run(GrepTool(SearchEngine(engine)), tree, pattern="needle", path="min.js")
        assert result.output.endswith("[line cut]")
        assert len(result.output) < 1_000

    async def test_the_grep_summary_counts_matches_and_files(self, tree: Path, engine: str | None) -> None:
        result = await run(GrepTool(SearchEngine(engine)), tree, pattern="needle", path="src")
        assert result.summary == "5 matches in 3 files"


async def test_a_pattern_with_endless_backtracking_can_be_interrupted(tmp_path: Path) -> None:
    """Python's `re` would hold the whole process for hours here; the search has one of its own."""
    (tmp_path / "a.txt").write_text("a" * 60 + "\n")
    params = {"pattern": "(a+)+$x", "multiline": True}

    async def attempt() -> float:
        interrupted = asyncio.Event()
        pressed: list[float] = []

        async def tick() -> None:
            for _ in range(20):  # the loop goes on meanwhile
                await asyncio.sleep(0.02)
            pressed.append(time.perf_counter())
            interrupted.set()

        ticking = asyncio.ensure_future(tick())
        context = ExecutionContext(tmp_path, interrupted=interrupted)
        result = await ToolExecutor().execute(GrepTool(SearchEngine(None)), params, context)
        took = time.perf_counter() - pressed[0]
        await ticking
        assert not result.success
        return took

    await assert_prompt(1.0, attempt)


async def test_the_policy_sees_grep_paths_outside_a_linked_folder(tmp_path: Path) -> None:
    use = GrepTool().describe_use({"pattern": "x", "path": "../other"}, ExecutionContext(tmp_path))
    assert use.paths == (tmp_path.parent / "other",)


async def test_glob_returns_the_newest_first_and_skips_ignored_files(tree: Path) -> None:
    os.utime(tree / "src/deep/c.py", (2e9, 2e9))
    os.utime(tree / ".hidden/x.py", (1e9, 1e9))
    result = await run(GlobTool(), tree, pattern="**/*.py")
    assert result.output.splitlines() == ["src/deep/c.py", "src/a.py", "link.py", ".hidden/x.py"] or (
        result.output.splitlines()[0] == "src/deep/c.py" and result.output.splitlines()[-1] == ".hidden/x.py"
    )
    assert "build" not in result.output


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.ts", None, ["src/b.ts"]),
        ("*.ts", "src", ["src/b.ts"]),
        ("deep/*.py", "src", ["src/deep/c.py"]),
        ("src/*.{ts,js}", None, ["src/b.ts"]),
        ("../root/src/*.ts", None, ["src/b.ts"]),
        ("./src/*.ts", None, ["src/b.ts"]),
        ("*.nothing", None, []),
        ("b.ts", None, ["src/b.ts"]),
    ],
)
async def test_glob_finds_matching_files(
    tree: Path, pattern: str, path: str | None, found: list[str]
) -> None:
    result = await run(GlobTool(), tree, pattern=pattern, **({"path": path} if path else {}))
    assert result.summary.split()[0] == str(len(found))
    assert result.output.splitlines()[: len(found)] == found


async def test_glob_accepts_an_absolute_pattern_and_reports_its_folder_to_the_policy(tree: Path) -> None:
    result = await run(GlobTool(), tree, pattern=f"{tree}/src/*.ts")
    assert result.output == "src/b.ts"
    for pattern, leads in (
        ("/etc/*.conf", "/etc"),
        ("../../x/*", str(tree.parent.parent / "x")),
        ("/*", "/"),
    ):
        assert GlobTool().describe_use({"pattern": pattern}, ExecutionContext(tree)).paths == (Path(leads),)


async def test_glob_rejects_parent_segments_after_a_wildcard(tree: Path) -> None:
    assert "after a wildcard" in ((await run(GlobTool(), tree, pattern="*/../../*")).error or "")


async def test_glob_shows_a_hundred_and_counts_the_rest(tmp_path: Path) -> None:
    for number in range(MAX_RESULTS + 23):
        (tmp_path / f"{number}.txt").write_text("")
    result = await run(GlobTool(), tmp_path, pattern="*.txt")
    assert len(result.output.splitlines()) == MAX_RESULTS + 1
    assert "[23 more" in result.output
    assert result.summary == "123 files"


async def test_glob_skips_secret_files_with_a_note(tree: Path) -> None:
    result = await run(GlobTool(), tree, pattern="*")
    assert ".env" not in result.output.split("\n")
    assert "2 key, .env or denied files left out" in result.output


@pytest.mark.parametrize("engine", ENGINES)
async def test_files_denied_by_rules_are_not_found_by_searching(tree: Path, engine: str | None) -> None:
    executor = ToolExecutor(PermissionPolicy(tree, deny=["read(src/deep/**)", "grep(b.ts)"]))
    params = {"pattern": "needle", "output_mode": "files"}
    found = await executor.execute(GrepTool(SearchEngine(engine)), params, ExecutionContext(tree))
    assert "src/a.py" in found.output
    assert "deep" not in found.output
    assert "b.ts" not in found.output
    listed = await executor.execute(GlobTool(), {"pattern": "*.py"}, ExecutionContext(tree))
    assert "src/a.py" in listed.output
    assert "deep" not in listed.output


async def test_ls_shows_a_tree_and_folds_ignored_folders(tree: Path) -> None:
    result = await run(LsTool(), tree)
    rows = result.output.split("\n")
    assert "  build/ (ignored)" in rows
    assert "    out.py" not in rows
    assert "  src/" in rows
    assert "    a.py" in rows
    assert "    deep/" in rows
    assert "      c.py" not in rows
    assert "  link.py -> src/a.py" in rows
    assert "  linked -> src" in rows
    assert "      c.py" in (await run(LsTool(), tree, depth=3)).output.split("\n")


async def test_ls_leaves_out_what_deny_rules_cover(tree: Path) -> None:
    executor = ToolExecutor(PermissionPolicy(tree, deny=["read(src/deep/**)", "read(.env)"]))
    whole = await executor.execute(LsTool(), {"depth": 3}, ExecutionContext(tree))
    rows = whole.output.split("\n")
    assert "    deep/" in rows
    assert "    a.py" in rows
    assert "c.py" not in whole.output
    assert ".env" not in whole.output
    assert rows[-1].endswith("entries that a deny rule covers are not listed]")
    denied = await executor.execute(LsTool(), {"path": "src/deep"}, ExecutionContext(tree))
    assert denied.output.split("\n")[1:] == ["[3 entries that a deny rule covers are not listed]"]


async def test_ls_output_for_large_folders_is_bounded(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number in range(600):
            (tmp_path / folder / f"{number:04}").write_text("")
    result = await run(LsTool(), tmp_path)
    assert len(result.output.splitlines()) < 250
    assert "    ... 500 more" in result.output
    assert "  b/" in result.output
    assert "more entries" in result.output


async def test_ls_of_a_non_directory_is_rejected(tree: Path) -> None:
    assert "is a file" in ((await run(LsTool(), tree, path="src/a.py")).error or "")
    assert "does not exist" in ((await run(LsTool(), tree, path="nope")).error or "")
    (tree / "void").mkdir()
    assert "(empty)" in (await run(LsTool(), tree, path="void")).output
