"""Names in shell code that are commands, and those that are arguments."""

import pytest
from pygments.lexers import BashLexer

from app.widgets.transcript.highlight import PROGRAM, commands_only


def colored(code: str) -> str:
    """Return the names that keep their color."""
    tokens = ((str(token), text) for token, text in BashLexer().get_tokens(code))
    named = (PROGRAM, "Token.Name.Builtin", "Token.Keyword")
    return " ".join(
        t for kind, t in commands_only(tokens) if kind.startswith(named) and t.isalpha()
    )


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("npm run test", "npm"),
        ("pytest -k test && test -f a", "pytest test"),
        ("echo test | tee kill", "echo tee"),
        ("rm -rf build/test && test -f src/a.py && echo test", "rm test echo"),
        ("rm -rf test; cd test\ncd b # cd c", "rm cd cd"),
        ("git commit -m done", "git"),
        ("if test -f x; then echo done; fi", "if test then echo fi"),
        ("for f in test do; do echo $f; done", "for in do echo done"),
        ("case $x in test) true;; esac", "case in esac"),
        ("while read line; do :; done < read", "while read do done"),
        ("A=test B=1 test x", "test"),
        ("A=$(cd x; pwd) export B", "cd pwd export"),
        ("echo $(cd a) test", "echo cd"),
        ("echo `test y` test", "echo test"),
        ("! test z; time test q; (cd a); { cd b; }", "test time test cd cd"),
    ],
)
def test_a_name_is_a_command_only_where_one_can_be(code: str, names: str) -> None:
    assert colored(code) == names
    tokens = ((str(token), text) for token, text in BashLexer().get_tokens(code))
    assert "".join(text for _, text in commands_only(tokens)).rstrip("\n") == code
