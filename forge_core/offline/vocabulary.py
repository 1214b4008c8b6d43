"""Word lists that tell names, files, verbs and filler apart."""

from __future__ import annotations

from forge_core.offline.source_code import LANGUAGES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOWHERE = _words("""
    total all altogether
    . ./ app code codebase current directory everything everywhere files folder git github here package
    program project repo repository source sources workspace world
""")
"""Places that mean the whole folder: no path."""

NO_NAMES = _words("""
    a defined declared all an anything appear are bug bugs class code def do does error errors everything file
    files for function help here in is it me method more my of out problem project something that the them
    there they this to us we what where you
""")
"""Words that are no name of anything in code."""

VERBS = _words("""
    add append change commit continue copy create delete describe display edit execute explain find grep
    help insert launch list locate make move open outline print read remove rename replace restore revert
    run search show start status summarise summarize swap test tests undo update what where which write
""")
"""Verbs whose spelling is mended."""

NOUNS = _words("""
    author branch called changelog changes class commits defined definition dependencies directory file
    files folder function implemented imported latest license line lines method overview project readme
    repository tests text usages used version word
""")
"""Nouns whose spelling is mended."""

PRONOUNS = frozenset({"it", "that", "this", "them", "there", "that file", "this file", "the file", "file"})
"""Stand for what was spoken of last."""

SPOKEN_OF = frozenset({"it", "that", "this", "them", "function", "class", "method", "thing"})
"""Stand for the name that was spoken of last ("who calls it", "where is that function used")."""

CODE_ENDINGS = frozenset(ending for endings in LANGUAGES.values() for ending in endings)
ENDINGS = CODE_ENDINGS | _words("""
    bak bib crt cs csv diff dockerignore env example gitignore gradle graphql gz in ipynb key local lock log
    map mod orig out patch pdf pem proto sample service snap sum svelte tar tex tf tmp tsv vue work zip
""")
"""What stands behind the last dot of a file's name."""

FILLER = _words("""
    everything defined declared folder folders open leftover
    a about after all allow allowed am an and any anyone anything are ask at be been before being but by
    called can class client code could did do does done else enabled ever file files find for from function
    functions get gets give going good got had handle handled handles happen happens has have here how i im
    implemented in into is it its just know let library like list live lives located look made make makes me
    method module much my need new no not now of off ok on one only or our out part place please pls
    possible processed project question repo reside see server set sets should show sit sits so some
    something still such support supported supports take tell than thanks that the their them then there
    these thing things this those to too try use used uses want was we were what when where which who why
    will with work works would wrong yes you your
""")
"""Words of a question that say nothing of its topic."""

CONCEPTS = (
    (r"type[ -]?(?:hint|annot|check)|annotation", "type hints", r"def \w+\(.*\) *->|^\s*\w+: \w+.* ="),
    (r"\basync\b|asyncio|await|coroutine", "async functions", r"\basync (def|function|fn)\b|\basyncio\b"),
    (r"data ?class", "dataclasses", r"@(dataclass|attr\.s|define)|\bBaseModel\b"),
    (r"\blogg(?:ing|er|s)\b|\blogs\b", "logging", r"\b(import logging|getLogger|logger\.\w+|console\.log)"),
    (r"env(?:ironment)? ?var", "environment variables", r"\bos\.environ|\bgetenv\(|process\.env|env::var"),
    (r"deprecat", "deprecations", r"[dD]eprecat"),
    (r"\bregex|regular expr", "regexes", r"\bre\.(compile|match|search|sub|findall)\(|new RegExp"),
    (r"\bthread|subprocess", "threads or processes", r"\b(threading|multiprocessing|subprocess)\b"),
)  # fmt: skip
"""Features that one asks for by a word which the code does not hold: words, label, how they are written."""
