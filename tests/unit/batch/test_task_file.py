"""The file of tasks: all lines are checked, and all that cannot be used are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forge_core.batch.task_file import BatchTask, read_tasks
from forge_core.errors import ConfigError


def write(folder: Path, *lines: dict[str, Any] | str) -> Path:
    (folder / "shop/.git").mkdir(parents=True, exist_ok=True)
    (folder / "shop/.git/HEAD").write_text("ref: refs/heads/main\n")
    path = folder / "tasks.jsonl"
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
    return path


def task(**fields: Any) -> dict[str, Any]:
    return {"id": "a1", "prompt": "Fix it", "repo": "shop", **fields}


def only(folder: Path, **fields: Any) -> BatchTask:
    return read_tasks(write(folder, task(**fields)))[0]


def test_a_line_becomes_a_task(tmp_path: Path) -> None:
    found = only(
        tmp_path,
        prompt="Fix {{bug}} in {{ place }}, not {{",
        vars={"bug": "{{place}}", "place": 7},
        ref="main",
        model="m",
        allow=["bash(pytest:*)"],
        permission_mode="auto",
        max_turns=60,
        time_limit_s=1800,
        verify=" pytest -q ",
        env={"A_B": "1"},
    )
    assert (found.prompt, found.repo) == ("Fix {{place}} in 7, not {{", str(tmp_path / "shop"))
    assert (found.allow, found.time_limit_s, found.verify) == (("bash(pytest:*)",), 1800.0, "pytest -q")


def test_a_repository_on_another_machine_is_not_looked_for_here(tmp_path: Path) -> None:
    path = write(tmp_path, task(repo="/data/shop"))
    assert read_tasks(path, runs_here=False)[0].repo == "/data/shop"
    with pytest.raises(ConfigError, match="'/data/shop' is no folder in a git repository"):
        read_tasks(path)


def test_braces_are_text_without_variables(tmp_path: Path) -> None:
    assert only(tmp_path, prompt="Use {{ name }} in Jinja").prompt == "Use {{ name }} in Jinja"


def test_a_prompt_is_read_from_a_file_beside_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("\ufeffFix {{n}}")
    first = read_tasks(
        write(tmp_path, {"id": "x", "prompt_file": "p.md", "repo": "shop", "vars": {"n": "1"}})
    )[0]
    assert first.prompt == "Fix 1"
    (tmp_path / "p.md").write_text("Mend {{n}}")
    assert read_tasks(tmp_path / "tasks.jsonl")[0].digest != first.digest


def test_the_digest_follows_the_meaning_of_a_line(tmp_path: Path) -> None:
    first = only(tmp_path)
    written = '{"repo": "shop",   "prompt": "Fix it", "id": "a1"}'
    assert read_tasks(write(tmp_path, "", written, " "))[0].digest == first.digest
    # Paid work is not repeated because its folder was moved, or because a later version has more keys.
    assert only(tmp_path / "moved").digest == first.digest
    assert only(tmp_path, verify="", allow=[]).digest == first.digest
    assert only(tmp_path, ref="v1").digest != first.digest


@pytest.mark.parametrize(
    "line, problem",
    [
        ("{", "it is no JSON"),
        ("[1]", "the line is"),
        (task(id="a/b"), "id is 'a/b': use at most 64"),
        (task(id="a..b"), "id is 'a..b'"),
        (task(id=""), "id is ''"),
        ({"prompt": "x", "repo": "shop"}, "it has no id"),
        (task(promt="x"), "there is no key 'promt'; there are id, prompt"),
        (task(prompt_file="p"), "it needs prompt or prompt_file, and not both"),
        ({"id": "a", "repo": "shop"}, "it needs prompt or prompt_file, and not both"),
        (task(prompt=" "), "the prompt is empty"),
        (task(vars={"bug": "1"}), "the prompt has no {{bug}}"),
        (task(prompt="{{a}} {{b}}", vars={"a": "1"}), "vars lacks 'b'"),
        (task(repo="."), "repo '.' is no folder in a git repository, and no URL"),
        (task(repo="ext::sh"), "repo 'ext::sh' is no folder"),
        (task(repo="https://me:hunter2@example.org/a.git"), "repo has a password in its URL"),
        (task(repo="nope"), "repo 'nope' is no folder"),
        (task(permission_mode="all"), "permission_mode is 'all', not one of ask, accept-edits"),
        (task(max_turns=0), "max_turns is 0"),
        (task(max_turns="5"), "max_turns is '5'"),
        (task(time_limit_s=0), "time_limit_s is 0"),
        (task(env={"A B": "1"}), "env.A B"),
        (task(allow="bash"), "allow is 'bash'"),
        ({"id": "a", "prompt_file": "nope", "repo": "shop"}, "prompt_file 'nope' cannot be read"),
        ({"id": "a", "prompt_file": "p\0", "repo": "shop"}, r"it has the character '\x00'"),
        (task(env={"A": "1\0"}), r"it has the character '\x00'"),
        (task(prompt="{{a}}", vars={"a": "\ud800"}), r"it has the character '\ud800'"),
        (task(verify="\udfff"), r"it has the character '\udfff'"),
        (task(allow=["bash(x"]), "allow has 'bash(x', which is no rule"),
        (task(deny=["ba sh"]), "deny has 'ba sh', which is no rule"),
        (task(time_limit_s=float("inf")), "time_limit_s is inf"),
        (task(time_limit_s=1e9), "time_limit_s is 1000000000.0"),
        (task(max_turns=10**9), "max_turns is 1000000000"),
    ],
)
def test_every_unusable_line_is_named(tmp_path: Path, line: dict[str, Any] | str, problem: str) -> None:
    path = write(tmp_path, task(id="good"), line, task(id="GOOD"), "oops")
    with pytest.raises(ConfigError) as caught:
        read_tasks(path)
    text = str(caught.value)
    assert "Nothing was started" in text and f"line 2: {problem}" in text, text
    assert "line 3: the id 'GOOD' is that of line 1" in text and "line 4: it is no JSON" in text


def test_a_file_without_tasks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no task"):
        read_tasks(write(tmp_path, ""))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tasks(tmp_path / "nope")
