"""The command line: it knows the registered agents and reads `sys.argv`."""

from __future__ import annotations

import argparse

from tau2.registry import registry


def main() -> None:
    parser = argparse.ArgumentParser(prog="tau2", description="Tau2 command line interface")
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run")
    run.add_argument("--domain")
    run.add_argument("--agent", choices=registry.get_agents())
    options = parser.parse_args()
    print(f"tau2 {options.command}")
