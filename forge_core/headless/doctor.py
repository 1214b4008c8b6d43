"""`forge doctor`: the report of `commands.diagnosis`, as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from forge_core import __version__
from forge_core.commands.diagnosis import diagnose, report
from forge_core.commands.findings import Finding, Level
from forge_core.exit_codes import ExitCode
from forge_core.redact import Redactor
from forge_core.runtime import make_redactor

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig


def run_doctor(
    config: ForgeConfig | None, problem: str, *, colours: str, background: str = "", as_json: bool
) -> int:
    """Print the report; return the exit code: that of a usage error where something does not work.

    Without a `config`, `problem` says why the settings could not be loaded. `colours` is the colour depth of
    the terminal, `background` what it says of its background.
    """
    findings = list(diagnose(config, problem, colours=colours, background=background))
    redact = Redactor() if config is None else make_redactor(config)
    print(redact(_json(findings) if as_json else report(findings)))
    has_problem = any(finding.level is Level.PROBLEM for finding in findings)
    return ExitCode.USAGE if has_problem else ExitCode.COMPLETE


def _json(findings: Iterable[Finding]) -> str:
    return json.dumps({"version": __version__, "findings": [asdict(one) for one in findings]}, indent=2)
