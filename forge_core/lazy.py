"""Keeps imports light: package exports that load on first use (PEP 562), and optional modules left out."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

OPTIONAL = (
    "httpx._main",  # its command line, with click
    "httpx2",  # LangSmith falls back to httpx
    "linkify_it",  # for a rule of Markdown that the transcript does not use
    "charset_normalizer",  # for LangSmith's requests: without it a body that names no charset is UTF-8
)
"""Modules that libraries import if they can, and that Forge does not use."""


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


def leave_out_optional_modules() -> None:
    """Let the imports of modules fail that libraries can do without: 6 MB of a chat, 4 MB without click.

    Only for Forge's own programs: a program that uses Forge as a library may need these modules. Those that
    have been imported remain.
    """
    import warnings

    for name in OPTIONAL:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    warnings.filterwarnings("ignore", "Unable to find acceptable character detection dependency")
