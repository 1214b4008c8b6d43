"""What a programmer does all day goes on in the sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.permissions.sandbox.world import World, everything_in

pytestmark = pytest.mark.slow


def works(world: World, command: str, **more: object) -> str:
    done = world.run(f"set -e; {command}", **more)
    assert done.code == 0, done
    return done.output


def test_git_add_commit_branch_and_log_work(world: World) -> None:
    works(
        world,
        "echo more >> README.md; git add -A; git commit -q -m second; git switch -q -c side; git stash list",
    )
    works(
        world,
        "echo again >> README.md; git commit -q -a -m third; git switch -q main; git merge -q side; git gc -q",
    )
    assert works(world, "git log --format=%s").split() == ["third", "second", "first"]
    assert works(world, "git status --porcelain") == ""
    assert works(world, "git diff --stat HEAD~1") != ""
    assert world.bare("git fsck --strict && git log --format=%s").output.split() == [
        "third",
        "second",
        "first",
    ]


def test_git_works_in_a_linked_worktree_outside_the_repository(world: World) -> None:
    world.bare('git worktree add -q "$OUTSIDE/linked" -b linked')
    linked = world.outside / "linked"
    works(world, "echo x > new; git add new; git commit -q -m 'in the worktree'", folder=linked)
    assert world.bare("git log -1 --format=%s linked").output == "in the worktree\n"
    for attempt in (
        "touch .git/hooks/x",
        'touch "$WORK/.git/hooks/pre-commit"',
        "echo x > .git",
        "git config a.b c",
    ):
        assert world.run(attempt, folder=linked).code != 0
    assert world.bare("git config a.b").output == ""


def test_a_worktree_of_forge_leaves_the_shared_repository_as_it_is(world: World) -> None:
    folder = world.state / "worktrees" / "shop" / "task"
    assert world.bare(f'git worktree add -q "{folder}" -b forge/task').code == 0
    own = world.work / ".git/worktrees/task"
    text = (folder / ".git").read_text()
    before = everything_in(world.work)
    works(
        world,
        "echo more >> README.md; git status --short; git diff; git log -1; git switch --detach -q",
        folder=folder,
    )
    assert (own / "HEAD").read_text() != "ref: refs/heads/forge/task\n"  # what is its own can be written
    for attempt in (
        "git add README.md",
        "git commit -q --allow-empty -m x",
        "git branch other",
        "git tag t",
        "git config a.b c",
        "git worktree prune; git gc -q --prune=now",
        'rm -rf "$WORK/.git/objects" "$WORK/.git/refs" "$WORK/.git/HEAD"',
        'echo "ref: refs/heads/x" > "$WORK/.git/HEAD"',
        'mv "$WORK/.git" "$WORK/git"',
        'echo "$WORK/x/.git" > "$WORK/.git/worktrees/task/gitdir"',
        "echo x > .git",
        'touch "$WORK/new"',
    ):
        world.run(attempt, folder=folder)
    assert (folder / ".git").read_text() == text
    shared = ".git/worktrees/task"
    after = everything_in(world.work)
    assert {name: one for name, one in after.items() if shared not in str(name)} == {
        name: one for name, one in before.items() if shared not in str(name)
    }
    assert world.bare("git fsck --strict; git log --format=%s").output == "first\n"


def test_git_adds_and_removes_worktrees_within_the_workspace(world: World) -> None:
    works(world, "git worktree add -q trees/a; cd trees/a; echo x > new; git add new; git commit -q -m a")
    works(world, "git worktree remove trees/a; git branch -q -D a")
    assert not (world.work / "trees/a").exists()


def test_git_commits_in_a_submodule_that_is_the_workspace(world: World) -> None:
    (world.base / "upstream").mkdir()
    world.own(world.base / "upstream")
    allowed = "git -c protocol.file.allow=always"
    world.bare(
        f'cd "$WORK/../../upstream"; cp -r "$WORK/." .; cd "$WORK"; {allowed} submodule add -q "$WORK/../../upstream" lib'
    )
    inside = world.work / "lib"
    works(world, "echo x > new; git add new; git commit -q -m 'in the submodule'", folder=inside)
    assert world.run('touch "$WORK/.git/modules/lib/hooks/x"', folder=inside).code != 0
    assert world.run('touch "$WORK/.git/x" "$WORK/x"', folder=inside).code != 0, (
        "the outer repository is outside"
    )


def test_a_forged_git_file_opens_no_other_repository(world: World) -> None:
    """A hostile archive may bring a `.git` file that names somebody's repository."""
    hostile = world.outside / "unpacked"
    world.write(hostile / ".git", f"gitdir: {world.work}/.git\n")
    before = everything_in(world.work)
    world.run(
        'git commit -q --allow-empty -m x; touch "$WORK/.git/new"; echo > "$WORK/.git/HEAD"', folder=hostile
    )
    assert everything_in(world.work) == before


def test_a_virtual_environment_can_be_created_and_tests_run(world: World) -> None:
    if not world.person.python:
        pytest.skip("no interpreter that this user may start")
    world.write(world.work / "sums.py", "def add(a, b):\n    return a + b\n")
    world.write(
        world.work / "test_sums.py",
        "import unittest, sums\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(sums.add(1, 2), 3)\n",
    )
    output = works(
        world,
        '"$PYTHON" -m venv --without-pip .venv; . .venv/bin/activate; python -m unittest -q 2>&1; command -v python',
    )
    assert "OK" in output
    assert str(world.work / ".venv/bin/python") in output


def test_a_test_suite_with_a_loopback_server_runs(world: World) -> None:
    program = """
import http.server, threading, urllib.request
for address in (("127.0.0.1", 0),):
    server = http.server.ThreadingHTTPServer(address, http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(urllib.request.urlopen(f"http://localhost:{server.server_port}/README.md").read().decode())
    server.shutdown()
"""
    world.write(world.work / "server.py", program)
    assert "hello" in works(world, '"$PYTHON" -I server.py 2>&1')


def test_processes_semaphores_and_local_sockets_work(world: World) -> None:
    program = """
import multiprocessing, multiprocessing.shared_memory, socket, tempfile, asyncio, os
def work(number, lock, queue):
    with lock:
        queue.put(number * number)
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        lock, queue = context.Lock(), context.Queue()
        workers = [context.Process(target=work, args=(n, lock, queue)) for n in range(2)]
        [one.start() for one in workers]; print(sorted(queue.get() for _ in workers)); [one.join() for one in workers]
    with multiprocessing.Manager() as manager:
        print(list(manager.list([1])))
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=64); memory.close(); memory.unlink()
    one, other = socket.socketpair(); one.send(b"pair"); print(other.recv(4))
    path = tempfile.mkdtemp() + "/socket"
    server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(path); print("local")
    os.mkfifo("fifo")
    asyncio.run(asyncio.create_subprocess_exec("true")) if False else print("done")
"""
    world.write(world.work / "many.py", program)
    lines = works(world, '"$PYTHON" -I many.py 2>&1').splitlines()
    assert lines == ["[0, 1]", "[0, 1]", "[1]", "b'pair'", "local", "done"]


def test_temporary_files_can_be_written(world: World) -> None:
    world.variables["TMPDIR"] = str(world.outside)
    assert (
        works(world, 'f=$(mktemp); echo x > "$f"; cat "$f"; echo $TMPDIR; touch /tmp/a /var/tmp/b /dev/shm/c')
        == "x\n/tmp\n"
    )
    assert sorted(one.name for one in world.outside.iterdir()) == ["file"]


def test_make_and_the_compiler_run(world: World) -> None:
    if not (shutil.which("make") and shutil.which("cc")):
        pytest.skip("no make or no C compiler here")
    world.write(
        world.work / "hello.c", '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n'
    )
    world.write(world.work / "Makefile", "hello: hello.c\n\tcc -o $@ $<\n")
    assert works(world, "make -s && ./hello") == "compiled\n"


def test_node_runs(world: World) -> None:
    if not shutil.which("node", path=world.environment["PATH"]):
        pytest.skip("no node here")
    program = "const s=require('http').createServer((q,r)=>r.end('ok')).listen(0,'127.0.0.1',()=>require('http').get(s.address(),r=>{r.on('data',d=>console.log(String(d)));s.close()}))"
    assert works(world, f'node -e "{program.replace("s.address()", "{port:s.address().port}")}"') == "ok\n"


def test_caches_are_writable_but_not_in_the_home_folder(world: World) -> None:
    world.write(world.home / ".cache/pypoetry/virtualenvs/environment", "kept\n")
    world.write(world.home / ".cache/pip/http", "old\n")
    world.write(world.home / ".npm/_cacache/index", "old\n")
    before = everything_in(world.home)
    assert works(world, "cat ~/.cache/pypoetry/virtualenvs/environment") == "kept\n"
    works(
        world,
        "mkdir -p ~/.cache/pip ~/.cache/new; echo x > ~/.cache/pip/http; echo x > ~/.cache/new/x; echo x > ~/.npm/x",
    )
    assert world.run("echo x > ~/.cache/pypoetry/virtualenvs/environment").code != 0
    after = everything_in(world.home)
    assert {name: after[name] for name in after if not name.startswith(".local")} == {
        name: before[name] for name in before if not name.startswith(".local")
    }


def test_without_a_cache_folder_a_temporary_one_is_used(world: World) -> None:
    assert works(world, "echo $XDG_CACHE_HOME $npm_config_cache") == "/tmp/.cache /tmp/.npm\n"


def test_with_network_access_name_resolution_and_certificates_work(world: World) -> None:
    for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"):
        if Path(path).exists():
            assert works(world, f"cat {path}", network=True) == Path(path).read_text()
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"import socket; socket.create_connection(('localhost', {port}), 5); print('reached')"
        assert works(world, f'"$PYTHON" -I -c "{reach}"', network=True) == "reached\n"


def test_the_exit_code_and_both_streams_are_passed_through(world: World) -> None:
    assert world.run("echo out; echo err >&2; exit 7").code == 7
    assert world.run("echo out; echo err >&2; exit 7").output == "out\nerr\n"
    assert world.run("kill -TERM $$").code == 128 + 15
    assert world.run("yes | head -1; exit ${PIPESTATUS[0]}").code == 128 + 13, (
        "a closed pipe ends programs as ever"
    )


@pytest.mark.parametrize("name", ["with  spaces", "new\nline", "ünï-漢字-👩‍💻", "-dash", "quote'\"$x`"])
def test_a_workspace_may_have_any_name(world: World, name: str) -> None:
    folder = world.outside / name
    world.write(folder / "here", "found\n")
    works(world, "cat here; echo x > new", folder=folder)
    assert sorted(one.name for one in folder.iterdir()) == ["here", "new"]
    world.run("echo x > ../new", folder=folder)
    assert not (world.outside / "new").exists()


def test_a_workspace_given_as_a_link_is_resolved(world: World) -> None:
    link = world.outside / "link"
    link.symlink_to(world.work)
    works(world, "echo x > new; cat README.md", folder=link)
    assert (world.work / "new").exists()
    assert world.run("rm ../link; mkdir .git/hooks/x", folder=link).code != 0
    assert link.is_symlink()


def test_a_command_can_start_in_a_folder_inside_or_beside_the_workspace(world: World) -> None:
    world.write(world.work / "deep/er/file", "deep\n")
    assert works(world, "cat file; pwd", folder=world.work / "deep/er", root=world.work).startswith("deep\n/")
    assert (
        works(world, "cat file; pwd", folder=world.outside, root=world.work)
        == f"as it was\n{world.outside}\n"
    )
    assert world.run("echo x > file", folder=world.outside, root=world.work).code != 0


@pytest.mark.parametrize("parent", ["/tmp", "/var/tmp", "/dev/shm", "/run"])
def test_home_and_workspace_can_be_in_unusual_locations(world: World, parent: str) -> None:
    place = Path(parent) / f"forge-odd-{os.getpid()}"
    try:
        shutil.move(world.base, place)
    except OSError:
        pytest.skip(f"{parent} is not to be written to here")
    odd = World(place, world.person)
    odd.own(place)
    try:
        works(
            odd, "git status; cat ~/.gitconfig; echo x > new; git add new; git commit -q -m odd; touch /tmp/x"
        )
        assert (odd.work / "new").exists()
        for attempt in (
            "echo x > ~/new",
            'echo x > "$OUTSIDE/new"; test -e "$OUTSIDE"',
            "cat ~/.ssh/id_ed25519",
            "touch .git/hooks/x",
        ):
            assert odd.run(attempt).code != 0, attempt
        assert sorted(one.name for one in place.iterdir()) == ["home", "outside"]
    finally:
        (odd.state / "sandbox/unreadable").chmod(0o600)
        subprocess.run(["mv", str(place), str(world.base)], check=True)


def test_secret_looking_files_tracked_by_git_are_readable_and_stay_as_committed(world: World) -> None:
    world.write(world.work / ".env.example", "NAME=value\n")
    world.write(world.work / "tests/server.key", "-----BEGIN PRIVATE KEY-----\nfor tests\n")
    world.bare("git add -A; git commit -q -m examples")
    assert works(world, "cat .env.example tests/server.key").startswith("NAME=value\n-----BEGIN")
    assert works(world, "git add -A; git status --porcelain") == ""
    with (world.work / ".env.example").open("a") as file:
        file.write("REAL=secret\n")
    changed = world.run("cat .env.example; git add -A; git commit -q -m taken")
    assert "secret" not in changed.output
    assert world.bare("git show HEAD:.env.example").output == "NAME=value\n", "a placeholder was committed"


def test_a_command_cannot_unhide_a_secret_by_tracking_it(world: World) -> None:
    world.write(world.work / ".env", "KEY=secret\n")
    world.run("git add -f .env; git commit -q -m mine")
    assert "secret" not in world.run("cat .env; git show HEAD:.env").output
    assert (world.work / ".env").read_text() == "KEY=secret\n"


def test_a_hidden_environment_file_explains_that_it_is_hidden(world: World) -> None:
    world.write(world.work / ".env", "KEY=secret\n")
    assert works(world, "cat .env") == "# The contents of this file are hidden from sandboxed commands.\n"


def test_a_settings_file_that_may_contain_a_token_is_readable_but_empty(world: World) -> None:
    world.write(world.work / ".npmrc", "//registry.example.org/:_authToken=secret\n")
    assert "secret" not in works(world, "cat .npmrc")


def test_certificates_are_not_treated_as_secrets(world: World) -> None:
    world.write(world.work / "ca.pem", "-----BEGIN CERTIFICATE-----\n")
    assert works(world, "cat ca.pem") == "-----BEGIN CERTIFICATE-----\n"
