"""References to images, and the store of their bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from forge_core.errors import ImageError
from forge_core.images.image_reference import (
    UNKNOWN_TOKENS,
    media_tokens,
    part_name,
    reference_of,
    references_in,
    replace_written,
    written_image,
    written_images,
)
from forge_core.images.image_store import ImageStore
from forge_core.redact import Redactor
from tests.support.images import gif, jpeg, png, webp


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "sessions" / "one" / "images", tmp_path / "sessions")


def test_an_image_is_stored_once_in_a_private_file_named_after_its_content(store: ImageStore) -> None:
    first, second = store.keep(png(), "a.png"), store.keep(png(), "b.png")
    assert (first.digest, first.name, second.name) == (second.digest, "a.png", "b.png")
    [path] = store.folder.iterdir()
    assert path.read_bytes() == png() == store.load(first)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    store.keep(jpeg())
    assert len([*store.folder.iterdir()]) == 2


def test_a_text_names_an_image_and_is_read_back(store: ImageStore) -> None:
    reference = store.keep(png(1024, 768, extra=210_000), "shot 1.png")
    assert reference.text.startswith("[Image shot 1.png 1024×768 PNG 213 KB #")
    text = f"What is {reference.text} and {store.keep(gif()).text}, and again {reference.text}?"
    first, second = written_images(text)
    assert (first.digest, first.label) == (reference.digest, "shot 1.png 1024×768 PNG 213 KB")
    assert second.label == "7×6 GIF 14 B"
    assert written_image(reference.text) == first
    assert written_image(f"{reference.text} ") is None
    assert replace_written(text, lambda written: f"<{len(written)}>").startswith("What is <")


@pytest.mark.parametrize(
    "name",
    [
        "x.png",
        "] #0123456789abcdef] [Image.png",
        "\x1b[31mred.png",
        "a\nb.png",
        "日本.png",
        "n" * 300,
        "[/bold].png",
        " ",
    ],
)
def test_no_name_of_a_file_breaks_the_text_of_an_image(store: ImageStore, name: str) -> None:
    reference = store.keep(webp(), name)
    [written] = written_images(f"see {reference.text}.")
    assert written.digest == reference.digest
    assert "\x1b" not in reference.text
    assert reference_of(reference.part) == reference


def test_a_text_that_only_looks_like_an_image_names_none() -> None:
    for text in ("[Image #1]", "[Image 3×2 PNG 70 B #0123]", "[Image 3×2 BMP 70 B #0123456789abcdef]"):
        assert written_images(text) == []


def test_an_image_of_another_session_is_copied(store: ImageStore, tmp_path: Path) -> None:
    other = ImageStore(tmp_path / "sessions" / "two" / "images", tmp_path / "sessions")
    reference = other.keep(png(), "shot.png")
    [written] = written_images(reference.text)
    assert store.find(written) == reference
    assert store.load(reference) == png()
    other.path(reference).unlink()
    assert store.find(written) == reference
    store.path(reference).unlink()
    assert store.find(written) is None


def test_a_missing_or_damaged_file_is_no_image(store: ImageStore) -> None:
    reference = store.keep(png())
    store.path(reference).write_bytes(gif())
    with pytest.raises(ImageError, match="damaged"):
        store.load(reference)
    store.path(reference).unlink()
    with pytest.raises(ImageError, match="missing"):
        store.load(reference)
    assert not store.has(reference)


def test_files_are_read_up_to_the_limit(store: ImageStore, tmp_path: Path) -> None:
    good, huge, pipe = tmp_path / "ok.png", tmp_path / "huge.png", tmp_path / "pipe.png"
    good.write_bytes(png())
    assert store.keep_file(good).name == "ok.png"
    with huge.open("wb") as file:
        file.write(png())
        file.truncate(40_000_000_000)  # sparse: reading all of it would take minutes
    with pytest.raises(ImageError, match=r"'huge.png' has 40000\.0 MB, an image may have 3\.9 MB"):
        store.keep_file(huge)
    os.mkfifo(pipe)
    for path, reason in (
        (pipe, "not a file"),
        (tmp_path, "not a file"),
        (tmp_path / "none.png", "not a file"),
    ):
        with pytest.raises(ImageError, match=reason):
            store.keep_file(path)


def test_an_image_that_cannot_be_stored_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImageError, match="cannot be kept in"):
        ImageStore(tmp_path / "file" / "images").keep(png())


def test_copies_are_private(store: ImageStore, tmp_path: Path) -> None:
    reference = store.keep(png())
    copy = ImageStore(tmp_path / "sessions" / "copy" / "images")
    store.copy_to(copy.folder)
    assert copy.load(reference) == png()
    assert stat.S_IMODE(copy.path(reference).stat().st_mode) == 0o600
    ImageStore(tmp_path / "none").copy_to(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_tokens_follow_the_pixels_after_scaling_down(store: ImageStore) -> None:
    assert store.keep(png(200, 200)).tokens == 54
    assert store.keep(png(1092, 1092)).tokens == 1_590
    assert store.keep(png(8000, 8000)).tokens == 1_600
    assert store.keep(png(8000, 100)).tokens == 41
    small = store.keep(png(200, 200))
    content = [{"type": "text", "text": "x" * 100}, small.part, {"type": "file", "file": {}}]
    assert media_tokens(content) == 54 + UNKNOWN_TOKENS
    assert media_tokens("text") == 0
    assert references_in(content) == [small]


def test_a_part_of_another_kind_or_a_damaged_one_is_no_reference() -> None:
    for url in (
        "data:image/png;base64,AAAA",
        "forge-image:0123456789abcdef.png?width=1",
        5,
        "forge-image:x.png?",
    ):
        assert reference_of({"type": "image_url", "image_url": {"url": url}}) is None
    assert reference_of({"type": "text", "text": ""}) is None
    assert part_name({"type": "file"}) == "a picture or file"


def test_redaction_leaves_references_as_they_are(store: ImageStore) -> None:
    redact = Redactor(("sk-or-v1-" + "0" * 64,))
    for width in range(1, 40):
        reference = store.keep(png(width), f"shot-{width}.png")
        assert redact(reference.text) == reference.text
        assert redact.values(reference.part) == reference.part
