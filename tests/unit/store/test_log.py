"""The log file: private, rotating, never in the way."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from forge_core.redact import Redactor
from forge_core.store.log import KEPT_FILES, MAX_BYTES, close_log, open_log


def test_log_lines_at_or_above_the_level_go_to_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "forge.log"
    logger = open_log(path, "info", "forge.test", Redactor())
    logger.debug("too fine")
    assert not path.exists()
    logger.info("a line")
    close_log(logger)
    assert path.read_text().endswith("INFO forge.test a line\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_log_rotates_and_keeps_few_files(tmp_path: Path) -> None:
    path = tmp_path / "forge.log"
    logger = open_log(path, "info", "forge.test", Redactor())
    for _ in range((KEPT_FILES + 3) * MAX_BYTES // 100_000):
        logger.info("x" * 100_000)
    close_log(logger)
    files = list(tmp_path.iterdir())
    assert len(files) == KEPT_FILES + 1
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


def test_a_log_write_error_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    logger = open_log(tmp_path / "file" / "forge.log", "info", "forge.test", Redactor())
    logger.info("lost")
    close_log(logger)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here to play a full disk")
def test_logging_to_a_full_disk_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "forge.log"
    path.symlink_to("/dev/full")
    logger = open_log(path, "info", "forge.test", Redactor())
    logger.info("lost")
    close_log(logger)
    assert capfd.readouterr() == ("", "")


def test_keys_are_redacted_in_messages_and_tracebacks(tmp_path: Path) -> None:
    path = tmp_path / "forge.log"
    logger = open_log(path, "info", "forge.test", Redactor(("hunter42",)))
    try:
        raise ValueError("no such user: hunter42")
    except ValueError:
        logger.exception("failed with %s", "hunter42")
    close_log(logger)
    assert "no such user: [redacted]" in path.read_text()
    assert "hunter42" not in path.read_text()
