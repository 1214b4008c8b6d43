# ruff: noqa: E501  tables: one expression a line reads best unbroken
"""The intents, and the shorthand in which the table words their patterns.

In a pattern a space is any space, `@word` is a macro of `MACROS` and `%name` a named argument of `ARGUMENTS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache

OPEN, CLOSE = "\ue000", "\ue001"
QUOTED = f"{OPEN}\\d+{CLOSE}"
"""Matches what stands for a quoted or fenced text."""


Intent = StrEnum(
    "Intent",
    """
    GREET THANKS ACK BYE HELP WHO CONNECT AGAIN PICK MORE OVERVIEW LIST MEASURE FIND_FILES DEFINITION
    USAGES TEXT READ EXPLAIN EXPLAIN_SYMBOL CREATE REPLACE APPEND DELETE_LINE MOVE_FILE DELETE_FILE
    MAKE_FOLDER RUN BACKGROUND JOB_OUTPUT JOB_STOP PLAN ASK_ME TESTS CHANGES DIFF LOG BRANCH UNDO COMMIT
    FACTS TOPIC BEYOND UNKNOWN
    """,
)
"""What the user wants; the value is the name in lower case."""
IT = "@it"
"""The argument for "it", "that file", …: what the conversation was about last."""


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to do."""

    intent: Intent
    args: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    """The step as it was typed."""

    def get(self, name: str) -> str:
        """Return an argument, or "" when it was not given."""
        return self.args.get(name, "")

    def with_args(self, **args: str) -> Request:
        """Return the same request with further or other arguments."""
        return replace(self, args={**self.args, **args})

    def number(self, name: str) -> int | None:
        """Return an argument that is a number."""
        value = self.args.get(name, "")
        return int(value) if value.isdecimal() else None


MACROS = {
    "the": r"(?:(?:me|us|the|teh|this|that|these|those|a|an|my|our|your|all|any|every|each|some|of|entire|whole|full|current|new|existing) )*",
    "find": r"(?:find(?: out)?|locate|look for|look up|search(?: for)?|hunt for|where is|where's|where are|show(?: me)? where is|get)",
    "show": r"(?:show|read|open|cat|go to|goto|jump to|take me to|print|display|view|see|look at|look into|look in|dump|peek at|bring up|pull up|let me (?:see|look at|look into|check|read)|give me|get|bat|less|take a look at|have a look at|type out|inspect)",
    "explain": r"(?:explain|outline|summari[sz]e|describe|analy[sz]e|sum up|walk me through|walk through|tell me about|give me (?:an? )?(?:overview|outline|summary|description) of|(?:an? )?(?:overview|outline|summary|structure) of|review the structure of|what's in the module|document)",
    "list": r"(?:list|show|display|print|enumerate|give me|see|which are|what are)",
    "in": r"(?:in|inside|within|under|of|from|through|across|at)",
    "file": r"@the(?:file |files |module |script |document |contents? of @the(?:file )?)?%file(?: file| module| script)?",
    "place": r"(?: @in @the(?:file |files |folder |directory |package |module |dir )?%path(?: files?| folder| directory| package| module| dir)?)?",
    "kind": r"(?:(?P<kind>functions?|funcs?|class(?:es)?|methods?|defs?|definitions?|declarations?|variables?|vars?|constants?|types?|structs?|interfaces?|enums?|traits?|modules?|macros?|symbols?|fixtures?|exceptions?|attributes?|fields?|property|properties|decorators?|procedures?|routines?|names?)(?: definition)? (?:of |for |named |called )?@the)",
    "code": r"(?:function|func|class|method|def|struct|interface|enum|trait|macro|fixture|exception|decorator)",
    "text": r"(?:text|string|word|phrase|typo|name|pattern|regexp?|regular expression|term|literal|expression|keyword|message|lines? (?:with|containing|that contains?|matching|that says?)|lines?|occurrences? of|mentions? of|instances? of)",
    "change": r"(?:fix|debug|refactor|implement|optimi[sz]e|improve|review|translate|port|convert|design|solve|rewrite|simplify|clean up|cleanup|migrate|modernize|modernise|upgrade|update|bump|change|remove|delete|speed up|profile|build|develop|code|program|generate|write|create|add|make|extend|complete|finish|finali[sz]e|draft|compose|invent|brainstorm|plan|suggest|propose|recommend|advise|compare|evaluate|critique|audit|secure|type|annotate|comment|test|format|reformat|lint|beautify)",
    "changed": r"(?:wrote|written|changed?|touch(?:ed)?|edit(?:ed)?|committed|modif(?:y|ied)|updated?|created?|add(?:ed)?|authored|maintains?|owns?|worked on)",
    "repo": r"(?:project|repo(?:sitory)?|code ?base|code|folder|directory|workspace|package|app|application|library|program|source tree|sources?)",
    "tests": r"(?:unit |integration |test )?(?:tests?|test ?suites?|specs?|suite|unittests?|checks)",
    "changes": r"(?:uncommitted |unstaged |local |git |recent |working |file |my )*(?:changes?|modifications?|edits?|status|modified files|changed files)",
    "where": r"(?:with|by|to|for|into|->|=>|→|as)(?: the (?:word|text|string|phrase|name))?",
    "ref": r"(?:(?:the |number |no\.? ?|result |hit |match |file |item |option |commit |entry |#)*(?P<nth>\d{1,3}|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|one|two|three|four|five)(?:st|nd|rd|th)?(?: one| commit| result| hit| file| match| entry| item| of them| suggestion| option)?|it|that|this|them|that one|this one|(?:that|this|the|same) (?:same )?(?:file|one|result|match|function|class|definition)|the whole (?:file|thing)|all of it)",
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


@dataclass(frozen=True, slots=True)
class IntentSpec:
    """One row: what it is, how people say it, and how the help text shows it."""

    intent: Intent
    patterns: tuple[str, ...]
    group: str = ""
    example: str = ""


_HEAD = re.compile(r"\[(\w+)(?: \| (\w+) \| (.+))?\]")


def rows(text: str) -> tuple[IntentSpec, ...]:
    """Return the rows of a table that is written as text."""
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in text.strip().split("\n"):
        head = _HEAD.fullmatch(line)
        if head:
            found.append((head, []))
        else:
            found[-1][1].append(line)
    return tuple(
        IntentSpec(Intent(head[1]), tuple(lines), head[2] or "", head[3] or "") for head, lines in found
    )


TABLE = rows(r"""
[greet]
(?:are )?you there|any(?:one|body) (?:here|there)|ping|(?:hi|hello|hey|yo|sup|hola|hallo|what is up|howdy|hiya|moin|greetings|good (?:morning|afternoon|evening|day))(?: (?:there|forge|all|you|again))?
[thanks]
(?:thanks?|thank you|thx|ty|cheers|great|nice|perfect|awesome|cool|good(?: job| work)?|well done|wonderful|excellent|that(?:'s| is) (?:great|nice|perfect|all|it|good))(?: (?:so|much|a|lot|very|you|forge|works?|worked|job|again|that|this|it|helps?|helped|for|the|is|was|all|perfect|great))*
[ack]
(?P<no>don't|do not) (?:change|touch|edit|run|do|delete|write|modify) .{1,40}|(?P<no>no|nope|nah|don't|do not|stop|wait|cancel|abort|leave|forget|skip|never ?mind)(?:,? (?:no|do|don't|do|not|stop|wait|cancel|abort|it|that|this|so|anything|alone|please|mind|leave|forget|keep|not|better|rather|thanks))+
(?:yes|yep|yeah|yup|sure|ok(?:ay)?|k|fine|alright|right|correct|exactly|no|nope|nah|nothing|never ?mind|not now|stop|cancel|i see|got it|understood|hm+|wow)(?:,? (?:thanks|thank you|great|good|cool|ok|fine|then|that's (?:fine|ok|all|right|it)))?
[bye]
(?:good ?bye|bye(?: bye)?|see you(?: later)?|exit|quit|that's all)
[help | More | help]
help(?: me)?(?: out)?|usage|examples?|commands?|\?+|/help|man|manual|tips|do you (?P<ability>have|need|know|support|see|remember|learn|send|store)\b.*|(?P<ability>(?:edit|change|read|open|run|execute|write|create|delete|search|use|access|see|make|modify|browse|fix)) @the(?:files|code|commands?|shell|terminal|git|internet|web|network|things|stuff)(?: too| also| here| on your own)?
what (?:can|could|do|should) (?:you|i|we|it|forge) (?:do|ask|say|try|help|understand|know|offer)\b.*|(?:which|what) (?:commands|requests|things|questions|sentences|tools)\b.*|how (?:does forge work|do you work|do i use (?:you|forge)|can you help(?: me)?)(?: here| with)?|i'm (?:new|lost|stuck)(?: here)?|(?:show|list)(?: me)? (?:the )?(?:help|examples|commands|tools)
[connect | More | connect a real model]
connect(?: .*(?:models?|openrouter|openai|provider|api|llm|ai|claude|gpt|key))?|(?:how (?:do|can|could|would|to|should)(?: i| we| you)?|where do i|can i|i want to) ?(?:connect|use|switch|set(?: up)?|configure|add|put|get|enter|select|choose|change)\b.* (?:models?|openrouter|openai|provider|api ?key|key|llm|ai|claude|gpt|ollama|anthropic)\b.*
(?:use|switch to|set up|configure|change to|get|give me) (?:a |an |the |another )?(?:real|other|another|better|different|online|ai|llm|cloud|local|proper|actual|stronger|smarter)(?: ai| language)? (?:model|llm|one|provider)s?\b.*|(?:use|switch to) (?:openai|anthropic|claude|gpt|gemini|llama|mistral|deepseek|qwen|ollama|openrouter|chatgpt)\S*|(?:set|enter|add|configure)(?: the| my| an?)? (?:openrouter )?api ?key.*|openrouter(?:_api_key)?|go online
[who]
(?:who|what)(?: are| r) (?:you|u|this)\b.*|what(?:'s| is) (?:forge|this (?:model|tool|assistant)|your name|the offline model)|introduce yourself|who (?:made|built|wrote|created|develops) (?:you|forge)|tell me about (?:yourself|forge)|are (?:you|u) (?:an? |the )?(?:real |actual )?(?:ai|llm|gpt\S*|chatgpt|claude|human|person|bot|robot|language model|model|machine|online|offline)\b.*
(?:which|what) (?:ai |language )?model(?: is this| are you| do you use| am i (?:using|talking to))?\b.*
[again]
(?:do (?:it|that|this) )?again|continue|go on|go ahead|retry|try (?:it |that )?again|repeat(?: that| it)?|once more|one more time|proceed|carry on|resume|keep going|redo(?: it| that)?
[more]
(?:(?:show|read|see|list|give|scroll|keep|go)(?: me)? )?(?:(?:some |a bit )?more|the rest|(?:the )?next(?: (?:page|part|lines?|ones?|\d+(?: lines)?))?|further(?: down)?|down|reading)(?: of (?:it|that|this))?(?: lines| results)?|what (?:comes|is) next
[log]
(?:@show )?@the(?P<last>last|latest|newest|most recent) commit
[pick]
(?:the )?(?P<nth>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|\d{1,2}(?:st|nd|rd|th))(?: one| result| hit| file| match| option| suggestion| commit)?|(?:number |no\.? ?|option |result |#)?(?P<n>\d{1,3}|one|two|three|four|five)(?: one)?|(?:only )?(?:on |in |at |the one (?:on|in|at) )?line (?P<a>\d{1,7})(?: only)?|(?P<all>all(?: of them| of those| occurrences)?|every(?:where|one| one)|both(?: of them)?|replace (?:them )?all)
[background | Run | run `python3 -m http.server` in the background]
(?:run|start|launch|execute) (?:the command |command )?(?P<command>.+?) (?:in (?:the )?background|as a (?:background )?job|and keep it running)|in (?:the )?background,? (?:run|start|launch|execute) (?:the command )?%command
[job_output | Run | show the output of job 1]
(?:show|read|print|see|check|get|what(?:'s| is))(?: me)? (?:the |new |latest )*(?:output|logs?|status) (?:of|from|for) (?:the )?(?:(?:background )?job(?: (?:number |no\.? ?|#)?%n)?)|(?:show|check|read)(?: me)? (?:the )?job(?: (?:number |no\.? ?|#)?%n)?(?:'s)?(?: (?:output|logs?|status))?|(?:how is|how's|what about|is) (?:the )?job(?: (?:number |no\.? ?|#)?%n)?(?: (?:doing|done|going|finished|running|still running|ready))?
[job_stop | Run | stop job 1]
(?:stop|end|kill|cancel|terminate|quit) (?:the )?(?:background )?job(?: (?:number |no\.? ?|#)?%n)?
[plan | Run | plan: read the code, fix the bug, run the tests]
[ask_me | More | ask me whether to use tabs or spaces]
[tests | Run | run the tests]
(?P<how>run) (?:only |just )*(?:one|a single|1|single|an individual|individual|specific) tests?(?: file| function| case)?|(?P<how>how) (?:do|can|could|should|would|to)\b(?: i| you| we| one)? (?:run|execute|start|launch|invoke) (?:.{0,20} )?@tests.{0,30}|(?P<how>how) (?:do|can|should|to)\b(?: i| you| we| one)? test (?:it|this|@the@repo).*
(?P<how>how) (?:are|is) @the@tests (?:run|executed|started|invoked).*|(?:(?:what|which) is )?@the(?:(?P<how>test command)|(?P<how>command) (?:to run|for|that runs) @the@tests).*|(?:with )?(?:what|which) (?P<how>command) (?:runs|is for|do i run|for) .{0,20}@tests.*
(?:only )?(?:run|execute|start|do|launch|try|check|rerun|re-run|perform|kick off)(?: all| only| just)? @the@tests(?: again| all| suite| now)?(?: (?:in|for|of|from|under|at|on|with) @the%path(?: file| folder| directory| package| module)?)?|(?:only )?(?:run|execute|rerun|re-run) (?:only |just )?@the(?P<only>(?!test|only\b|just\b)\w+) (?:tests?|test suite|specs?)(?: only)?
(?:run|execute|rerun|re-run) (?:the )?(?:file )?(?P<path>(?:[\w./-]*/)?test_[\w-]+\.py(?:::[\w:.\[\]-]+)?|tests?/[\w./-]*)|(?:run|execute|rerun|re-run) (?:the )?tests? %path|(?:run|execute) (?P<only>test_\w+)|(?:do|are|did|will) @the(?P<only>(?!unit|integration|test|all|the\b)\w+) @tests (?:all )?(?:pass|passing|green|ok|fail|failing|work)\b.*
(?:do|are|did|will) @the@tests (?:all )?(?:pass|passing|green|ok|okay|fail|failing|succeed|run|work|red|broken|still (?:pass|green|work|passing))\b.*|test (?:it|this|that|everything|@the@repo)|@tests|run test|which tests (?:are )?(?:fail|failing|broken|red)\b.*|is @the(?:build|suite|@repo) (?:green|ok|passing|broken)
[facts]
(?P<install>run) (?:the |this |our |my )+(?:linters?|formatter|app|application|server|project|program|demo|type ?checker|dev server)
[log]
(?:what|which files?)\b.{0,30}\b(?P<detail>(?:in|by|did) @the(?:last|latest|most recent|newest) (?:git )?commit)(?: (?:do|did|touch|change|contain|include|about)\w*)?|@show @the(?:(?:changes|diff|files|contents?) (?:of|in|from) @the(?P<detail>last|latest|most recent|newest) commit|(?P<detail>last|latest) commit'?s? diff)
(?P<last>who) (?:committed|pushed|changed @the(?:it|something|anything|code|repo)) (?:last|latest|most recently|recently)(?: .{0,15})?|(?P<last>who) (?:made|did|wrote|pushed) @the(?:last|latest|most recent) (?:commit|change).{0,15}
[changes | Git | what changed?]
(?:(?:is|was) there )?anything (?:uncommitted|unstaged|changed|modified|dirty|not committed)(?: yet| here)?|(?:what|which files|which|show(?: me)? what|see what|tell me what) (?:has |have |did )?(?:i |you |we |been )?(?:changed?|modified|edited|modify)(?: (?:so far|in git|in the (?:repo|project|folder|code|repository|working (?:tree|copy))|here|lately|recently|since .*|today|already|with git|according to git))?
(?:what(?:'s| is| are)|any|are there(?: any)?|is there anything) (?:the )?(?:changed|changes|new|different|modified|modifications|uncommitted changes|dirty)(?: (?:in git|here|in the .*|since .*))?|(?:show|list|see|view|display|print|check|give me) @the@changes(?: (?:in|from|with|of|using) (?:git|the repo|the project|this repo))?
(?:git )?st(?:atus)?|git changes|changes|my changes|what files (?:have |has )?(?:i |you |we )?(?:been )?(?:changed?|modified)|(?:did|have) (?:you|i|we) chang(?:e|ed) (?:anything|something|any file|a file)s?|is @the(?:repo|working (?:tree|copy|directory)|git|tree|workspace) (?:clean|dirty)|(?:do|have) (?:i|we) (?:have |got )?(?:any )?(?:uncommitted|unsaved|local|pending|unstaged) changes
[diff | Git | show the diff of README.md]
what (?:has |have |did |was |were )?(?:been )?(?:i |you |we )?(?:changed?|modified|edited|modify) (?:in|about|at) @file|(?:show|see|view|display|print|give me|list) @the(?:changes|edits|modifications|diff) (?:in|to|of|for|on|made to) @file|(?:(?:show|see|view|display|print|give me) @the)?(?:git )?diff(?:erences?)?(?: (?:of|for|in|on|from))?(?: @file)?
[log | Git | show the last 5 commits]
(?:show|list|see|view|display|print|give me|what (?:are|were)) @the(?:last |latest |recent |newest |git |most recent )*(?:%n )?(?:last |recent )?(?:commits?|commit history|history|git log|git history|log)(?: (?:in|of) @the(?:git|@repo))?
(?:what was|who made|what's|what is) @the(?:last|latest|most recent) (?:git )?commit\b.*|(?:commit |git )?history|what was @the(?P<last>last|latest|most recent) (?:change|thing)\b.*|(?P<last>what changed last|(?:last|latest|most recent) change)|when was @the(?P<last>last|latest|most recent) .{1,30}
(?:the )?(?:last |latest |recent |newest |most recent )+(?:%n )?(?:git )?commits?(?: messages?)?(?: (?:in|of) @the(?:git|@repo))?|%n (?:last|latest|most recent|recent) commits?|git log(?: (?:the|last|latest|recent|newest|only|with))+(?: %n)?(?: commits?| entries| ones)?
(?P<who>who) (?:.{0,20} )?@changed (?:to |in )?@the(?:file )?%dotted(?: (?:last|lately|recently|first|most))?|(?P<who>who) (?:is|was|are) @the(?:main )?(?:authors?|owners?|maintainers?) of @the(?:file )?%dotted|blame @the%dotted|when (?:was|is|has|were) (?:.{0,20} )?@the(?:file )?%dotted (?:.{0,12} )?@changed.{0,20}|when did .{1,15} @changed (?:to |in )?@the(?:file )?%dotted.{0,15}
(?:@list )?@the(?:last |latest |recent |git )*(?:%n )?(?:last |recent )?(?:log|history|commits?|changes?)(?: messages?)? (?:of|to|for|in|on|touching|about) @the(?:file )?%dotted
[branch]
(?:am i|are we|is this) (?:still )?on @the(?:branch )?(?!python\b|windows\b|linux\b)[\w./-]+(?: branch)?|(?:which|what)(?:'s| is)?(?: the)?(?: current| git)? branch(?: am i on| are we on| is (?:this|it|checked out)| is this)?(?: .*)?|(?:show|list)(?: me)?(?: all)?(?: the)?(?: current| git)? branch(?:es)?|(?:current |git )?branch(?:es)?
[undo | Git | undo]
(?:undo|revert|discard|roll back|rollback|take back|throw away|reverse|drop) @the(?:(?:last |recent |local |git |uncommitted |latest )*(?:changes?|edits?|modifications?|replacement|replace) (?:to|in|of|on|from|made to|you made (?:to|in)|i made (?:to|in)) )?(?P<file>it|that|this|everything|all)(?: changes)?(?: (?:with|using|by|in) git| again)?
(?:undo|revert|discard|roll back|rollback|take back|throw away|reverse|drop) @the(?:last |recent |local |git |uncommitted |latest |previous )*(?:changes?|edits?|modifications?|replacement|replace|rename|thing)(?: you made| i made| we made)?(?: (?:with|using|by|in) git| again)?
(?:undo|revert|restore|discard|roll back|rollback|take back|throw away|reset|git checkout --|git restore) @the(?:(?:last |recent |local |git |uncommitted |latest |previous )*(?:changes?|edits?|modifications?|replacement|replace) (?:you made |i made )?(?:to|in|of|on|from|made to) )?@file(?: (?:with|using|from|by|in) git| to (?:its|the) (?:original|last commit|committed).*)?
undo|revert|git undo|undo (?:with|using) git|(?:put|set|bring|change|take|turn|roll) (?:it|that|this|everything|all) back\b.*|(?:undo|revert|reverse|discard|take back|roll back) (?:what|everything|all|whatever|the stuff)\b.{0,40}|(?:go|get|switch|back) back(?: to (?:before|how .*|the (?:old|previous) .*))?
[commit]
(?:git )?commit(?: @the(?:@changes|everything|it|work))?(?: (?:with|using))?(?: (?:a|the|this))?(?: (?:message|msg))?(?: (?:saying|-m))?:? %quoted|commit(?: @the(?:@changes|everything|it|work))?(?: with(?: the)? message (?P<text>.+))?
[overview | Look | explain this project]
(?:@explain|review|understand|introduce|show me around|explore) @the(?:this |whole )?@repo(?: structure| layout| to me| here)?|(?:show me around|explain (?:this|everything|it all))(?: here)?|what (?:is|does|'s|do) @the@repo(?: (?:do|about|for|all about|good for|here))*|what(?:'s| is) (?:this|here|this all about|this about)
(?:give me |show me |i need )?(?:an? |the )?(?:(?:quick|short|brief|high-level) )?(?:project |code )?(?:overview|tour|summary)(?: (?:of|over) @the@repo| here)?
(?:where|how|with what) (?:do|should|can|would) i (?:start|begin|get started|start reading)\b.{0,30}|(?:get|getting|to get|me get)? ?started(?: .{0,20})?|where to (?:start|begin)\b.{0,20}|what am i looking at|what is this (?:thing|stuff|code)(?: here)?|how is (?:this|the|it) ?@repo? ?(?:structured|organi[sz]ed|laid out|built)|tell me about (?:this|it|the @repo|this @repo)|(?:@explain )?(?:this|the) @repo
(?:what(?:'s| is) )?(?:the )?(?:structure|layout|architecture|organi[sz]ation) of @the@repo|(?:project|code|repo) (?:structure|layout)
[explain_symbol]
(?:how many|what|which|list)(?: me| the| all)* (?:methods|attributes) (?:does|do|of|in|on|has) @the(?:class )?(?P<name>(?-i:[A-Z])\w+)(?: class)?(?: have| has| define)?
[measure | Look | how big is this project?]
(?:total )?(?P<thing>lines|loc)(?: of code)? (?:in|of) @the(?:file )?%dotted|(?:total )?(?P<thing>lines|loc) of (?:code|python|text)(?: .{0,20})?|(?:how many|count|(?:what is )?@the(?:total )?number of) @the(?P<thing>commits) (?:did|has|have|are by|are from|by|from|of) (?P<by>(?!we\b|i\b|you\b|it\b|this\b|the\b|there\b)[\w.@-]+)(?: .{0,15})?
(?:how (?:many times|often)|(?:how many|count|(?:what is )?@the(?:total )?number of) @the(?:places|files|lines|spots|uses|usages|mentions|occurrences|references|calls)) (?:is |are |does |do |of |to |that |we |it )*@the(?:@kind)?%name(?: @code)? ?(?:\w+ed|appears?|occurs?|come up|comes up|shows? up|there|here|called|get \w+ed|gets \w+ed|anywhere)?@place
(?:how (?:many times|often)|(?:how many|in how many) (?:places|files|lines)) (?:is|are|does|do|we|it|mention|use|import|call|contain|have)s? @the(?:@kind)?%name(?: .{0,30})?|(?:what|which) (?:programming )?languages? (?:is|are|was|does|do)\b.{0,40}
(?:how many|count|(?:what is )?@the(?:total )?number of) @the(?P<thing>lines|loc)(?: of (?:code|text))?(?: are)?(?: there)?(?: (?:in|of|does|do|has|is))? @the(?:file )?%dotted(?: (?:has|have|got|contains?|there))*
(?:how many|count|(?:what is )?@the(?:total )?number of) @the(?P<thing>lines|loc|tests?|functions?|methods?|classes|imports?|todos?)(?: of (?:code|text))?(?: are)?(?: there)? (?:in|of|under) @the(?:folder |directory )?%path(?: folder| directory| dir| package| module)?
@list @the(?:public |main |top.level |exported |defined )*(?P<thing>tests|functions|classes|methods)(?: (?:there are|here|in here|we have))?(?: (?:in|of|under) @the(?:folder |directory )?%path(?: folder| directory| dir| package)?)?|how (?:long|big|large|huge) is @the(?:file )?%dotted|(?:what is |show |tell )?@the(?:file )?(?:size|length|line ?count|wc) of @the(?:file )?%dotted
how (?:long|big|large|huge) is (?P<file>it|that|this|that file|this file)|how (?:long|big|large|huge) (?:is|are) (?:it|this|that|them|everything|@the@repo)(?: .{0,20})?|(?:what is )?@the(?:total )?(?:size|loc|lines of code|line ?count)(?: (?:of|in) @the@repo)?|(?:how many|count|(?:what is )?@the(?:total )?number of) @the(?:unit )?(?P<thing>lines|loc|sloc|tests?|functions?|methods?|classes|commits|imports?|todos?)\b.{0,40}
(?:@list |(?:what|which) (?:is|are) )?@the(?:top )?(?:%n )?(?P<thing>biggest|largest|longest|heaviest|smallest|shortest) (?:source |python |code )?(?:files?|modules?|ones?).{0,20}|(?:what|which) (?:files?|modules?) (?:is|are|has|have) @the(?P<thing>biggest|largest|longest|smallest|shortest|(?:the )?(?:most|fewest|least) (?:lines|code)).{0,20}|what is (?:being )?(?P<thing>test)ed\b.{0,20}
[list | Look | list the files]
(?:ls|dir|tree)(?: %path)?|(?:la|ll)
@list @the(?:top.level |source |project |main |directory |folder )*(?:files?|folders?|directory|directories|contents?|tree|file tree|directory tree|directory structure|subfolders|listing|file list|everything|what's|structure)(?: and (?:folders|directories|files))?(?: (?:there are|we have|that exist|you (?:can )?see))?(?: (?:in|of|under|inside|from|for|within|at) @the(?:folder |directory |dir |package )?%path(?: folder| directory| dir| package)?)?(?: here)?
(?:what|which)(?:'s| is| are)?(?: the)?(?: (?:files?|folders?|directories|files and folders))?(?: ?(?:are|is|do we have|do i have|there|exist|can you see|live|lives))*(?: ?(?:there|here))?(?: (?:in|inside|of|under) @the(?:folder |directory |dir |package )?%path(?: folder| directory| dir| package)?)
(?:what|which) files (?:are (?:there|here)|do (?:we|i) have|exist|can you see|does it have)(?: here| in here)?|what(?:'s| is| do we have| have (?:we|you|i) got| have we) (?:in )?(?:here|there)|where am i|look around|(?:list|ls) %path|(?:show|list|open|browse|explore) @the(?:folder|directory|dir) %path|@show @the%path (?:folder|directory|dir|package)|(?:list|browse) @the%path(?: folder| directory| dir| package)?
[find_files | Look | find all *.py files]
(?:@find|@list|count|(?P<count>how many|(?:what is )?(?:the )?(?:total )?number of)) @the%glob files?(?: (?:are (?:there|here)|do (?:we|i) have|exist|is there))*@place|(?:@find|@list|count|(?P<count>how many|(?:what is )?(?:the )?(?:total )?number of)) @the%language(?: source| code)? files?(?: (?:are (?:there|here)|do (?:we|i) have|exist|is there))*@place
(?:@find|@list|count|what|which) @the(?:files|file names|filenames) (?:that |which )?(?:end(?:ing|s)? (?:with|in|on)|have the (?:extension|ending)|with (?:the )?(?:extension|ending|suffix)|of type|matching|like)(?: are)? %glob@place
(?:@find|@list|is there|are there|do we have|does it have|what|which) @the(?:files?|filenames?) (?:are )?(?:that (?:is|are) )?(?:named|called|matching|like|with the name|with|whose name contains|that matche?s?|that start with|starting with) (?:in the name )?(?!.*\bin\b.*\bit\b)(?P<part>\ue000\d+\ue001|[^\s,;?!]+)(?: in (?:the|its|their) names?)?@place|(?:@find|is there|do we have|does it have|have we got) @the(?:file )?%dotted(?: file)?@place
(?:@find|is there|do we have|does it have) @the(?P<part>[\w.-]+) file@place|(?:glob|find) (?P<glob>[^\s]*\*[^\s]*)|(?:@find|@list) %glob@place|where (?:is|are) @the(?P<part>docs?|documentation|tests?|examples?|scripts?|migrations|templates|assets|benchmarks)(?: folder| directory| files?)?|(?P<count>how many|(?:what is )?(?:the )?(?:total )?number of) files?(?: (?:are (?:there|here)|do (?:we|i) have|exist|is there))*@place
[usages | Find | who calls load_config]
(?:who|what|which (?:code|files?|functions?|modules?|tests?)|where do we|where does (?:it|the code)|show me what|show me who) (?:is |are |can )?(?:calls?|uses?|using|calling|imports?|importing|references?|invokes?|mentions|needs|depends? on|raises?|throws?|catch(?:es)?|instantiates?|subclass(?:es)?|extends?|inherits? from) @the(?:@kind)?%name@place
(?:where|how)(?: is|'s| are) @the(?:@kind)?%name(?: @code)? (?:being )?(?:used|called|imported|referenced|invoked|mentioned|needed|instantiated)(?: from| by)?@place|(?:@find|@list|show|get) @the(?:call sites?|usages?|uses|references?|callers?|calls|usage|imports?|users) (?:of|to|for) @the(?:@kind)?%name@place
(?:@find|show|@list) (?:me )?(?:where|who|what|everything that|all places (?:where|that)|code that) (?:calls?|uses?|imports?|references?|we (?:use|call)) @the(?:@kind)?%name@place|(?:does|do|is|are) (?:it|this|we|they|anyone|anything|@the@repo) (?:use|using|import|importing|call|calling)s? @the(?:@kind)?%name(?: anywhere| here| at all)?@place
[definition | Find | find the function load_config]
(?:@find|show|read|open|go to|goto|jump to|display|print|see|view|where is|get|which file (?:has|contains|defines)) @the@kind%name@place|(?:@find|show|read|open|go to|jump to|display|see) @the%name (?:function|func|class|method|struct|interface|enum|trait|macro|fixture|exception|decorator|definition|variable|constant|type)@place
(?:@find|show|tell) (?:me )?(?:out )?where @the(?:@kind)?%name(?: @code)? (?:is|gets|was|are) (?:defined|declared|implemented|located|written|coming from)@place|where(?: is|'s| are| can i find)? @the(?:@kind)?%name(?: @code)? (?:defined|declared|implemented|located|written|coming from|from)@place|where (?:do|does|did|can|is) (?:we|you|i|it|the (?:code|project)) (?:define|declare|implement|find|see)s? @the(?:@kind)?%name@place
in (?:which|what) (?:file|module|place) (?:is|are) @the(?:@kind)?%name(?: @code)? (?:defined|declared|implemented|located)|(?:which|what) file (?:defines|declares|implements|has|contains the definition of) @the(?:@kind)?%name|(?:the )?(?:definition|declaration|implementation) of @the(?:@kind)?%name|def(?:ine)? %name|(?P<kind>class|def|func|function|fn|struct) %name
[text | Find | search for 'timeout' in *.py]
(?:(?:@find|@list|show|search for|any|are there(?: any)?|is there (?:an?|any)|do we have|have we got|what are|what is|where are) )?@the(?:open |remaining |left |known )*(?P<todo>(?:todos?|fixmes?|to-dos|todo comments|todo items|xxx|hacks)(?:(?: or | and |/|, )(?:todos?|fixmes?|hacks?|xxx))*)(?: (?:are )?(?:left|open|remaining|there|somewhere|anywhere|around|still))*(?: here| in here)?@place
(?:search|grep|scan|look|rg)(?: -\w+)?(?: (?:the |all )?(?:files?|code|project|repo|everything|folder|for|through|in|@repo|everywhere))* ?(?:for )@the(?:@text )?%text(?: @in @the(?:file |files |folder |directory |all )*%path(?: files?| folder| directory)?)|(?:search|grep|scan|rg) (?:in |inside |through )?@the(?:file |files |folder |directory )?(?P<path>\ue000\d+\ue001|[^\s,;?!]*[./*][^\s,;?!]*) for @the(?:@text )?%text
(?:search|grep|scan|look|rg)(?: -\w+)?(?: (?:the |all )?(?:files?|code|project|repo|everything|folder|through|in|everywhere))* ?for @the(?:@text )?%text|(?:@find|search|grep|rg|look for)(?: -\w+)* @the(?:@text )?(?P<text>\ue000\d+\ue001)@place|(?:@find|grep|rg) @the@text %text(?: @in @the(?:file |files |folder |directory |all )*%path(?: files?| folder| directory)?)|(?:@find|grep|rg) @the@text %text
(?:grep|rg)(?: -\w+)* (?P<text>\S+)(?: %path)?|search (?P<text>[^\s*]+)|(?:what|which|find(?: all)?|list(?: all)?|show(?: me)?(?: all)?|the)(?: the)? (?P<files>files) (?:that |which )?(?:contain(?:s|ing)?|mention(?:s|ing)?|have|having|with|include|including|say)(?: the)?(?: text| word| string| phrase)? %text@place
where (?:does it|do we|do they|does the (?:code|text|documentation)|is it|do you) (?:say|mention|contain|talk about|print|log|raise|write|said|written) %text@place|where is (?P<text>\ue000\d+\ue001)(?: used| mentioned| written)?@place|(?:lines|occurrences|mentions) (?:containing|with|of|matching) %text@place
[create | Change | create notes.md with 'first line']
(?:create|write|make|add|generate|start|new|touch|save|produce) @the(?:empty |small |little |simple |short |text |python |shell |bash |js |javascript |markdown |hello world |source |test )*(?:file |script |module |program |document |page )?(?:named |called |with the name |at )?%dotted,? ?(?:file |script )?(?:with|containing|that contains|that has|having|which contains|saying|that says|and (?:put|write))(?: (?:in it|into it))?(?: (?:the|this|these|a|an))?(?: (?:following|single|one|exact))?(?: (?:text|contents?|lines?|code|body|words))?(?: in it| of| saying| that says)?:? ?%content
(?:write|put|save|store|add) %quoted (?:in|into|to|as) @the(?:new )?(?:empty )?(?:file )?(?:named |called )?%file|(?:create|write|make|add|generate|new|save|produce) @the(?:empty |small |little |simple |short |text |python |shell |bash |js |javascript |markdown |source )*(?:file |script |module |program |document )?(?:named |called |at )?%dotted,? ?(?:that|which|to|for) (?P<purpose>.+)
(?:create|make|add|touch|generate|start|write) @the(?P<empty>empty |blank )(?:new )?(?:text |python |markdown )?(?:file |script |module )?(?:named |called )?%file|(?:create|make|add|touch|generate|start|new|write) @the(?:new )?(?:text |python |shell |bash |js |javascript |markdown |source |test )*(?:file |script |module |program |document )(?:named |called |at )?%file
(?:create|make|touch|generate|start|new|write|add) @the%dotted(?: file| script| module)?
[make_folder]
(?:create|make|add|new|mkdir(?: -p)?) @the(?:folder |directory |dir |package )(?:named |called )?%path|mkdir(?: -p)? %path
[move_file]
(?:rename|move|mv) @the(?:file )?%dotted (?:to|as|into|->|→) (?P<other>\ue000\d+\ue001|[^\s,;?!]*[./][^\s,;?!]*)|(?:rename|move|mv) @the(?:file|folder|directory) %file (?:to|as|into|->|→) @the(?:folder |directory )?%other|(?:rename|move|mv) @the(?:file )?%dotted (?P<other>[^\s,;?!]*[./][^\s,;?!]*)|(?P<copy>copy|cp|duplicate) @the(?:file )?%dotted (?:to|as|into|->|→)? ?%other
[replace | Change | replace "colour" by "color" in README.md]
(?:in|inside) @file,? (?:please )?(?:replace|change|swap|substitute|rename|turn|correct|update) @the(?:@text )?%old @where %new|(?:replace|change|rename|update) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@kind)?(?:@text )?%old @where %new,? (?P<files>(?:in|across|throughout) (?:all|every|each)(?: of)?(?: the| my)? (?:files?|modules?|places?)|(?:in|across|throughout) the whole @repo)
(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) (?P<all>all|every|each|everything) @the(?:(?:occurrences?|instances?|uses?|mentions?|places?|cases) (?:of|where it says) )?(?:@text )?%old @where %new(?: in @file)
(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@text )?%old @where %new (?:on|in|at) line (?P<line>\d+) (?:of|in) @file
(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@text )?%old @where %new (?:in|inside|within|of|throughout) @file,?(?: (?:(?:on|in|at) )?line (?P<line>\d+))
(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@text )?%old @where %new,? (?P<all>everywhere|throughout|all over|globally|in all places)(?: in| inside| within)? @file|(?:change|update|set|bump|switch) @the(?P<what>[\w .-]+?) from %old to %new(?: (?:in|inside|within|of) @file)
(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?P<all>(?:all )?occurrences|(?:all )?instances|uses|mentions) of )?(?:@kind)?(?:@text )?%old @where %new (?:in|inside|within|of|throughout) @file,?(?: (?P<every>everywhere|all(?: of them)?|globally|throughout|every time|each time|once))?
(?:replace|change|swap|substitute|switch|rename|update|correct|turn|exchange) @the(?:(?P<all>(?:all )?occurrences|(?:all )?instances|uses|mentions) of )?(?:@kind)?(?:@text )?%old @where %new,?(?: (?P<every>everywhere|all(?: of them)?|globally|throughout))?|(?:fix|correct) (?P<old>\ue000\d+\ue001) (?:to|into|with|as) (?P<new>\ue000\d+\ue001)(?: in @file)?|s/(?P<old>[^/]+)/(?P<new>[^/]*)/(?P<every>g)? (?:in|on) @file
[append | Change | add the line '- done' to notes.md]
(?:append|add|insert|put|write) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?P<spot>before|after|above|below|at|on) line (?P<line>\d+) (?:of|in|to) @file|(?:append|add|insert|put|write|prepend) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?:to|at|on|in|into) the (?P<spot>top|beginning|start|head|front) of @file|(?:prepend) @the(?:new )?(?:lines?|text)?:? ?%quoted to (?P<spot>)@file
(?:append|add|insert|put|write) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?:to|at|on|in|into|onto)(?: the)? (?:end|bottom|foot) of @file|(?:append|add|insert) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?:to|in|into|onto|at) @file(?: at the end| at the bottom)?
[delete_line | Change | delete the line containing 'draft' in notes.md]
(?:delete|remove|drop|cut|erase|strip) @the(?:lines?|line numbers?|line no\.?) %a(?: ?(?:-|to|–|through|until|\.\.) ?%b)? (?:of|in|from) @file|(?:delete|remove|drop|cut|erase|strip) @the(?P<all>all |every )?(?:lines?) (?:(?:that )?contain(?:ing|s)?|with|matching|that (?:says?|matches|reads?|has|have)|saying|having|reading)(?: the)?(?: text| word)? %text (?:of|in|from) @file
(?P<inline>delete|remove|drop|cut|erase|strip) @the(?:@text )?%quoted (?:of|in|from) @file
[delete_file]
(?:delete|remove|rm(?: -f)?|erase|trash) @the(?:file |script )?%dotted|(?:delete|remove|rm|erase) @the(?:file|folder|directory) %file|(?:delete|remove|rm|erase|trash) (?P<file>it|that file|this file|the file)
[read | Read | read README.md lines 1-20]
@show @the%n lines (?:of|in|from) @file,? (?:starting|beginning|from|after) ?(?:at|from|with)? ?(?:line )?%a|@show (?:me )?(?:only )?(?:the )?lines? %a(?: ?(?:-|to|–|through|until|till|and|\.\.) ?%b)? (?:of|in|from) @file|(?:lines? )%a(?: ?(?:-|to|–|through|until|till|\.\.) ?%b)? (?:of|in|from) @file|@show @file,? ?(?:from |at |on |around |near )?(?:the )?\(?lines? %a(?: ?(?:-|to|–|through|until|till|\.\.) ?%b)?\)?
@show (?:me )?the (?P<edge>first|top|last|final|bottom) (?:%n )?(?:lines?|part)?(?: ?(?:of|in|from))? @file|@show @file,? ?(?:the |only )*(?P<edge>first|top|last|final|bottom) %n(?: lines?)?|(?P<edge>head|tail)(?: -n ?%n| -%n)? @file|(?:@show )?(?:me )?(?:the )?(?P<edge>head|tail|start|beginning|end|top|bottom) of @file|(?:the )?(?P<edge>first|last) %n lines (?:of|in|from) @file
@show (?:me )?@ref(?: in full| again| completely)?(?: (?:from|at|around) line (?P<a>\d+))?|(?:@show )?@the(?:file )?(?P<file>[^\s,;?!:]+\.\w+|[^\s,;?!:]*/[^\s,;?!:]+):%a(?:[-:]%b)?|@show @the(?:file |module |script |document |contents? of @the(?:file )?|source (?:code )?of |code of |text of )?%dotted(?: file| please)?
(?:what(?:'s| is| does)) (?:written |there )?(?:in|inside)(?: the)?(?: file)? %dotted(?: file| say| contain)?|what does @the(?:file )?%dotted (?:say|contain|look like)|@show @the(?:file|module|script|document|contents? of(?: the(?: file)?)?) %file|@show @the%file (?:file|module|script|document)
[explain | Read | outline setup.py]
@explain (?:me )?@ref|@explain @the(?:file |module |script |document |contents? of |folder |directory |package |dir |structure of )?%dotted(?: file| module| folder| directory| package| script)?(?: to me| for me| in short| briefly)?|@explain @the%file (?:file|module|script|folder|directory|package|dir)|what (?:is|does) @the(?:file |module |script |folder |directory |package )?%dotted (?:do|for|about|good for|all about)
what(?:'s| is) @the(?:file |module |script |folder |directory |package )?%dotted(?: for| about)?|what (?:functions|classes|methods|functions and classes|symbols|things) (?:are|does|do|is) (?:there |defined |in )*@the(?:file |module )?%dotted(?: (?:have|define|contain|has))?
what does (?P<file>it|that|this|this file|that file) import|(?:what|which) (?:modules |packages )?does @the(?:file |module )?%dotted import|@list @the(?:imports?|functions|classes|methods|functions and classes|headings|symbols|definitions|outline) (?:in|of|from) @file
[explain_symbol]
(?:@explain|understand) @the@kind%name@place|(?:@explain|understand) @the%name (?:function|func|class|method|struct|interface|enum|trait|macro|fixture|exception|decorator)@place|(?:what|how) (?:does|is|do) @the(?:@kind)%name(?: (?:do|work|for|works|doing|about|used for))?@place|(?:what|how) (?:does|is|do) @the%symbol(?: @code)?(?: (?:do|work|for|works|doing|about))?@place
what (?:does|do) (?P<name>it|that|this|that one) (?:do|return|mean)(?: for me)?|how does (?P<name>it|that|this) work|what is (?P<name>it|that) (?:for|about|good for)|what (?:does) @the%name (?:function|class|method|module) (?:do|return)|how does @the%name (?:function|class|method) work|@explain @the%symbol@place
[run | Run | run git log -3]
(?:run|execute|exec|invoke|launch)(?: the| this| a)?(?: shell| terminal| bash)?(?: command| script| program| file)?:? %command
[$!] ?%command
(?P<command>(?:git|pytest|python3?|pip3?|uv|uvx|tox|nox|ruff|mypy|black|isort|flake8|pylint|node|npm|npx|yarn|pnpm|bun|deno|tsc|cargo|rustc|cmake|ninja|gcc|g\+\+|clang|mvn|gradle|docker|podman|kubectl|curl|wget|echo|env|wc|sed|awk|du|df|ps|chmod|touch|cp|mv|rm|ruby|rake|bundle|php|composer|javac?|dotnet|perl|bash|sh|zsh|hatch|poetry|pre-commit|ctest|jq|tar|unzip|cd)(?: [-./~\w\"'=*:@\ue000].*)?)
(?P<command>go (?:build|test|run|vet|mod|fmt|get|install|generate|list|version|env|work|tool|doc)\b.*|make(?: [\w.-]+)?|which \w+|(?:pwd|whoami|date|uname|uptime|hostname)(?: -\w+)?|find [./~].*|(?:head|tail|sort|uniq|diff|ls|tree) -.*)|(?P<command>(?:\./|~/|/)[^\s]+(?: .*)?)
[topic]
how (?:do|can|would|should|to) ?(?:i|we|you|one)? ?(?:use|call|get|set|pass|send|configure|handle|disable|enable|catch|turn off|turn on) (?!up\b|started)@the(?!this\b|it\b|@repo\b)(?P<topic>.+)
[facts]
how (?:do|can|would|should|to) ?(?:i|we|you|one)? ?(?P<install>install|set ?up|build|get started with|use|run|start|launch|contribute|deploy|configure|compile|develop)(?: (?:to|with|for|on))?(?: (?:this|it|@the@repo))?(?: .{0,20})?|(?P<install>installation)(?: instructions)?|how is (?:this|it|@the@repo) (?P<install>installed|built)
(?:what|which) (?:version of )?(?:python|node|go|rust|java|ruby)?(?: version)?(?:s)? (?:does|do|is|are) (?:this|it|@the@repo|needed|required|supported)(?: (?:need|require|support|use|run on|work with)s?)?(?: .{0,20})?|(?:what|which)(?: are| is|'s)? (?:the )?(?:dependencies|requirements|version|licen[sc]e|packages)(?: (?:of|for|does|do|is|are|needed|required) .{0,40})?|(?:dependencies|requirements)
what does (?:this|it|@the@repo) (?:depend on|need|require)|(?:show|list) @the(?:dependencies|requirements)(?: .{0,30})?
[topic]
(?:how|where) (?:does|do|is|are|will) (?!i\b|we\b|you\b|one\b)(?P<topic>.+? (?:handled?|handles|work|works|done|made|set|created|configured|stored|checked|validated|parsed|sent|managed|implemented|processed|loaded|saved|computed|calculated|happen|happens|used|called|raised|read|written|logged|tested|documented)(?: .*)?)|(?:where|how) (?:is|are|was|were) (?!i\b|we\b|you\b)(?P<topic>.+ \w+(?:ed|wn|nt|lt|ept|ade)(?: .*)?)
(?:where|how) (?:does|do) (?!i\b|we\b|you\b|one\b)(?P<topic>.+)|(?:@explain|tell|show|i want to know|do you know)(?: me)? (?:how|where|what happens when|what happens if) (?P<topic>.+)|what happens (?:when|if|to|with|on) (?P<topic>.+)|(?:@find|@show|@list|where are|which|what)(?: me)? (?:the |all )*(?:unit )?(?P<tests>tests?)(?: files?| cases?)? (?:are )?(?:for|of|about|cover(?:s|ing)?|testing|that (?:tests?|covers?)) (?P<topic>.+)
(?:are there|is there|do we have|what|which|any)(?: any| some| a| an)? (?:unit )?(?P<tests>tests?)(?: (?:exist|are there|do we have|there))* (?:for|of|about|covering) (?P<topic>.+)|(?:@find|@show) (?:me )?(?:the )?(?:code|place|places|part|parts|spot|bit|file|files|module|logic|function|functions|class|classes) (?:that|which|where|for|responsible for|to do with|about|related to|dealing with) (?P<topic>.+)
[facts]
(?!(?:@change|@find|run|execute|why|should|explain|which is better|diff|go|open)\b).{0,60}?\b(?:licen[sc]e[ds]?|versions?|releases?|released|release notes|change ?log|(?:is|are) new|dependenc(?:y|ies)|depends? on|requirements|entry ?points?|main (?:file|function|module)|(?:console |npm )?scripts|authors?|contributors?|committers?|maintainers?|maintained)\b.{0,60}
(?:does|do|will|can|is|are|which|what|min|minimum)\b.{0,30}\b(?:python|node|go|rust|java|ruby)\b.{0,30}|who (?:else |all )?(?:is|are|was|has|have|does|wrote|made|built|maintains?|owns?|created|contribut\w+|commit\w*|work\w*|develop\w+)\b.{0,60}
(?:what|which|how|where)\b.{0,30}\b(?P<install>install)\b.{0,20}
[beyond]
@change\b .+|(?:(?:is|are) (?:this|it|the \w+|that) (?:any |very |really )?(?:good|well|bad|nice|clean|safe|secure|fast|slow|correct|right|ok)|what is (?:wrong|bad|good) (?:with|about)|why|should|how come|how would|how could|how should|how can|how do|what if|what would|what should|is it (?:a good|ok|safe|possible)|which is better|do you think|explain why|tell me why|can you think)\b.*
find (?:and fix |me )?(?:the |a |any |all |some )?(?:bugs?|problems?|issues?|mistakes?|security (?:holes|issues)|errors?|vulnerabilit(?:y|ies)|performance .*|dead code|code smells?)\b.*|(?:what|tell|how)(?: is| are| me|'s)* @the(?:weather|time|date|day|news|temperature)\b(?! (?:is|of|does|for)\b).{0,20}
[definition]
@find @the%name@place|@show @the%symbol@place
[explain]
@explain @the%file|what (?:is|'s) (?:in )?@the(?:folder |directory |package |module )?%file(?: folder| directory| package| module)?(?: for| about)?
[explain_symbol]
what (?:does|do) @the%name (?:do|mean|return)
[read]
@show @the%file|%dotted
""")

LAST = rows(r"""
[topic]
(?:(?:is|are) there|@find|@show|do we have)(?: me)? (?:everything|anything|something|all|stuff|things|code) (?:about|on|related to|for|with) (?P<topic>.+)
[facts]
.{0,40}\b(?:build (?:system|backend|tool)|test(?:ing)? (?:framework|runner|library)|linters?|formatters?|type ?checkers?|tooling|tools)\b.{0,30}
[diff]
.{0,30}?\b(?:different|difference|differs?|diff)\b.{0,30}
[log]
(?:did|does|was|were|is) .{0,40}(?P<detail>last|latest|most recent) commit\b.*|.{0,30}\b(?:commits?|changes|committed|log) .{0,12}?(?P<since>(?:since|after) .+|today|yesterday|this (?:week|month|year)|last (?:week|month|year))|how (?P<first>old) (?:is|are)\b.{0,30}
.{0,40}?\bcommits? (?:made )?(?:of|by|from) (?P<by>(?!now|today|the\b)[\w.@-]+).{0,20}|(?:what|which)(?: files?| commits?| parts?| changes?)? (?:did|has|have) (?P<by>(?!i\b|you\b|we\b|it\b|they\b|this\b|that\b|the\b)[\w.@-]+) (?:been )?(?:do|done|change|commit|add|touch|work|write|fix|push)\w*(?: on| to| in)?(?: lately| recently| last| here)?
.{0,40}?\b(?P<first>first|initial|oldest|very first) commit\b.{0,20}|when .{0,20}(?P<first>started|begun|born|begin|start)\b.{0,20}|.{0,40}?\b(?:last|latest|recent|past|newest) (?:%n )?(?:commits?|git log|history)\b.{0,30}|(?P<who>who)\b.{0,40}? @the(?:file )?%dotted(?: .{0,20})?|when\b.{0,40}? @the(?:file )?%dotted(?: .{0,20})?
[measure]
how (?:many lines|long|big|large)\b.{0,30}? @the(?:file )?%dotted(?: .{0,20})?
[topic]
(?:which|what) (?:modules?|files?|functions?|class(?:es)?|parts?|code|places?) (?:is responsible for|deals? with|do|\w+s) (?P<topic>.+)|(?:any|(?:is|are) there(?: any)?|where (?:is|are)|@find|@show)(?: me)? (?:the |all |some )*(?P<topic>\w+(?: \w+)?) (?:stuff|code|things?|logic|parts?|handling)(?: (?:in )?here)?|(?:@explain|tell me about|what about|what is|how about) @the(?P<topic>\w+(?: \w+){1,4})
[undo]
.{0,30}?\b(?:undo|revert|roll ?back|take (?:it|that) back)\b.{0,20}
[usages]
(?:does|do|is|are|who|what|which|where|anyone|anything)\b.{0,25}? (?:us(?:e|es|ed|ing)|calls?|called|calling|imports?|imported|importing|needs?|references?|depends? on|inherits? from|extends?|subclass(?:es)?(?: of)?|derives? from|implements?) @the(?:@kind)?%name(?: .{0,15})?|(?:is|are) @the(?:@kind)?%name (?:still |ever |even |actually )?(?:used|needed|imported|called|tested)(?: .{0,15})?
[find_files]
(?:is|are) there @the(?!bugs?\b|problems?\b|way\b|reasons?\b|differences?\b|errors?\b)(?P<part>[\w.-]+)(?: (?:files?|folder|directory|dir|config|configuration|set up|setup|here|in here|anywhere|somewhere))*|(?:do|does) (?:we|they|it|this|@the@repo) have @the(?!bugs?\b)(?P<part>[\w.-]+)(?: (?:files?|folder|here))*
[definition]
(?:where|what|which|look|go|check|info|tell|i|take|bring)\b.{0,30}? @the%symbol(?: .{0,15})?
[text]
(?:search|grep|rg|look|scan)(?: for)? %text
[read]
(?:where|what|which|look|go|check|info|tell|i|take|bring)\b.{0,30}? @the(?:file )?%dotted
""")
"""Looser rows: tried where the table fits neither the words as typed nor the corrected ones. None of them
changes anything."""


@cache
def compiled(*, last: bool = False) -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    """Return the table, compiled once on the first request (about 40 ms, so never at import)."""
    found = LAST if last else TABLE
    return tuple((row.intent, compile_pattern(pattern)) for row in found for pattern in row.patterns)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of the table as a regular expression over a whole step. A name that occurs twice (in
    two alternatives) gets a number: `path`, `path__2`; `argument_name` takes it off."""
    for _ in range(4):  # macros contain macros, at most three deep
        pattern = re.sub(r"@([a-z]+)", lambda found: MACROS[found[1]], pattern)
    pattern = re.sub(r"(?<!\\)%([a-z]+)", lambda found: ARGUMENTS[found[1]], pattern)
    seen: dict[str, int] = {}

    def numbered(group: re.Match[str]) -> str:
        name = group[1]
        seen[name] = seen.get(name, 0) + 1
        return f"(?P<{name}>" if seen[name] == 1 else f"(?P<{name}__{seen[name]}>"

    return re.compile(re.sub(r"\(\?P<(\w+)>", numbered, pattern), re.I)


def argument_name(group: str) -> str:
    """Return the argument that a group of a compiled pattern holds."""
    return group.split("__", 1)[0]
