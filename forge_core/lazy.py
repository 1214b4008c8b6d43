"""Keeps imports light: exports of packages load on first use (PEP 562), parts of libraries are left out."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

OPTIONAL = (
    "httpx._main",  # its command line, with click
    "httpx2",  # LangSmith falls back to httpx
    "linkify_it",  # for a rule of Markdown that the transcript does not use
    "charset_normalizer",  # for LangSmith's requests: without it a body that names no charset is UTF-8
)
"""Modules that libraries import if they can, and that Forge does not use."""
DEFERRED = ("langsmith.types",)
"""Packages of which only a submodule is used: this one imports 130 models of LangSmith's API."""


def lazy_exports(
    package: str, exports: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package; `exports` maps modules to the public names in them.

    The caller repeats the imports under `if TYPE_CHECKING:` as `from module import name as name`, so that
    type checkers see the real types.
    """
    modules = {name: module for module, names in exports.items() for name in names}

    def load(name: str) -> Any:
        if name == "__all__":  # `from package import *` asks for it; a literal one would repeat the names
            return sorted(modules)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(modules)


def trim_imports() -> None:
    """Let the imports of OPTIONAL modules fail, and run DEFERRED packages at first use: 9 MB of a chat.

    Only for Forge's own programs: a program that uses Forge as a library may need the optional modules. Those
    that have been imported remain.
    """
    import warnings

    for name in OPTIONAL:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    warnings.filterwarnings("ignore", "Unable to find acceptable character detection dependency")
    sys.meta_path.insert(0, DeferredPackages(DEFERRED))


class DeferredPackages:
    """A finder of packages whose `__init__` runs when an attribute is asked for.

    Their submodules can be imported without that, unlike those of a package with `importlib.util.LazyLoader`.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._names:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _DeferringLoader(spec.loader)  # type: ignore[assignment]
        return spec


class _DeferringLoader:
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        from threading import RLock

        lock, is_begun = RLock(), False

        def load(name: str) -> Any:
            nonlocal is_begun
            with lock:
                if vars(module).get("__getattr__") is load:
                    if is_begun:  # by this thread: another one waits
                        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
                    is_begun = True
                    self._loader.exec_module(module)
                    if vars(module).get("__getattr__") is load:
                        del vars(module)["__getattr__"]
            return getattr(module, name)

        vars(module)["__getattr__"] = load
