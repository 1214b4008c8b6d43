"""The documentation agrees with the code: tables, examples, command lines, links, paths and names."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import pkgutil
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import dropwhile
from pathlib import Path

import pytest

from forge_core.commands.command_spec import CommandSpec, Scope
from forge_core.commands.command_table import CommandTable
from forge_core.config.load import flattened
from forge_core.config.settings import SETTINGS, check_value
from forge_core.llm.endpoints import PROVIDERS
from forge_tui.arguments import COMMANDS, parse
from forge_tui.keys.user_file import keys_from
from forge_tui.submitted_line import InvalidCommand, parse_line
from tests.generate_docs import ROOT, TABLES, pages, rendered
from tests.package_shape import load
from tests.support.doc_examples import SAMPLE, Example, examples, run_example

PAGES = pages()
DOCS = [page for page in PAGES if page.name != "CHANGELOG.md"]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
EXAMPLES = [example for page in DOCS for example in examples(page)]
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
_CODE = re.compile(r"``(.+?)``|`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_PATH = re.compile(r"(?<![\w./-])(?:forge_core|forge_tui|tests|docs|themes|\.ci|\.assets)/[\w./*-]*")
_FORGE = re.compile(r"(?:^|(?:&&|\||;)\s*)((?:[A-Z_]+=\S+\s+)*(?:\.venv/bin/)?forge(?:\s[^|;&<>#]*)?)")
_MODULE = re.compile(r"python -m (tests[\w.]*)")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", text_of(page))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return [found["body"] for found in _FENCE.finditer(text_of(page)) if found["language"] == language]


def code_spans(page: Path) -> Iterator[str]:
    for found in _CODE.finditer(prose(page)):
        yield (found[1] or found[2]).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_generated_tables_are_up_to_date(page: Path) -> None:
    assert text_of(page) == rendered(text_of(page)), "run python -m tests.generate_docs"


def test_every_generated_table_is_on_a_page() -> None:
    shown = re.findall(r"<!-- generated: ([\w-]+) -->", "".join(map(text_of, PAGES)))
    assert sorted(shown) == sorted(TABLES)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if not one.needs], ids=str)
def test_an_example_runs_and_prints_what_the_page_says(example: Example, tmp_path: Path) -> None:
    (tmp_path / "greeting.py").write_text(SAMPLE)
    printed = run_example(example, tmp_path)
    assert example.output is None or printed == example.output


def test_an_example_that_needs_more_is_on_a_page_with_a_test_of_its_own() -> None:
    assert {example.page for example in EXAMPLES if example.needs} == {"batch.md", "tau2.md", "wink.md"}


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_command_line_of_forge_parses(page: Path) -> None:
    lines = [line.removesuffix("\\").strip() for body in blocks(page, "sh") for line in body.splitlines()]
    for line in [*lines, *code_spans(page)]:
        for found in _FORGE.finditer(line):
            assert_parses(found[1])


def assert_parses(command: str) -> None:
    arguments = [*dropwhile(lambda word: "=" in word, shlex.split(command))][1:]
    if arguments[:1] == ["tau2"]:  # its arguments are tau2's own
        assert "tau2" in COMMANDS
        return
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        parsed = parse(arguments)
    assert not isinstance(parsed, int) or parsed == 0, f"{command}: {said.getvalue()}"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_slash_command_exists(page: Path) -> None:
    table = CommandTable()
    documented = re.findall(r"<!-- command: ([\w-]+) -->", page.read_text("utf-8"))
    table.use(
        lambda: [CommandSpec(name, "", "", scope=Scope.PROMPT, accepts=("TEXT...",)) for name in documented]
    )
    for span in code_spans(page):
        if re.match(r"/[a-z]+( |$)", span) and not Path(span).exists():
            plain = re.sub(r"([\w-]+)(?:\|[\w-]+)+", r"\1", re.sub(r"[\[\]…\\]", "", span))
            line = parse_line(re.sub(r"\b[NK]\b", "1", plain), table)
            assert not isinstance(line, InvalidCommand), f"{span}: {line.complaint}"


def test_the_settings_in_examples_are_accepted() -> None:
    found = [body for page in DOCS if page.name != "keys.md" for body in blocks(page, "toml")]
    assert found
    for body in found:
        for name, value in flattened(tomllib.loads(body)):
            check_value(name, value)


def test_the_keys_in_examples_are_accepted() -> None:
    (example,) = blocks(ROOT / "docs/keys.md", "toml")
    keys, problems = keys_from(example)
    assert keys.changed and all("has no key now" in problem for problem in problems)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_resolves(page: Path) -> None:
    for target in _LINK.findall(prose(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


@cache
def anchors(page: Path) -> frozenset[str]:
    """The ids that GitHub gives the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    for name in _PATH.findall(text_of(page)):
        assert any(ROOT.glob(name.rstrip("./"))), name


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_program_that_a_page_names_exists(page: Path) -> None:
    for name in _MODULE.findall(text_of(page)):
        assert importlib.util.find_spec(name) is not None, name


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    for name in re.findall(r"\bforge_(?:core|tui)(?:\.\w+)+", prose(page)):
        assert pkgutil.resolve_name(name) is not None


def test_every_variable_that_forge_reads_is_in_the_configuration_page() -> None:
    sources = "".join(
        path.read_text() for package in ("forge_core", "forge_tui") for path in package_files(package)
    )
    read = set(re.findall(r'"(FORGE_[A-Z_]+|OPENROUTER_[A-Z_]+)"', sources))
    read |= {field.variable for field in SETTINGS.values() if field.variable}
    read |= {provider.key_variable for provider in PROVIDERS.values() if provider.key_variable}
    named = text_of(ROOT / "docs/configuration.md") + text_of(ROOT / "docs/models.md")
    internal = {
        "FORGE_CALL",
        "FORGE_PROJECT_DIR",
    }  # for processes that Forge starts; Forge does not read them
    assert sorted(name for name in read - internal if f"`{name}`" not in named) == []


def package_files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def test_the_architecture_page_names_every_package() -> None:
    named = named_packages(ROOT / "docs/architecture.md")
    found = {
        str(path.parent.relative_to(ROOT))
        for package in ("forge_core", "forge_tui")
        for path in (ROOT / package).rglob("__init__.py")
    }
    assert sorted(found - named) == []


def named_packages(page: Path) -> set[str]:
    """The packages of the indented lists that begin with `forge_core/` and `forge_tui/`."""
    names: set[str] = set()
    for body in blocks(page, "text"):
        above: list[str] = []
        for line in body.splitlines():
            if entry := re.match(r"( *)(\w+)/( |$)", line):
                above[len(entry[1]) // 4 :] = [entry[2]]
                names.add("/".join(above))
    return names


def test_every_class_and_method_in_a_call_path_exists() -> None:
    paths = "".join(blocks(ROOT / "docs/architecture.md", "text"))
    methods, functions = definitions()
    for owner, name in re.findall(r"\b([A-Z]\w*[a-z]\w*)\.([a-z_]\w*)", paths):
        assert owner in methods, f"there is no class {owner}"
        assert name in methods[owner], f"there is no method {owner}.{name}"
    for name in re.findall(r"(?<![\w.])([a-z_]\w*)\(", paths):
        assert name in functions, f"there is no function {name}"


@cache
def definitions() -> tuple[dict[str, set[str]], set[str]]:
    """The methods of each class of the source, and the names of all functions and methods."""
    methods: dict[str, set[str]] = {}
    functions: set[str] = set()
    for module in load().modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, FUNCTIONS):
                functions.add(node.name)
            elif isinstance(node, ast.ClassDef):
                defined = methods.setdefault(node.name, set())
                defined |= {item.name for item in node.body if isinstance(item, FUNCTIONS)}
    return methods, functions
