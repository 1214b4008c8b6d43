"""Random shell lines: a small grammar, and mutations that no grammar would think of."""

from __future__ import annotations

from random import Random

PROGRAMS = ("git", "ls", "cat", "rg", "npm", "rm", "evil", "sort", "head", "find", "wc")
_KNOWN = (
    "git status", "git log -1", "git log --oneline", "git push", "git -c a=b status", "ls -la", "ls src", "cat a", "rg foo",
    "npm test", "rm -rf x", "evil", "evil arg", "sort a", "head -5", "find . -name a", "wc -l", "git diff",
)  # fmt: skip
_PLAIN = (
    "a",
    "b",
    "src",
    "-l",
    "x.py",
    "foo",
    "--",
    "status",
    "-rf",
    "a=b",
    "#x",
    "a#b",
    "+x",
    "@",
    "%s",
    "1",
    "2",
)
_ALPHABET = "'\"\\$(){}[];&|<>#! \n\t*?=,`-aX1^:@+%."
_VARIABLES = ("X", "Y", "IFS", "HOME", "1", "@", "#", "?", "PWD")


class Grammar:
    """Makes lines. The same seed makes the same lines."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def line(self) -> str:
        text = self.list(self.random.choice((1, 1, 2, 2, 3)))
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2, 4))):
            text = self.mutated(text)
        return text

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def list(self, depth: int) -> str:
        parts = [self.statement(depth) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        text = parts[0]
        for part in parts[1:]:
            text += (
                self.pick("; ", ";", " && ", "&&", " || ", " | ", "|", "\n", " & ", " |& ", " ; # c\n") + part
            )
        return text

    def statement(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.55:
            return self.simple(depth)
        inner = self.list(depth - 1)
        return self.pick(
            f"({inner})",
            f"{{ {inner}; }}",
            f"! {inner}",
            f"if {inner}; then {self.list(depth - 1)}; fi",
            f"if true; then {inner}; else {self.list(0)}; fi",
            f"for X in {self.word(0)} b; do {inner}; done",
            f"while {inner}; do break; done",
            f"until true; do {inner}; done",
            f"case {self.word(0)} in *) {inner};; esac",
            f"case a in a|b) {inner} ;; (c) {self.simple(0)};; esac",
            f"f() {{ {inner}; }}; f",
            f"function git {{ {inner}; }}; git status",
            f"time {inner}",
            f"[[ a == a ]] && {inner}",
            f"[ -n a ] && {inner}",
            f"cat <<EOF\n{inner}\n$({self.simple(0)}) `{self.simple(0)}`\nEOF",
            f"cat <<'EOF' > w\n{inner}\nEOF",
            f"cat <<-E\n\t{inner}\n\tE\n{self.simple(0)}",
            f"bash <<EOF\n{inner}\nEOF",
            f"bash <<< {self.quoted(inner)}",
            f"bash -c {self.quoted(inner)}",
            f"sh -c {self.quoted(self.simple(0))}",
            f"eval {self.quoted(inner)}",
            f"echo {self.quoted(self.simple(0))} | sh",
            f"X={self.word(0)}; {inner}",
            f"X={self.quoted(self.simple(0))}; $X",
            f"coproc {self.simple(0)}",
            f"(( $( {self.simple(0)} ) 1 ))",
        )

    def simple(self, depth: int) -> str:
        text = self.pick(*_KNOWN) if self.random.random() < 0.6 else self.program()
        text = " ".join(self.disguised(word) if self.random.random() < 0.2 else word for word in text.split())
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            text += self.pick(" ", " ", "  ", "\t", " \\\n") + self.word(depth)
        if self.random.random() < 0.15:
            text = (
                self.pick(
                    "env ",
                    "env A=1 ",
                    "timeout 5 ",
                    "nice -n 1 ",
                    "command ",
                    "exec ",
                    "builtin command ",
                    "X=1 ",
                    "PATH=. ",
                    "xargs ",
                    "nohup ",
                )
                + text
            )
        if self.random.random() < 0.12:
            text += " " + self.pick(
                "> w",
                ">w",
                ">> w",
                "2>/dev/null",
                "2>&1",
                "&> w",
                ">| w",
                "< a",
                "<<< hi",
                "> $X",
                "3> w",
                "> /dev/null",
            )
        return text

    def program(self) -> str:
        return self.disguised(self.pick(*PROGRAMS))

    def disguised(self, word: str) -> str:
        at = self.random.randrange(len(word) + 1)
        head, tail = word[:at], word[at:]
        return self.pick(
            f"'{word}'", f'"{word}"', f"{head}''{tail}", f'{head}""{tail}', f"{head}\\{tail}" if tail else word,
            f"$'{word}'", f"$'\\x{ord(word[0]):02x}{word[1:]}'", f'$"{word}"', f"{head}\\\n{tail}", f"{{{word},}}",
            f"$(echo {word})", f"`echo {word}`", f"${{X:-{word}}}", f"'{head}'\"{tail}\"", f"{head}$Z{tail}", f"{head}$''{tail}",
        )  # fmt: skip

    def word(self, depth: int) -> str:
        plain = self.pick(*_PLAIN)
        if self.random.random() < 0.45:
            return plain
        if depth > 0 and self.random.random() < 0.4:
            inner = self.list(depth - 1)
            return self.pick(
                f"$({inner})",
                f'"$({inner})"',
                f"`{self.simple(0)}`",
                f"<({inner})",
                f'"a $({inner}) b"',
                f"${{X:-$({inner})}}",
                f"$(( $({inner}) + 1 ))",
            )
        variable = self.pick(*_VARIABLES)
        return self.pick(
            self.disguised(plain), f"${variable}", f'"${variable}"', f"${{{variable}}}", f"'{plain} {plain}'", f'"{plain};{plain}"',
            f"{{{plain},{plain}}}", "{1..3}", "*", "?", "[a-z]", "~", "\\;", "'|'", '"&"', "\\#", "''", '""', "$", "\\\\", f"{plain}{{a,b}}",
        )  # fmt: skip

    def quoted(self, text: str) -> str:
        if self.random.random() < 0.7:
            return "'" + text.replace("'", "'\\''") + "'"
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def mutated(self, text: str) -> str:
        at = self.random.randrange(len(text) + 1)
        match self.random.randrange(5):
            case 0:
                return text[:at] + text[at + 1 :]
            case 1 | 2:
                return text[:at] + self.random.choice(_ALPHABET) + text[at:]
            case 3:
                to = min(len(text), at + self.random.randrange(1, 8))
                return text[:to] + text[at:to] + text[to:]
            case _:
                return text[:at] + self.random.choice(_ALPHABET) + text[at + 1 :]
