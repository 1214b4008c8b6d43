"""Code without garbage collection, for objects that are kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, and exclude all objects that exist at the end from later collections.

    For code that makes very many objects that live as long as the process, such as the tests that pytest collects
    and the syntax trees of the source: each full collection would traverse them. Garbage in cycles that exists at
    the end is never freed.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
