"""The segment files that before-images are stored in."""

from hashlib import sha256
from pathlib import Path

import pytest

from forge_core.undo.storage.blobs import BlobStore


def store_at(folder: Path) -> BlobStore:
    store = BlobStore(folder)
    store.open()
    return store


def put(store: BlobStore, data: bytes) -> str:
    digest = sha256(data).hexdigest()
    store.put(data, digest)
    return digest


@pytest.mark.parametrize("left", [1, 20, 45, 60])
def test_a_record_that_a_kill_has_torn_is_cut_off(tmp_path: Path, left: int) -> None:
    store = store_at(tmp_path)
    first = put(store, b"first")
    whole = (tmp_path / "000000.blobs").stat().st_size
    torn = put(store, b"x" * 100)
    store.close()
    with (tmp_path / "000000.blobs").open("r+b") as file:
        file.truncate(whole + left)
    store = store_at(tmp_path)
    assert (tmp_path / "000000.blobs").stat().st_size == store.total_bytes == whole
    assert (store.get(first), store.get(torn), torn in store) == (b"first", None, False)
    last = put(store, b"last")
    store.close()
    store = store_at(tmp_path)
    assert (store.get(first), store.get(last)) == (b"first", b"last")


def test_damaged_bytes_are_not_returned(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    digest = put(store, b"short")
    with (tmp_path / "000000.blobs").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"T")
    assert store.get(digest) is None
