# ruff: noqa: E501  a table: one phrasing a line reads best unbroken
"""The table of intents: patterns from the most particular to the most general, with the examples of the help text."""

from __future__ import annotations

from forge_core.llm.offline.intent_table_reading import GENERAL, LOOKING, READING
from forge_core.llm.offline.intent_table_work import WORK
from forge_core.llm.offline.intents import Intent, IntentSpec

_I = Intent

TALK = (
    IntentSpec(
        _I.GREET,
        (
            r"(?:hi|hello|hey|yo|howdy|hiya|moin|greetings|good (?:morning|afternoon|evening|day))(?: (?:there|forge|all|you|again))?",
        ),
    ),
    IntentSpec(
        _I.THANKS,
        (
            r"(?:thanks?|thank you|thx|ty|cheers|great|nice|perfect|awesome|cool|good(?: job| work)?|well done|wonderful|excellent|that(?:'s| is) (?:great|nice|perfect|all|it|good))(?: (?:so much|a lot|very much|you|forge|work|job|again))?",
        ),
    ),
    IntentSpec(
        _I.ACK,
        (
            r"(?:yes|yep|yeah|yup|sure|ok(?:ay)?|k|fine|alright|right|correct|exactly|no|nope|nah|nothing|never ?mind|not now|stop|cancel|i see|got it|understood|hm+|wow)(?:,? (?:thanks|thank you|great|good|cool|ok|fine|then|that's (?:fine|ok|all|right|it)))?",
        ),
    ),
    IntentSpec(_I.BYE, (r"(?:good ?bye|bye(?: bye)?|see you(?: later)?|exit|quit|that's all)",)),
    IntentSpec(
        _I.HELP,
        (
            r"help(?: me)?(?: out)?|usage|examples?|commands?|\?+|/help|man|manual|tips",
            r"what (?:can|could|do|should) (?:you|i|we|it|forge) (?:do|ask|say|try|help|understand|know|offer)\b.*",
            r"(?:which|what) (?:commands|requests|things|questions|sentences|tools)\b.*",
            r"how (?:does (?:this|it|forge) work|do (?:i|you) (?:use|work)(?: (?:this|it|you|forge))?|can you help(?: me)?)(?: .*)?",
            r"(?:where|how) do i (?:start|begin)|get(?:ting)? started|i'm (?:new|lost|stuck)(?: here)?|(?:show|list)(?: me)? (?:the )?(?:help|examples|commands|tools)",
        ),
        "More",
        "help",
    ),
    IntentSpec(
        _I.CONNECT,
        (
            r"connect(?: .*(?:models?|openrouter|openai|provider|api|llm|ai|claude|gpt|key))?",
            r"(?:how (?:do|can|could|would|to|should)(?: i| we| you)?|where do i|can i|i want to) ?(?:connect|use|switch|set(?: up)?|configure|add|put|get|enter|select|choose|change)\b.* (?:models?|openrouter|openai|provider|api ?key|key|llm|ai|claude|gpt|ollama|anthropic)\b.*",
            r"(?:use|switch to|set up|configure|change to|get|give me) (?:a |an |the |another )?(?:real|other|another|better|different|online|ai|llm|cloud|local|proper|actual|stronger|smarter)(?: ai| language)? (?:model|llm|one|provider)s?\b.*",
            r"(?:use|switch to) (?:openai|anthropic|claude|gpt|gemini|llama|mistral|deepseek|qwen|ollama|openrouter|chatgpt)\S*",
            r"(?:set|enter|add|configure)(?: the| my| an?)? (?:openrouter )?api ?key.*|openrouter(?:_api_key)?|go online",
        ),
        "More",
        "connect a real model",
    ),
    IntentSpec(
        _I.WHO,
        (
            r"(?:who|what)(?: are| r) (?:you|u|this)\b.*|what(?:'s| is) (?:forge|this (?:model|tool|assistant|thing)|your name|the offline model)|introduce yourself|who (?:made|built|wrote|created|develops) (?:you|forge|this)|tell me about (?:yourself|forge)",
            r"are (?:you|u) (?:an? |the )?(?:real |actual )?(?:ai|llm|gpt\S*|chatgpt|claude|human|person|bot|robot|language model|model|machine|online|offline)\b.*",
            r"(?:which|what) (?:ai |language )?model(?: is this| are you| do you use| am i (?:using|talking to))?\b.*",
        ),
    ),
    IntentSpec(
        _I.AGAIN,
        (
            r"(?:do (?:it|that|this) )?again|continue|go on|go ahead|retry|try (?:it |that )?again|repeat(?: that| it)?|once more|one more time|proceed|carry on|resume|keep going|redo(?: it| that)?",
        ),
    ),
    IntentSpec(
        _I.MORE,
        (
            r"(?:show |read |see |list )?(?:me )?(?:more|the rest|next(?: page)?|the next (?:page|part|lines)|further)(?: of it| lines| results)?",
        ),
    ),
    IntentSpec(
        _I.PICK,
        (
            r"(?:the )?(?P<nth>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last)(?: one| result| hit| file| match| option| suggestion)?|(?:number |no\.? ?|option |result |#)?(?P<n>\d{1,3})",
            r"(?:only )?(?:on |in |at |the one (?:on|in|at) )?line (?P<a>\d{1,7})(?: only)?",
            r"(?P<all>all(?: of them| of those| occurrences)?|every(?:where|one| one)|both(?: of them)?|replace (?:them )?all)",
        ),
    ),
)

RUNNING = (
    IntentSpec(
        _I.TESTS,
        (
            r"(?:run|execute|start|do|launch|try|check|rerun|re-run|perform|kick off)(?: all)? @the@tests(?: again| all| suite| now)?(?: (?:in|for|of|from|under|at|on|with) @the%path(?: file| folder| directory| package| module)?)?",
            r"(?:run|execute|rerun|re-run) @the(?P<only>\w+) (?:tests?|test suite|specs?)",
            r"(?:run|execute|rerun|re-run) (?:the )?(?:file )?(?P<path>(?:[\w./-]*/)?test_[\w-]+\.py(?:::[\w:.\[\]-]+)?|tests?/[\w./-]*)",
            r"(?:run|execute|rerun|re-run) (?:the )?tests? %path",
            r"(?:do|are|did|will) @the@tests (?:all )?(?:pass|passing|green|ok|okay|fail|failing|succeed|run|work|red|broken|still (?:pass|green|work|passing))\b.*",
            r"test (?:it|this|that|everything|@the@repo)|@tests|run test|which tests (?:are )?(?:fail|failing|broken|red)\b.*|is @the(?:build|suite|@repo) (?:green|ok|passing|broken)",
        ),
        "Run",
        "run the tests",
    ),
    IntentSpec(
        _I.CHANGES,
        (
            r"(?:what|which files|which|show(?: me)? what|see what|tell me what) (?:has |have |did )?(?:i |you |we |been )?(?:changed?|modified|edited|modify)(?: (?:so far|in git|in the (?:repo|project|folder|code|repository|working (?:tree|copy))|here|lately|recently|since .*|today|already|with git|according to git|in the last commit))?",
            r"(?:what(?:'s| is| are)|any|are there(?: any)?|is there anything) (?:the )?(?:changed|changes|new|different|modified|modifications|uncommitted changes|dirty)(?: (?:in git|here|in the .*|since .*))?",
            r"(?:show|list|see|view|display|print|check|give me) @the@changes(?: (?:in|from|with|of|using) (?:git|the repo|the project|this repo))?",
            r"(?:git )?st(?:atus)?|git changes|changes|my changes|what files (?:have |has )?(?:i |you |we )?(?:been )?(?:changed?|modified)",
            r"(?:did|have) (?:you|i|we) chang(?:e|ed) (?:anything|something|any file|a file)s?|is (?:the )?(?:repo|working tree|git|tree) (?:clean|dirty)",
        ),
        "Git",
        "what changed?",
    ),
    IntentSpec(
        _I.DIFF,
        (
            r"what (?:has |have |did )?(?:i |you |we )?(?:changed?|modified|edited|modify) (?:in|about|at) @file",
            r"(?:show|see|view|display|print|give me|list) @the(?:changes|edits|modifications|diff) (?:in|to|of|for|on|made to) @file",
            r"(?:(?:show|see|view|display|print|give me) @the)?(?:git )?diff(?:erences?)?(?: (?:of|for|in|on|from))?(?: @file)?",
        ),
        "Git",
        "show the diff of README.md",
    ),
    IntentSpec(
        _I.LOG,
        (
            r"(?:show|list|see|view|display|print|give me|what (?:are|were)) @the(?:last |latest |recent |newest |git |most recent )*(?:%n )?(?:last |recent )?(?:commits?|commit history|history|git log|git history|log)(?: (?:in|of) @the(?:git|@repo))?",
            r"(?:what was|who made|what's|what is) @the(?:last|latest|most recent) commit.*|(?:commit |git )?history|recent commits|last %n commits|(?:last|latest) commits?",
        ),
        "Git",
        "show the last 5 commits",
    ),
    IntentSpec(
        _I.BRANCH,
        (
            r"(?:which|what)(?:'s| is)?(?: the)?(?: current| git)? branch(?: am i on| are we on| is (?:this|it|checked out)| is this)?(?: .*)?|(?:show|list)(?: me)?(?: all)?(?: the)?(?: current| git)? branch(?:es)?|(?:current |git )?branch(?:es)?",
        ),
    ),
    IntentSpec(
        _I.UNDO,
        (
            r"(?:undo|revert|discard|roll back|rollback|take back|throw away|reverse|drop) @the(?:(?:last |recent |local |git |uncommitted |latest )*(?:changes?|edits?|modifications?|replacement|replace) (?:to|in|of|on|from|made to|you made (?:to|in)|i made (?:to|in)) )?(?P<file>it|that|this|everything|all)(?: changes)?(?: (?:with|using|by|in) git| again)?",
            r"(?:undo|revert|discard|roll back|rollback|take back|throw away|reverse|drop) @the(?:last |recent |local |git |uncommitted |latest |previous )*(?:changes?|edits?|modifications?|replacement|replace|rename|thing)(?: you made| i made| we made)?(?: (?:with|using|by|in) git| again)?",
            r"(?:undo|revert|restore|discard|roll back|rollback|take back|throw away|reset|git checkout --|git restore) @the(?:(?:last |recent |local |git |uncommitted |latest |previous )*(?:changes?|edits?|modifications?|replacement|replace) (?:you made |i made )?(?:to|in|of|on|from|made to) )?@file(?: (?:with|using|from|by|in) git| to (?:its|the) (?:original|last commit|committed).*)?",
            r"undo|revert|git undo|undo (?:with|using) git",
        ),
        "Git",
        "undo my change to README.md",
    ),
    IntentSpec(
        _I.COMMIT,
        (
            r"(?:git )?commit(?: @the(?:@changes|everything|it|work))?(?: (?:with|using))?(?: (?:a|the|this))?(?: (?:message|msg))?(?: (?:saying|-m))?:? %quoted",
            r"commit(?: @the(?:@changes|everything|it|work))?(?: with(?: the)? message (?P<text>.+))?",
        ),
    ),
)

EDITING = (
    IntentSpec(
        _I.CREATE,
        (
            r"(?:create|write|make|add|generate|start|new|touch|save|produce) @the(?:empty |small |little |simple |short |text |python |shell |bash |js |javascript |markdown |hello world |source |test )*(?:file |script |module |program |document |page )?(?:named |called |with the name |at )?%dotted,? ?(?:file |script )?(?:with|containing|that contains|that has|having|which contains|saying|that says|and (?:put|write))(?: (?:in it|into it))?(?: (?:the|this|these|a|an))?(?: (?:following|single|one|exact))?(?: (?:text|contents?|lines?|code|body|words))?(?: in it| of| saying| that says)?:? ?%content",
            r"(?:write|put|save|store|add) %quoted (?:in|into|to|as) @the(?:new )?(?:empty )?(?:file )?(?:named |called )?%file",
            r"(?:create|write|make|add|generate|new|save|produce) @the(?:empty |small |little |simple |short |text |python |shell |bash |js |javascript |markdown |source )*(?:file |script |module |program |document )?(?:named |called |at )?%dotted,? ?(?:that|which|to|for) (?P<purpose>.+)",
            r"(?:create|write|make|add|generate|new) @the(?:new |empty )*(?:file |script |module )?(?:named |called )?%dotted:? (?P<content>\ue000\d+\ue001)",
            r"(?:create|make|add|touch|generate|start|write) @the(?P<empty>empty |blank )(?:new )?(?:text |python |markdown )?(?:file |script |module )?(?:named |called )?%file",
            r"(?:create|make|add|touch|generate|start|new|write) @the(?:new )?(?:text |python |shell |bash |js |javascript |markdown |source |test )*(?:file |script |module |program |document )(?:named |called |at )?%file",
            r"(?:create|make|touch|generate|start|new|write|add) @the%dotted(?: file| script| module)?",
        ),
        "Change",
        "create notes.md with 'first line'",
    ),
    IntentSpec(
        _I.MAKE_FOLDER,
        (
            r"(?:create|make|add|new|mkdir(?: -p)?) @the(?:folder |directory |dir |package )(?:named |called )?%path|mkdir(?: -p)? %path",
        ),
    ),
    IntentSpec(
        _I.MOVE_FILE,
        (
            r"(?:rename|move|mv) @the(?:file )?%dotted (?:to|as|into|->|→) (?P<other>\ue000\d+\ue001|[^\s,;?!]*[./][^\s,;?!]*)",
            r"(?:rename|move|mv) @the(?:file|folder|directory) %file (?:to|as|into|->|→) @the(?:folder |directory )?%other",
            r"(?:rename|move|mv) @the(?:file )?%dotted (?P<other>[^\s,;?!]*[./][^\s,;?!]*)",
            r"(?P<copy>copy|cp|duplicate) @the(?:file )?%dotted (?:to|as|into|->|→)? ?%other",
        ),
    ),
    IntentSpec(
        _I.REPLACE,
        (
            r"(?:in|inside) @file,? (?:please )?(?:replace|change|swap|substitute|rename|turn|correct|update) @the(?:@text )?%old @where %new",
            r"(?:replace|change|rename|update) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@kind)?(?:@text )?%old @where %new,? (?P<files>(?:in|across|throughout) (?:all|every|each)(?: of)?(?: the| my)? (?:files?|modules?|places?)|(?:in|across|throughout) the whole @repo)",
            r"(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) (?P<all>all|every|each|everything) @the(?:(?:occurrences?|instances?|uses?|mentions?|places?|cases) (?:of|where it says) )?(?:@text )?%old @where %new(?: in @file)",
            r"(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@text )?%old @where %new (?:on|in|at) line (?P<line>\d+) (?:of|in) @file",
            r"(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@text )?%old @where %new (?:in|inside|within|of|throughout) @file,?(?: (?:(?:on|in|at) )?line (?P<line>\d+))",
            r"(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?:occurrences?|instances?|uses?|mentions?) of )?(?:@text )?%old @where %new,? (?P<all>everywhere|throughout|all over|globally|in all places)(?: in| inside| within)? @file",
            r"(?:change|update|set|bump|switch) @the(?P<what>[\w .-]+?) from %old to %new(?: (?:in|inside|within|of) @file)",
            r"(?:replace|change|swap|substitute|switch|rename|update|correct|turn|edit|exchange|modify) @the(?:(?P<all>(?:all )?occurrences|(?:all )?instances|uses|mentions) of )?(?:@kind)?(?:@text )?%old @where %new (?:in|inside|within|of|throughout) @file,?(?: (?P<every>everywhere|all(?: of them)?|globally|throughout|every time|each time|once))?",
            r"(?:replace|change|swap|substitute|switch|rename|update|correct|turn|exchange) @the(?:(?P<all>(?:all )?occurrences|(?:all )?instances|uses|mentions) of )?(?:@kind)?(?:@text )?%old @where %new,?(?: (?P<every>everywhere|all(?: of them)?|globally|throughout))?",
            r"(?:fix|correct) (?P<old>\ue000\d+\ue001) (?:to|into|with|as) (?P<new>\ue000\d+\ue001)(?: in @file)?",
            r"s/(?P<old>[^/]+)/(?P<new>[^/]*)/(?P<every>g)? (?:in|on) @file",
        ),
        "Change",
        'replace "colour" by "color" in README.md',
    ),
    IntentSpec(
        _I.APPEND,
        (
            r"(?:append|add|insert|put|write) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?P<spot>before|after|above|below|at|on) line (?P<line>\d+) (?:of|in|to) @file",
            r"(?:append|add|insert|put|write|prepend) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?:to|at|on|in|into) the (?P<spot>top|beginning|start|head|front) of @file",
            r"(?:prepend) @the(?:new )?(?:lines?|text)?:? ?%quoted to (?P<spot>)@file",
            r"(?:append|add|insert|put|write) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?:to|at|on|in|into|onto)(?: the)? (?:end|bottom|foot) of @file",
            r"(?:append|add|insert) @the(?:new )?(?:lines?|text|sentence|row|entry|comment|code)?:? ?%quoted (?:to|in|into|onto|at) @file(?: at the end| at the bottom)?",
            r"(?:append|add) @the(?:line|text|sentence) (?:to|at|in) (?:the (?:end|bottom) of )?@file:? %quoted",
            r"(?:append|add) to (?:the (?:end|bottom) of )?@file:? @the(?:line |text )?%quoted",
            r"(?:append|add) @the(?:line|text|sentence) %text (?:to|at|in|into)(?: the (?:end|bottom) of)? %dotted",
            r"append %text to(?: the (?:end|bottom) of)? %dotted",
        ),
        "Change",
        "add the line '- done' to notes.md",
    ),
    IntentSpec(
        _I.DELETE_LINE,
        (
            r"(?:delete|remove|drop|cut|erase|strip) @the(?:lines?|line numbers?|line no\.?) %a(?: ?(?:-|to|–|through|until|\.\.) ?%b)? (?:of|in|from) @file",
            r"(?:delete|remove|drop|cut|erase|strip) @the(?P<all>all |every )?(?:lines?) (?:(?:that )?contain(?:ing|s)?|with|matching|that (?:says?|matches|reads?|has|have)|saying|having|reading)(?: the)?(?: text| word)? %text (?:of|in|from) @file",
            r"(?:delete|remove|drop|cut|erase|strip) @the(?:lines?) %quoted (?:of|in|from) @file",
            r"(?P<inline>delete|remove|drop|cut|erase|strip) @the(?:@text )?%quoted (?:of|in|from) @file",
            r"(?:delete|remove|drop) @the(?:lines?) (?:(?:that )?contain(?:ing|s)?|with|matching|that (?:says?|matches|reads?|has))(?: the)?(?: text| word)? %quoted",
        ),
        "Change",
        "delete the line containing 'draft' in notes.md",
    ),
    IntentSpec(
        _I.DELETE_FILE,
        (
            r"(?:delete|remove|rm(?: -f)?|erase|trash) @the(?:file |script )?%dotted",
            r"(?:delete|remove|rm|erase) @the(?:file|folder|directory) %file",
            r"(?:delete|remove|rm|erase|trash) (?P<file>it|that file|this file|the file)",
        ),
    ),
)

TABLE: tuple[IntentSpec, ...] = (*TALK, *WORK, *RUNNING, *LOOKING, *EDITING, *READING, *GENERAL)
