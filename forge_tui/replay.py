"""The app that plays a recorded session in the conversation's screen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from forge_core.config.forge_config import ForgeConfig
from forge_core.errors import ForgeError
from forge_tui.app import ForgeApp, run_app
from forge_tui.screens.chat.environment import Environment
from forge_tui.screens.chat.replay_screen import ReplayScreen
from forge_tui.screens.chat.screen import ChatScreen

if TYPE_CHECKING:
    from forge_core.session.playback import Playback
    from forge_core.session.session import ForgeSession


class ReplayApp(ForgeApp):
    """Plays one recorded session. No session is opened: no model or tool runs, and nothing is recorded."""

    CHAT_SCREEN: ClassVar[type[ChatScreen]] = ReplayScreen

    def __init__(
        self,
        config: ForgeConfig,
        playback: Playback,
        *,
        speed: float | None = 1.0,
        environment: Environment | None = None,
    ) -> None:
        """Without a speed everything is shown at once."""
        super().__init__(replay_config(config, playback), _no_session, environment=environment)
        self._playback = playback
        self._speed = speed

    def take_typed_text(self, text: str) -> None:
        """Ignore it: there is nowhere to type."""

    async def _begin(self) -> None:
        self._show_conversation()
        assert isinstance(self.chat, ReplayScreen)
        self.chat.play(self._playback, self._speed)


def replay_config(config: ForgeConfig, playback: Playback) -> ForgeConfig:
    """Return the user's settings with the folder and the provider of a recorded session."""
    status = playback.status
    return replace(
        config,
        working_dir=status.working_dir,
        model="",
        notices=(),
        notify="off",
        sessions_keep_days=None,
        endpoint=replace(config.endpoint, kind=status.provider_label or config.endpoint.kind, key_notice=""),
    )


def run_replay(config: ForgeConfig, playback: Playback, *, speed: float | None) -> int:
    """Run the app; return the exit code."""
    environment = Environment(branch=lambda folder: "", local_server=lambda config: "")
    return run_app(ReplayApp(config, playback, speed=speed, environment=environment), config)


def _no_session(config: ForgeConfig, resume: str | None, responder: object) -> ForgeSession:
    raise ForgeError("A replay has no session.")
