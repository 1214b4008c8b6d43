"""Starts commands so that they can change the workspace and nothing else."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge_core.errors import WorkspaceError
from forge_core.permissions.sandbox.bubblewrap import options
from forge_core.permissions.sandbox.configuration_copies import without_includes
from forge_core.permissions.sandbox.hidden import home_folders, listening_sockets, secrets_outside
from forge_core.permissions.sandbox.home_view import HomeView, HomeViewer, is_in, local_programs
from forge_core.permissions.sandbox.mount_layout import LayoutInputs, environment_inside, mounts
from forge_core.permissions.sandbox.path_checks import is_there, open_anchored
from forge_core.permissions.sandbox.placeholders import MountedPaths, Placeholders
from forge_core.permissions.sandbox.project_caches import ProjectCaches
from forge_core.permissions.sandbox.protected import Protection, protection
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from forge_core.permissions.sandbox.secret_files import MAX_MASKS, SecretFiles

_PATIENCE_S = 1.0
_MOVABLE = {"GIT_CONFIG_GLOBAL": ("/git/config", "/.gitconfig"), "npm_config_userconfig": ("/.npmrc",)}
"""The variables that move configuration files, and the ends of these files' paths."""
_NOTE = b"# The contents of this file are hidden from sandboxed commands.\n"


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start instead of the command itself."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()


class Sandbox:
    """The sandbox of one workspace. Cheap to make; safe to use from several threads.

    Writable are `root`, folders added to it, the git directories that they belong to, and `extra_writable`.
    Hidden are the home
    folders except toolchains, harmless configuration and `readable` (`home_view`), every service's socket,
    `.env*` and key files near the top of the workspace, `state_dir` and `hidden` (pass Forge's config
    folder). /tmp is empty and private to each command. With OFF, `launch` gives back what it was given.
    """

    def __init__(
        self,
        state: SandboxState,
        root: Path,
        *,
        state_dir: Path,
        extra_writable: tuple[Path, ...] = (),
        hidden: tuple[Path, ...] = (),
        readable: tuple[Path, ...] = (),
    ) -> None:
        self.state = state
        self._root = Path(os.path.realpath(root))
        if state.kind is not SandboxKind.OFF and self._root == Path("/"):
            raise WorkspaceError("'/' can't be the workspace of a sandbox. Start Forge in a project folder.")
        self._extra = tuple(
            one
            for path in extra_writable
            if is_there(one := Path(os.path.realpath(path))) and one != Path("/")
        )
        self._added: tuple[Path, ...] = ()
        self._hidden = (state_dir, *hidden)
        self._readable = readable
        self._shown_folders: tuple[Path, ...] = ()
        self._homes = HomeViewer(self._root, readable)
        mounted = MountedPaths(state_dir)
        self._folder = mounted.folder
        self._placeholders = Placeholders(self._root, mounted)
        self._caches = ProjectCaches(self._folder, self._root)
        self._secrets = SecretFiles(self._root)
        self._temporary: Path | None = None
        self._running = 0
        self._counting = threading.Lock()

    def add_folder(self, folder: Path) -> None:
        """Let commands that start from now on change `folder`, a real path, by the rules of the workspace:
        the same is protected and hidden in it."""
        self._secrets.add_folder(folder)
        self._added = (*self._added, folder)

    def show_folders(self, folders: Iterable[Path]) -> None:
        """Let commands that start from now on read these folders, given by their real paths, in place of
        those of the last call: also below the home and Forge's own folders. Key files in them stay hidden."""
        shown = tuple(folders)
        if shown != self._shown_folders:
            self._shown_folders = shown
            self._homes = HomeViewer(self._root, (*self._readable, *shown))

    def unmasked_reason(self) -> str:
        """Return why the sandbox is weak for the next command: in an added folder, something cannot be
        protected, or files with keys cannot all be hidden; "" when it is not."""
        if not self._hides_secrets:
            return ""
        if unheld := [path for folder in self._added for path in protection(folder).unheld]:
            return f"{str(unheld[0])!r} is a link, so a command could replace it"
        return self._secrets.unmasked_reason()

    def committed_reason(self, *, are_hidden: bool) -> str:
        """Return why a search could read files with keys that git holds in the same state; "" when it could
        not. With `are_hidden` it is in a line that is launched with `hides_committed`."""
        return self._secrets.committed_reason(are_hidden=are_hidden) if self._hides_secrets else ""

    @property
    def _hides_secrets(self) -> bool:
        return self.state.kind in (SandboxKind.BUBBLEWRAP, SandboxKind.SEATBELT)

    @contextlib.contextmanager
    def launch(
        self,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        *,
        network: bool = False,
        read_only: bool = False,
        hides_committed: bool = False,
    ) -> Iterator[Launch]:
        """Return how to start `argv` in `folder`, confined; with `read_only` bubblewrap shows the workspace
        too only to be read, and with `hides_committed` files with keys are hidden although git holds them.

        Start the process inside the `with` and leave it when it has ended: then the workspace is cleared of
        placeholders for missing protected paths. Leaving earlier is safe; they are cleared by a later launch
        or by `tidy`. Start it from a thread that lives as long as the process, which dies with its parent
        thread. Raises OSError when the state folder can't be written to: no command runs with half a sandbox.
        """
        match self.state.kind:
            case SandboxKind.OFF:
                yield Launch(tuple(argv), dict(environment))
            case SandboxKind.SEATBELT:
                yield self._seated(
                    argv,
                    environment,
                    network=network,
                    read_only=read_only,
                    hides_committed=hides_committed,
                )
            case SandboxKind.LANDLOCK:
                with contextlib.ExitStack() as stack:
                    yield self._confined(stack, argv, environment, network=network)
            case SandboxKind.BUBBLEWRAP:
                with contextlib.ExitStack() as stack:
                    yield self._wrapped(
                        stack,
                        argv,
                        folder,
                        environment,
                        network=network,
                        read_only=read_only,
                        hides_committed=hides_committed,
                    )

    def in_use(self) -> frozenset[Path]:
        """Return what must be neither removed nor replaced now: a sandbox is mounted over it, and would
        lose that mount."""
        return self._placeholders.mounted.in_use()

    def settled(self) -> contextlib.AbstractContextManager[None]:
        """Keep every sandbox on this machine from being set up or cleared: `in_use` only gets smaller. Raises
        OSError when the state folder can't be written to."""
        return self._placeholders.mounted.settled()

    def tidy(self) -> bool:
        """Remove placeholders that no running command needs any more, waiting a moment for one that is about
        to be gone. False when one still needs them."""
        with self._counting:
            alone = not self._running
        return alone and self._placeholders.take_down(_PATIENCE_S)

    def _tidy_soon(self) -> None:
        """As `tidy`, but without waiting: the last process of a sandbox takes some milliseconds to end. No
        daemon thread, so that Forge doesn't end before it."""
        with self._counting:
            alone = not self._running
        if alone and not self._placeholders.take_down():
            threading.Thread(target=self.tidy, name="forge-tidy").start()

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the launches that are open, so that none waits for another."""
        with self._counting:
            self._running += 1
        try:
            yield
        finally:
            with self._counting:
                self._running -= 1

    def _wrapped(
        self,
        stack: contextlib.ExitStack,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        *,
        network: bool,
        read_only: bool,
        hides_committed: bool,
    ) -> Launch:
        from forge_core.permissions.sandbox.confine import landlock_abi
        from forge_core.permissions.sandbox.landlock import SCOPE_ABI, without_abstract_sockets
        from forge_core.permissions.sandbox.seccomp import seccomp_filter

        stack.callback(self._tidy_soon)
        stack.enter_context(self._counted())
        sync = self._placeholders.join()
        stack.callback(os.close, sync)
        inputs = self._layout_inputs(
            Path(os.path.realpath(folder)),
            environment,
            read_only=read_only,
            hides_committed=hides_committed,
        )
        can_scope = network and landlock_abi() >= SCOPE_ABI and not _is_setuid(self.state.program)
        program = seccomp_filter(platform.machine(), local_pairs_only=network and not can_scope)
        filter_fd = None if program is None else self._memory(stack, "seccomp", program)
        anchors: list[int] = []

        def hold(how: str, path: Path) -> list[str]:
            if self.state.binds_paths:
                return [how, str(path), str(path)]
            anchors.append(open_anchored(path))
            stack.callback(os.close, anchors[-1])
            return [f"{how}-fd", str(anchors[-1]), str(path)]

        def copy(content: bytes) -> str:
            anchors.append(self._memory(stack, "copy", content))
            return str(anchors[-1])

        settings = options(
            self.state,
            mounts(inputs, hold, copy),
            inputs.folder,
            network=network,
            seccomp=filter_fd,
            sync=sync,
        )
        settings_fd = self._memory(stack, "options", settings)
        command: tuple[str, ...] = (self.state.program, "--args", str(settings_fd), "--", *argv)
        if can_scope:
            command = without_abstract_sockets(command)
        passed = [one for one in (sync, filter_fd, settings_fd, *anchors) if one is not None]
        return Launch(command, environment_inside(inputs), tuple(passed))

    def _layout_inputs(
        self, folder: Path, environment: Mapping[str, str], *, read_only: bool, hides_committed: bool
    ) -> LayoutInputs:
        homes = home_folders(environment)
        found = self._secrets.scan_workspace()
        kept, tracked = self._secrets.to_hide(found, hides_committed=hides_committed)
        with self._placeholders.mounted.settled():
            held = self._protection(found.repositories, homes)
            writable = (*self._added, *self._extra, *held.writable)
            home = self._homes.view(homes, environment, writable)
            others = (*held.pinned, *held.read_only, *kept, *home.masked)
            standing = self._placeholders.create_all({} if read_only else held.missing, others)
        # The note in `.env` and other dot files says why they are empty. Keys, and what git would otherwise
        # commit as changed, cannot be opened. A search should not fail because of them.
        note, unreadable = self._file("note", _NOTE, 0o444), self._file("unreadable", b"", 0o000)
        noted = {path for path in kept if hides_committed or (path.name[0] == "." and path not in tracked)}
        kept += self._around(home)[: MAX_MASKS - len(kept)]
        return LayoutInputs(
            self._root,
            folder,
            held,
            standing,
            home,
            [*secrets_outside(self._hidden, self._shown_folders), *listening_sockets()],
            self._file("empty", b"", 0o444),
            [(path, note if path in noted else unreadable) for path in kept],
            {} if read_only else self._caches.folders_for(home.caches),
            (*self._added, *self._extra),
            dict(environment),
            is_read_only=read_only,
        )

    def _protection(self, nested: Sequence[Path] = (), homes: Sequence[Path] = ()) -> Protection:
        """Return what is held in all folders of the workspace; `nested` as `protection` takes it."""
        held = Protection()
        for folder in (self._root, *self._added):
            inside = [one for one in nested if one.is_relative_to(folder)]
            held.add(protection(folder, inside, homes, self._hidden[0]))
        return held

    def _around(self, home: HomeView) -> list[Path]:
        """Return the secrets that are shown outside the workspace: in the repository around it, among the
        user's own programs, and in skills."""
        found = [
            shown / path.relative_to(real)
            for shown, real in (*local_programs(home), *((one, one) for one in self._shown_folders))
            for path in self._secrets.scan(real).secrets
            if path.is_relative_to(real)
        ]
        if home.repository is not None:
            found += [
                one
                for one in self._secrets.scan(home.repository).secrets
                if not is_in(one, [self._root, *self._added])
            ]
        return found

    def _confined(
        self,
        stack: contextlib.ExitStack,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        network: bool,
    ) -> Launch:
        from forge_core.permissions.sandbox.confine import landlock_abi
        from forge_core.permissions.sandbox.landlock import confined, visible
        from forge_core.permissions.sandbox.seccomp import AF_UNIX, FAMILIES, seccomp_filter

        held = self._protection()
        temporary = self._own_temporary()
        home = self._home(environment, held)
        writable = [self._root, *self._added, *self._extra, *held.writable, temporary]
        secrets = secrets_outside(self._hidden, self._shown_folders)
        held_rules: list[int] = []

        def hold(content: bytes) -> int:
            held_rules.append(self._memory(stack, "rules", content))
            return held_rules[-1]

        command = confined(
            argv,
            hold,
            abi=landlock_abi(),
            writable=writable,
            hidden=[*home.covered, *home.masked, *secrets],
            shown=[one for path in self._shown(home) for one in visible(path, {*secrets})],
            seccomp=seccomp_filter(platform.machine(), FAMILIES if network else (AF_UNIX,)),
            network=network,
        )
        inside = dict(environment) | self._own_variables(home, environment)
        return Launch(command, inside, tuple(held_rules))

    def _seated(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        network: bool,
        read_only: bool,
        hides_committed: bool,
    ) -> Launch:
        from forge_core.permissions.sandbox.mount_layout import HOST_SOCKETS
        from forge_core.permissions.sandbox.seatbelt import Bounds, confined

        found = self._secrets.scan_workspace()
        held = self._protection(found.repositories, home_folders(environment))
        home = self._home(environment, held)
        temporary = self._own_temporary()
        own = [self._root, *self._added, *self._extra, *held.writable]
        bounds = Bounds(
            writable=[temporary] if read_only else [*own, temporary],
            read_only=held.read_only,
            missing=list(held.missing),
            pinned=held.pinned,
            hidden=[
                *home.masked,
                *secrets_outside(self._hidden, self._shown_folders),
                *self._around(home),
                *self._secrets.to_hide(found, hides_committed=hides_committed)[0],
            ],
            covered=home.covered,
            shown=[*own, *self._shown(home)],
            network=network,
        )
        inside = {name: value for name, value in environment.items() if name not in HOST_SOCKETS}
        inside |= self._own_variables(home, environment) | dict.fromkeys(("TMP", "TEMP"), str(temporary))
        return Launch(confined(self.state.program, argv, bounds), inside)

    def _home(self, environment: Mapping[str, str], held: Protection) -> HomeView:
        writable = (*self._added, *self._extra, *held.writable)
        return self._homes.view(home_folders(environment), environment, writable)

    @staticmethod
    def _shown(home: HomeView) -> list[Path]:
        """Return what can be read in hidden folders where nothing can be mounted over a configuration file:
        one is shown only if it is the same without logins."""
        whole = [path for path, content in home.copies.items() if _has_content(path, content)]
        return list(dict.fromkeys((*home.shown.values(), *whole)))

    def _own_variables(self, home: HomeView, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that lead to temporary folders, and to copies of configuration files whose
        originals can't be read."""
        temporary = self._own_temporary()
        variables = {
            "TMPDIR": str(temporary),
            "XDG_CACHE_HOME": str(temporary / ".cache"),
            "npm_config_cache": str(temporary / ".npm"),
        }
        named = (environment.get("HOME", "/"), environment.get("XDG_CONFIG_HOME") or "/")
        own = [Path(os.path.realpath(one)) for one in named if one != "/"]
        for variable, names in _MOVABLE.items():
            copies = {
                path: text
                for path, text in home.copies.items()
                if str(path).endswith(names) and is_in(path, own)
            }
            if not all(_has_content(path, text) for path, text in copies.items()):
                copy = temporary.parent / variable
                content = b"\n".join(map(without_includes, copies.values()))
                if not _has_content(copy, content):
                    copy.touch(mode=0o600)
                    copy.write_bytes(content)
                variables[variable] = str(copy)
        return variables

    def _own_temporary(self) -> Path:
        """Return a temporary folder for the commands of this sandbox, removed with it. They can't write to
        the folder around it."""
        if self._temporary is None:
            folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="forge-")))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._temporary = folder / "tmp"
            self._temporary.mkdir(mode=0o700)
        return self._temporary

    def _file(self, name: str, content: bytes, mode: int) -> Path:
        """Return a file of that content in the sandbox's own folder, written again when it isn't as it should
        be."""
        path = self._folder / name
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if status.st_size == len(content) and status.st_mode & 0o777 == mode:
                return path
        # Put there whole: other commands that start at the same time must find either this one or theirs.
        descriptor, made = tempfile.mkstemp(prefix=f".{name}-", dir=self._folder)
        try:
            os.write(descriptor, content)
            os.fchmod(descriptor, mode)
            Path(made).replace(path)
        except OSError:
            Path(made).unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        return path

    @staticmethod
    def _memory(stack: contextlib.ExitStack, name: str, content: bytes) -> int:
        """Return a descriptor at the start of `content`, open as long as the launch."""
        descriptor = os.memfd_create(f"forge-{name}", os.MFD_CLOEXEC)
        stack.callback(os.close, descriptor)
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor


def clear_leftovers(root: Path, state_dir: Path) -> None:
    """Remove the placeholders that killed Forge processes have left, except those that a sandbox still needs,
    and caches that are no longer used.

    On return those in the workspace `root` are gone. What is left then, in other workspaces or because the
    sandbox of the killed process is just about to end, is removed by a thread: a workspace may be on a file
    system that does not answer.
    """
    mounted = MountedPaths(state_dir)
    own_root = Path(os.path.realpath(root))
    own = Placeholders(own_root, mounted)

    def clear_rest() -> None:
        with contextlib.suppress(OSError):
            own.take_down(_PATIENCE_S)
        mounted.clear_reachable()

    ProjectCaches(mounted.folder, own_root).remove_unused()
    with contextlib.suppress(OSError):
        own.take_down()
    if mounted.has_notes():
        threading.Thread(target=clear_rest, name="forge-clear", daemon=True).start()


def _has_content(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def _is_setuid(program: str) -> bool:
    """Return whether bwrap needs privileges that a confined process could no longer gain."""
    try:
        return bool(Path(program).stat().st_mode & 0o4000)
    except OSError:
        return False
