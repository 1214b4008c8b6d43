"""The catalogue of programs: one record for each, and tables that follow from them."""

from collections import Counter

from forge_core.permissions.programs.program_catalog import DESTRUCTIVE, FATAL, GUARDED, RECORDS


def test_each_program_has_one_record() -> None:
    names = Counter(name for one in RECORDS for name in one.names.split())
    assert [name for name, count in names.items() if count > 1] == []


def test_what_the_guard_denies_is_part_of_the_record_of_a_program() -> None:
    assert FATAL["zpool"].arguments.search("destroy tank") and not FATAL["zpool"].arguments.search("list")
    assert "zpool" in GUARDED
    assert {"mkfs", "reboot", "systemctl"} <= DESTRUCTIVE & set(FATAL)
