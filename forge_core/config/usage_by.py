"""What a report of usage has a row for: an argument of `/usage` and of the command line."""

from __future__ import annotations

from enum import StrEnum


class UsageBy(StrEnum):
    """What the rows of a report are about."""

    DAY = "day"
    MODEL = "model"
    PROJECT = "project"
    TOOL = "tool"
    SERVER = "server"
