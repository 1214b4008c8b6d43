"""The images of a session: private files named after their content, so that each is stored once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from forge_core.errors import ImageError
from forge_core.images.image_header import MAX_BYTES, checked_header
from forge_core.images.image_reference import DIGEST_CHARS, ImageReference, WrittenImage, safe_name
from forge_core.private_folders import make_private_folder


class ImageStore:
    """Files with mode 0600 in a 0700 folder that is made on first use. The methods block."""

    def __init__(self, folder: Path, sessions: Path | None = None) -> None:
        """`sessions` is the folder of all sessions, in whose `*/images` an image is looked for that a text of
        another session names."""
        self.folder = folder
        self._sessions = sessions

    def keep(self, data: bytes, name: str = "") -> ImageReference:
        """Store an image; return its reference.

        Raises:
            ImageError: it is no image that may be sent, or it cannot be stored.
        """
        header = checked_header(data, name)
        reference = ImageReference(_digest(data), header, len(data), safe_name(name) if name else "")
        path = self.path(reference)
        if not path.exists():
            try:
                self._write(path, data)
            except OSError as error:
                raise ImageError(f"The image cannot be kept in {str(path)!r}: {error.strerror}.") from error
        return reference

    def keep_file(self, path: Path) -> ImageReference:
        """Store a copy of an image file; return its reference.

        Raises:
            ImageError: it cannot be read, is no image that may be sent, or cannot be stored.
        """
        return self.keep(read_image(path), path.name)

    def load(self, reference: ImageReference) -> bytes:
        """Return the bytes of an image.

        Raises:
            ImageError: its file is missing or damaged.
        """
        try:
            data = self.path(reference).read_bytes()
        except OSError as error:
            raise ImageError("its file is missing") from error
        if _digest(data) != reference.digest:
            raise ImageError("its file is damaged")
        return data

    def has(self, reference: ImageReference) -> bool:
        """Return whether the file of an image exists."""
        return self.path(reference).is_file()

    def has_written(self, image: WrittenImage) -> bool:
        """Return whether the file of an image that a text names exists, here or in another session."""
        name = f"{image.digest}.{image.kind.value}"
        return (self.folder / name).is_file() or any(path.is_file() for path in self._elsewhere(name))

    def find(self, written: WrittenImage) -> ImageReference | None:
        """Return the image that a text names, of this session or another, whose file is then copied; None if
        it is not stored any more."""
        name = f"{written.digest}.{written.kind.value}"
        for path in (self.folder / name, *self._elsewhere(name)):
            with contextlib.suppress(ImageError):
                reference = self.keep(read_image(path), written.name)
                if reference.digest == written.digest:
                    return reference
        return None

    def copy_to(self, folder: Path) -> None:
        """Copy all images to the folder of another session. Raises OSError."""
        if not self.folder.is_dir():
            return
        make_private_folder(folder)
        for path in self.folder.iterdir():
            if path.is_file() and not path.is_symlink():
                shutil.copyfile(path, folder / path.name)
                (folder / path.name).chmod(0o600)

    def path(self, reference: ImageReference) -> Path:
        """Return where the file of an image is."""
        return self.folder / f"{reference.digest}.{reference.header.kind.value}"

    def _elsewhere(self, name: str) -> Iterable[Path]:
        return () if self._sessions is None else self._sessions.glob(f"*/{self.folder.name}/{name}")

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file as a whole. Raises OSError."""
        make_private_folder(path.parent)
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=".image-")  # 0600
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def read_image(path: Path) -> bytes:
    """Return the bytes of an image file.

    Raises:
        ImageError: it cannot be read, or is no image that may be sent.
    """
    try:
        if not path.is_file():  # reading a pipe or a device would not end
            raise ImageError(f"{str(path)!r} is not a file.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
            checked_header(data, path.name, max(len(data), os.fstat(file.fileno()).st_size))
    except OSError as error:
        raise ImageError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGEST_CHARS]
