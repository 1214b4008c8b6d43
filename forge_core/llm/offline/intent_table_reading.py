# ruff: noqa: E501  a table: one phrasing a line reads best unbroken
"""The second half of the table: looking around, searching, reading, explaining, and what is beyond rules."""

from __future__ import annotations

from forge_core.llm.offline.intents import Intent, IntentSpec

_I = Intent

LOOKING = (
    IntentSpec(
        _I.OVERVIEW,
        (
            r"(?:@explain|review|understand|introduce|show me around|explore) @the(?:this |whole )?@repo(?: structure| layout| to me| here)?|(?:show me around|explain (?:this|everything|it all))(?: here)?",
            r"what (?:is|does|'s|do) @the@repo(?: (?:do|about|for|all about|good for|here))*|what(?:'s| is) (?:this|here|this all about|this about)",
            r"(?:give me |show me |i need )?(?:an? |the )?(?:(?:quick|short|brief|high-level) )?(?:project |code )?(?:overview|tour|summary)(?: (?:of|over) @the@repo| here)?",
            r"what am i looking at|how is (?:this|the|it) ?@repo? ?(?:structured|organi[sz]ed|laid out|built)|tell me about (?:this|it|the @repo|this @repo)|(?:@explain )?(?:this|the) @repo",
            r"(?:what(?:'s| is) )?(?:the )?(?:structure|layout|architecture|organi[sz]ation) of @the@repo|(?:project|code|repo) (?:structure|layout)",
        ),
        "Look",
        "explain this project",
    ),
    IntentSpec(
        _I.LIST,
        (
            r"(?:ls|dir|tree)(?: %path)?|(?:la|ll)",
            r"@list @the(?:top.level |source |project |main |directory |folder )*(?:files?|folders?|directory|directories|contents?|tree|file tree|directory tree|directory structure|subfolders|listing|file list|everything|what's|structure)(?: and (?:folders|directories|files))?(?: (?:there are|we have|that exist|you (?:can )?see))?(?: (?:in|of|under|inside|from|for|within|at) @the(?:folder |directory |dir |package )?%path(?: folder| directory| dir| package)?)?(?: here)?",
            r"(?:what|which)(?:'s| is| are)?(?: the)?(?: (?:files?|folders?|directories|files and folders))?(?: ?(?:are|is|do we have|do i have|there|exist|can you see|live|lives))*(?: ?(?:there|here))?(?: (?:in|inside|of|under) @the(?:folder |directory |dir |package )?%path(?: folder| directory| dir| package)?)",
            r"(?:what|which) files (?:are (?:there|here)|do (?:we|i) have|exist|can you see|does it have)(?: here| in here)?|what(?:'s| is| do we have) (?:in )?(?:here|there)|where am i|look around",
            r"(?:list|ls) %path|(?:show|list|open|browse|explore) @the(?:folder|directory|dir) %path|(?:list|browse) @the%path(?: folder| directory| dir| package)?",
        ),
        "Look",
        "list the files",
    ),
    IntentSpec(
        _I.FIND_FILES,
        (
            r"(?:@find|@list|count|(?P<count>how many)) @the%glob files?(?: (?:are (?:there|here)|do (?:we|i) have|exist|is there))*@place",
            r"(?:@find|@list|count|(?P<count>how many)) @the%language(?: source| code)? files?(?: (?:are (?:there|here)|do (?:we|i) have|exist|is there))*@place",
            r"(?:@find|@list|count|what|which) @the(?:files|file names|filenames) (?:that |which )?(?:end(?:ing|s)? (?:with|in|on)|have the (?:extension|ending)|with (?:the )?(?:extension|ending|suffix)|of type|matching|like)(?: are)? %glob@place",
            r"(?:@find|@list|count) @the(?:files|filenames) (?:that |which )?(?:end(?:ing|s)? (?:with|in|on)|have the (?:extension|ending)|with (?:the )?(?:extension|ending|suffix)|of type) %file@place",
            r"(?:@find|@list|is there|are there|do we have|does it have|what|which) @the(?:files?|filenames?) (?:are )?(?:that (?:is|are) )?(?:named|called|matching|like|with the name|with|whose name contains|that matche?s?|that start with|starting with) (?:in the name )?(?!.*\bin\b.*\bit\b)(?P<part>\ue000\d+\ue001|[^\s,;?!]+)(?: in (?:the|its|their) names?)?@place",
            r"(?:@find|is there|do we have|does it have|have we got) @the(?:file )?%dotted(?: file)?@place",
            r"(?:@find|is there|do we have|does it have) @the(?P<part>[\w.-]+) file@place",
            r"(?:glob|find) (?P<glob>[^\s]*\*[^\s]*)|(?:@find|@list) %glob@place",
            r"(?P<count>how many) files?(?: (?:are (?:there|here)|do (?:we|i) have|exist|is there))*@place",
        ),
        "Look",
        "find all *.py files",
    ),
    IntentSpec(
        _I.USAGES,
        (
            r"(?:who|what|which (?:code|files?|functions?|modules?|tests?)|where do we|where does (?:it|the code)|show me what|show me who) (?:is |are )?(?:calls?|uses?|using|calling|imports?|importing|references?|invokes?|mentions|needs|depends? on) @the(?:@kind)?%name@place",
            r"(?:where|how)(?: is|'s| are) @the(?:@kind)?%name(?: @code)? (?:being )?(?:used|called|imported|referenced|invoked|mentioned|needed|instantiated)@place",
            r"(?:@find|@list|show|get) @the(?:call sites?|usages?|uses|references?|callers?|calls|usage|imports?|users) (?:of|to|for) @the(?:@kind)?%name@place",
            r"(?:@find|show|@list) (?:me )?(?:where|who|what|everything that|all places (?:where|that)|code that) (?:calls?|uses?|imports?|references?|we (?:use|call)) @the(?:@kind)?%name@place",
            r"(?:@find|show|@list) (?:me )?(?:where|all places where) @the(?:@kind)?%name (?:is |are )?(?:used|called|imported|referenced)@place",
            r"(?:usages?|references|callers|uses) (?:of|to) @the%name@place",
        ),
        "Find",
        "who calls load_config",
    ),
    IntentSpec(
        _I.DEFINITION,
        (
            r"(?:@find|show|read|open|go to|goto|jump to|display|print|see|view|where is|get|which file (?:has|contains|defines)) @the@kind%name@place",
            r"(?:@find|show|read|open|go to|jump to|display|see) @the%name (?:function|func|class|method|struct|interface|enum|trait|macro|fixture|exception|decorator|definition|variable|constant|type)@place",
            r"(?:@find|show|tell) (?:me )?(?:out )?where @the(?:@kind)?%name(?: @code)? (?:is|gets|was|are) (?:defined|declared|implemented|located|written|coming from)@place",
            r"where(?: is|'s| are| can i find)? @the(?:@kind)?%name(?: @code)? (?:defined|declared|implemented|located|written|coming from|from)@place",
            r"where (?:do|does|did|can|is) (?:we|you|i|it|the (?:code|project)) (?:define|declare|implement|find|see)s? @the(?:@kind)?%name@place",
            r"in (?:which|what) (?:file|module|place) (?:is|are) @the(?:@kind)?%name(?: @code)? (?:defined|declared|implemented|located)",
            r"(?:which|what) file (?:defines|declares|implements|has|contains the definition of) @the(?:@kind)?%name",
            r"(?:the )?(?:definition|declaration|implementation) of @the(?:@kind)?%name|def(?:ine)? %name|(?P<kind>class|def|func|function|fn|struct) %name",
        ),
        "Find",
        "find the function load_config",
    ),
    IntentSpec(
        _I.TEXT,
        (
            r"(?:@find|@list|show|search for|any|are there(?: any)?|what are) @the(?:open )?(?P<todo>todos?|fixmes?|to-dos|todo comments|todo items)@place",
            r"(?:search|grep|scan|look|rg)(?: -\w+)?(?: (?:the |all )?(?:files?|code|project|repo|everything|folder|for|through|in|@repo|everywhere))* ?(?:for )@the(?:@text )?%text(?: @in @the(?:file |files |folder |directory |all )*%path(?: files?| folder| directory)?)",
            r"(?:search|grep|scan|rg) (?:in |inside |through )?@the(?:file |files |folder |directory )?(?P<path>\ue000\d+\ue001|[^\s,;?!]*[./*][^\s,;?!]*) for @the(?:@text )?%text",
            r"(?:search|grep|scan|look|rg)(?: -\w+)?(?: (?:the |all )?(?:files?|code|project|repo|everything|folder|through|in|everywhere))* ?for @the(?:@text )?%text",
            r"(?:@find|search|grep|rg|look for)(?: -\w+)* @the(?:@text )?(?P<text>\ue000\d+\ue001)@place",
            r"(?:@find|grep|rg) @the@text %text(?: @in @the(?:file |files |folder |directory |all )*%path(?: files?| folder| directory)?)",
            r"(?:@find|grep|rg) @the@text %text",
            r"(?:grep|rg)(?: -\w+)* (?P<text>\S+)(?: %path)?",
            r"(?:what|which|find(?: all)?|list(?: all)?|show(?: me)?(?: all)?|the)(?: the)? (?P<files>files) (?:that |which )?(?:contain(?:s|ing)?|mention(?:s|ing)?|have|having|with|include|including|say)(?: the)?(?: text| word| string| phrase)? %text@place",
            r"where (?:does it|do we|do they|does the (?:code|text|documentation)|is it|do you) (?:say|mention|contain|talk about|print|log|raise|write|said|written) %text@place",
            r"where is (?P<text>\ue000\d+\ue001)(?: used| mentioned| written)?@place",
            r"(?:lines|occurrences|mentions) (?:containing|with|of|matching) %text@place",
        ),
        "Find",
        "search for 'timeout' in *.py",
    ),
)

READING = (
    IntentSpec(
        _I.READ,
        (
            r"@show (?:me )?(?:only )?(?:the )?lines? %a(?: ?(?:-|to|–|through|until|till|and|\.\.) ?%b)? (?:of|in|from) @file",
            r"(?:lines? )%a(?: ?(?:-|to|–|through|until|till|\.\.) ?%b)? (?:of|in|from) @file",
            r"@show @file,? ?(?:from |at |on |around |near )?(?:the )?\(?lines? %a(?: ?(?:-|to|–|through|until|till|\.\.) ?%b)?\)?",
            r"@show (?:me )?the (?P<edge>first|top|last|final|bottom) (?:%n )?(?:lines?|part)?(?: ?(?:of|in|from))? @file",
            r"@show @file,? ?(?:the |only )*(?P<edge>first|top|last|final|bottom) %n(?: lines?)?",
            r"(?P<edge>head|tail)(?: -n ?%n| -%n)? @file",
            r"(?:@show )?(?:me )?(?:the )?(?P<edge>head|tail|start|beginning|end|top|bottom) of @file",
            r"(?:the )?(?P<edge>first|last) %n lines (?:of|in|from) @file",
            r"@show (?:me )?@ref(?: in full| again| completely)?(?: (?:from|at|around) line (?P<a>\d+))?",
            r"(?:@show )?@the(?:file )?(?P<file>[^\s,;?!:]+\.\w+|[^\s,;?!:]*/[^\s,;?!:]+):%a(?:[-:]%b)?",
            r"@show @the(?:file |module |script |document |contents? of @the(?:file )?|source (?:code )?of |code of |text of )?%dotted(?: file| please)?",
            r"(?:what(?:'s| is| does)) (?:written |there )?(?:in|inside)(?: the)?(?: file)? %dotted(?: file| say| contain)?|what does @the(?:file )?%dotted (?:say|contain|look like)",
            r"@show @the(?:file|module|script|document|contents? of(?: the(?: file)?)?) %file",
        ),
        "Read",
        "read README.md lines 1-20",
    ),
    IntentSpec(
        _I.EXPLAIN,
        (
            r"@explain (?:me )?@ref",
            r"@explain @the(?:file |module |script |document |contents? of |folder |directory |package |dir |structure of )?%dotted(?: file| module| folder| directory| package| script)?(?: to me| for me| in short| briefly)?",
            r"@explain @the(?:file|module|script|document|folder|directory|package|dir) %file",
            r"@explain @the%file (?:file|module|script|folder|directory|package|dir)",
            r"what (?:is|does) @the(?:file |module |script |folder |directory |package )?%dotted (?:do|for|about|good for|all about)",
            r"what(?:'s| is) @the(?:file |module |script |folder |directory |package )?%dotted(?: for| about)?",
            r"what (?:functions|classes|methods|functions and classes|symbols|things) (?:are|does|do|is) (?:there |defined |in )*@the(?:file |module )?%dotted(?: (?:have|define|contain|has))?",
            r"@list @the(?:functions|classes|methods|functions and classes|headings|symbols|definitions|outline) (?:in|of|from) @file",
        ),
        "Read",
        "outline setup.py",
    ),
    IntentSpec(
        _I.EXPLAIN_SYMBOL,
        (
            r"(?:@explain|understand) @the@kind%name@place",
            r"(?:@explain|understand) @the%name (?:function|func|class|method|struct|interface|enum|trait|macro|fixture|exception|decorator)@place",
            r"(?:what|how) (?:does|is|do) @the(?:@kind)%name(?: (?:do|work|for|works|doing|about|used for))?@place",
            r"(?:what|how) (?:does|is|do) @the%symbol(?: @code)?(?: (?:do|work|for|works|doing|about))?@place",
            r"what (?:does) @the%name (?:function|class|method|module) (?:do|return)|how does @the%name (?:function|class|method) work",
            r"@explain @the%symbol@place",
        ),
    ),
)

GENERAL = (
    IntentSpec(
        _I.RUN,
        (
            r"(?:run|execute|exec|invoke|launch)(?: the| this| a)?(?: shell| terminal| bash)?(?: command| script| program| file)?:? %command",
            r"[$!] ?%command",
            r"(?P<command>(?:git|pytest|python3?|pip3?|uv|uvx|tox|nox|ruff|mypy|black|isort|flake8|pylint|node|npm|npx|yarn|pnpm|bun|deno|tsc|cargo|rustc|cmake|ninja|gcc|g\+\+|clang|mvn|gradle|docker|podman|kubectl|curl|wget|echo|env|wc|sed|awk|du|df|ps|chmod|touch|cp|mv|rm|ruby|rake|bundle|php|composer|javac?|dotnet|perl|bash|sh|zsh|hatch|poetry|pre-commit|ctest|jq|tar|unzip|cd)(?: [-./~\w\"'=*:@\ue000].*)?)",
            r"(?P<command>go (?:build|test|run|vet|mod|fmt|get|install|generate|list|version|env|work|tool|doc)\b.*|make(?: [\w.-]+)?|which \w+|(?:pwd|whoami|date|uname|uptime|hostname)(?: -\w+)?|find [./~].*|(?:head|tail|sort|uniq|diff|ls|tree) -.*)",
            r"(?P<command>(?:\./|~/|/)[^\s]+(?: .*)?)",
        ),
        "Run",
        "run git log -3",
    ),
    IntentSpec(
        _I.FACTS,
        (
            r"how (?:do|can|would|should|to) ?(?:i|we|you|one)? ?(?P<install>install|set ?up|build|get started with) (?:this|it|@the@repo).*|(?P<install>installation)(?: instructions)?|how is (?:this|it|@the@repo) (?P<install>installed|built)",
            r"(?:what|which) (?:version of )?(?:python|node|go|rust|java|ruby)?(?: version)?(?:s)? (?:does|do|is|are) (?:this|it|@the@repo|needed|required|supported)(?: (?:need|require|support|use|run on|work with)s?)?(?: .{0,20})?",
            r"(?:what|which)(?: are| is|'s)? (?:the )?(?:dependencies|requirements|version|licen[sc]e|packages)(?: (?:of|for|does|do|is|are|needed|required) .{0,40})?|(?:dependencies|requirements)",
            r"what does (?:this|it|@the@repo) (?:depend on|need|require)|(?:show|list) @the(?:dependencies|requirements)(?: .{0,30})?",
        ),
    ),
    IntentSpec(
        _I.TOPIC,
        (
            r"(?:how|where) (?:does|do|is|are|will) (?!i\b|we\b|you\b|one\b)(?P<topic>.+? (?:handled?|handles|work|works|done|made|set|created|configured|stored|checked|validated|parsed|sent|managed|implemented|processed|loaded|saved|computed|calculated|happen|happens|used|called|raised|read|written|logged|tested|documented)(?: .*)?)",
            r"(?:where|how) (?:is|are|was|were) (?!i\b|we\b|you\b)(?P<topic>.+ \w+(?:ed|wn|nt|lt|ept|ade)(?: .*)?)",
            r"(?:where|how) (?:does|do) (?!i\b|we\b|you\b|one\b)(?P<topic>.+)",
            r"(?:@find|@show) (?:me )?(?:the )?(?:code|place|places|part|parts|spot|bit|file|files|module|logic|function|functions|class|classes|tests?) (?:that|which|where|for|responsible for|to do with|about|related to|dealing with) (?P<topic>.+)",
        ),
    ),
    IntentSpec(
        _I.BEYOND,
        (
            r"(?:fix|debug|refactor|implement|optimi[sz]e|improve|review|translate|port|convert|design|solve|rewrite|simplify|clean up|cleanup|migrate|modernize|modernise|upgrade|speed up|profile|build|develop|code|program|generate|write|create|add|make|extend|complete|finish|finali[sz]e|draft|compose|invent|brainstorm|plan|suggest|propose|recommend|advise|compare|evaluate|critique|audit|secure|type|annotate|comment|test)\b .+",
            r"(?:why|should|how come|how would|how could|how should|how can|how do|what if|what would|what should|is it (?:a good|ok|safe|possible)|which is better|do you think|explain why|tell me why|can you think)\b.*",
            r"find (?:and fix |me )?(?:the |a |any |all |some )?(?:bugs?|problems?|issues?|mistakes?|security (?:holes|issues)|errors?|vulnerabilit(?:y|ies)|performance .*|dead code|code smells?)\b.*",
        ),
    ),
    IntentSpec(
        _I.DEFINITION,
        (
            r"@find @the%name@place",
            r"@show @the%symbol@place",
        ),
    ),
    IntentSpec(
        _I.EXPLAIN,
        (
            r"@explain @the%file",
            r"what (?:is|'s) (?:in )?@the(?:folder |directory |package |module )?%file(?: folder| directory| package| module)?(?: for| about)?",
        ),
    ),
    IntentSpec(_I.READ, (r"@show @the%file", r"%dotted")),
)
