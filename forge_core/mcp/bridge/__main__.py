"""Starts the bridge: messages come on standard input and go to standard output."""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings


def main() -> int:
    """Run until standard input ends; then end all servers."""
    from forge_core.mcp.bridge.bridge import serve
    from forge_core.tools.shell.environment import protect_process

    protect_process()  # it holds the tokens of sign-ins; what it starts is not concerned
    warnings.simplefilter("ignore")  # the SDK warns about every older revision of the protocol
    logging.disable()  # its records hold what servers send, and the parameters of sign-ins
    asyncio.run(serve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
