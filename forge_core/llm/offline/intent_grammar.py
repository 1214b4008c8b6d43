# ruff: noqa: E501  a table: one expression a line reads best unbroken
"""The shorthand of the table of intents: macros (`@word`) and named arguments (`%name`), as regular expressions."""

from __future__ import annotations

from forge_core.llm.offline.wording import QUOTED

MACROS = {
    "the": r"(?:(?:me|us|the|teh|this|that|these|those|a|an|my|our|your|all|any|every|each|some|of|entire|whole|full|current|new|existing) )*",
    "find": r"(?:find(?: out)?|locate|look for|look up|search(?: for)?|hunt for|where is|where's|where are|show(?: me)? where is|get)",
    "show": r"(?:show|read|open|cat|print|display|view|see|look at|look into|look in|dump|peek at|bring up|pull up|let me see|give me|get|bat|less|take a look at|have a look at|type out|inspect)",
    "explain": r"(?:explain|outline|summari[sz]e|describe|analy[sz]e|sum up|walk me through|walk through|tell me about|give me (?:an? )?(?:overview|outline|summary|description) of|(?:an? )?(?:overview|outline|summary|structure) of|review the structure of|what's in the module|document)",
    "list": r"(?:list|show|display|print|enumerate|give me|see|which are|what are)",
    "in": r"(?:in|inside|within|under|of|from|through|across|at)",
    "file": r"@the(?:file |files |module |script |document |contents? of @the(?:file )?)?%file(?: file| module| script)?",
    "place": r"(?: @in @the(?:file |files |folder |directory |package |module |dir )?%path(?: files?| folder| directory| package| module| dir)?)?",
    "kind": r"(?:(?P<kind>functions?|funcs?|class(?:es)?|methods?|defs?|definitions?|declarations?|variables?|vars?|constants?|types?|structs?|interfaces?|enums?|traits?|modules?|macros?|symbols?|fixtures?|exceptions?|attributes?|fields?|property|properties|decorators?|procedures?|routines?|names?)(?: definition)? (?:of |for |named |called )?@the)",
    "code": r"(?:function|func|class|method|def|struct|interface|enum|trait|macro|fixture|exception|decorator)",
    "text": r"(?:text|string|word|phrase|typo|name|pattern|regexp?|regular expression|term|literal|expression|keyword|message|lines? (?:with|containing|that contains?|matching|that says?)|lines?|occurrences? of|mentions? of|instances? of)",
    "repo": r"(?:project|repo(?:sitory)?|code ?base|code|folder|directory|workspace|package|app|application|library|program|source tree|sources?)",
    "tests": r"(?:unit |integration |test )?(?:tests?|test ?suites?|specs?|suite|unittests?|checks)",
    "changes": r"(?:uncommitted |unstaged |local |git |recent |working |file |my )*(?:changes?|modifications?|edits?|status|modified files|changed files)",
    "where": r"(?:with|by|to|for|into|->|=>|→|as)(?: the (?:word|text|string|phrase|name))?",
    "ref": r"(?:(?:the |number |no\.? ?|result |hit |match |file |item |option |#)*(?P<nth>\d{1,3}|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last)(?:st|nd|rd|th)?(?: one| result| hit| file| match| entry| item| of them| suggestion| option)?|it|that|this|them|that one|this one|(?:that|this|the|same) (?:same )?(?:file|one|result|match|function|class|definition)|the whole (?:file|thing)|all of it)",
}
ARGUMENTS = {
    "file": rf"(?P<file>{QUOTED}|[^\s,;?!]+)",
    "path": rf"(?P<path>{QUOTED}|[^\s,;?!]+)",
    "other": rf"(?P<other>{QUOTED}|[^\s,;?!]+)",
    "dotted": rf"(?P<file>{QUOTED}|[^\s,;?!]*[\w*\]}}]?\.[A-Za-z*][\w*]*|[^\s,;?!]*/[^\s,;?!]*|(?:README|LICEN[CS]E|Makefile|Dockerfile|CHANGELOG|Procfile|Gemfile|Rakefile|Justfile|Jenkinsfile|NOTICE|AUTHORS|CONTRIBUTING)[\w.]*|\.[\w.-]+)",
    "name": rf"(?P<name>{QUOTED}|[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[\w$]+)*(?:\(\))?)",
    "symbol": rf"(?P<name>{QUOTED}|[A-Za-z_$][\w$]*(?:(?:\.|::)[\w$]+)*\(\)|\w*_\w+|(?-i:[a-z]+[A-Z]\w*|(?:[A-Z][a-z0-9]+){{2,}})|[A-Za-z_]\w*(?:\.|::)[A-Za-z_]\w*)",
    "glob": r"(?P<glob>[^\s,;?!]*\*[^\s,;?!]*|\*?\.[A-Za-z]\w{0,9})",
    "quoted": rf"(?P<text>{QUOTED})",
    "text": r"(?P<text>.+?)",
    "old": r"(?P<old>.+?)",
    "new": r"(?P<new>.+?)",
    "content": r"(?P<content>.+)",
    "command": r"(?P<command>.+)",
    "n": r"(?P<n>\d{1,7})",
    "a": r"(?P<a>\d{1,7})",
    "b": r"(?P<b>\d{1,7})",
    "language": r"(?P<language>python|javascript|js|typescript|ts|markdown|md|rust|go|golang|c|c\+\+|cpp|java|kotlin|swift|ruby|php|shell|bash|sh|html|css|json|yaml|yml|toml|xml|sql|text|txt|test|config|header|image|lua|perl|scala|r)",
}
