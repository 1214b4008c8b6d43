"""Eighty sentences by a writer who had not read the rules, with what counts as an answer to each."""

from __future__ import annotations

from tests.unit.offline.first_hour import Sentence

_NO_MODEL = "(?i)no language model|not a language model|rules"
_BEYOND = "(?i)cannot|don't understand|no `weather`"

FIRST_LIST = (
    Sentence("hi", ("Hello",), never="."),
    Sentence("whats this repo about", ("next generation HTTP client",)),
    Sentence("open changelog", ("# Changelog",), calls=r"read .*CHANGELOG\.md"),
    Sentence("show me pyproject", ("requires-python",), calls=r"read .*pyproject\.toml"),
    Sentence("where does the Client class live", (r"httpx/_client\.py:\d+. .class Client\(",)),
    Sentence("who uses codes.OK", (r"No line .*codes\.OK", r"_status_codes\.py:\d+")),
    Sentence("what version is this", ("<version>",)),
    Sentence("which python versions does it support", (r"3\.8",)),
    Sentence("how many files are there", (r"\b<tracked_files>\b",)),
    Sentence("how big is _client.py", ("<client_lines>",)),
    Sentence("biggest file?", (r"1\. `httpx/_client\.py`",)),
    Sentence("what does _decoders.py do", ("Handlers for Content-Encoding",)),
    Sentence("find all todos", (r"_auth\.py:\d+",)),
    Sentence("last 3 commits", ("Add a note on proxies", "Describe the changes"), calls="git log -n 3"),
    Sentence("who wrote this", ("Tom Christie", "Ada Novak")),
    Sentence("what changed in the last commit", (r"\+Proxies are named",), calls="git show"),
    Sentence("any uncommitted changes?", (r"README\.md", "More to come")),
    Sentence("what branch am i on", (r"\bmain\b",)),
    Sentence("how do i run the tests", ("pytest",), never="pytest"),
    Sentence("no dont", ("(?i)I have stopped",), ("run the tests",), never=".", max_lines=2),
    Sentence("wheres the readme", (r"README\.md",)),
    Sentence("list the python files in httpx", (r"httpx/_api\.py", r"httpx/_urls\.py")),
    Sentence("what's in httpx/_transports", (r"asgi\.py", r"wsgi\.py")),
    Sentence("explain the auth flow", (r"_auth\.py:\d+. .def auth_flow",)),
    Sentence("where is timeout handled", (r"_config\.py:<timeout_line>",)),
    Sentence("show me line 100 of _models.py", ("line 100 of",), calls=r"read .*_models\.py.*100"),
    Sentence("lines 10-30 of _config.py pls", ("class UnsetType",)),
    Sentence("what functions are in _utils.py", ("get_environment_proxies", "unquote")),
    Sentence(
        "which files import httpcore", (r"_main\.py:\d+`.*import httpcore", r"default\.py:\d+`.*import")
    ),
    Sentence("how many times is AsyncClient mentioned", (r"\d+ lines? of \d+ files",)),
    Sentence("open the first one", ("<first>",), ('search for "raise_for_status"',), calls="read .*<first>"),
    Sentence("show the second", (r"self\.build_request\(",), ("who calls build_request",)),
    Sentence("who calls it", (r"_models\.py:\d+",), ("where is encode_request defined",)),
    Sentence("does this use type hints", ("Yes: type hints",)),
    Sentence("what are the dependencies", ("certifi", "httpcore", "anyio", "idna")),
    Sentence("is there a license?", (r"LICENSE\.md",)),
    Sentence("can you edit files?", ("(?i)edit files", "asks you before"), never=".", max_lines=3),
    Sentence("r u gpt?", (_NO_MODEL,), never="."),
    Sentence("undo that", ("/undo",), ("create a file notes.txt with hello",), never=".", max_lines=2),
    Sentence("whats the weather", (_BEYOND,), max_lines=2, never="bash"),
)

SECOND_LIST = (
    Sentence("hey can you help me get started here", ("next generation HTTP client", "run the tests")),
    Sentence("what can u do", ("(?i)not a language model", "read"), never="."),
    Sentence("give me an overview of the code", ("next generation HTTP client", "httpx/")),
    Sentence("read the license file", ("Redistribution",), calls=r"read .*LICENSE\.md"),
    Sentence("cat readme", ("# HTTPX",), calls=r"read .*README\.md"),
    Sentence("open _urls", ("from urllib.parse",), calls=r"read .*httpx/_urls\.py"),
    Sentence("show me the URL class", ("class URL:",), calls=r"read .*_urls\.py"),
    Sentence("where's class Response", (r"_models\.py:\d+. .class Response:",)),
    Sentence("grep for NotImplementedError", (r"_auth\.py:\d+", r"base\.py:\d+")),
    Sentence("find usages of DEFAULT_TIMEOUT_CONFIG", (r"_api\.py:\d+",)),
    Sentence("which file has the most lines", (r"1\. `httpx/_client\.py`",)),
    Sentence("count lines of code", (r"\b<python_lines>\b|\b<tracked_lines>\b",)),
    Sentence("how many tests are there", (r"\b<tests>\b",)),
    Sentence("number of lines in _auth.py", (r"`httpx/_auth\.py` has \d+ lines",)),
    Sentence("size of CHANGELOG.md", ("has 9 lines",)),
    Sentence("which python do I need", (r"3\.8",)),
    Sentence("what version of httpcore does it need", (r"1\.\*",)),
    Sentence("latest release notes", ("<version>", "Fix SSL case")),
    Sentence("is there a test for cookies", ("No test mentions `cookies`",)),
    Sentence("what does _parse_netrc do", ("(?i)no `_parse_netrc`",)),
    Sentence("what does normalize_header_key do", ("Coerce str/bytes",)),
    Sentence("what is _content.py for", ("class ByteStream",), calls=r"read .*_content\.py"),
    Sentence("who is the author", ("Tom Christie",)),
    Sentence("how many commits", (r"\b4 commits",)),
    Sentence("who committed last", ("Ada Novak: Add a note",), calls="git log -n 1"),
    Sentence("show me the git log", ("Add a note on proxies", "Import the client")),
    Sentence("git status", (r"README\.md",)),
    Sentence("diff", (r"\+More to come",)),
    Sentence("how do I install this", ("pip install httpx",), never="bash .*pip install"),
    Sentence("how can i contribute", ("(?i)no README section on contribute",), max_lines=3),
    Sentence("add a file notes.txt saying hello", (r"Created `notes\.txt`",), calls="write .*hello"),
    Sentence("rename foo to bar in README.md", ("does not contain `foo`",), never="edit|write"),
    Sentence("delete README.md", (r"Deleted `README\.md`",), calls="bash .*rm -- README"),
    Sentence("fix the bug in _client.py", ("cannot do it",), never=".", max_lines=2),
    Sentence("run ls", (r"pyproject\.toml",), calls='bash .*"ls"'),
    Sentence("and the next part", ("lines 81–160",), ("show _api.py",), calls="read .*_api"),
    Sentence("which one is the base class", ("Base class for",), ("what classes are in _exceptions.py",)),
    Sentence(
        "only in tests", ("(?i)no `proxies` in `tests`",), ("search for proxies",), calls="grep .*tests"
    ),
    Sentence(
        "open the third one", ("test_timeout_of_all",), ("list files in tests",), calls="read .*test_config"
    ),
    Sentence("thanks!", ("welcome",), never=".", max_lines=3),
)
