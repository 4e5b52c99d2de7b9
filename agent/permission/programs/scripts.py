"""Programs in the arguments of sed, awk and jq: each is read by the grammar of its language.

A reader returns the reason why the program can do more than read its input, "" if it can't. It
follows what the versions of the language have in common and asks about everything else.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

from agent.permission.syntax.source import word_set
from agent.permission.syntax.words import Word

_UNKNOWN = "is not known in advance, and can run a command or write a file"
_EFFECT = "can run a command, or read or write a file"


def sed_reason(script: str | None) -> str:
    """Return the reason why the script of sed can run, write or read something else."""
    if script is None:
        return f"the sed script {_UNKNOWN}"
    if _Sed(script).is_plain():
        return ""
    return f"the sed script {_EFFECT}"


_DELIMITERS = frozenset("/|#,:@!%_+~=^&\"'")
_SED_END = re.compile(r"[ \t]*(?:[;\n]|(?=[}#])|$)")
_SED_SIMPLE = frozenset("=dDgGhHnNpPxzF")
_SED_LABEL = re.compile(r"[ \t]*[\w.-]*")
_SED_NUMBER = re.compile(r"(\d+(~\d+)?|[+~]\d+|\$)")


class _Sed:
    """One pass over the commands of a script."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def is_plain(self) -> bool:
        while True:
            self.skip(" \t;\n")
            if self.at >= len(self.text):
                return self.depth == 0
            if not self.command():
                return False

    def skip(self, characters: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in characters:
            self.at += 1

    def take(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found is not None

    def command(self) -> bool:
        if not self.addresses():
            return False
        self.skip(" \t!")
        name = self.text[self.at : self.at + 1]
        self.at += 1
        match name:
            case "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
                return True
            case "{":
                self.depth += 1
                return True
            case "}":
                self.depth -= 1
                return self.depth >= 0 and self.take(_SED_END)
            case "q" | "Q" | "l" | "L":
                return self.take(re.compile(r"[ \t]*\d*")) and self.take(_SED_END)
            case ":" | "b" | "t" | "T":
                return self.take(_SED_LABEL) and self.take(_SED_END)
            case "a" | "i" | "c":
                return self.added_text()
            case "s":
                return self.parts(2) and self.take(re.compile(r"[gpIiMm\d]*")) and self.end()
            case "y":
                return self.parts(2) and self.end()
            case _:
                return name in _SED_SIMPLE and name != "" and self.end()

    def end(self) -> bool:
        return self.take(_SED_END)

    def addresses(self) -> bool:
        if not self.address():
            return True
        self.skip(" \t")
        if self.text[self.at : self.at + 1] != ",":
            return True
        self.at += 1
        self.skip(" \t")
        return self.address()

    def address(self) -> bool:
        """Take an address. Returns False, without taking anything, if there is none."""
        start = self.at
        if self.take(_SED_NUMBER):
            return True
        if self.text[start : start + 1] == "\\":
            self.at += 1
        elif self.text[start : start + 1] != "/":
            return False
        if self.parts(1):
            self.take(re.compile("[IM]*"))
            return True
        self.at = start
        return False

    def added_text(self) -> bool:
        """Take the text after ``a``, up to the end of the line; backslashes can continue it."""
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        text, self.at = self.text[self.at : end], end
        return "\\" not in text

    def parts(self, count: int) -> bool:
        """Take texts between delimiters: ``/a/b/``.

        Versions of sed differ in whether a delimiter in a bracket expression ends the pattern.
        """
        delimiter = self.text[self.at : self.at + 1]
        if delimiter not in _DELIMITERS:
            return False
        self.at += 1
        for index in range(count):
            start = self.at
            while self.text[self.at : self.at + 1] not in (delimiter, "\n", ""):
                self.at += 2 if self.text[self.at] == "\\" else 1
            if self.text[self.at : self.at + 1] != delimiter:
                return False
            if index == 0 and not brackets_are_closed(self.text[start : self.at]):
                return False
            self.at += 1
        return True


_BRACKET = re.compile(r"\[\^?\]?(?:\[([:.=])[^\]]*?\1\]|[^\]\\]|\\(?!\]))*\]")


def brackets_are_closed(pattern: str) -> bool:
    """Return whether each bracket expression in a regular expression ends inside it."""
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 2
        elif pattern[at] == "[":
            found = _BRACKET.match(pattern, at)
            if found is None:
                return False
            at = found.end()
        else:
            at += 1
    return True


_AWK_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\\\r?\n|\#[^\n]*)"
    r"|(?P<newline>\n)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r'|(?P<string>"(?:[^"\\\n]|\\[^\n])*")'
    r"|(?P<operator>\|\||\|&|&&|>>|\+\+|--|\*\*=?|[-+*%^!=<>]=|[][(){}$,;?:+\-*/%^!<>|~=@&])"
)
_AWK_REFUSED = word_set("system getline ENVIRON PROCINFO ARGV ARGC SYMTAB FUNCTAB @ | |& >>")
"""Names and operators that run programs, read other files, or show the environment."""
_AWK_BEFORE_PATTERN = word_set(
    "( , { } ; ! ~ && || ? : = == != < > <= >= += -= *= /= %= ^= + - * / % ^ [ print printf "
    "return case in if while else do"
)
_AWK_BARE = word_set(
    "length exit delete next nextfile break continue default getline function func BEGIN END"
)
"""Words after which a slash can be a division or begin a pattern, depending on the version."""
_AWK_CONDITIONS = frozenset({"if", "while", "for", "switch"})


def awk_reason(script: str | None) -> str:
    """Return the reason why the program of awk can run, write or read something else."""
    if script is None:
        return f"the awk program {_UNKNOWN}"
    if _Awk(script).is_plain():
        return ""
    return f"the awk program {_EFFECT}"


class _Awk:
    """One pass over the tokens of a program."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.before = ";"
        """The token before; ``)`` of a condition is ``if)``."""
        self.open: list[str] = []
        self.prints: list[int] = []
        """The depths of the statements with ``print`` in which a ``>`` would write."""

    def is_plain(self) -> bool:
        while self.at < len(self.text):
            if self.text[self.at] == "/" and self.before != "operand":
                if not self.take_pattern():
                    return False
                continue
            found = _AWK_TOKEN.match(self.text, self.at)
            if found is None:
                return False
            self.at = found.end()
            kind = found.lastgroup or ""
            if kind != "space" and not self.token(kind, found[0]):
                return False
        return not self.open

    def take_pattern(self) -> bool:
        """Take a regular expression, where the grammar has one for sure."""
        if self.before not in _AWK_BEFORE_PATTERN and self.before != "\n":
            return False
        end = self.at + 1
        while self.text[end : end + 1] not in ("/", "\n", ""):
            end += 2 if self.text[end] == "\\" else 1
        closed = brackets_are_closed(self.text[self.at + 1 : end])
        if self.text[end : end + 1] != "/" or "\n" in self.text[self.at : end] or not closed:
            return False
        self.at, self.before = end + 1, "operand"
        return True

    def token(self, kind: str, text: str) -> bool:
        if text in _AWK_REFUSED and kind != "string":
            return False
        if kind == "operator":
            return self.operator(text)
        if kind == "newline":
            if self.before not in (",", "&&", "||", "?", ":", "{", "do", "else"):
                self.end_statement()
            self.before = "\n"
        elif text in ("print", "printf"):
            self.prints.append(len(self.open))
            self.before = text
        elif text in _AWK_BEFORE_PATTERN or text in _AWK_CONDITIONS:
            self.before = text
        else:
            self.before = text if text in _AWK_BARE else "operand"
        return True

    def end_statement(self) -> None:
        while self.prints and self.prints[-1] >= len(self.open):
            self.prints.pop()

    def operator(self, text: str) -> bool:
        if text == ">" and self.prints and self.prints[-1] >= len(self.open):
            return False
        if text in ("(", "[", "{"):
            self.open.append(self.before + text if self.before in _AWK_CONDITIONS else text)
            self.before = text
        elif text in (")", "]", "}"):
            if not self.open or self.open[-1][-1] != {")": "(", "]": "[", "}": "{"}[text]:
                return False
            if text == "}":
                self.end_statement()
            opened = self.open.pop()
            # A pattern or a division can follow a condition, depending on the version.
            self.before = "condition" if len(opened) > 1 else "operand" if text != "}" else "}"
        else:
            if text == ";":
                self.end_statement()
            self.before = "operand" if text in ("++", "--") else text
        return True


_JQ_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<comment>\#[^\n]*)"
    r"|(?P<field>\.[A-Za-z_]\w*)"
    r"|(?P<name>[$@]?[A-Za-z_](?:\w|::)*)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<other>[^\"\s])"
)
_JQ_TEXT = re.compile(r'(?:[^"\\]|\\[^(])*')
_JQ_REFUSED = word_set("env $ENV ENV $__prog_args __prog_args import include modulemeta")


def jq_reason(script: str) -> str:
    """Return the reason why the program of jq can show the environment or load other files."""
    if _jq_is_plain(script):
        return ""
    return "the jq program can show environment variables or load other files"


def _jq_is_plain(text: str) -> bool:
    at = 0
    open_strings: list[int] = []
    depth = 0
    while at < len(text):
        if text[at] == '"' or (text[at] == ")" and open_strings and open_strings[-1] == depth):
            # A string begins, or an expression in one ends: ``"a \(.b) c"``.
            if text[at] == ")":
                open_strings.pop()
                depth -= 1
            found = _JQ_TEXT.match(text, at + 1)
            at = found.end() if found else len(text)
            if text[at : at + 2] == "\\(":
                depth += 1
                open_strings.append(depth)
                at += 2
            elif text[at : at + 1] == '"':
                at += 1
            else:
                return False
            continue
        token = _JQ_TOKEN.match(text, at)
        if token is None:
            return False
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        key = token[0] == "env" and re.match(r"\s*:(?!:)", text[token.end() :])
        if token[0] in _JQ_REFUSED and not key:
            return False
        if token.lastgroup == "comment" and token[0].endswith("\\"):
            return False
        at = token.end()
    return not open_strings


# Shell commands inside the arguments of other programs: ``--to-command='rm x'``.
#
# A use of a program whose arguments can run something needs approval anyway; this finds what it
# would run, so that deny rules apply. Only they look at it, so finding too much does no harm.

_MAX_TEXTS = 200
"""Limit of the texts of one command."""

_MAX_COMMAND = 2_000
"""Characters of a text that can be one command; a longer one is a program that holds some."""

_LEAD = re.compile(
    r"(?:[\s:+@|&;,\d]*!|\\!|[|:]+|\.(?:shell|system)\s|(?:exec|system|spawn|shell|sh|cmd)[:\s]|"
    r"\"[^\"]*\":|\d*[,\d$]*\s*e\s)\s*",
    re.IGNORECASE,
)
_BARE = re.compile(r"(?!-)[\w.-]*")
"""Text without code: it has no space, quote or special character."""
_CALL = re.compile(
    r"(?:system|popen\w*|exec\w*|spawn\w*|Popen|run|call|check_call|check_output|getoutput|"
    r"getstatusoutput|shell_exec|passthru|proc_open|shell-command\w*|start-process|shell|"
    r"capture\w*|command|Command\.new|do shell script|qx|sh|startfile|fork_exec|posix_spawn\w*)"
    r"[\s(\[{]*(?=[\"'`])"
)
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`]*)`", re.DOTALL)
_PIPED = re.compile(
    r"\|&?\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*')|(\"(?:[^\"\\]|\\.)*\"|'[^']*')\s*\|", re.DOTALL
)
_TICKS = re.compile(r"`([^`]*)`|(?:%x|qx)\s*([\[({/|!])(.*?)[\])}/|!]", re.DOTALL)
_SUBSTITUTE = re.compile(r"s([/|#,:@!])(?:(?!\1).)*\1((?:(?!\1).)*)\1\w*e")


def embedded_texts(words: Sequence[Word]) -> list[str]:
    """Return texts in the arguments *words* that can be shell code."""
    found: dict[str, None] = {}
    for word in words[:_MAX_TEXTS]:
        for text in _forms(word.text):
            if len(text) <= _MAX_COMMAND:
                found[text] = None
        for code in code_strings(word.text):
            found[code] = None
    return [text for text in list(found)[:_MAX_TEXTS] if text.strip()]


def _forms(text: str) -> Iterator[str]:
    """Yield *text* and values joined to an option or name in it, also without a leading mark."""
    if _BARE.fullmatch(text):
        yield text
        return
    forms = [text]
    forms += [text[mark.end() :] for mark in list(re.finditer("=", text))[:5]]
    if re.match(r"-[A-Za-z].", text):
        forms.append(text[2:])
    for form in forms:
        yield form
        lead = _LEAD.match(form)
        if lead:
            yield form[lead.end() :]


def code_strings(text: str) -> Iterator[str]:
    """Yield the shell commands that program *text* (Python, awk, Perl, sed …) would start."""
    if _BARE.fullmatch(text):
        return
    for call in list(_CALL.finditer(text))[:_MAX_TEXTS]:
        parts: list[str] = []
        at = call.end()
        while (quoted := _QUOTED.match(text, at)) and len(parts) < _MAX_TEXTS:
            parts.append(_unescaped(quoted))
            gap = re.compile(r"[\s,\[\]()]*").match(text, quoted.end())
            at = gap.end() if gap else quoted.end()
        yield parts[0] if len(parts) == 1 else shlex.join(parts)
    for piped in list(_PIPED.finditer(text))[:_MAX_TEXTS]:
        quoted = _QUOTED.match(piped[1] or piped[2])
        if quoted:
            yield _unescaped(quoted).strip("| ")
    for ticks in list(_TICKS.finditer(text))[:_MAX_TEXTS]:
        yield ticks[1] or ticks[3] or ""
    for script in list(_SUBSTITUTE.finditer(text))[:_MAX_TEXTS]:
        yield script[2]


def _unescaped(quoted: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", next(part for part in quoted.groups() if part is not None))
