"""What a newcomer asks, served with the real tools in a real repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.offline.driver import Talk

pytestmark = pytest.mark.slow


async def test_finds_a_function_then_reads_it(talk: Talk) -> None:
    answer = await talk("Find the function pour_tea")
    assert "1. `teapot/brew.py:14` `def pour_tea(self, cups):`" in answer
    answer = await talk("read it")
    assert "lines 14–21" in answer
    assert "return warm(cups)" in answer
    assert "def warm" not in answer


async def test_two_steps_in_one_message_are_handled_in_order(talk: Talk) -> None:
    answer = await talk("find the function warm and then read it")
    assert talk.names() == ["grep", "read"]
    assert "return cups * 2" in answer
    said = [message["content"] for message in talk.messages if message["role"] == "assistant"]
    assert any(text and "is defined in one place" in text for text in said)
    assert "is defined in one place" not in answer


async def test_a_request_to_show_a_class_prints_it(talk: Talk) -> None:
    assert "class Pot:" in await talk("show me the class Pot")


async def test_without_a_definition_the_most_similar_name_is_shown(talk: Talk) -> None:
    answer = await talk("where is pour_taa defined?")
    assert "There is no `pour_taa`" in answer
    assert "`pour_tea`" in answer


async def test_a_partial_name_is_not_reported_as_a_match(talk: Talk) -> None:
    answer = await talk("where is pour_te defined?")
    assert "no `pour_te` as a word of its own" in answer
    assert "def pour_tea" in answer


async def test_an_assignment_counts_as_a_definition(talk: Talk) -> None:
    assert "`teapot/brew.py:5` `LIMIT = 3`" in await talk("where is LIMIT defined")


async def test_usages_exclude_the_definition(talk: Talk) -> None:
    answer = await talk("who calls warm?")
    assert "teapot/brew.py:20" in answer.replace("21", "20")
    assert "def warm" not in answer


async def test_a_search_without_hits_is_repeated_ignoring_case(talk: Talk) -> None:
    answer = await talk("search for 'TEAPOT' in README.md")
    assert "without regard to case" in answer
    assert "README.md:1" in answer


async def test_a_text_without_occurrence_is_reported_as_not_found(talk: Talk) -> None:
    assert "found no `zzz-nothing`" in await talk("search for 'zzz-nothing'")


async def test_second_entry_of_a_list_can_be_shown(talk: Talk) -> None:
    await talk("find all *.py files")
    answer = await talk("show me the second one")
    assert "`teapot/brew.py`" in answer


async def test_a_bare_number_picks_an_entry(talk: Talk) -> None:
    await talk("which files contain 'Pot'")
    assert "`teapot/brew.py`" in await talk("1")


async def test_files_are_counted_by_language(talk: Talk) -> None:
    assert "3 files match `*.py`" in await talk("how many python files are there?")


async def test_a_range_of_lines_is_read(talk: Talk) -> None:
    answer = await talk("read lines 1-3 of teapot/brew.py")
    assert "lines 1–3 of 26" in answer
    assert "import time" in answer
    assert "LIMIT" not in answer


async def test_the_tail_is_read(talk: Talk) -> None:
    assert "return cups * 2" in await talk("last 2 lines of teapot/brew.py")


async def test_a_wrong_path_is_resolved_to_the_existing_file(talk: Talk) -> None:
    answer = await talk("read brew.py")
    assert any("There is no `brew.py`" in str(message["content"]) for message in talk.messages)
    assert "`teapot/brew.py`" in answer
    assert "class Pot" in answer


async def test_an_ambiguous_file_name_asks_which_file_is_meant(talk: Talk, repository: Path) -> None:
    (repository / "web/brew.py").write_text("OTHER = 1\n")
    answer = await talk("read brew.py")
    assert "1. `teapot/brew.py`" in answer
    assert "OTHER" in await talk("2")


async def test_a_folder_given_as_a_file_is_listed(talk: Talk) -> None:
    answer = await talk("open the file teapot")
    assert "is a folder" in answer
    assert "brew.py" in answer


async def test_more_continues_where_the_page_ended(repository: Path) -> None:
    (repository / "long.txt").write_text("".join(f"row {n}\n" for n in range(1, 101)))
    talk = Talk(repository)
    first = await talk("read long.txt")
    assert "lines 1–80 of 100" in first
    assert "row 81" not in first
    assert "lines 81–100" in await talk("more")
    assert "That was all" in await talk("more")


async def test_a_python_file_is_outlined_from_its_syntax(talk: Talk) -> None:
    answer = await talk("explain teapot/brew.py")
    assert "> Brewing." in answer
    assert "- 8: `class Pot` — A pot of tea." in answer
    assert "  - 14: `def pour_tea(self, cups)` — Pour some cups." in answer
    assert "imports `time`" in answer


async def test_a_function_is_explained_from_its_docstring(talk: Talk) -> None:
    answer = await talk("what does pour_tea do?")
    assert "> Pour some cups." in answer
    assert "raises `ValueError(…)`" in answer
    assert "returns `warm(…)`" in answer


async def test_a_folder_is_explained_with_its_package_docstring(talk: Talk) -> None:
    answer = await talk("explain teapot")
    assert "> Keeps water hot." in answer
    assert "brew.py" in answer


async def test_a_javascript_file_is_outlined(talk: Talk) -> None:
    answer = await talk("outline web/app.js")
    assert "- 4: `function start`" in answer
    assert "> The page." in answer


async def test_the_project_is_explained_from_readme_and_manifest(talk: Talk) -> None:
    answer = await talk("explain this project")
    assert "> Teapot keeps water hot for a long while, and it whistles." in answer
    assert "name: teapot" in answer
    assert "depends on: kettle" in answer
    assert "python3 -m pytest -q" in answer
    assert ".git/" not in answer


async def test_a_file_is_created_with_the_given_content(talk: Talk, repository: Path) -> None:
    answer = await talk("create notes.md with 'first line'")
    assert (repository / "notes.md").read_text() == "first line\n"
    assert "Created `notes.md` (1 line)" in answer


async def test_a_code_block_becomes_the_file_content(talk: Talk, repository: Path) -> None:
    await talk("create a file a.py with this content:\n```python\nx = 1\n\ny = 'then'\n```")
    assert (repository / "a.py").read_text() == "x = 1\n\ny = 'then'\n"


async def test_small_obvious_programs_are_written_and_run(talk: Talk) -> None:
    answer = await talk("create hello.sh that prints 'it works', then run it")
    assert "it works" in answer
    assert talk.names() == ["glob", "write", "bash"]


async def test_the_user_is_asked_for_unclear_content(talk: Talk, repository: Path) -> None:
    assert "What should be in `poem.txt`?" in await talk("create a file poem.txt")
    await talk("```\nroses are red\n```")
    assert (repository / "poem.txt").read_text() == "roses are red\n"


async def test_complex_code_is_not_invented(talk: Talk, repository: Path) -> None:
    answer = await talk("create sort.py that sorts numbers with quicksort")
    assert "takes a real model" in answer
    assert not (repository / "sort.py").exists()


async def test_an_existing_file_is_not_overwritten(talk: Talk, repository: Path) -> None:
    before = (repository / "README.md").read_text()
    assert "exists already" in await talk("create README.md with 'gone'")
    assert (repository / "README.md").read_text() == before


async def test_the_only_occurrence_is_replaced(talk: Talk, repository: Path) -> None:
    answer = await talk('replace "whistles" by "sings" in README.md')
    assert "Replaced `whistles` by `sings` in `README.md` (line 3)" in answer
    assert "and it sings." in (repository / "README.md").read_text()


async def test_several_occurrences_are_listed_and_one_is_picked(talk: Talk, repository: Path) -> None:
    answer = await talk("replace cups with mugs in teapot/brew.py")
    assert "occurs 6 times" in answer
    assert "Which one?" in answer
    assert talk.names() == ["grep"]
    assert "in line 26" in await talk("line 26")
    text = (repository / "teapot/brew.py").read_text()
    assert text.count("mugs") == 1
    assert text.endswith("return mugs * 2\n")


async def test_all_occurrences_are_replaced_on_a_follow_up_request(talk: Talk, repository: Path) -> None:
    await talk("replace cups with mugs in teapot/brew.py")
    await talk("all of them")
    assert "cups" not in (repository / "teapot/brew.py").read_text()


async def test_everywhere_replaces_at_once(talk: Talk, repository: Path) -> None:
    await talk("rename cups to mugs everywhere in teapot/brew.py")
    assert "cups" not in (repository / "teapot/brew.py").read_text()


async def test_a_text_in_another_case_is_listed_and_nothing_changes(talk: Talk, repository: Path) -> None:
    answer = await talk("replace 'TEAPOT' with 'x' in README.md")
    assert "in this spelling, but `Teapot`" in answer
    assert "edit" not in talk.names()


async def test_a_missing_word_gets_similar_suggestions(talk: Talk) -> None:
    assert "Near it: `whistles` (line 3)" in await talk("replace 'wistles' with 'x' in README.md")


async def test_without_a_file_name_the_only_file_with_the_text_is_edited(
    talk: Talk, repository: Path
) -> None:
    await talk("replace 'whistles' with 'hums'")
    assert "hums" in (repository / "README.md").read_text()


async def test_lines_are_added_and_deleted(talk: Talk, repository: Path) -> None:
    readme = repository / "README.md"
    await talk("add the line 'The end.' to README.md")
    assert readme.read_text().endswith("Run pip.\nThe end.\n")
    await talk("add 'Top' at the top of README.md")
    assert readme.read_text().startswith("Top\n# Teapot\n")
    await talk("delete line 1 of README.md")
    await talk("delete the line containing 'The end' in README.md")
    assert readme.read_text().endswith("Run pip.\n")
    assert readme.read_text().startswith("# Teapot\n")


async def test_a_line_is_inserted_after_another(talk: Talk, repository: Path) -> None:
    await talk("insert 'In between' after line 1 of README.md")
    assert (repository / "README.md").read_text().startswith("# Teapot\nIn between\n\nTeapot")


async def test_a_quoted_text_is_removed(talk: Talk, repository: Path) -> None:
    await talk("remove ' for a long while' from README.md")
    assert "keeps water hot, and" in (repository / "README.md").read_text()


async def test_changes_are_shown_and_undone_with_git(talk: Talk, repository: Path) -> None:
    assert "Nothing has changed on branch `main`" in await talk("what changed?")
    await talk("replace 'whistles' with 'hums' in README.md")
    answer = await talk("what changed in git?")
    assert "- `README.md`: changed" in talk.messages[-3]["content"]
    assert "+Teapot keeps water hot for a long while, and it hums." in answer
    assert "1 line added, 1 removed" in await talk("show the diff of README.md")
    assert "back at its last committed version" in await talk("undo my change to README.md with git")
    assert "whistles" in (repository / "README.md").read_text()
    assert "/undo" in await talk("undo everything")
    assert talk.calls == []


async def test_undo_requests_refer_to_the_undo_command(talk: Talk, repository: Path) -> None:
    await talk("create new.txt with 'x'")
    for text in (
        "undo it",
        "undo that",
        "revert",
        "undo my change to README.md",
        "put it back",
        "discard my changes",
    ):
        assert "/undo" in await talk(text)
        assert talk.calls == []
    assert "git does not know `new.txt`" in await talk("undo new.txt with git")
    assert (repository / "new.txt").exists()


async def test_the_log_and_the_branch_are_shown(talk: Talk) -> None:
    assert "First brew" in await talk("show the last 3 commits")
    assert "You are on `main`" in await talk("which branch am I on?")


async def test_a_folder_without_git_is_reported(tmp_path: Path) -> None:
    assert "no git repository" in await Talk(tmp_path)("what changed?")


async def test_a_command_is_run_and_its_result_reported(talk: Talk) -> None:
    answer = await talk("run `echo one; exit 3`")
    assert "failed with exit code 3" in answer
    assert "one" in answer
    assert "succeeded" in await talk("$ echo two")


async def test_test_results_are_read_from_the_output(talk: Talk, repository: Path) -> None:
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider tests"
    assert "The tests pass: 1 passed" in await talk(f"run {command}")
    (repository / "tests/test_brew.py").write_text("def test_bad():\n    assert 1 == 2\n")
    answer = await talk(f"run {command}")
    assert "do **not** pass: 0 passed, 1 failed" in answer
    assert "1. `tests/test_brew.py::test_bad`" in answer


async def test_run_the_tests_uses_the_projects_own_environment(talk: Talk, repository: Path) -> None:
    bin_ = repository / ".venv/bin"
    bin_.mkdir(parents=True)
    (bin_ / "python").symlink_to(sys.executable)
    await talk("run the tests")
    assert talk.calls[-1][1]["command"] == ".venv/bin/python -m pytest -q"


async def test_a_missing_test_module_is_explained_with_a_command(talk: Talk) -> None:
    talk.refuse = lambda name, _: "Error: exit code 1\nNo module named pytest" if name == "bash" else None
    answer = await talk("run the tests")
    assert "has no module `pytest`" in answer
    assert "could not run" in answer
    assert "pass:" not in answer


async def test_a_file_is_moved_copied_and_deleted(talk: Talk, repository: Path) -> None:
    await talk("rename README.md to README.txt")
    assert (repository / "README.txt").exists()
    await talk("copy README.txt to again.md")
    await talk("delete README.txt")
    assert not (repository / "README.txt").exists()
    assert (repository / "again.md").exists()


async def test_unusual_file_names_are_quoted_for_the_shell(talk: Talk, repository: Path) -> None:
    (repository / "a b;c.txt").write_text("x")
    await talk('delete the file "a b;c.txt"')
    assert not (repository / "a b;c.txt").exists()


async def test_the_commit_message_is_quoted_as_one_argument(talk: Talk, repository: Path) -> None:
    for key, value in (("user.name", "T"), ("user.email", "t@example.org")):
        subprocess.run(("git", "config", key, value), cwd=repository, check=True)
    await talk("replace 'whistles' with 'hums' in README.md")
    await talk('commit with message "It\'s done; $HOME"')
    log = subprocess.run(("git", "log", "-1", "--format=%s"), cwd=repository, capture_output=True, text=True)
    assert log.stdout.strip() == "It's done; $HOME"


async def test_again_repeats_the_last_request(talk: Talk) -> None:
    await talk("run echo hi")
    await talk("again")
    assert talk.calls == [("bash", {"command": "echo hi", "description": "Run echo hi"})]


async def test_a_request_not_understood_gets_a_two_line_answer(talk: Talk) -> None:
    for _ in range(2):
        answer = await talk("qwer tzui opas")
        assert "I don't understand `qwer tzui opas`" in answer
        assert "not a language model" in answer
        assert len(answer.splitlines()) == 2
        assert set(talk.names()) <= {"grep"}


async def test_work_that_needs_a_real_model_gets_a_two_line_answer(talk: Talk) -> None:
    answer = await talk("refactor the brewing code to be faster")
    assert "real model" in answer
    assert len(answer.splitlines()) == 2
    assert talk.calls == []


async def test_the_offline_model_introduces_itself_once(talk: Talk) -> None:
    first, second = await talk("list the files"), await talk("which branch am I on?")
    assert "OPENROUTER_API_KEY" in first
    assert "/connect" in first and "rules, no AI" in first
    assert "offline model" not in second


async def test_connecting_is_explained_in_full_on_request(talk: Talk) -> None:
    answer = await talk("how do I connect a real model?")
    assert "export OPENROUTER_API_KEY=" in answer
    assert "--base-url" in answer
    assert answer.count("OPENROUTER_API_KEY") == 1


async def test_a_word_is_replaced_only_as_a_whole_word(talk: Talk, repository: Path) -> None:
    answer = await talk("replace the word 'water' by 'broth' in README.md")
    assert "`broth`" in answer
    (repository / "a.txt").write_text("is this\nit is\nisland\n")
    answer = await talk("replace the word is with was in a.txt")
    assert "occurs 2 times" in answer
    await talk("all")
    assert (repository / "a.txt").read_text() == "was this\nit was\nisland\n"


async def test_a_very_long_line_is_edited_although_search_truncates_it(talk: Talk, repository: Path) -> None:
    (repository / "long.txt").write_text("x" * 3_000 + " needle end\n")
    await talk("replace 'needle' with 'pin' in long.txt")
    assert (repository / "long.txt").read_text() == "x" * 3_000 + " pin end\n"


async def test_many_matches_are_counted_as_a_lower_bound(talk: Talk, repository: Path) -> None:
    (repository / "many.txt").write_text("spam\n" * 400)
    assert "at least 250 lines" in await talk("search for 'spam'")
    assert "at least 250 times" in await talk("replace 'spam' with 'ham' in many.txt")


async def test_a_question_is_answered_with_relevant_locations(talk: Talk) -> None:
    answer = await talk("how is the tea poured?")
    assert "can't explain it in words of my own" in answer
    assert "`teapot/brew.py:14`" in answer
    assert "depends on: kettle" in await talk("what are the dependencies?")
    assert "Run pip." in await talk("how do I install this?")


async def test_a_well_known_file_is_found_without_its_extension(talk: Talk) -> None:
    answer = await talk("show me the README")
    assert "`README.md`, lines 1–7" in answer


async def test_a_folder_of_folders_is_explained(talk: Talk, repository: Path) -> None:
    inner = repository / "src/deep/inner.py"
    inner.parent.mkdir(parents=True)
    inner.write_text("x = 1\n")
    assert "`src` contains" in await talk("explain src")


async def test_a_file_just_created_can_be_referred_to_as_it(talk: Talk, repository: Path) -> None:
    await talk("create a.txt with 'x'")
    await talk("delete it")
    assert not (repository / "a.txt").exists()


async def test_help_lists_supported_requests_by_group(talk: Talk) -> None:
    answer = await talk("help")
    groups = [line.split("**")[1] for line in answer.split("\n") if line.startswith("- **")]
    assert groups == ["Look", "Find", "Read", "Change", "Run", "Git", "More"]


async def test_names_and_paths_are_taken_from_the_last_request(talk: Talk) -> None:
    await talk("where is warm defined?")
    assert "teapot/brew.py:20" in (await talk("who calls it?")).replace("21", "20")
    assert "cups * 2" in await talk("what does it do")
    await talk("who uses Pot")
    answer = await talk("and in tests?")
    assert "tests/test_brew.py:1" in answer
    assert "teapot/brew.py" not in answer
    assert "`pour_tea` is defined" in await talk("where is pour_tea defined")
    assert "`warm` is defined" in await talk("and warm?")


async def test_a_commit_of_the_log_is_shown_by_its_number(talk: Talk) -> None:
    await talk("last 3 commits")
    answer = await talk("show the first one")
    assert talk.calls[-1][1]["command"].startswith("git show --stat ")
    assert "README.md" in answer


async def test_the_log_shows_at_most_twenty_commits(talk: Talk, repository: Path) -> None:
    author = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for number in range(25):
        command = ("git", *author, "commit", "-q", "--allow-empty", "-m", f"Empty {number}")
        subprocess.run(command, cwd=repository, check=True)
    for text in ("git log", "git log --oneline", "show the last 50 commits"):
        answer = await talk(text)
        assert "Empty 24" in answer
        assert "Empty 5" in answer
        assert "Empty 4" not in answer


async def test_a_file_is_found_regardless_of_case_and_extension(talk: Talk) -> None:
    for text in ("open readme", "whats in Readme.MD", "cat README", "show me the readme pls"):
        assert "Teapot keeps water hot" in await talk(text), text
    assert "1. `README.md`" in await talk("is there a readme?")


async def test_a_large_file_is_outlined_to_its_end(talk: Talk, repository: Path) -> None:
    body = "".join(f"def f{n}():\n    return {n}  # {'x' * 60}\n\n\n" for n in range(300))
    (repository / "large.py").write_text(body + "class Last:\n    pass\n")
    answer = await talk("what classes are in large.py")
    assert "`class Last`" in answer
    assert "f299" not in answer


async def test_abbreviations_in_text_to_be_written_are_kept(talk: Talk, repository: Path) -> None:
    await talk("create notes.md with whats up, thx u")
    assert (repository / "notes.md").read_text() == "whats up, thx u\n"
    assert "whats u" in await talk("run echo whats u")
