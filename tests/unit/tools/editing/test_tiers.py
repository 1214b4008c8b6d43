"""The case table of the looser ways: bytes before, what a model sends, bytes after, and by which tier."""

import pytest

from forge_core.errors import ToolError
from forge_core.tools.editing.replace import replace

CODE = b"class A:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        pass\n"
TABS = CODE.replace(b"    ", b"\t")


@pytest.mark.parametrize(
    ("data", "old", "new", "after", "tier"),
    [
        (b"a  \nb\nc\n", "a\nb\n", "a\nB\n", b"a  \nB\nc\n", "trailing blanks"),
        (b"a\nb\nc\n", "a  \nb \t\n", "a  \nB\n", b"a\nB\nc\n", "trailing blanks"),
        (b"a\n   \nb\n", "a\n\nb", "a\n\nB", b"a\n   \nB\n", "trailing blanks"),
        (b"a \r\nb\r\nc\n", "a\nb", "a\nx\nb", b"a \r\nx\r\nb\r\nc\n", "trailing blanks"),
        (b"f(a, \n  b) + 1\n", "f(a,\n  b)", "f(a,\n  c)", b"f(a, \n  c) + 1\n", "trailing blanks"),
        (
            "say \u201chi\u201d\nit\u2019s\nend\n".encode(),
            'say "hi"\nit\'s\n',
            'say "hi"\nit is\n',
            "say \u201chi\u201d\nit is\nend\n".encode(),
            "look-alike characters",
        ),
        ("a\u00a0=\u00a01\n".encode(), "a = 1", "a = 2", b"a = 2\n", "look-alike characters"),
        ("a \u2014 b \u2013 c\n".encode(), "a - b - c", "d", b"d\n", "look-alike characters"),
        ("wait\u2026 now\n".encode(), "wait... now", "go", b"go\n", "look-alike characters"),
        ("x\u200by\nz\n".encode(), "xy\nz", "xy\nq", "x\u200by\nq\n".encode(), "look-alike characters"),
        ("\u202bx\u202c\nz\n".encode(), "x\nz", "x\nq", "\u202bx\u202c\nq\n".encode(), "look-alike characters"),
        ("cafe\u0301\nz\n".encode(), "caf\u00e9\nz", "caf\u00e9\nq", "cafe\u0301\nq\n".encode(), "look-alike characters"),
        ("caf\u00e9\nz\n".encode(), "cafe\u0301\nz", "cafe\u0301\nq", "caf\u00e9\nq\n".encode(), "look-alike characters"),
        ("\u4e2d\u6587 ".encode() + b"\xff\nz\n", "\u4e2d\u6587 \ufffd\nz", "\u4e2d\u6587 \ufffd\nq", "\u4e2d\u6587 ".encode() + b"\xff\nq\n", "look-alike characters"),
        ("pre \u201cq\u201d post\n".encode(), '"q" post', "r", b"pre r\n", "look-alike characters"),
        (b"a  =  1\nb = 2\n", "a = 1\nb = 2\n", "a = 1\nb = 3\n", b"a  =  1\nb = 3\n", "blanks within lines"),
        (b"a\t=\t1\n", "a = 1", "a = 2", b"a = 2\n", "blanks within lines"),
        (
            CODE,
            "def f(self):\n    x = 1\n    return x\n",
            "def f(self):\n    x = 2\n    if x:\n        return 0\n    return x\n",
            CODE.replace(b"x = 1\n", b"x = 2\n        if x:\n            return 0\n"),
            "indentation",
        ),
        (
            TABS,
            "    def f(self):\n        x = 1\n        return x\n",
            "    def f(self):\n        x = 2\n        if x:\n            return x\n",
            TABS.replace(b"x = 1\n\t\treturn x", b"x = 2\n\t\tif x:\n\t\t\treturn x"),
            "indentation",
        ),
        (
            CODE,
            "\tdef f(self):\n\t\tx = 1\n",
            "\tdef f(self):\n\t\tx = 2\n\t\ty = 3\n",
            CODE.replace(b"x = 1\n", b"x = 2\n        y = 3\n"),
            "indentation",
        ),
        (
            CODE,
            "  def f(self):\n    x = 1\n",
            "  def f(self):\n    if 1:\n      x = 1\n",
            CODE.replace(b"        x = 1\n", b"        if 1:\n            x = 1\n"),
            "indentation",
        ),
        (b"all:\n\tcc a.c\n\tcc b.c\n", "    cc a.c\n    cc b.c\n", "    cc a.c\n", b"all:\n\tcc a.c\n", "indentation"),
        (b"\tf()\n\tg()\n", "    f()\n    g()\n", "    h()\n    i()\n", b"\th()\n\ti()\n", "indentation"),
        (b"one\ntwo\nthree\n", "     2\ttwo\n     3\tthree", "     2\tTWO\n     3\tthree", b"one\nTWO\nthree\n", "line numbers"),
        (b"one\ntwo\n\nthree\n", "     2\ttwo\n     3\n     4\tthree\n", "two\n\n3\n", b"one\ntwo\n\n3\n", "line numbers"),
        (b"one\ntwo\n", "\none\n\n", "\n1\n\n", b"1\ntwo\n", "blank edges"),
        (b"one\ntwo", "one\ntwo\n", "one\n2\n", b"one\n2", "line ends"),
        (b"one\r\ntwo", "two\n", "2\n3\n", b"one\r\n2\r\n3", "line ends"),
        (b"a \nlast ", "a\nlast\n", "a\nlost\n", b"a \nlost", "trailing blanks"),
    ],
)  # fmt: skip
def test_tolerated_differences_are_preserved_where_the_edit_changes_nothing(
    data: bytes, old: str, new: str, after: bytes, tier: str
) -> None:
    done = replace(data, old, new)
    assert (done.data, done.tier) == (after, tier)


METHOD = b"class A:\n    def f(self):\n        if x:\n            return 1\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return 1", "return 2"),
        ("return 1", "    return 1"),
        ("    return 1", "return 1"),
        ("return 1", "x = 2\n            return x"),
        ("return 1", "return 1\n        else:\n            return 2"),
        ("return 1\n", "return 1\n\n    def g(self):\n        return 2\n"),
        ("if x:\n            return 1", "if y:\n            return 1"),
        ("if x:\n            return 1", "if x:\n            y()\n        return 1"),
        ("f(self):\n        if x", "f(self, x):\n        if x"),
    ],
)
def test_a_match_starting_within_a_line_is_replaced_as_sent_if_later_lines_match_exactly(
    old: str, new: str
) -> None:
    assert replace(METHOD, old, new).data == METHOD.replace(old.encode(), new.encode())


@pytest.mark.parametrize(
    ("data", "old", "new", "words"),
    [
        (b"a\nb \na\nb  \n", "a\nb\t", "x", "2 times (not exactly, but ignoring blanks at the ends of lines), at lines 1, 3"),
        ("\u201ca\u201d\n\u201ca\u201d\n".encode(), '"a"', "x", "2 times (not exactly, but ignoring the kind of quotes"),
        (b"  a\n  b\n    a\n    b\n", "\ta\n\tb", "\tx", "2 times (not exactly, but ignoring indentation), at lines 1, 3"),
        (b"x \nx  \nx\t\n", "x\nx\n", "y\n", "2 times"),
        (b"x = 10\n", "x = 1 ", "x = 2", "not found"),
        ("\u2026a\n".encode(), ".a", "b", "not found"),
        (b"a\n...\nb\n", "a\n... rest ...\nb", "c", "not found"),
        (b"  f()\n  g()\n", "f()\ng()", "  f()\n  h()", "indentation meant for new_string"),
        (b"  f()\n  g()\n", "f()\ng()", "if x:\n  f()\n  g()", "indentation meant for new_string"),
        (b"    f()\n    g()\n", "  f()\n  g()", "h()", "indentation meant for new_string"),
        (b"\tf()\n\tg()\n", "f()\ng()", "if x:\n    h()", "indentation meant for new_string"),
        (b"    f()\n", "f()", "f()\ng()", "begins after the indentation of line 1"),
        (b"        f()\n", "    f()", "    f()\n    g()", "begins after the indentation"),
        (b"        if x:\n", "if x:", "if x:\n    g()", "begins after the indentation"),
        (b"        x = a\n", "x = a", "x = a\n    .b()", "begins after the indentation"),
        (b"        f()\n", "f()", "f()\n    g()\nh()", "begins after the indentation"),
        (b"a\n\n  b\nc\n", "\n  b\n\n", "  \n  x\n\n  b\n\n", "not found"),
        (b"a\nb\nc\n", "b\n\n", "x\n  \n", "not found"),
        (b"  {\n    x()\n    f()\n{\n  f()\n", "  {\n    f()\n", "  {\n    y()\n    f()\n", "not found"),
        (b"    f()\n    g()\n\n      f()\n      g()\n", "f()\ng()\n", "h()\n", "2 times"),
        (b"        f()\n        {\n            g()\n", "    f()\n    {\n        g()\n", "    h()\n", "indentation meant for new_string"),
        (b"        f()\n        {\n            g()\n", "f()\n{\n    g()\n", "    {\n        h()\n    }\n", "indentation meant for new_string"),
        (b"    f(\n    )\n", "f(\n)\n", "h(\n)\n", "indentation meant for new_string"),
        (b"\tf()\n\tg()\nx\n    y\n", "    f()\n    g()\n", "    h()\n", "indentation meant for new_string"),
        (b"          <b>\n          </p>\n        </div>\n", "          <b>\n          </p>\n      </div>", "          <i>\n        </div>\n      </div>", "not found"),
        (b"f {\n    g()\n", "f {\n        g()\n", "f {\n        if x:\n            g()\n", "not found"),
        (b"x\n};\n\n\ny\n", "};\n    \n\n", "};\n    \n\nz\n", "not found"),
        (b"a b\n\tc\n", "a  b\n    c  d", "x", "not found"),
        (b"one\ntwo\n", "     1\tone\n     2\ttwo", "     1\tone\ntwo!", "line numbers"),
        (b"one\ntwo\n", "     1\tone\n     7\ttwo", "x", "not found"),
        (b"1\tone\n2\ttwo\n", "     1\t1\tone\n     2\t2\ttwo", "2\tTWO", "not found"),
        (b"a\n\nb\n", "a\n\nb\n\n", "a\nb\n", "not found"),
        ("\u4e2d\u6587 ".encode() + b"\xff\nz\n", "\u4e2d\u6587 \ufffd \nz", "\u4e2d\u6587! \ufffd\nz", "U+FFFD"),
    ],
)  # fmt: skip
def test_an_ambiguous_edit_is_rejected(data: bytes, old: str, new: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        replace(data, old, new)
    assert words in str(caught.value)


def test_every_loose_match_is_replaced_with_its_own_indentation() -> None:
    data = b"  f()\n  g()\nx\n    f()\n    g()\n"
    done = replace(data, "\tf()\n\tg()\n", "\th()\n", replace_all=True)
    assert (done.data, len(done.pieces)) == (b"  h()\nx\n    h()\n", 2)


def test_line_numbers_in_an_error_for_a_crlf_file_match_those_of_an_editor() -> None:
    with pytest.raises(ToolError, match=r"at lines 2, 4\."):
        replace(b"a\r\nb\r\nc\r\nb\r\n", "b\r\n", "x\r\n")
