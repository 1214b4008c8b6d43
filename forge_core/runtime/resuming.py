"""Continuing a saved session: its journal, opened for this process alone, and its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_core.config.forge_config import ForgeConfig
    from forge_core.permissions.sandbox.sandbox_state import SandboxState
    from forge_core.redact import Redactor
    from forge_core.session.session import ForgeSession
    from forge_core.store.journal import Journal
    from forge_core.store.saved_session import SavedSession

_RELEASE_S = 0.5
"""How long to wait for a journal that is in use: a child that a killed process was just starting keeps the
lock until it has been executed."""


def open_journal(
    config: ForgeConfig, session_id: str | None, redact: Redactor, on_trouble: Callable[[str], None]
) -> tuple[Journal, SavedSession | None]:
    """Return the journal of a new session, or that of a saved one with what it holds.

    Raises:
        SessionInUseError: another process has it open.
        JournalError: there is no such session, or it cannot be read.
    """
    from forge_core.errors import JournalError
    from forge_core.store.journal import Journal, is_session_id, journal_path, new_session_id
    from forge_core.store.saved_session import load_session

    if session_id is None:
        return Journal(journal_path(config.state_dir, new_session_id()), redact, on_trouble), None
    if not is_session_id(session_id):
        raise JournalError(f"There is no session {session_id!r}. forge sessions list shows all of them.")
    path = journal_path(config.state_dir, session_id)
    journal = Journal(path, redact, on_trouble)
    # Not repaired yet: a file that holds no session is left as it is.
    journal.claim(is_repaired=False, wait_s=_RELEASE_S)
    try:
        saved = load_session(path)
    except JournalError:
        journal.close()
        raise
    return journal, saved


def continued_start(config: ForgeConfig, saved: SavedSession | None) -> ForgeConfig:
    """Return the settings with the effort and the folders of the saved session, if one is continued."""
    from forge_core.runtime.added_folders import continued_folders

    return config if saved is None else continued_folders(continued_effort(config, saved), saved)


def continued_config(config: ForgeConfig, saved: SavedSession | None, sandbox: SandboxState) -> ForgeConfig:
    """Return the settings with the model and the mode of the saved session, if one is continued, unless the
    command line or the environment names others.

    The model of another endpoint is not taken over, nor is the mode into another folder: the user has chosen
    it for that one. Modes that are not safe here, yolo and, without a full sandbox, auto, become ask.
    """
    from forge_core.session.saved_state import restored_mode

    if saved is None:
        return config
    model, mode = config.model, config.permission_mode
    if saved.model and _is_same_endpoint(config, saved) and not config.is_chosen("model"):
        model = saved.model
    if not config.is_chosen("permission_mode") and saved.working_dir == str(config.working_dir):
        mode = restored_mode(saved.mode, sandbox.strength)
    return replace(config, model=model, permission_mode=mode)


def _is_same_endpoint(config: ForgeConfig, saved: SavedSession) -> bool:
    """Return whether the session was last used at this endpoint; older journals name only its kind."""
    here = config.endpoint
    return saved.provider == here.kind and saved.endpoint in ("", here.shown)


def continued_settings(config: ForgeConfig, before: ForgeSession, *, is_new: bool) -> ForgeConfig:
    """Return the settings for the session that replaces the one `before`: with its endpoint, which the user
    may have changed, and a new one also with its model, mode and style."""
    status, endpoint = before.status, before.config.endpoint
    if is_new:
        return replace(
            config,
            endpoint=endpoint,
            model=status.model,
            permission_mode=status.mode,
            style=before.style.name,
        )
    return config if endpoint == config.endpoint else replace(config, endpoint=endpoint, model=status.model)


def continued_effort(config: ForgeConfig, saved: SavedSession) -> ForgeConfig:
    """Return the settings with the reasoning effort of the saved session, unless the command line or the
    environment names another."""
    from forge_core.config.settings import check_value, choices

    if not saved.effort or config.is_chosen("effort"):
        return config
    is_known = saved.effort in choices("effort")
    return replace(config, effort=check_value("effort", saved.effort) if is_known else None)


def notices_of(saved: SavedSession, config: ForgeConfig) -> list[str]:
    """Return what the user should know about a session that is continued with these settings."""
    notices = [saved.damage] if saved.damage else []
    is_left = saved.model not in ("", config.model) and not _is_same_endpoint(config, saved)
    if is_left and not config.is_chosen("model"):
        notices.append(
            f"The model {saved.model!r} of this session belongs to {saved.endpoint or saved.provider}. "
            f"It continues with {config.model!r} of {config.endpoint.shown}; /model changes the model."
        )
    if saved.is_redacted:
        notices.append(
            "Keys were removed from this session's record. The model is now sent the text without them."
        )
    if lost := _lost_images(saved):
        images = "1 image" if lost == 1 else f"{lost} images"
        notices.append(
            f"{images} of this session cannot be found any more. The model is sent a note instead."
        )
    return notices


def _lost_images(saved: SavedSession) -> int:
    """Return how many images of the conversation are not stored any more."""
    from forge_core.images.image_reference import references_in
    from forge_core.images.image_store import ImageStore
    from forge_core.store.journal import images_beside

    store = ImageStore(images_beside(saved.path))
    images = {image.digest: image for message in saved.messages for image in references_in(message.content)}
    return sum(not store.has(image) for image in images.values())
