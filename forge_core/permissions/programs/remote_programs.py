"""Programs that run a command on another host, in another machine or in a container that exists already."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remote:
    """How such a program is called. Lists of words are separated by blanks."""

    names: str
    letters: str = ""
    """Its one-letter options that take a value."""
    options: str = ""
    """Its long options that take the next word as their value."""
    subcommand: str = ""
    """Comes before the host, if it is needed to run something there."""
    operands: int = 1
    """How many words name the host or the container."""
    text_options: str = ""
    """Options whose value is the command; no operand is then."""
    joins_words: bool = False
    """A shell over there reads the words, joined by blanks; otherwise they are run as they are."""


_CONTAINER = "--user --workdir --env --env-file --index --project-name --file --context --host --detach-keys"
_ROWS = (
    Remote("ssh autossh slogin rsh dbclient", "BbcDEeFIiJLlMmOoPpQRSWw", joins_words=True),
    Remote("mosh", "p", "--ssh --port --bind-server --predict"),
    Remote("docker podman nerdctl docker-compose podman-compose", "uweHpf", _CONTAINER, "exec"),
    Remote("kubectl oc", "ncsf", "--namespace --container --context --kubeconfig --filename", "exec"),
    Remote("lxc incus", "tTn", "--env --cwd --user --group --mode", "exec"),
    Remote("multipass", "d", "--working-directory", "exec"),
    Remote("limactl machinectl", "MHpE", "--workdir --shell --machine --uid --setenv", "shell"),
    Remote("colima", "p", "--profile", "ssh", 0),
    Remote("adb", "stHPL", "", "shell", 0, joins_words=True),
    Remote("heroku", "ars", "--app --remote --size", "run", 0),
    Remote("wsl wsl.exe", "du", "--distribution --user --cd", operands=0),
    Remote("pdsh", "wxlfutR", operands=0, joins_words=True),
    Remote("clush", "wxglfut", "--group", operands=0, joins_words=True),
    Remote(
        "pssh parallel-ssh", "hHlptoeOx", "--hosts --host --user --par --timeout", "", 0, joins_words=True
    ),
    Remote("salt", "", "", "cmd.run", 0, joins_words=True),
    Remote("vagrant", text_options="-c --command"),
    Remote("gcloud", text_options="--command"),
    Remote("ansible", text_options="-a --args -m --module-name"),
    Remote("flyctl fly", text_options="-C --command"),
)
_REMOTES = {name: one for one in _ROWS for name in one.names.split()}


def remote_command(program: str, words: Sequence[str]) -> list[str] | None:
    """Return the texts that the program runs elsewhere, of its arguments `words`; one that is empty stands
    for a shell that reads its input. None when it runs nothing elsewhere."""
    remote = _REMOTES.get(program)
    if remote is None:
        return None
    if remote.text_options:
        return _values(words, remote.text_options.split()) or None
    rest = list(words)
    if remote.subcommand:
        if remote.subcommand not in rest:
            return None
        rest = rest[rest.index(remote.subcommand) + 1 :]
    command = _behind_operands(rest, remote)
    return [" ".join(command) if remote.joins_words else shlex.join(command)]


def _behind_operands(rest: list[str], remote: Remote) -> list[str]:
    """Return the words of the command: what follows the host and the options around it."""
    operands, ended = remote.operands, False
    while rest:
        word = rest[0]
        if word == "--" and not ended:
            ended = True
        elif word.startswith("-") and len(word) > 1 and not ended:
            if word in remote.options.split() or _takes_next(word, remote.letters):
                rest = rest[1:]
        elif operands:
            operands -= 1
        else:
            break
        rest = rest[1:]
    return rest


def _takes_next(word: str, letters: str) -> bool:
    """Return whether the last letter of `-tp` is an option whose value is the next word."""
    return (
        not word.startswith("--")
        and next((at for at, letter in enumerate(word) if at and letter in letters), 0) == len(word) - 1
    )


def _values(words: Sequence[str], options: Sequence[str]) -> list[str]:
    values: list[str] = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and name in options:
            values.append(value)
        elif word in options:
            values += words[at + 1 : at + 2]
    return values
