"""Word lists that tell names, files, verbs and filler apart."""

from __future__ import annotations

from forge_core.llm.offline.code_shape import LANGUAGES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOWHERE = _words(
    """
    . ./ app code codebase current directory everything everywhere files folder git github here package
    program project repo repository source sources workspace world
    """
)
"""Places that mean the whole folder: no path."""

NO_NAMES = _words(
    """
    a all an anything are bug bugs class code def error errors everything file files for function help
    in is it me method more my of out problem project something that the them this to us what where
    """
)
"""Words that are no name of anything in code."""

VERBS = _words(
    """
    add append change commit continue copy create delete describe display edit execute explain find grep
    help insert launch list locate make move open outline print read remove rename replace restore
    revert run search show start status summarise summarize swap test tests undo update what where which
    write
    """
)
"""Verbs whose spelling is mended."""

NOUNS = _words(
    """
    author branch called changelog changes class commits defined definition dependencies directory file
    files folder function implemented imported latest license line lines method overview project readme
    repository tests text usages used version word
    """
)
"""Nouns whose spelling is mended."""

PRONOUNS = frozenset({"it", "that", "this", "them", "there", "that file", "this file", "the file", "file"})
"""Stand for what was spoken of last."""

SPOKEN_OF = frozenset({"it", "that", "this", "them", "function", "class", "method", "thing"})
"""Stand for the name that was spoken of last ("who calls it", "where is that function used")."""

CODE_ENDINGS = frozenset(ending for endings in LANGUAGES.values() for ending in endings)
ENDINGS = CODE_ENDINGS | _words(
    """
    bak bib crt cs csv diff dockerignore env example gitignore gradle graphql gz in ipynb key local lock
    log map mod orig out patch pdf pem proto sample service snap sum svelte tar tex tf tmp tsv vue work
    zip
    """
)
"""What stands behind the last dot of a file's name."""

FILLER = _words(
    """
    a an and are be being by called can class client code do does done file files for from function
    functions get gets handle handled handles happen happens has have how i implemented in into is it its
    library made make makes method module of on or out part place processed project repo server set sets
    should that the their them there these thing things this those to use used uses we what when where which
    will with work works you
    """
)
"""Words of a question that say nothing of its topic."""
