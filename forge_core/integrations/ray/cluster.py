"""The cluster: connects this process to it, checks its nodes, and decides what they are sent.

A key is an argument of the call that runs a task, never part of the cluster's or a job's description, which
Ray keeps and shows. Ray does not encrypt its connections by default: then no key is sent to other machines.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forge_core import __version__
from forge_core.config.settings import SETTINGS
from forge_core.errors import ConfigError
from forge_core.llm.endpoints import NAMED_KEY_VARIABLE, PROVIDERS
from forge_core.private_folders import make_private_folder
from forge_core.sanitize import safe_line

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig

INSTALL = "pip install 'forge-assistant[ray]'"
_NOTICE = (
    "Ray opens network ports on this machine, and keeps a token in ~/.ray/auth_token. Whoever has the token "
    "and reaches the ports can run programs as you."
)
_ADVICE = "Start one with `ray start --head`, or use --address local."
_HOST_AND_PORT = re.compile(r"(?:[^:/\[\]\s]+|\[[^\]/\s]+\]):\d{1,5}")
_REACHED_S = 10.0
_PROBE_S = 120.0
_STORE_BYTES = 150_000_000
"""Of a cluster that is started here; by default, Ray takes a third of the memory."""
_VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Otherwise `uv run forge` would upload the current folder to all nodes.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}
_KEYS = frozenset({NAMED_KEY_VARIABLE, *(one.key_variable for one in PROVIDERS.values() if one.key_variable)})
_URL_VARIABLE = "FORGE_BASE_URL"
_TRUE = ("1", "true")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster to which this process is connected."""

    environ: Mapping[str, str] = field(repr=False)
    """What its tasks get of this process' environment."""

    def environ_for(self, task: Mapping[str, str]) -> dict[str, str]:
        """Return what a task with these variables of its own gets. A key for an endpoint that the user names
        is not sent without that name: the settings of the node may name another one."""
        is_named = _URL_VARIABLE in self.environ or _URL_VARIABLE in task
        return {name: value for name, value in self.environ.items() if is_named or name != NAMED_KEY_VARIABLE}


def require_ray() -> None:
    """Raises ConfigError if the package `ray` is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigError(f"--engine ray needs the package ray, which is not installed. Run: {INSTALL}")


def connect(address: str, parallel: int, config: ForgeConfig, notify: Callable[[str], None]) -> Cluster:
    """Connect to the cluster at an address, or start one; takes up to half a minute.

    A cluster that is started ends with the thread that calls this.

    Raises:
        ConfigError: there is none, or its nodes cannot run tasks of this Forge.
    """
    require_ray()
    os.environ.update(_VARIABLES)
    address = _checked(address)
    if address not in ("auto", "local"):
        _check_reachable(address)
    notify(_NOTICE)
    _init(address, parallel, config)
    try:
        nodes = _checked_nodes(address)
        return Cluster(_task_environ(config, sends_keys=_may_send_keys(nodes, notify)))
    except BaseException:
        disconnect()
        raise


def disconnect() -> None:
    """Leave the cluster; one that was started here ends."""
    import ray

    if ray.is_initialized():
        ray.shutdown()


def _checked(address: str) -> str:
    if address == "auto" and (named := os.environ.get("RAY_ADDRESS")):
        address = named
    if address not in ("auto", "local") and not _HOST_AND_PORT.fullmatch(address):
        raise ConfigError(
            f"The address of the Ray cluster is {address!r}: it must be auto, local or HOST:PORT. Run forge "
            "batch on a node of the cluster."
        )
    return address


def _check_reachable(address: str) -> None:
    """Raises ConfigError if nothing listens at HOST:PORT: Ray would try again for ever."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ConfigError(f"The Ray cluster at {address!r} cannot be reached: {error}. {_ADVICE}") from error


def _init(address: str, parallel: int, config: ForgeConfig) -> None:
    import ray

    options: dict[str, Any] = {"address": address}
    if address == "local":
        options |= {"num_cpus": parallel, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
    make_private_folder(config.state_dir)
    try:
        # All processes of Ray search the current folder for modules: here, it has none. They need no key.
        with contextlib.chdir(config.state_dir), _without_keys():
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        text = safe_line(" ".join(str(error).split()))
        raise ConfigError(f"The Ray cluster at {address!r} cannot be used: {text} {_ADVICE}") from error


@contextlib.contextmanager
def _without_keys() -> Iterator[None]:
    """Keep keys out of the environment of processes that start."""
    keys = {name: os.environ.pop(name) for name in _KEYS & os.environ.keys()}
    try:
        yield
    finally:
        os.environ.update(keys)


def _checked_nodes(address: str) -> list[dict[str, Any]]:
    """Return the nodes that can run tasks. Raises ConfigError if one has not the same Forge."""
    nodes, wrong = [], []
    for node, version in _versions(address):
        if version == __version__:
            nodes.append(node)
        else:
            name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
            wrong.append(f"{name} has {version or 'none'}")
    if wrong:
        raise ConfigError(
            f"Nothing was started: every node needs Forge {__version__}, and {safe_line('; '.join(wrong))}. "
            f"Install it there for the Python that runs Ray: {INSTALL}"
        )
    if not nodes:
        raise ConfigError(f"No node of the Ray cluster at {address!r} has a CPU for a task.")
    return nodes


def _versions(address: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each node that has a CPU with its version of Forge, "" for none. Raises ConfigError."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def installed() -> str:  # pickled by value: a node may lack Forge
        try:
            import forge_core.integrations.ray.node_job
        except ImportError:
            return ""
        return forge_core.__version__

    probe = ray.remote(num_cpus=0, max_retries=0)(installed)
    asked = []
    for node in _live_nodes():
        place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        asked.append((node, probe.options(scheduling_strategy=place).remote()))
    for node, reference in asked:
        try:
            yield node, ray.get(reference, timeout=_PROBE_S)
        except ray.exceptions.RayError as error:
            if node["NodeID"] not in {one["NodeID"] for one in _live_nodes()}:
                continue  # it takes a while until a cluster notices that one of its nodes is gone
            text = safe_line(" ".join(str(error).split()))
            raise ConfigError(f"A node of the Ray cluster at {address!r} does not answer: {text}") from error


def _live_nodes() -> list[dict[str, Any]]:
    import ray

    return [one for one in ray.nodes() if one["Alive"] and one["Resources"].get("CPU", 0) >= 1]


# What the nodes get


def _may_send_keys(nodes: list[dict[str, Any]], notify: Callable[[str], None]) -> bool:
    import ray

    here = ray.util.get_node_ip_address()
    others = {one["NodeManagerAddress"] for one in nodes} - {here}
    is_safe = not others or os.environ.get("RAY_USE_TLS", "").lower() in _TRUE
    if not is_safe and _KEYS & os.environ.keys():
        notify(
            "The API keys of this machine are not sent to the nodes, as the connections of this cluster are "
            "not encrypted. Save a key on each node (`forge auth login`), or use RAY_USE_TLS."
        )
    return is_safe


def _task_environ(config: ForgeConfig, *, sends_keys: bool) -> dict[str, str]:
    """Return the settings of this process' environment, and the keys if they may be sent."""
    settings = {one.variable for one in SETTINGS.values() if one.variable}
    names = settings | (_KEYS if sends_keys else frozenset())
    found = {name: os.environ[name] for name in names & os.environ.keys()}
    if config.endpoint.key_variable == NAMED_KEY_VARIABLE:
        found[_URL_VARIABLE] = config.endpoint.base_url
    return found
