"""The kind and the dimensions of images."""

from __future__ import annotations

import pytest

from forge_core.errors import ImageError
from forge_core.images.image_header import (
    MAX_BYTES,
    ImageHeader,
    ImageKind,
    checked_header,
    kind_of,
    size_text,
)
from tests.support.images import gif, jpeg, png, webp


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (png(1024, 768), ImageHeader(ImageKind.PNG, 1024, 768)),
        (jpeg(640, 480), ImageHeader(ImageKind.JPEG, 640, 480)),
        (jpeg(640, 480, frame=0xC2), ImageHeader(ImageKind.JPEG, 640, 480)),
        (gif(320, 200), ImageHeader(ImageKind.GIF, 320, 200)),
        (gif(320, 200, version=b"87a"), ImageHeader(ImageKind.GIF, 320, 200)),
        (webp(100, 50), ImageHeader(ImageKind.WEBP, 100, 50)),
        (webp(4000, 3000, form="lossless"), ImageHeader(ImageKind.WEBP, 4000, 3000)),
        (webp(8000, 70, form="extended"), ImageHeader(ImageKind.WEBP, 8000, 70)),
    ],
)
def test_the_header_has_the_kind_and_the_dimensions(data: bytes, header: ImageHeader) -> None:
    assert checked_header(data, "x") == header


@pytest.mark.parametrize("data", [png(), jpeg(), gif(), webp(), webp(form="lossless"), webp(form="extended")])
def test_a_file_cut_within_its_header_is_damaged_wherever_it_is_cut(data: bytes) -> None:
    for size in range(len(data)):
        head = data[:size]
        if kind_of(head) is None:
            with pytest.raises(ImageError, match="not an image that models take"):
                checked_header(head, "cut")
            continue
        try:
            assert checked_header(head, "cut") == checked_header(data, "cut")
        except ImageError as error:
            assert "is a damaged" in str(error)


@pytest.mark.parametrize(
    "data", [png(0, 5), gif(4, 0), jpeg(0, 3), b"\xff\xd8\xff\xd9", b"RIFF0000WEBPALPH" + bytes(30)]
)
def test_an_image_without_dimensions_is_damaged(data: bytes) -> None:
    with pytest.raises(ImageError, match=r"is a damaged .* file"):
        checked_header(data, "odd")


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"BM" + bytes(60), b"<svg xmlns=''/>", b"RIFF0000WAVE"])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(
        ImageError, match=r"'a\.bmp' is not an image that models take: PNG, JPEG, GIF or WebP"
    ):
        checked_header(data, "a.bmp")


def test_an_image_over_a_limit_is_refused_with_a_command_that_makes_it_smaller() -> None:
    with pytest.raises(
        ImageError, match=r"has 3\.9 MB, an image may have 3\.9 MB\. Make it smaller.*-resize"
    ):
        checked_header(png(extra=MAX_BYTES), "big.png")
    with pytest.raises(
        ImageError, match=r"has 8001×1 pixels, a side may have 8000.*magick 'a b\.png' -resize"
    ):
        checked_header(png(8001, 1), "a b.png")
    assert checked_header(png(8000, 1), "a").width == 8000


def test_an_image_without_a_file_is_not_to_be_converted_by_a_command() -> None:
    for data, reason in ((png(8001, 1), "8001×1 pixels"), (png(extra=MAX_BYTES), "3.9 MB")):
        with pytest.raises(ImageError) as found:
            checked_header(data, "")
        assert str(found.value).startswith(f"The image has {reason}") and "magick" not in str(found.value)
    with pytest.raises(ImageError, match=r"^The image is a damaged PNG file"):
        checked_header(png()[:20], "")


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_000, "1 KB"), (999_499, "999 KB"), (999_500, "1.0 MB")]
)
def test_size_text(size: int, text: str) -> None:
    assert size_text(size) == text


def test_the_segments_before_the_dimensions_are_limited() -> None:
    """Millions of them, in a file that was made for that, would take seconds."""
    start, frame = jpeg()[:2], jpeg()[2:]
    segment = b"\xff\xfe\x00\x02"
    assert checked_header(start + segment * 2_000 + frame, "a.jpg").width > 0
    with pytest.raises(ImageError, match="damaged JPEG"):
        checked_header(start + segment * 100_000 + frame, "a.jpg")
