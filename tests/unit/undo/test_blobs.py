"""The segment files that before-images are stored in."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from forge_core.undo.storage import blobs
from forge_core.undo.storage.blobs import BlobStore
from forge_core.workspace.beneath import write_all


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


def test_a_write_that_fails_halfway_leaves_the_segment_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_at(tmp_path)
    first = put(store, b"first")

    def full(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(blobs, "write_all", full)
        put(store, b"x" * 100)
    last = put(store, b"last")
    assert (store.get(first), store.get(last)) == (b"first", b"last")
    store.close()
    store = store_at(tmp_path)
    assert (store.get(first), store.get(last)) == (b"first", b"last")


def test_zeros_at_the_end_of_a_segment_are_cut_off(tmp_path: Path) -> None:
    """As a power failure leaves them where the size of a file was on the disk before its bytes."""
    store = store_at(tmp_path)
    first = put(store, b"first")
    store.close()
    path = tmp_path / "000000.blobs"
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(200))
    store = store_at(tmp_path)
    assert store.get(first) == b"first"
    assert path.read_bytes() == whole


def test_a_segment_over_the_limit_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "SEGMENT_BYTES", 50)
    store = store_at(tmp_path)
    digests = [put(store, text) for text in (b"first", b"second", b"third")]
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000.blobs", "000001.blobs"]
    store = store_at(tmp_path)
    assert [store.get(digest) for digest in digests] == [b"first", b"second", b"third"]


def test_blobs_that_are_kept_survive_the_deletion_of_the_others(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    kept, dropped = put(store, b"kept"), put(store, b"dropped")
    store.keep_only([kept])
    assert (store.get(kept), store.get(dropped)) == (b"kept", None)
    store.close()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == store.total_bytes
    store = store_at(tmp_path)
    assert (store.get(kept), store.get(dropped)) == (b"kept", None)


def test_a_full_disk_while_others_are_deleted_loses_no_blob(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_at(tmp_path)
    texts = (b"first", b"second", b"third")
    digests = [put(store, text) for text in texts]
    written = 0

    def filling(descriptor: int, data: bytes) -> None:
        nonlocal written
        written += 1
        if written == 2:
            raise OSError(28, "No space left on device")
        write_all(descriptor, data)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(blobs, "write_all", filling)
        store.keep_only(digests)
    assert [store.get(digest) for digest in digests] == list(texts)
