"""What a developer types in the first hour in an unknown repository, and what counts as an answer.

The 20 sentences of `DEVELOPMENT` may be looked at while the rules are written. The 40 of `HELD_OUT` were written
before the rules were read and no rule is made for the wording of one of them: they measure, they do not teach.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """One request, with the requests before it, and the substance that its answer must have."""

    text: str
    says: tuple[str, ...] = ()
    """Patterns that must all occur in the answer. `<name>` stands for a fact counted in the repository."""
    before: tuple[str, ...] = ()
    calls: str = ""
    """A pattern that one of the turn's calls must match, written as `name {arguments}`."""
    never: str = ""
    """A pattern that none of the turn's calls may match; "." allows no call at all."""
    max_lines: int = 0
    """The most lines that the answer may have; 0 for any number."""


_UNDO = ("create a file notes.txt with hello",)
_DEFINED = ("where is raise_for_status defined",)

DEVELOPMENT = (
    Sentence("open readme", ("next generation HTTP client",), calls=r"read .*README\.md"),
    Sentence(
        "what can u do", ("(?i)not a (language )?model|no language model", "(?i)read|search"), never="."
    ),
    Sentence("how do I run the tests?", (r"\bpytest\b",), never="bash .*pytest"),
    Sentence("whats in pyproject.toml", ("requires-python",), calls=r"read .*pyproject\.toml"),
    Sentence("who calls it?", (r"tests/test_api\.py:\d+",), _DEFINED, calls="grep .*raise_for_status"),
    Sentence("open the second one", ("<second>",), ("find files named config",), calls="read .*<second>"),
    Sentence(
        "last 3 commits",
        ("Add a note on proxies", "Shorten the default timeout", "Describe the changes"),
        calls="bash .*git log",
    ),
    Sentence("how many lines does _client.py have", ("<client_lines>",)),
    Sentence("whos the author", ("Tom Christie|Ada Novak",)),
    Sentence("any todos left", (r"_auth\.py:\d+", "implement auth-int")),
    Sentence("undo that", ("/undo",), _UNDO, never=".", max_lines=2),
    Sentence("no dont", ("(?i)nothing|stop|not",), ("open readme",), never=".", max_lines=2),
    Sentence("which python version do i need", (r"3\.8",)),
    Sentence("what version is this", ("<version>",)),
    Sentence("is there a changelog", (r"CHANGELOG\.md",)),
    Sentence("what does build_request do", ("(?i)build and return a request",)),
    Sentence("biggest files", (r"_client\.py",)),
    Sentence("show me more", ("<client_line_600>",), ("open _client.py",), calls="read .*_client"),
    Sentence("where do i start", (r"README\.md|Tom Christie|__init__\.py|_main\.py",)),
    Sentence("write me a poem about cats", ("(?i)not|cannot",), never=".", max_lines=2),
)

HELD_OUT = (
    Sentence("hey whats this project about", ("(?i)next generation HTTP client",)),
    Sentence("what folders are in here", (r"\bhttpx\b", r"\btests\b")),
    Sentence("wheres Timeout defined", (r"_config\.py:<timeout_line>",)),
    Sentence("shwo me the Response class", ("class Response:", "def __init__"), calls=r"read .*_models\.py"),
    Sentence(
        "how big is this codebase",
        (r"\b<python_lines>\b|\b<python_files>\b|\b<tracked_lines>\b|\b<tracked_files>\b",),
    ),
    Sentence("newest entry in the changelog?", ("<version>", "Fix SSL case")),
    Sentence("what license is it under", ("BSD",)),
    Sentence("what does it depend on", ("httpcore", "certifi")),
    Sentence("who's been committing lately", ("Ada Novak", "Kim Larsen")),
    Sentence("what was the last change", ("Add a note on proxies",)),
    Sentence(
        "git log last 2 pls", ("Add a note on proxies", "Shorten the default timeout"), calls="bash .*git log"
    ),
    Sentence("when was _config.py last changed", (r"2024-03-03|Mar(ch)? 3|3 Mar",)),
    Sentence("who wrote _models.py", ("Kim Larsen",)),
    Sentence("list the test files", (r"tests/test_config\.py", r"tests/test_urls\.py")),
    Sentence("run only the config tests", (r"(?i)2 passed|passed",), calls=r"bash .*pytest.*test_config"),
    Sentence("and where's it used", (r"tests/test_api\.py:\d+",), _DEFINED, calls="grep .*raise_for_status"),
    Sentence("open nr 2", ("<second>",), ("list the test files",), calls="read .*<second>"),
    Sentence("next page", ("<client_line_600>",), ("open _client.py",), calls="read .*_client"),
    Sentence("the first one pls", ("<first>",), ("which files import ssl",), calls="read .*<first>"),
    Sentence("revert what u just did", ("/undo",), _UNDO, never=".", max_lines=2),
    Sentence("put it back like before", ("/undo",), _UNDO, never=".", max_lines=2),
    Sentence("how do u install this", ("pip install",), never="bash .*pip install"),
    Sentence("is there a Makefile or sth", (r"(?i)\bno\b.*makefile|makefile.*\bno\b",), max_lines=6),
    Sentence("FIXMEs?", (r"(?i)\bno\b.*fixme|fixme.*\b(no|not)\b",)),
    Sentence("grep raise_for_status", (r"_models\.py:\d+",), calls="grep .*raise_for_status"),
    Sentence("how many python files are there", (r"\b<python_files>\b",)),
    Sentence("how many tests does it have", (r"\b<tests>\b",)),
    Sentence("which files import ssl", (r"_config\.py", r"_client\.py"), calls="grep .*ssl"),
    Sentence("what classes are in _models.py", ("Headers", "Request", "Response", "Cookies")),
    Sentence("print lines 40 to 60 of _client.py", ("<client_line_50>",), calls="read .*_client"),
    Sentence("which branch am i on", (r"\bmain\b",)),
    Sentence("did i change anything", (r"README\.md",)),
    Sentence(
        "r u chatgpt", ("(?i)not a language model|no language model|not a model",), never=".", max_lines=4
    ),
    Sentence("why is the sky blue", ("(?i)not|cannot",), never=".", max_lines=2),
    Sentence("make _client.py faster", ("(?i)not|cannot",), never="edit|write|patch", max_lines=2),
    Sentence("whats the entry point", (r"httpx:main|_main\.py",)),
    Sentence("does it run on python 3.9", (r">=\s*3\.8|3\.8",)),
    Sentence("what version of httpcore does it want", (r"1\.\*",)),
    Sentence("what does it do", ("(?i)raise the `?HTTPStatusError",), _DEFINED),
    Sentence("thx that helped", (), never=".", max_lines=2),
)
