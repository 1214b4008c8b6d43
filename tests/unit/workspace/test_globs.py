import time

import pytest

from forge_core.workspace.globs import MAX_ALTERNATIVES, compile_glob, expand_braces


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a/b.py", False),
        ("src/**/x.py", "src/x.py", True),
        ("src/**/x.py", "src/a/b/x.py", True),
        ("src/**/x.py", "lib/x.py", False),
        ("**/a/**/b", "q/a/z/b", True),
        ("**/a/**/b", "q/z/b", False),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("**", "x/y", True),
        ("{a,b}/*.{js,ts}", "b/x.ts", True),
        ("{a,b}/*.{js,ts}", "c/x.ts", False),
        ("{a,{b,c}}x", "cx", True),
        ("{a", "{a", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[^a-c]x", "dx", True),
        ("[!a]b", "/b", False),
        ("[]]x", "]x", True),
        ("[a-", "[a-", True),
        ("[z-a]x", "zx", True),
        ("[z-a]x", "mx", False),
        ("[!z-a]x", "mx", True),
        ("[!z-a]x", "zx", False),
        ("[[:digit:]]x", "7x", True),
        ("\\*x", "*x", True),
        ("\\*x", "ax", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a*b*c", "axxbyybc", True),
        ("a*b*c", "axxbyyb", False),
        ("x\ny", "x\ny", True),
    ],
)
def test_globs_match_as_in_shells_and_git(pattern: str, path: str, matches: bool) -> None:
    assert bool(compile_glob(pattern).fullmatch(path)) is matches


def test_a_pattern_without_a_slash_can_match_at_any_depth() -> None:
    assert compile_glob("*.py", any_depth=True).fullmatch("a/b/c.py")
    assert not compile_glob("b/*.py", any_depth=True).fullmatch("a/b/c.py")


@pytest.mark.parametrize(
    "pattern", ["*a" * 40 + "b", "**/a/" * 20 + "b", "?*" * 60 + "b", "[a-z]*" * 40 + "!"]
)
def test_a_hostile_glob_is_matched_quickly(pattern: str) -> None:
    started = time.process_time()
    assert not compile_glob(pattern).fullmatch("a" * 250 + "/" + "a/" * 100 + "a")
    assert time.process_time() - started < 1


def test_brace_expansion_is_limited() -> None:
    assert len(expand_braces("{a,b}" * 30)) <= MAX_ALTERNATIVES * 2
