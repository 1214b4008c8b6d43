"""A real project to ask about: the installed httpx, laid out as its repository with a history of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

_PACKAGE = Path(httpx.__file__).parent
_FILES = {
    ".gitignore": "__pycache__/\n.pytest_cache/\n.venv/\n",
    "LICENSE.md": "BSD 3-Clause License\n\nRedistribution and use in source and binary forms are permitted.\n",
    "README.md": (
        "# HTTPX\n\n> The next generation HTTP client for Python.\n\n"
        "HTTPX provides sync and async APIs, and support for both HTTP/1.1 and HTTP/2.\n\n"
        "## Installation\n\nInstall with pip:\n\n```shell\n$ pip install httpx\n```\n"
    ),
    "pyproject.toml": (
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n\n'
        '[project]\nname = "httpx"\ndescription = "The next generation HTTP client."\nlicense = "BSD-3-Clause"\n'
        'requires-python = ">=3.8"\nauthors = [\n    { name = "Tom Christie", email = "tom@example.org" },\n]\n'
        'dependencies = [\n    "certifi",\n    "httpcore==1.*",\n    "anyio",\n    "idna",\n]\ndynamic = ["version"]\n\n'
        '[project.scripts]\nhttpx = "httpx:main"\n\n'
        '[tool.hatch.version]\npath = "httpx/__version__.py"\n\n'
        '[tool.pytest.ini_options]\npythonpath = ["."]\n'
    ),
    "tests/__init__.py": "",
    "tests/test_api.py": (
        "import httpx\n\n\ndef test_a_good_status_is_returned():\n"
        '    response = httpx.Response(200, request=httpx.Request("GET", "http://example.org"))\n'
        "    assert response.raise_for_status() is response\n"
    ),
    "tests/test_config.py": (
        "import httpx\n\n\ndef test_timeout_of_all():\n    assert httpx.Timeout(3).read == 3\n\n\n"
        "def test_limits_are_open():\n    assert httpx.Limits().max_connections is None\n"
    ),
    "tests/test_urls.py": 'import httpx\n\n\ndef test_host():\n    assert httpx.URL("http://a.org/b").host == "a.org"\n',
}
_CHANGES = (
    f"# Changelog\n\n## {httpx.__version__} (6th December, 2024)\n\n"
    "* Fix SSL case where `verify=False` together with client side certificates.\n\n"
    "## 0.1.0 (1st January, 2019)\n\n* The first release.\n"
)
_KIM, _ADA = "Kim Larsen <kim@example.org>", "Ada Novak <ada@example.org>"


def build(root: Path) -> None:
    """Write the repository: four commits by two authors, and one change that is not committed."""
    shutil.copytree(_PACKAGE, root / "httpx", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in _FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    _git(root, "init", "-q", "-b", "main")
    _commit(root, "Import the client", _KIM, "2024-03-01")
    (root / "CHANGELOG.md").write_text(_CHANGES)
    _commit(root, "Describe the changes", _ADA, "2024-03-02")
    _append(root / "httpx/_config.py", "\nSHORT_TIMEOUT = Timeout(timeout=1.0)\n")
    _commit(root, "Shorten the default timeout", _KIM, "2024-03-03")
    _append(root / "README.md", "\nProxies are named with `proxy=`.\n")
    _commit(root, "Add a note on proxies", _ADA, "2024-03-04")
    _append(root / "README.md", "\nMore to come.\n")
    python = root / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)


def facts(root: Path) -> Mapping[str, str]:
    """What is true of the repository, counted without the model."""
    client = (root / "httpx/_client.py").read_text().splitlines()
    tracked = [root / name for name in _git(root, "ls-files").split()]
    python = [path for path in tracked if path.suffix == ".py"]
    config = (root / "httpx/_config.py").read_text().splitlines()
    tests = sum(path.read_text().count("def test_") for path in python)
    return {
        "version": httpx.__version__,
        "client_lines": str(len(client)),
        "in_lines_40_to_60": next(line.strip() for line in client[45:60] if len(line) > 20),
        "on_the_second_page": next(line.strip() for line in client[100:160] if len(line) > 20),
        "timeout_line": str(config.index("class Timeout:") + 1),
        "python_files": str(len(python)),
        "python_lines": str(_lines(python)),
        "tracked_files": str(len(tracked)),
        "tracked_lines": str(_lines(tracked)),
        "test_lines": str(_lines([path for path in python if path.parent.name == "tests"])),
        "tests": str(tests),
    }


def _lines(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def _commit(root: Path, subject: str, author: str, day: str) -> None:
    name, _, mail = author.rstrip(">").partition(" <")
    when = f"{day}T12:00:00+00:00"
    identity = ("-c", f"user.name={name}", "-c", f"user.email={mail}")
    _git(root, "add", "-A")
    _git(root, *identity, "commit", "-q", "-m", subject, "--date", when, committed=when)


def _git(root: Path, *words: str, committed: str | None = None) -> str:
    environment = dict(os.environ) | ({"GIT_COMMITTER_DATE": committed} if committed else {})
    done = subprocess.run(
        ("git", *words), cwd=root, check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout
