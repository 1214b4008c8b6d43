"""Images in the composer: pasted from the clipboard, dropped as files, shown as chips, checked when sent."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from forge_core.images.image_reference import written_images
from forge_tui.pastes.chips import Chips
from forge_tui.pastes.dropped_files import image_files
from forge_tui.pastes.folded_text import folded, images_folded, plain_text, with_labels
from forge_tui.terminal.clipboard_image import Clipboard, read_clipboard
from tests.support.chat_app import ChatApp, make_app, make_config, ready, shown, until
from tests.support.images import jpeg, png
from tests.support.scripted_session import answer

TEXT = "[Image shot.png 64×48 PNG 176 B #0123456789abcdef]"

TIMEOUT_S = 60.0
"""For programs that answer, however busy the machine is."""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs, the only one on PATH, on a machine with neither SSH nor a clipboard."""
    for name in ("SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT", "WAYLAND_DISPLAY", "DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, name: str, listing: str, contents: Mapping[str, bytes]) -> dict[str, str]:
    """Install a clipboard program; return an environment in which it is used.

    Its last argument chooses what it prints: the listing, or the content of that type."""
    cases = [f"*--list-types|*TARGETS*) printf %s {shlex.quote(listing)};;"]
    for number, (kind, data) in enumerate(contents.items()):
        path = folder / f"content-{number}"
        path.write_bytes(data)
        cases.append(f"*{kind}*) /bin/cat {shlex.quote(str(path))};;")
    program = folder / name
    program.write_text('#!/bin/sh\ncase "$*" in\n' + "\n".join(cases) + "\n*) exit 1;;\nesac\n")
    program.chmod(0o755)
    display = "WAYLAND_DISPLAY" if name == "wl-paste" else "DISPLAY"
    return {"PATH": str(folder), display: ":0"}


# The clipboard


@pytest.mark.parametrize("name", ["wl-paste", "xclip"])
async def test_an_image_is_read_by_the_program_of_the_display(programs: Path, name: str) -> None:
    environment = install(
        programs, name, "TARGETS\nimage/jpeg\nimage/png\n", {"image/png": png(), "image/jpeg": b"no"}
    )
    assert await read_clipboard(environment, system="linux", timeout_s=TIMEOUT_S) == Clipboard(image=png())


@pytest.mark.parametrize("text", ["text/plain;charset=utf-8", "UTF8_STRING", "STRING"])
async def test_text_beside_an_image_is_known(programs: Path, text: str) -> None:
    environment = install(programs, "xclip", f"{text}\nimage/png\n", {"image/png": png()})
    assert await read_clipboard(environment, system="linux", timeout_s=TIMEOUT_S) == Clipboard(
        has_text=True, image=png()
    )


async def test_copied_files_come_before_an_icon_of_them(programs: Path) -> None:
    listing = "text/uri-list\ntext/plain\nimage/png\n"
    contents = {"text/uri-list": b"file:///a.png\r\n", "image/png": png()}
    environment = install(programs, "wl-paste", listing, contents)
    found = await read_clipboard(environment, system="linux", timeout_s=TIMEOUT_S)
    assert (found.files, found.image) == ("file:///a.png\r\n", b"")


async def test_a_program_that_fails_brings_nothing(programs: Path) -> None:
    environment = install(programs, "xclip", "image/png", {})
    assert await read_clipboard(environment, system="linux", timeout_s=TIMEOUT_S) == Clipboard()


async def test_an_endless_program_is_ended(programs: Path) -> None:
    environment = install(programs, "xclip", "image/png", {})
    (programs / "xclip").write_text(
        "#!/bin/sh\ncase $* in *TARGETS*) echo image/png;; *) exec /bin/cat /dev/zero;; esac"
    )
    assert not (await read_clipboard(environment, system="linux", timeout_s=TIMEOUT_S)).image


async def test_a_clipboard_that_does_not_answer_is_left_after_one_timeout(programs: Path) -> None:
    """Some programs wait for the one that owns the clipboard, at each of their calls."""
    environment = install(programs, "xclip", "image/png", {})
    (programs / "xclip").write_text("#!/bin/sh\necho text/uri-list image/png\nexec /bin/sleep 60\n")
    found = await read_clipboard(environment, system="linux", timeout_s=0.3)
    assert "did not answer" in found.problem and not found.image


async def test_on_a_mac_the_image_is_read_from_hexadecimal_digits(programs: Path) -> None:
    (programs / "osascript").write_text(
        '#!/bin/sh\ncase "$2" in *info*) echo "«class PNGf», 120";; '
        f"*PNGf*) echo '«data PNGf{png().hex().upper()}»';; esac\n"
    )
    (programs / "osascript").chmod(0o755)
    assert await read_clipboard({}, system="darwin", timeout_s=TIMEOUT_S) == Clipboard(image=png())


async def test_under_wsl_powershell_reads_it(programs: Path) -> None:
    import base64

    (programs / "powershell.exe").write_text(
        f"#!/bin/sh\nprintf 'image/png\\r\\n{base64.b64encode(png()).decode()}\\r\\n'\n"
    )
    (programs / "powershell.exe").chmod(0o755)
    assert await read_clipboard(
        {"WSL_DISTRO_NAME": "Ubuntu"}, system="linux", timeout_s=TIMEOUT_S
    ) == Clipboard(image=png())


@pytest.mark.parametrize(
    ("environment", "advice"),
    [
        ({"SSH_TTY": "/dev/pts/1", "DISPLAY": ":0"}, "Over SSH .* scp, and mention it: @shot.png"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "install wl-clipboard"),
        ({"DISPLAY": ":0"}, "install xclip"),
        ({}, "Mention an image file: @shot.png"),
    ],
)
async def test_without_a_program_the_user_learns_what_to_do(
    programs: Path, environment: dict[str, str], advice: str
) -> None:
    import re

    assert re.search(advice, (await read_clipboard(environment, system="linux", timeout_s=TIMEOUT_S)).problem)


# Dropped files


@pytest.mark.parametrize("name", ["shot.png", "a b.png", "it's.JPG", "日本 1.webp", 'q"t.gif', "[x] (1).png"])
def test_a_dropped_path_is_found_however_the_terminal_writes_it(tmp_path: Path, name: str) -> None:
    path, other = tmp_path / name, tmp_path / "other.png"
    path.write_bytes(png())
    other.write_bytes(png())
    escaped = "".join(f"\\{char}" if char in " '\"()[]" else char for char in str(path))
    for pasted in (
        str(path),
        shlex.quote(str(path)),
        escaped,
        path.as_uri(),
        f"{path.as_uri()}\r\n",
        f"{path}\n",
    ):
        assert image_files(pasted) == [path], pasted
    assert image_files(f"{shlex.quote(str(path))} {other}") == [path, other]
    assert image_files(f"{path.as_uri()}\n{other.as_uri()}") == [path, other]


def test_other_pastes_are_text(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(png())
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    shot = tmp_path / "shot.png"
    for pasted in (
        "", "shot.png", f"see {shot}", f"{shot} {tmp_path}/none.png", f"{tmp_path}/folder.png", f"{tmp_path}/notes.txt",
        f"{shot}\nand more", f"file://host{shot}", "/" + "x" * 5000 + ".png", "/a\0.png", "~nobody-here/x.png", f"'{shot}",
        f"{shot} " * 2000,
    ):  # fmt: skip
        assert image_files(pasted) == [], pasted


# Chips


def test_an_image_is_folded_wherever_a_text_names_it() -> None:
    assert images_folded(f"see {TEXT}.") == f"see {folded(TEXT)}."
    assert images_folded(folded(f"log {TEXT}")) == folded(f"log {TEXT}")
    assert plain_text(images_folded(f"see {TEXT}")) == f"see {TEXT}"
    assert with_labels(f"see {folded(TEXT)}") == "see [Image #1 shot.png 64×48 PNG 176 B]"
    chips = Chips()
    document = chips.fold(f"see {TEXT} and {TEXT}")
    assert "0123456789abcdef" not in document
    assert plain_text(chips.unfold(document)) == f"see {TEXT} and {TEXT}"


@pytest.fixture
def app(tmp_path: Path) -> ChatApp:
    return make_app(make_config(tmp_path), [answer("Seen.")] * 3)


def use(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


async def drop(pilot: Pilot[None], text: str) -> None:
    app = pilot.app
    app.post_message(events.Paste(text))
    await pilot.pause()


async def test_ctrl_v_pastes_an_image_as_a_chip_that_is_sent(
    app: ChatApp, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, install(programs, "xclip", "image/png", {"image/png": png(64, 48)}))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await pilot.press(*"see ", "ctrl+v", *" ok")
        assert "[Image #1 64×48 PNG 176 B] ok" in shown(app)
        [written] = written_images(plain_text(composer.typed))
        assert app.scripted.attachments.images.has_written(written)
        await pilot.press("ctrl+o")
        assert composer.has_chips
        await pilot.press("enter")
        await until(pilot, lambda: len(app.scripted.sent) == 1)
        assert written_images(app.scripted.sent[0]) == [written]
        assert "see [Image #1 64×48 PNG 176 B] ok" in shown(app)
        await pilot.press("up", "end", "left", "left", "left", "backspace")
        assert composer.text == "see  ok"


async def test_no_program_of_the_workspace_reads_the_clipboard(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could be the repository's own, where a virtual environment in it is part of PATH."""
    use(monkeypatch, install(programs, "xclip", "image/png", {"image/png": png(64, 48)}))
    app = make_app(make_config(tmp_path, working_dir=tmp_path), [])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+v")
        await until(pilot, lambda: "install xclip" in shown(app))
        assert not app.chat.composer.has_chips


async def test_ctrl_v_with_text_pastes_text_and_alt_v_the_image(
    app: ChatApp, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, install(programs, "xclip", "UTF8_STRING\nimage/png", {"image/png": png(64, 48)}))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.copy_to_clipboard("copied")
        await pilot.press("ctrl+v", "space")
        assert app.chat.composer.text == "copied "
        await pilot.press("alt+v")
        assert app.chat.composer.has_chips


async def test_ctrl_v_without_anything_says_what_to_do(app: ChatApp, programs: Path) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+v")
        assert "Mention an image file: @shot.png" in shown(app)
        assert app.chat.composer.is_blank


async def test_dropped_images_become_chips_and_a_typed_path_stays_text(app: ChatApp, tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(png(64, 48))
    (tmp_path / "photo.jpg").write_bytes(jpeg(640, 480))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        await drop(pilot, f"'{tmp_path}/a b.png' {tmp_path}/photo.jpg")
        await until(pilot, lambda: len(written_images(plain_text(composer.typed))) == 2)
        assert "[Image #1 a b.png 64×48 PNG 176 B][Image #2 photo.jpg 640×480 JPEG" in shown(app)
        await pilot.press("ctrl+u", *f"{tmp_path}/photo.jpg")
        assert not composer.has_chips


async def test_a_dropped_file_that_cannot_be_sent_is_pasted_as_its_path(app: ChatApp, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(png()[:20])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await drop(pilot, f"{tmp_path}/bad.png")
        await until(pilot, lambda: not app.chat.composer.is_blank)
        assert app.chat.composer.text == f"{tmp_path}/bad.png"
        assert "'bad.png' is a damaged PNG file" in shown(app)


async def test_a_message_whose_image_cannot_be_sent_stays_in_the_composer(app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.scripted.attachments.refusal = "test/model takes no images. Choose a model that does with /model."
        app.chat.composer.insert_folded(TEXT)
        await pilot.press("enter")
        assert "takes no images. Choose a model" in shown(app)
        assert app.scripted.sent == []
        assert app.chat.composer.typed == folded(TEXT)
        app.scripted.attachments.refusal = ""
        await pilot.press("enter")
        await until(pilot, lambda: app.scripted.sent == [TEXT])


async def test_a_chip_is_stashed_and_kept_in_the_draft(app: ChatApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        composer = app.chat.composer
        composer.insert_folded(TEXT)
        await pilot.press("ctrl+s")
        assert app.chat.drafting.stashed == [folded(TEXT)]
        await pilot.press("ctrl+s")
        assert composer.typed == folded(TEXT)
        composer.replace_text(f"rewound {TEXT}")
        assert composer.typed == f"rewound {folded(TEXT)}"
