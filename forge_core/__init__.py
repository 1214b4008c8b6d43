"""The core of Forge: it decides and acts, and depends on no user interface.

Nothing heavy is imported until a name is used.
"""

from __future__ import annotations

from forge_core.lazy import lazy_exports

TYPE_CHECKING = False  # importing typing for it would cost every start 10 ms
if TYPE_CHECKING:
    from forge_core.langchain import ForgeAgent as ForgeAgent
    from forge_core.langchain import OpenRouterLLM as OpenRouterLLM
    from forge_core.llm import OpenRouterClient as OpenRouterClient
    from forge_core.runtime import build_session as build_session
    from forge_core.session import ForgeSession as ForgeSession

__version__ = "0.1.0"

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "forge_core.langchain": ("ForgeAgent", "OpenRouterLLM"),
        "forge_core.llm": ("OpenRouterClient",),
        "forge_core.runtime": ("build_session",),
        "forge_core.session": ("ForgeSession",),
    },
)
