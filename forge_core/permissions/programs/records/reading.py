"""Programs that read, print or compare, and the shell's builtins."""

from __future__ import annotations

from forge_core.permissions.programs.argument_spec import ArgumentSpec
from forge_core.permissions.programs.records.program import Program, RiskyWords

_GREP = ArgumentSpec(
    "rnivwxclLohHEFGPsqabzyT",
    "e:T A:N B:N C:N m:N",
    "--include:G --exclude:G --exclude-dir:G --regexp:T --color --color=K --recursive --line-number"
    " --ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches"
    " --files-without-match --only-matching --no-filename --with-filename --extended-regexp --fixed-strings"
    " --basic-regexp --perl-regexp --no-messages --quiet --silent --text --null --max-count:N --byte-offset"
    " --after-context:N --before-context:N --context:N",
    texts=1,
    instead="-e --regexp",
    has_digits=True,
)
_GREP_FOLLOWS = "-[A-Za-z]*R[A-Za-z]*|--dereference-recursive"
_SUMS = ArgumentSpec("bt", long="--binary --text --tag")
_LIST = ArgumentSpec(
    "ABCFGNQRSUXabcdfghiklmnopqrstuvxZ1",
    "I:G w:N T:N",
    "--all --almost-all --color --color=K --human-readable --recursive --directory --reverse --inode --size"
    " --group-directories-first --sort=K --time=K --time-style=T --full-time --format=K --classify --no-group"
    " --file-type --numeric-uid-gid --ignore=G --hide=G --si --author",
    is_free=True,
)

JQ_MODULES = r"\b(?:import|include|modulemeta|get_search_list)\b"
"""In a filter of jq: reads other files."""

# fmt: off
RECORDS = (
    # Builtins and programs that print or compare
    Program(": echo false true", ("glue", "runs_nothing", "only_prints")),
    Program("pwd", ("glue", "runs_nothing"), read_only=ArgumentSpec("LP", operands="none")),
    Program("cd", ("glue", "runs_nothing"), read_only=ArgumentSpec(most=1)),
    Program("printf", ("glue", "runs_nothing"), read_only=ArgumentSpec(operands="texts"), risky_options="-v"),
    Program("exit return", ("glue", "runs_nothing"), read_only=ArgumentSpec(operands="texts", most=1)),
    Program("[ test", ("glue", "runs_nothing"), risky_options="-R -v"),
    # Programs that read
    Program("grep", ("runs_nothing",), read_only=_GREP, following_options=_GREP_FOLLOWS,
        recursive_options="-[A-Za-z]*[rR][A-Za-z]*|--(?:dereference-)?recursive",
        hidden_file_options=r"-[A-Za-z]*r[A-Za-z]*|--recursive"),
    Program("egrep fgrep", ("runs_nothing",), read_only=_GREP, following_options=_GREP_FOLLOWS,
        recursive_options="-[A-Za-z]*[rR][A-Za-z]*|--(?:dereference-)?recursive",
        hidden_file_options=r"-[A-Za-z]*r[A-Za-z]*|--recursive"),
    Program("ls", ("runs_nothing",), read_only=_LIST, following_options="-[A-Za-z]*L[A-Za-z]*|--dereference",
        recursive_options="-[A-Za-z]*R[A-Za-z]*|--recursive"),
    Program("md5sum sha1sum sha256sum", ("runs_nothing",), read_only=_SUMS),
    Program("b2sum sha224sum sha384sum sha512sum", read_only=_SUMS),
    Program("comm", ("runs_nothing",),
        read_only=ArgumentSpec("123z", long="--total --check-order --nocheck-order")),
    Program("cat", ("runs_nothing",), read_only=ArgumentSpec("AbeEnstTuv", long="--number"
        " --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank --show-nonprinting",
        is_free=True)),
    Program("hexdump", read_only=ArgumentSpec("Ccxobdv", "n:N s:N")),
    Program("fd", ("reads_folders",), read_only=ArgumentSpec("HIsigFap01u", "e:K t:K E:G d:N", "--hidden"
        " --no-ignore --extension:K --type:K --exclude:G --max-depth:N --min-depth:N --glob --regex"
        " --fixed-strings --ignore-case --case-sensitive --absolute-path --full-path --print0 --color:K",
        texts=1), version="--version", script_options="-x|-X|--exec|--exec-batch",
        risky_options="-X -x --exec --exec-batch", following_options="-[A-Za-z]*L[A-Za-z]*|--follow"),
    Program("strings", ("runs_nothing",),
        read_only=ArgumentSpec("a", "n:N t:K e:K", "--all --bytes=N --radix=K")),
    Program("locale", read_only=ArgumentSpec("a", operands="none")),
    Program("which", ("runs_nothing",), read_only=ArgumentSpec("a", operands="texts")),
    Program("du", ("runs_nothing", "reads_folders"), read_only=ArgumentSpec("abhkmscx0Sl", "d:N",
        "--max-depth:N --summarize --human-readable --apparent-size --total --all --exclude=G --bytes"
        " --one-file-system --si"), following_options="-[A-Za-z]*[DHL][A-Za-z]*|--dereference(?:-args)?"),
    Program("tree", ("runs_nothing", "reads_folders"), read_only=ArgumentSpec("adfhispugDFCnN", "L:N I:G P:G",
        "--dirsfirst --noreport --prune --du --si --charset=K --filelimit=N", joins_values=False),
        version="--version", risky_options="-R -o", following_options="-[A-Za-z]*l[A-Za-z]*"),
    Program("uname", read_only=ArgumentSpec("asnrvmpio", long="--all --machine --kernel-release"
        " --kernel-name", operands="none")),
    Program("type", ("runs_nothing",), read_only=ArgumentSpec("atpP", operands="texts")),
    Program("basename", ("runs_nothing",),
        read_only=ArgumentSpec("az", "s:T", "--suffix:T --multiple", is_free=True)),
    Program("sort", ("runs_nothing",), read_only=ArgumentSpec("bdfgiMhnRrVcCmsuz", "k:K t:D", "--reverse"
        " --numeric-sort --unique --human-numeric-sort --version-sort --ignore-case --stable --check"
        " --general-numeric-sort --zero-terminated --key:K --field-separator:D --ignore-leading-blanks"),
        script_options=r"--compress-p\w*",
        risky_options="-T -o --compress-program --output --temporary-directory",
        writing_options="-[A-Za-z]*o.*|--output.*"),
    Program("file", ("runs_nothing",),
        read_only=ArgumentSpec("bi", long="--brief --mime --mime-type --mime-encoding"),
        risky_options="-C -S -Z -z --compile --no-sandbox --uncompress --uncompress-noreport"),
    Program("free", read_only=ArgumentSpec("bkmght", operands="none")),
    Program("whereis", ("runs_nothing",), read_only=ArgumentSpec("bm", operands="texts")),
    Program("fold", read_only=ArgumentSpec("bs", "w:N", "--width:N --spaces", has_digits=True)),
    Program("tr", ("runs_nothing",),
        read_only=ArgumentSpec("cCdst", long="--delete --squeeze-repeats --complement", operands="texts")),
    Program("uniq", ("runs_nothing",),
        read_only=ArgumentSpec("cduizD", "f:N s:N w:N", "--count --repeated --unique --ignore-case", most=1)),
    Program("wc", ("runs_nothing",),
        read_only=ArgumentSpec("clmwL", long="--lines --words --bytes --chars --max-line-length")),
    Program("od", ("runs_nothing",),
        read_only=ArgumentSpec("cxobdav", "A:K t:K N:N j:N w:N", joins_values=True)),
    Program("realpath", ("runs_nothing",),
        read_only=ArgumentSpec("emqsz", long="--canonicalize-missing --canonicalize-existing --quiet")),
    Program("readlink", ("runs_nothing",),
        read_only=ArgumentSpec("femnqsvz", long="--canonicalize --no-newline")),
    Program("hostname", read_only=ArgumentSpec("fsiIdA", operands="none"),
        risky_options="-F -b --boot --file"),
    Program("df", ("runs_nothing",), read_only=ArgumentSpec("hkmTialPH", long="--human-readable --total"
        " --print-type --inodes --portability")),
    Program("join", ("runs_nothing",), read_only=ArgumentSpec("i", "t:D 1:N 2:N j:N a:N v:N", most=2)),
    Program("cmp", ("runs_nothing",),
        read_only=ArgumentSpec("lsb", "n:N i:N", "--silent --quiet --print-bytes --verbose", most=2)),
    Program("rg", ("runs_nothing",), read_only=ArgumentSpec("nilcvwFoHIsSaNpqUP0xh", "e:T A:N B:N C:N m:N"
        " g:G t:K T:K M:N j:N r:T d:N", "--files --json --hidden --glob:G --iglob:G --type:K --type-not:K"
        " --sort:K --sortr:K --max-count:N --max-depth:N --context:N --after-context:N"
        " --before-context:N --regexp:T --replace:T --color:K --no-heading --heading --line-number"
        " --no-line-number --ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp"
        " --line-regexp --count --count-matches --files-with-matches --files-without-match"
        " --only-matching --stats --multiline --multiline-dotall --no-filename --pcre2 --with-filename"
        " --vimgrep --trim --column --invert-match --type-list --no-ignore --no-ignore-vcs --no-messages"
        " --passthru --pretty --quiet --null --max-columns:N --threads:N --max-filesize:N --text"
        " --no-config", texts=1, instead="-e --regexp --files --type-list"), version="--version",
        script_options="--pre|--hostname-bin", risky_options="-z --hostname-bin --pre --search-zip",
        following_options="-[A-Za-z]*L[A-Za-z]*|--follow",
        hidden_file_options=r"-[A-Za-z]*[u.][A-Za-z.]*|--hidden|--no-ignore(?:-vcs)?"),
    Program("cut", ("runs_nothing",), read_only=ArgumentSpec("nsz", "d:D f:K c:K b:K", "--delimiter:D"
        " --fields:K --complement --only-delimited --output-delimiter:D")),
    Program("nl", read_only=ArgumentSpec("p", "b:K n:K w:N s:D v:N i:N", is_free=True)),
    Program("uptime", read_only=ArgumentSpec("ps", operands="none")),
    Program("xxd", ("runs_nothing",),
        read_only=ArgumentSpec("pubia", "l:N s:N c:N g:N", most=1, joins_values=False),
        risky_options="-r"),
    Program("head tail", ("runs_nothing",), read_only=ArgumentSpec("qvz", "n:N c:N", "--lines:N --bytes:N"
        " --quiet --silent --verbose", has_digits=True, is_free=True)),
    Program("jq", ("runs_nothing",), read_only=ArgumentSpec("rcMCSeajns", long="--raw-output"
        " --compact-output --monochrome-output --color-output --sort-keys --exit-status --ascii-output"
        " --join-output --null-input --slurp --raw-input --tab --indent:N", texts=1, joins_values=False),
        version="--version", risky_words=RiskyWords(JQ_MODULES, "filters that load modules")),
    Program("tty", read_only=ArgumentSpec("s", operands="none")),
    Program("paste", ("runs_nothing",), read_only=ArgumentSpec("sz", "d:D", "--delimiters:D --serial")),
    Program("column", ("runs_nothing",), read_only=ArgumentSpec("t", "s:D o:D")),
    Program("stat", ("runs_nothing",),
        read_only=ArgumentSpec("tf", "c:T", "--format:T --printf=T --terse --file-system", is_free=True)),
    Program("date", ("runs_nothing",), read_only=ArgumentSpec("uR", "d:T", "--utc --universal --iso-8601"
        " --iso-8601=K --rfc-3339=K --rfc-email --date:T", operands="texts", beginning="+"),
        risky_options="-s --set"),
    Program("id", read_only=ArgumentSpec("ugGnr", long="--user --group --groups --name", operands="texts")),
    Program("diff", ("runs_nothing", "only_inside"), read_only=ArgumentSpec("uqNBwibyatEZpces", "U:N C:N W:N",
        "--brief --unified --unified=N --side-by-side --color --color=K --ignore-all-space --ignore-case"
        " --ignore-space-change --ignore-blank-lines --suppress-common-lines --minimal --text --new-file"
        " --report-identical-files --strip-trailing-cr --width=N", most=2), following_options=".*"),
    Program("seq", ("runs_nothing",), read_only=ArgumentSpec("w", "s:T", has_digits=True, operands="texts")),
    Program("dirname", ("runs_nothing",), read_only=ArgumentSpec("z", is_free=True)),
    Program("cksum", read_only=ArgumentSpec()),
    Program("expr", read_only=ArgumentSpec(has_digits=True, operands="texts")),
    Program("rev tac", read_only=ArgumentSpec(is_free=True)),
    Program("nproc", read_only=ArgumentSpec(long="--all", operands="none")),
    Program("break continue", ("runs_nothing",), read_only=ArgumentSpec(operands="none")),
    Program("lscpu whoami", read_only=ArgumentSpec(operands="none")),
    Program("sleep", ("runs_nothing",), read_only=ArgumentSpec(operands="texts")),
    Program("getconf groups printenv", read_only=ArgumentSpec(operands="texts")),
    Program("yq", risky_options="-i -s --inplace --split-exp --split-exp-file",
        risky_words=RiskyWords(r"\bload(?:_\w+)?\s*\(", "filters that load files")),
    Program("sdiff", risky_options="-o --output"),
    Program("find", ("adds_arguments", "long_options_with_one_dash", "reads_folders"),
        risky_options="-delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir",
        following_options="-L|-follow"),
    Program("ps", risky_options=""),
    # Builtins
    Program("declare export local readonly typeset", ("declares", "runs_nothing")),
    Program("[[ ] done esac fi help popd pushd read unset", ("runs_nothing",)),
)
# fmt: on
