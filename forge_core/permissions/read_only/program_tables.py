"""The built-in list of programs that only read, with the exact options that each may be given."""

from __future__ import annotations

from forge_core.permissions.programs.word_sets import table
from forge_core.permissions.read_only.option_forms import Form, form

_GREP = form(
    "rnivwxclLohHEFGPsqabzyT",
    "e:T A:N B:N C:N m:N",
    "--include:G --exclude:G --exclude-dir:G --regexp:T --color --color=K --recursive --line-number"
    " --ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches"
    " --files-without-match --only-matching --no-filename --with-filename --extended-regexp --fixed-strings"
    " --basic-regexp --perl-regexp --no-messages --quiet --silent --text --null --max-count:N --byte-offset"
    " --after-context:N --before-context:N --context:N",
    texts=1, instead="-e --regexp", has_digits=True,
)  # fmt: skip
_SUMS = form("bt", long="--binary --text --tag")
_LIST = form(
    "ABCFGNQRSUXabcdfghiklmnopqrstuvxZ1",
    "I:G w:N T:N",
    "--all --almost-all --color --color=K --human-readable --recursive --directory --reverse --inode --size"
    " --group-directories-first --sort=K --time=K --time-style=T --full-time --format=K --classify --no-group"
    " --file-type --numeric-uid-gid --ignore=G --hide=G --si --author",
    is_free=True,
)  # fmt: skip

READERS: dict[str, Form] = {
    "ls": _LIST,
    "cat": form(
        "AbeEnstTuv",
        long="--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank"
        " --show-nonprinting",
        is_free=True,
    ),
    "head": form(
        "qvz", "n:N c:N", "--lines:N --bytes:N --quiet --silent --verbose", has_digits=True, is_free=True
    ),
    "tail": form(
        "qvz", "n:N c:N", "--lines:N --bytes:N --quiet --silent --verbose", has_digits=True, is_free=True
    ),
    "stat": form("tf", "c:T", "--format:T --printf=T --terse --file-system", is_free=True),
    "nl": form("p", "b:K n:K w:N s:D v:N i:N", is_free=True),
    "tac": form(is_free=True),
    "rev": form(is_free=True),
    "basename": form("az", "s:T", "--suffix:T --multiple", is_free=True),
    "dirname": form("z", is_free=True),
    "wc": form("clmwL", long="--lines --words --bytes --chars --max-line-length"),
    "cut": form(
        "nsz", "d:D f:K c:K b:K", "--delimiter:D --fields:K --complement --only-delimited"
        " --output-delimiter:D",
    ),
    "fold": form("bs", "w:N", "--width:N --spaces", has_digits=True),
    **dict.fromkeys(table("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum"), _SUMS),
    "cksum": form(),
    "cmp": form("lsb", "n:N i:N", "--silent --quiet --print-bytes --verbose", most=2),
    "comm": form("123z", long="--total --check-order --nocheck-order"),
    "paste": form("sz", "d:D", "--delimiters:D --serial"),
    "join": form("i", "t:D 1:N 2:N j:N a:N v:N", most=2),
    "strings": form("a", "n:N t:K e:K", "--all --bytes=N --radix=K"),
    "od": form("cxobdav", "A:K t:K N:N j:N w:N", joins_values=True),
    "hexdump": form("Ccxobdv", "n:N s:N"),
    "readlink": form("femnqsvz", long="--canonicalize --no-newline"),
    "realpath": form("emqsz", long="--canonicalize-missing --canonicalize-existing --quiet"),
    "du": form(
        "abhkmscx0Sl",
        "d:N",
        "--max-depth:N --summarize --human-readable --apparent-size --total --all --exclude=G --bytes"
        " --one-file-system --si",
    ),
    "df": form("hkmTialPH", long="--human-readable --total --print-type --inodes --portability"),
    "sort": form(
        "bdfgiMhnRrVcCmsuz",
        "k:K t:D",
        "--reverse --numeric-sort --unique --human-numeric-sort --version-sort --ignore-case --stable --check"
        " --general-numeric-sort --zero-terminated --key:K --field-separator:D --ignore-leading-blanks",
    ),
    "uniq": form("cduizD", "f:N s:N w:N", "--count --repeated --unique --ignore-case", most=1),
    "diff": form(
        "uqNBwibyatEZpces",
        "U:N C:N W:N",
        "--brief --unified --unified=N --side-by-side --color --color=K --ignore-all-space --ignore-case"
        " --ignore-space-change --ignore-blank-lines --suppress-common-lines --minimal --text --new-file"
        " --report-identical-files --strip-trailing-cr --width=N",
        most=2,
    ),
    "column": form("t", "s:D o:D"),
    "tree": form(
        "adfhispugDFCnN",
        "L:N I:G P:G",
        "--dirsfirst --noreport --prune --du --si --charset=K --filelimit=N",
        joins_values=False,
    ),
    "xxd": form("pubia", "l:N s:N c:N g:N", most=1, joins_values=False),
    "jq": form(
        "rcMCSeajns",
        long="--raw-output --compact-output --monochrome-output --color-output --sort-keys --exit-status"
        " --ascii-output --join-output --null-input --slurp --raw-input --tab --indent:N",
        texts=1, joins_values=False,
    ),
    "file": form("bi", long="--brief --mime --mime-type --mime-encoding"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": form(
        "nilcvwFoHIsSaNpqUP0xh",
        "e:T A:N B:N C:N m:N g:G t:K T:K M:N j:N r:T d:N",
        "--files --json --hidden --glob:G --iglob:G --type:K --type-not:K --sort:K --sortr:K --max-count:N"
        " --max-depth:N --context:N --after-context:N --before-context:N --regexp:T --replace:T --color:K"
        " --no-heading --heading --line-number --no-line-number --ignore-case --smart-case --case-sensitive"
        " --fixed-strings --word-regexp --line-regexp --count --count-matches --files-with-matches"
        " --files-without-match --only-matching --stats --multiline --multiline-dotall --no-filename --pcre2"
        " --with-filename --vimgrep --trim --column --invert-match --type-list --no-ignore --no-ignore-vcs"
        " --no-messages --passthru --pretty --quiet --null --max-columns:N --threads:N --max-filesize:N"
        " --text --no-config",
        texts=1, instead="-e --regexp --files --type-list",
    ),
    "fd": form(
        "HIsigFap01u",
        "e:K t:K E:G d:N",
        "--hidden --no-ignore --extension:K --type:K --exclude:G --max-depth:N --min-depth:N --glob --regex"
        " --fixed-strings --ignore-case --case-sensitive --absolute-path --full-path --print0 --color:K",
        texts=1,
    ),
    "sed": form("nErus", long="--quiet --silent --regexp-extended", texts=1),
    "cd": form(most=1),
    "printf": form(operands="texts"),
    "which": form("a", operands="texts"),
    "type": form("atpP", operands="texts"),
    "command": form("vV", operands="texts"),
    "whereis": form("bm", operands="texts"),
    "hostname": form("fsiIdA", operands="none"),
    "date": form(
        "uR", "d:T", "--utc --universal --iso-8601 --iso-8601=K --rfc-3339=K --rfc-email --date:T",
        operands="texts", beginning="+",
    ),
    "tr": form("cCdst", long="--delete --squeeze-repeats --complement", operands="texts"),
    "env": form(operands="none"),
    "pwd": form("LP", operands="none"),
    "whoami": form(operands="none"),
    "id": form("ugGnr", long="--user --group --groups --name", operands="texts"),
    "groups": form(operands="texts"),
    "uptime": form("ps", operands="none"),
    "nproc": form(long="--all", operands="none"),
    "arch": form(operands="none"),
    "uname": form("asnrvmpio", long="--all --machine --kernel-release --kernel-name", operands="none"),
    "seq": form("w", "s:T", has_digits=True, operands="texts"),
    "sleep": form(operands="texts"),
    "expr": form(has_digits=True, operands="texts"),
    "printenv": form(operands="texts"),
    "locale": form("a", operands="none"),
    "getconf": form(operands="texts"),
    "free": form("bkmght", operands="none"),
    "lscpu": form(operands="none"),
    "tty": form("s", operands="none"),
    "exit": form(operands="texts", most=1),
    "return": form(operands="texts", most=1),
    "break": form(operands="none"),
    "continue": form(operands="none"),
}  # fmt: skip
"""Programs whose words are looked at in a way of their own: `echo true false : [ test [[ ps find git`."""

PRINTERS = table("echo true false :")
"""No word can make them do more than print."""
HARMLESS_TO_ALL = PRINTERS | {name for name, one in READERS.items() if one.is_free}
"""Whatever file names a glob gives them, no option is among them that does more than read."""

TEST_OPERATORS = table(
    "-f -d -e -r -w -x -s -h -L -n -z -b -c -p -S -a -o -nt -ot -ef -eq -ne -gt -lt -ge -le"
)
PROCESS_LISTS = frozenset(
    {(), ("aux",), ("auxw",), ("auxww",), ("ax",), ("-ef",), ("-e",), ("-A",), ("-f",), ("-aux",)}
)
"""What ps may be given; its letter e shows the variables of others."""

VERSIONS = {
    **{
        name: frozenset({"--version"})
        for name in table(
            "python python3 node npm pip pip3 uv cargo rustc gcc g++ clang cc make cmake perl ruby docker rg"
            " ruff mypy bash git jq curl fd tree deno gh"
        )
    },
    "python": table("--version -V"),
    "python3": table("--version -V"),
    "node": table("--version -v"),
    "npm": table("--version -v"),
    "cargo": table("--version -V"),
    "rustc": table("--version -V"),
    "go": frozenset({"version"}),
}
"""Programs that may be asked for their version, how exactly. Not those that load the folder's own code, or a
copy of themselves that it names, before they answer: pytest, yarn, pnpm, poetry, dotnet, terraform."""
PICKERS = (".tool-versions", "rust-toolchain", "rust-toolchain.toml")
"""Files by which a folder may say which program answers to a name, one in the folder included."""

LISTINGS = frozenset({("pip", "list"), ("pip", "show"), ("pip3", "list"), ("pip3", "show"), ("go", "env")})
"""Program and subcommand that only list what is installed; plain names may follow."""

FIND_TESTS = table(
    "-empty -print -print0 -prune -not -and -or -a -o ! ( ) -depth -d -xdev -mount -ls -quit -true -false"
    " -readable -writable -executable -daystart -noleaf"
)
FIND_VALUES = table(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size"
    " -mtime -atime -ctime -mmin -amin -cmin -newermt -user -group -perm -links -inum -regextype"
)
"""Tests whose value, the next word, is no path."""
FIND_FILES = table("-newer -anewer -cnewer -samefile")
