"""The index of files: what is in it, the order of matches, and how it is kept fresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.workspace.file_index import FileIndex, Preferred

FILES = (
    "README.md",
    "src/app.py",
    "src/application/main.py",
    "src/token_view.py",
    "tests/test_app.py",
    "docs/a page.md",
    "build/out.o",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


def read(root: Path, **options: int) -> FileIndex:
    index = FileIndex(root, **options)
    index.refresh()
    index.wait()
    return index


def found(
    index: FileIndex, query: str, recent: tuple[str, ...] = (), changed: tuple[str, ...] = ()
) -> list[str]:
    return [match.path for match in index.search(query, preferred=Preferred(recent, changed))]


def test_nothing_finds_the_entries_of_the_root(root: Path) -> None:
    assert found(read(root), "") == ["src/", "docs/", "tests/", "README.md", ".gitignore"]


def test_names_come_before_folders_and_short_paths_before_long_ones(root: Path) -> None:
    assert found(read(root), "app") == [
        "src/app.py",
        "src/application/",
        "tests/test_app.py",
        "src/application/main.py",
    ]


def test_letters_may_be_scattered_and_are_marked(root: Path) -> None:
    (match,) = read(root).search("tkvw")
    assert match.path == "src/token_view.py"
    assert "".join(match.path[at] for at in match.marks) == "tkvw"


def test_a_query_may_name_folders(root: Path) -> None:
    assert found(read(root), "src/app")[0] == "src/app.py"
    assert found(read(root), "tests/")[0] == "tests/"
    assert found(read(root), "./src/app")[0] == "src/app.py"


def test_the_case_counts_only_if_capitals_are_typed(root: Path) -> None:
    (root / "App.py").write_text("x")
    (root / "aap.txt").write_text("x")
    index = read(root)
    assert found(index, "readme") == ["README.md"]
    assert found(index, "App")[0] == "App.py"


def test_recent_files_come_first_then_changed_ones(root: Path) -> None:
    index = read(root)
    both = found(index, "app", recent=("src/application/",), changed=("tests/test_app.py", "README.md"))
    assert both == ["src/application/", "tests/test_app.py", "src/app.py", "src/application/main.py"]
    (root / "lib").mkdir()
    (root / "lib/app.py").write_text("x")
    assert found(read(root), "app")[0] == "lib/app.py"
    assert found(read(root), "app", recent=("src/application/", "src/app.py"))[0] == "src/app.py"
    assert found(index, "src/app.py", recent=("src/application/app.py", "x/src/app.py"))[0] == "src/app.py"
    assert found(index, "", ("src/app.py",), ("README.md",))[:3] == ["src/app.py", "README.md", "src/"]


def test_preferred_files_with_scattered_letters_do_not_displace_names(root: Path) -> None:
    (root / "abpxp").write_text("x")
    assert found(read(root), "app", recent=("abpxp",))[-1] == "abpxp"


def test_preferred_files_must_exist_and_need_no_index(root: Path) -> None:
    index = FileIndex(root)
    assert found(index, "app", ("src/app.py", "src/gone_app.py"), ("a\0app",)) == ["src/app.py"]
    assert found(index, "", ("gone.py", "src/app.py")) == ["src/app.py"]


def test_a_longer_query_finds_what_a_search_from_the_beginning_finds(root: Path) -> None:
    for number in range(150):
        (root / f"tokens_{number}.txt").touch()
    index = read(root)
    for query in ("token_view.py", "tkvw", "SRC/app", "appxyz", "tokens_14"):
        for end in range(1, len(query) + 1):
            fresh = FileIndex(root)
            fresh._pieces = index._pieces
            assert index.search(query[:end]) == fresh.search(query[:end]), query[:end]


def test_new_files_are_found_by_a_longer_query(root: Path) -> None:
    now = [0.0]
    index = FileIndex(root, clock=lambda: now[0])
    index.refresh()
    index.wait()
    assert found(index, "tkv") == ["src/token_view.py"]
    (root / "tkvx.py").touch()
    now[0] += 3
    index.refresh()
    index.wait()
    assert found(index, "tkvx") == ["tkvx.py"]


def test_a_search_that_is_stopped_ends_early_and_is_not_continued(root: Path) -> None:
    index = read(root)
    assert index.search("tkv", stop=lambda: True) == []
    assert found(index, "tkvw") == ["src/token_view.py"]


def test_ignored_files_are_found_only_by_their_exact_path(root: Path) -> None:
    index = read(root)
    assert found(index, "out") == []
    assert found(index, "build/out.o") == ["build/out.o"]


@pytest.mark.parametrize("query", ["../secret", "/etc/passwd", "~/x", "nosuch\0name", "a" * 5000])
def test_nothing_outside_the_folder_is_looked_for(root: Path, query: str) -> None:
    (root.parent / "secret").write_text("x")
    assert found(read(root), query) == []


def test_hostile_names_are_searched_like_others(root: Path) -> None:
    for name in ("[bold]\x1b[31m.py", "two\nlines.py", "İstanbul.py", "bad\udcff.py"):
        (root / name).write_text("x")
    index = read(root)
    assert found(index, "[bold]") == ["[bold]\x1b[31m.py"]
    assert "two\nlines.py" in found(index, "lines")
    assert "İstanbul.py" in found(index, "stanbul")
    assert "bad\udcff.py" in found(index, "bad")


def test_links_are_listed_and_not_followed(root: Path) -> None:
    (root / "loop").symlink_to(root)
    assert [path for path in found(read(root), "loop") if path.startswith("loop")] == ["loop"]


def test_the_files_are_read_again_after_a_rest(root: Path) -> None:
    now = [0.0]
    index = FileIndex(root, clock=lambda: now[0])
    index.refresh()
    index.wait()
    (root / "fresh.py").write_text("x")
    index.refresh()
    index.wait()
    assert found(index, "fresh.py") == ["fresh.py"]  # typed exactly
    assert found(index, "fresh") == []
    now[0] += 3
    index.refresh()
    index.wait()
    assert found(index, "fresh") == ["fresh.py"]


def test_parts_can_be_searched_while_the_rest_is_read(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"file{number:03}.py").touch()
    ticks = iter(range(100_000))
    index = FileIndex(tmp_path, clock=lambda: float(next(ticks)))
    sizes: list[tuple[int, bool]] = []
    index.refresh(lambda: sizes.append((len(index), index.is_complete)))
    index.wait()
    assert sizes == [(256, False), (512, False), (600, True)]


def test_the_number_of_entries_is_limited(root: Path) -> None:
    assert len(read(root, limit=3)) == 3


def test_files_of_added_folders_are_found_by_their_absolute_paths(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lib = tmp_path_factory.mktemp("lib")
    (lib / "added_view.py").write_text("x")
    added: list[Path] = []
    index = FileIndex(root, added=lambda: tuple(added))
    index.refresh()
    index.wait()
    assert found(index, "added_view") == []
    added.append(lib)
    index.refresh()
    index.wait()
    assert found(index, "added_view") == [f"{lib}/added_view.py"]
    assert f"{lib}/added_view.py" not in found(index, "")


def test_added_folders_beyond_the_limit_are_not_read_again_at_every_key(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lib = tmp_path_factory.mktemp("lib")
    parts: list[None] = []
    index = FileIndex(root, added=lambda: (lib,), limit=2, clock=lambda: 0.0)
    for _ in range(3):
        index.refresh(lambda: parts.append(None))
        index.wait()
    assert len(parts) == 1
