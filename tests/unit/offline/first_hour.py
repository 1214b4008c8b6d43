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
    Sentence("show me more", ("<on_the_second_page>",), ("open _client.py",), calls="read .*_client"),
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
    Sentence("run only the config tests", (r"(?i)2 passed|passed",), calls=r"bash .*pytest.*config"),
    Sentence("and where's it used", (r"tests/test_api\.py:\d+",), _DEFINED, calls="grep .*raise_for_status"),
    Sentence("open nr 2", ("<second>",), ("list the test files",), calls="read .*<second>"),
    Sentence("next page", ("<on_the_second_page>",), ("open _client.py",), calls="read .*_client"),
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
    Sentence("print lines 40 to 60 of _client.py", ("<in_lines_40_to_60>",), calls="read .*_client"),
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
    Sentence("thx that helped", (), ("open readme",), never=".", max_lines=2),
)

FRESH = (
    Sentence("yo what is this thing", ("(?i)HTTP client",)),
    Sentence("gimme a quick tour", ("(?i)HTTP client", r"\btests\b")),
    Sentence("readme pls", ("next generation HTTP client",), calls=r"read .*README"),
    Sentence("wats in the tests dir", (r"test_config\.py",)),
    Sentence("show _config.py", ("import typing|from __future__",), calls=r"read .*_config\.py"),
    Sentence("lookup USE_CLIENT_DEFAULT", (r"_client\.py:\d+",)),
    Sentence("is there a py.typed file", (r"httpx/py\.typed",)),
    Sentence("any open fixmes or todos", (r"_auth\.py:\d+",)),
    Sentence("what did Kim change", ("Shorten the default timeout",), calls="bash .*git log"),
    Sentence("commits from ada", ("Add a note on proxies", "Describe the changes"), calls="bash .*git log"),
    Sentence("what happened in the last 2 commits", ("Add a note on proxies", "Shorten the default timeout")),
    Sentence("when was the first commit", (r"2024-03-01|Import the client",)),
    Sentence("show the second commit", (r"_config\.py",), ("last 3 commits",), calls="bash .*git show"),
    Sentence("whats different from the last commit", ("More to come",), calls="bash .*git diff"),
    Sentence("whats the test command", (r"\bpytest\b",), never="bash .*pytest"),
    Sentence("do the url tests pass", ("1 passed",), calls="bash .*pytest.*url"),
    Sentence("count the lines in the tests folder", (r"\b<test_lines>\b",)),
    Sentence("which file is longest", (r"_client\.py",)),
    Sentence("list all classes", (r"class \w+|_models\.py",)),
    Sentence("what does the Timeout class do", ("(?i)timeout configuration",)),
    Sentence("who imports _utils", (r"_client\.py|_models\.py",), calls="grep .*_utils"),
    Sentence("does anything still use certifi", (r"_config\.py:\d+|pyproject\.toml:\d+",)),
    Sentence("what functions does _utils.py have", ("def |function",), calls=r"read .*_utils\.py"),
    Sentence("only in the readme", (r"README\.md:\d+",), ("search for 'proxies'",), calls="grep .*[pP]rox"),
    Sentence("and in the tests?", (r"tests/|(?i:\bno\b)",), ("where is Timeout used",), calls="grep .*tests"),
    Sentence("who do i ask about _config.py", ("Kim Larsen",)),
    Sentence("open it at line 72", ("class Timeout",), ("open _config.py",), calls="read .*_config"),
    Sentence("first 5 lines of the changelog", ("# Changelog",), calls=r"read .*CHANGELOG\.md"),
    Sentence("nvm", (), ("open readme",), never=".", max_lines=2),
    Sentence("oops wrong file, undo", ("/undo",), _UNDO, never=".", max_lines=2),
    Sentence("what can i ask you", ("(?i)read|search",), never="."),
    Sentence("explain how redirects work", (r"_client\.py:\d+",)),
    Sentence("what license, and what version?", ("BSD", "<version>")),
    Sentence("format the code", ("(?i)not|cannot|black|ruff",), never="edit|write", max_lines=2),
    Sentence("translate the readme to german", ("(?i)not|cannot",), never=".", max_lines=2),
    Sentence("what python versions are supported", (r"3\.8",)),
    Sentence("is there CI", (r"(?i)\bno\b",), max_lines=6),
    Sentence("how do i build the package", ("(?i)hatchling|README|no section|No README",), max_lines=12),
    Sentence("find the tests for Timeout", (r"test_config\.py",)),
    Sentence("bye", (), ("open readme",), never=".", max_lines=2),
)
"""Written after the rules, and run once before any of them was looked at: a second, harder measure."""
