"""A small repository to talk about, and a conversation in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.offline.driver import Talk

_FILES = {
    "README.md": "# Teapot\n\nTeapot keeps water hot for a long while, and it whistles.\n\n## Install\n\nRun pip.\n",
    "pyproject.toml": '[project]\nname = "teapot"\nversion = "1.2"\ndescription = "Hot water"\ndependencies = ["kettle>=2"]\n',
    "teapot/__init__.py": '"""Keeps water hot."""\n',
    "teapot/brew.py": (
        '"""Brewing."""\n\nimport time\n\nLIMIT = 3\n\n\nclass Pot:\n    """A pot of tea."""\n\n    def __init__(self, size):\n'
        '        self.size = size\n\n    def pour_tea(self, cups):\n        """Pour some cups.\n\n        More words.\n        """\n'
        '        if cups > LIMIT:\n            raise ValueError("too much")\n        return warm(cups)\n\n\n'
        "def warm(cups):\n    time.sleep(0)\n    return cups * 2\n"
    ),
    "tests/test_brew.py": "from teapot.brew import Pot\n\n\ndef test_pours():\n    assert Pot(1).pour_tea(2) == 4\n",
    "web/app.js": "// The page.\nimport x from './x.js'\n\nexport function start(pot) {\n  return pot\n}\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "teapot"
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "First brew"),
    ):
        subprocess.run(("git", *command), cwd=root, check=True)
    return root


@pytest.fixture
def talk(repository: Path) -> Talk:
    return Talk(repository)
