"""What the screen's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.config.models import ForgeConfig
from tests.support.chat_app import make_config


@pytest.fixture
def config(tmp_path: Path) -> ForgeConfig:
    return make_config(tmp_path)
