"""Which folders may be added to a workspace."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forge_core.errors import WorkspaceError
from forge_core.workspace.added_folders import folder_to_add
from forge_core.workspace.folders import WorkspaceFolders


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path.resolve() / "ada"
    for name in ("work/sub", "lib/src", ".ssh/keys", ".config/gh", ".config/nvim", ".local/share", "state"):
        (home / name).mkdir(parents=True)
    (home / "a.txt").write_text("x")
    monkeypatch.setenv("HOME", str(home))
    return home


def add(home: Path, path: str | Path, *added: Path) -> Path | None:
    return folder_to_add(Path(path), WorkspaceFolders(home / "work", added), (home / "state",))


@pytest.mark.parametrize("name", ["lib", "lib/src", ".config/nvim", "work/../lib"])
def test_an_ordinary_folder_is_added_by_its_real_path(home: Path, name: str) -> None:
    assert add(home, home / name) == (home / name).resolve()


def test_a_tilde_and_a_link_are_followed(home: Path) -> None:
    (home / "link").symlink_to("lib")
    assert add(home, "~/lib") == add(home, home / "link") == home / "lib"


@pytest.mark.parametrize("name", ["work", "work/sub", "link"])
def test_what_is_inside_already_is_none(home: Path, name: str) -> None:
    (home / "link").symlink_to("work/sub")
    assert add(home, home / name) is None
    assert add(home, home / "lib/src", home / "lib") is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "does not exist"),
        ("a.txt", "is a file"),
        ("a\0b", "does not exist"),
        ("loop", "does not exist"),
        ("/", "the whole system"),
        ("/etc", "belongs to the system"),
        ("/usr", "belongs to the system"),
        ("/proc/self", "belongs to the system"),
        ("/var/tmp", "every program keeps"),
        (".ssh", "keys or logins"),
        (".ssh/keys", "keys or logins"),
        (".config", "keys or logins"),
        (".config/gh", "keys or logins"),
        (".local", "keys or logins"),
        ("to-ssh", "keys or logins"),
        ("state", "Forge's own"),
        (".", "it holds"),
        ("..", "it holds"),
    ],
)
def test_others_are_refused_with_the_reason(home: Path, name: str, reason: str) -> None:
    (home / "loop").symlink_to("loop")
    (home / "to-ssh").symlink_to(".ssh")
    with pytest.raises(WorkspaceError, match=reason):
        add(home, home / name)


def test_another_path_of_a_folder_that_is_refused_is_refused_too(home: Path) -> None:
    """As where a file system ignores case: `~/.SSH`. Here the folder is mounted at a second place."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine has no namespaces for users")
    code = """
from pathlib import Path
from forge_core.workspace.added_folders import folder_to_add
from forge_core.workspace.folders import WorkspaceFolders
home = Path.home()
for name in ("keys", "above/.ssh", "own", "lib"):
    try:
        print(folder_to_add(home / name, WorkspaceFolders(home / "work"), (home / "state",)))
    except Exception as error:
        print(str(error))
"""
    for name in ("keys", "above", "own"):
        (home / name).mkdir()
    mounts = "".join(
        f'mount --bind "$HOME/{one}" "$HOME/{other}" && '
        for one, other in ((".ssh", "keys"), (".", "above"), ("state", "own"))
    )
    command = f'{mounts} exec "$0" -c "$1"'
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", command, sys.executable, code], capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stderr
    assert "keys or logins" in lines[0] and "keys or logins" in lines[1]
    assert "Forge's own" in lines[2]
    assert lines[3] == str(home / "lib")


def test_a_home_folder_is_refused_wherever_forge_works(home: Path, tmp_path: Path) -> None:
    work = tmp_path.resolve() / "elsewhere"
    work.mkdir()
    for folder in (home, home.parent):
        with pytest.raises(WorkspaceError, match=r"home folder|in which Forge works"):
            folder_to_add(folder, WorkspaceFolders(work))


@pytest.mark.parametrize("name", [".git", ".git/hooks", "sub/.forge", ".GIT/hooks"])
def test_what_controls_git_or_forge_is_refused(home: Path, name: str) -> None:
    (home / "lib" / name).mkdir(parents=True)
    with pytest.raises(WorkspaceError, match="controls git and Forge"):
        add(home, home / "lib" / name)


def test_a_folder_that_holds_the_workspace_or_an_added_one_is_refused(home: Path) -> None:
    with pytest.raises(WorkspaceError, match="Start Forge there instead"):
        folder_to_add(home / "lib", WorkspaceFolders(home / "lib/src"))
    with pytest.raises(WorkspaceError, match="which is added already"):
        add(home, home / "lib", home / "lib/src")
