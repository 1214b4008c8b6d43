"""Files of JSON lines: whole lines only, whatever a kill or another program has done to the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge_core.workspace.record_file import RecordFile, read_records


def test_a_last_line_that_lacks_only_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":2}')
    file = RecordFile(path)
    file.append({"n": 3})
    file.close()
    assert not file.was_torn
    assert path.read_bytes() == b'{"n":1}\n{"n":2}\n{"n":3}\n'


@pytest.mark.parametrize("torn", [b'{"n":', b"x" * 200_000])
def test_a_torn_last_line_is_cut_off_however_long_it_is(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"n":1}\n' + torn)
    file = RecordFile(path)
    file.append({"n": 2})
    file.close()
    assert file.was_torn
    assert path.read_bytes() == b'{"n":1}\n{"n":2}\n'


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_file_that_is_deleted_while_it_is_open_is_written_again(tmp_path: Path, is_locked: bool) -> None:
    folder = tmp_path / "sessions"
    path = folder / "f.jsonl"
    file = RecordFile(path)
    if is_locked:
        file.lock()
    for number in range(9_000):
        file.append({"n": number, "text": "x" * 20})
    path.unlink()
    folder.rmdir()
    file.append({"n": 9_000})
    assert path.stat().st_mode & 0o777 == 0o600
    assert [record["n"] for record in read_records(path) if record] == [*range(9_001)]
    other = RecordFile(path)
    if is_locked:
        with pytest.raises(BlockingIOError):
            other.lock()
    file.close()
    other.lock()
    other.close()


def test_a_file_that_has_taken_the_place_of_a_deleted_one_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    file = RecordFile(path)
    file.append({"n": 1})
    path.unlink()
    path.write_bytes(b"of somebody else\n")
    with pytest.raises(FileExistsError):
        file.append({"n": 2})
    assert path.read_bytes() == b"of somebody else\n"
    path.unlink()
    file.append({"n": 2})
    file.close()
    assert path.read_bytes() == b'{"n":1}\n{"n":2}\n'
