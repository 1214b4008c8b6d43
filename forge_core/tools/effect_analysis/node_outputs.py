"""The files that a JavaScript program writes: the string literals in the calls that write.

An approximation without a parser: the arguments of a call are split at commas outside brackets and quotes.
"""

from __future__ import annotations

import re

from forge_core.tools.effect_analysis.python_outputs import ScriptOutputs

_CALL = re.compile(
    r"\b(writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|outputFile|outputFileSync|"
    r"outputJson|outputJsonSync|copyFile|copyFileSync|cp|cpSync|copy|copySync|rename|renameSync|move|moveSync|"
    r"mkdir|mkdirSync|ensureDir|ensureDirSync|rm|rmSync|unlink|unlinkSync|rmdir|rmdirSync|"
    r"exec|execSync)\s*\("
)
_LITERAL = re.compile(r"'((?:\\.|[^'\\\n])*)'|\"((?:\\.|[^\"\\\n])*)\"|`((?:\\.|[^`\\])*)`")
_HOLE = re.compile(r"\$\{[^}]*\}")
_CONSTANT = re.compile(r"\b(?:const|let|var)\s+(\w+)\s*=\s*([^;\n]{1,300})")
_FILE_NAME = re.compile(r"(?:[\w.@+-]+/)*[\w.@+-]*\.\w{1,10}")
_MAX_ARGUMENTS = 600
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTING_PATTERN = re.compile(r"/[^/\n]*['\"`][^/\n]*/")
_ENDS = re.compile(r"\bprocess\s*\.\s*(?:exit\b|abort|kill|reallyExit)|\bexit\s*\(")
_PLAIN_STATEMENT = re.compile(r"\s*(?:(?:const|let|var)\s+\w+\s*=\s*)?(?:[\w$]+\.|require\(\s*\)\.)*")


def node_outputs(source: str) -> ScriptOutputs:
    """Read a program; its imports are not followed."""
    outputs = ScriptOutputs()
    constants = {name: value for name, value in _CONSTANT.findall(source) if _LITERAL.search(value)}
    plain = _without_literals(source)
    for call in _CALL.finditer(source):
        name = call[1].removesuffix("Sync")
        arguments = _arguments(source[call.end() : call.end() + _MAX_ARGUMENTS])
        is_transfer = name in ("copyFile", "cp", "copy", "rename", "move")
        target = arguments[1] if is_transfer and len(arguments) > 1 else arguments[0]
        path = _path(target, constants)
        if name == "exec":
            outputs.runs += [path] if path else []
        elif not path:
            outputs.writes_unknown = outputs.writes_unknown or name not in ("rm", "unlink", "rmdir", "mkdir")
        elif name in ("mkdir", "ensureDir"):
            outputs.folders.add(path)
        elif name in ("rm", "unlink", "rmdir"):
            outputs.removes.add(path)
        else:
            outputs.writes[path] = outputs.writes.get(path, 0) + 1
            if call[1].endswith("Sync") and _is_certain(plain, call.start()):
                outputs.certain[path] = outputs.certain.get(path, 0) + 1
        if name in ("rename", "move") and (old := _path(arguments[0], constants)):
            outputs.removes.add(old)
    literals = (_text(found) for found in _LITERAL.finditer(source))
    outputs.names = {text for text in literals if len(text) < 200 and _FILE_NAME.fullmatch(text)}
    return outputs


def _without_literals(source: str) -> str:
    """Return `source` with comments and literals blanked; empty where they cannot be distinguished."""
    if _QUOTING_PATTERN.search(_LITERAL.sub("", source)):
        return ""
    blank = re.compile(f"{_COMMENT.pattern}|{_LITERAL.pattern}", re.DOTALL)
    return blank.sub(lambda found: " " * len(found[0]), source)


def _is_certain(plain: str, at: int) -> bool:
    """Return whether every successful run makes a call: it is a statement of its own outside all blocks."""
    before = plain[:at]
    # Inside brackets or braces the call belongs to a block, a function or another call.
    depth = sum(before.count(sign) for sign in "([{") - sum(before.count(sign) for sign in ")]}")
    if not plain or depth or _ENDS.search(plain) or re.search(r"\breturn\b", before):
        return False
    start = max(before.rfind(";"), before.rfind("}")) + 1
    return _PLAIN_STATEMENT.fullmatch(before[start:]) is not None


def _arguments(text: str) -> list[str]:
    """Return the arguments of a call as source text; at least one."""
    found, depth, start, at = [], 0, 0, 0
    while at < len(text):
        literal = _LITERAL.match(text, at)
        if literal is not None:
            at = literal.end()
            continue
        char = text[at]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif char == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
        at += 1
    return [*found, text[start:at]]


def _path(text: str, constants: dict[str, str]) -> str:
    """Return the path of an argument: its literals joined, `*` for unknown parts; "" if nothing is known."""
    pieces: list[str] = []
    for found in re.finditer(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`]*`|\b[A-Za-z_]\w*\b", text):
        word = found[0]
        literal = _LITERAL.fullmatch(word)
        if literal is not None:
            pieces.append(_HOLE.sub("*", _text(literal)))
        elif word in constants:
            pieces.append(
                _path(constants[word], {name: one for name, one in constants.items() if name != word})
            )
    return ("/" if "join" in text or "resolve" in text else "").join(filter(None, pieces))


def _text(found: re.Match[str]) -> str:
    return next((one for one in found.groups() if one is not None), "")
