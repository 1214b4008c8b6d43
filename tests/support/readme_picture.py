"""Makes the README's pictures: `python -m tests.support.readme_picture`.

The real app with the offline model works on a small real folder; nothing in the picture is drawn by hand.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from forge_core.runtime import build_session, load_session_config
from forge_tui.app import ForgeApp
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.prompts.permission import PermissionPrompt

SAMPLE = '''"""Greets people."""


def greet(name: str) -> str:
    """One friendly line."""
    return f"Hallo, {name}!"
'''


def make_sample(folder: Path) -> None:
    (folder / "greeting.py").write_text(SAMPLE)
    (folder / "README.md").write_text("# Greeting\n\nA very small project.\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Start"]):
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)


PICTURES = {"forge-dark": "forge.svg", "forge-light": "forge-light.svg"}
"""Theme → its picture."""
ASSETS = Path(__file__).resolve().parents[2] / ".assets"


async def take(folder: Path, theme: str, picture: Path) -> None:
    config = load_session_config(folder, flags={"model": "offline", "theme": theme})
    environment = Environment(home=folder.parent)
    app = ForgeApp(
        config,
        lambda config, resume, responder: build_session(config, responder, responder, resume=resume),
        environment=environment,
    )
    async with app.run_test(size=(100, 34)) as pilot:
        await until(lambda: app.session is not None)

        async def say(text: str) -> None:
            app.chat.composer.insert(text)
            await pilot.press("enter")

        await say("where is the function greet?")
        await until(lambda: app.session is not None and app.session.last_result is not None)
        await until(lambda: app.session is not None and not app.session.status.is_running)
        await pilot.pause()
        await say("replace Hallo by Hello in greeting.py")
        await until(lambda: bool(app.screen.query(PermissionPrompt)))
        await asyncio.sleep(0.8)  # the prompt takes no key before
        await pilot.pause()
        picture.parent.mkdir(parents=True, exist_ok=True)
        # Without the font rules: they would make a reader's browser fetch fonts from somewhere.
        svg = re.sub(r"@font-face \{.*?\}\s*", "", app.export_screenshot(title="forge chat"), flags=re.DOTALL)
        # Some programs drop blanks at the beginning of a text unless they are told to keep them.
        picture.write_text(svg.replace("<text ", '<text xml:space="preserve" '))
        await pilot.press("escape")


async def until(is_done: Callable[[], bool], timeout_s: float = 30) -> None:
    end = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError("the app did not get there")
        await asyncio.sleep(0.05)


def main() -> None:
    for theme, picture in PICTURES.items():
        with tempfile.TemporaryDirectory() as name:
            os.environ["FORGE_HOME"] = str(Path(name) / "home")
            folder = Path(name) / "greeting"
            folder.mkdir()
            make_sample(folder)
            asyncio.run(take(folder, theme, ASSETS / picture))


if __name__ == "__main__":
    main()
