"""The text of a command line before it is parsed.

The grammar does not show some code that bash runs, such as a dollar and a parenthesis on two
joined lines. So lines are joined first, as bash does.
"""

import re

from agent.records.patterns import lazy_pattern


def word_set(text: str) -> frozenset[str]:
    """Return the words of *text*."""
    return frozenset(text.split())


MAX_ALLOWED_LENGTH = 10_000
"""Characters of a command line that a rule can allow."""

MAX_LENGTH = 100_000
"""Characters of a command line that is analyzed in full, so that deny rules see all of it."""

MAX_DEPTH = 40
"""Levels of nesting that are followed."""

MAX_NESTED = 15_000
"""Characters of nested code and of commands run by other programs that are followed, all levels
together: each ``eval`` in a chain of them runs nearly all of the line again."""


_ODD = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\uf8ff]")
"""Control characters except tab and newline, surrogates and the private use area."""


class CannotAnalyzeError(Exception):
    """The text can run something that the analysis does not see; ``str()`` is the reason."""


def unsupported_syntax(kind: str) -> str:
    """Return the reason for refusing syntax that the grammar calls *kind*."""
    return f"it uses shell syntax that is not supported here ({kind.replace('_', ' ')})"


def refuse_early(text: str) -> None:
    """Raise for text that bash and the parser would read differently."""
    if len(text) > MAX_LENGTH:
        raise CannotAnalyzeError(f"it is longer than {MAX_LENGTH:,} characters")
    if text.startswith("\ufeff"):
        raise CannotAnalyzeError("it starts with a byte order mark")
    odd = _ODD.search(text)
    if odd is not None:
        kind = "unassigned" if odd[0] >= "\ud800" else "control"
        raise CannotAnalyzeError(f"it contains the {kind} character U+{ord(odd[0]):04X}")


def join_lines(text: str) -> tuple[str, list[str] | None]:
    """Remove backslash-newline where bash does: not in ``'…'``, comments, quoted bodies.

    Return the text, and the words that end here-documents in it, which the grammar must confirm;
    None if nothing was joined.
    """
    if "\\\n" not in text:
        return text, None
    if "`" in text or re.search(r"\bcase\b", text):
        raise CannotAnalyzeError("an escaped line break is inside backticks or case")
    joiner = _Joiner(text)
    return joiner.run(), joiner.ends


_DASH = lazy_pattern(r"([\w \t./=:@%+,&|;-]*[ \t])-([ \t]*<<)", re.ASCII)


def quote_dash(text: str) -> str | None:
    """Return *text* with the ``-`` in front of its first ``<<`` quoted, which is the same to bash.

    The grammar drops that word: ``git commit -F - <<'END'``. None unless the text before it is
    plain, where a quote can't mean anything else.
    """
    found = _DASH.match(text)
    return f"{found[1]}'-'{text[found.start(2) :]}" if found else None


_COMMENT = lazy_pattern(r"(?:^|[\s;&|()])#")


class _Joiner:
    """One pass over the text with a stack of open constructs: ``"``, ``(``, ``{`` or ``+``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.open: list[str] = []
        self.bodies: list[tuple[str, bool, bool]] = []
        self.ends: list[str] = []
        self.line: list[str] = []

    def run(self) -> str:
        while self.at < len(self.text):
            self.step()
        return "".join(self.out)

    def check_comment(self, before: str) -> None:
        """Raise if the text *before* the end of a line may be a comment, which is not joined."""
        if _COMMENT.search(before):
            raise CannotAnalyzeError("an escaped line break may be in a comment")

    def copy(self, count: int) -> None:
        piece = self.text[self.at : self.at + count]
        self.out.append(piece)
        self.at += count
        if "\n" in piece:
            self.line = [piece.rpartition("\n")[2]]
        else:
            self.line.append(piece)

    def step(self) -> None:
        char = self.text[self.at]
        top = self.open[-1] if self.open else ""
        rest = self.text[self.at : self.at + 3]
        if char == "\\":
            if rest[1:2] == "\n":
                self.check_comment("".join(self.line))
                self.at += 2
            else:
                self.copy(2)
        elif char == '"':
            self.open.pop() if top == '"' else self.open.append('"')
            self.copy(1)
        elif rest.startswith("$(("):
            self.open.append("+")
            self.copy(3)
        elif rest.startswith(("$(", "${")):
            self.open.append(rest[1])
            self.copy(2)
        elif top == "{" and char == "}":
            self.open.pop()
            self.copy(1)
        elif top == "+" and rest.startswith("))"):
            self.open.pop()
            self.copy(2)
        elif top == '"':
            self.copy(1)
        elif char in "'#" and top == "{":
            raise CannotAnalyzeError("an escaped line break is next to a quote in an expansion")
        else:
            self.plain(char, top)

    def plain(self, char: str, top: str) -> None:
        """Take a character outside double quotes and expansions."""
        rest = self.text[self.at : self.at + 3]
        before = self.text[self.at - 1] if self.at else "\n"
        if rest.startswith("$'"):
            closing = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL).match(self.text, self.at)
            self.copy(closing.end() - self.at if closing else len(self.text))
        elif char == "'":
            end = self.text.find("'", self.at + 1)
            self.copy(end + 1 - self.at if end >= 0 else len(self.text))
        elif char == "#" and before in " \t\n;&|()":
            end = self.text.find("\n", self.at)
            self.copy(end - self.at if end >= 0 else len(self.text))
        elif rest.startswith("<<") and rest != "<<<" and top != "+":
            self.heredoc()
        elif rest == "<<<":
            self.copy(3)
        elif char == "\n" and self.bodies:
            self.copy(1)
            for body in self.bodies:
                self.body(*body)
            self.bodies.clear()
        else:
            if char == "(":
                self.open.append("(")
            elif char == ")" and top == "(":
                self.open.pop()
            self.copy(1)

    def heredoc(self) -> None:
        found = re.compile(r"<<(-?)[ \t]*((?:[\w.-]|'[^'\n]*'|\"[^\"\n]*\"|\\\w)+)").match(
            self.text, self.at
        )
        if found is None:
            raise CannotAnalyzeError("its here-document is not understood")
        word = found[2]
        quoted = re.search(r"['\"\\]", word) is not None
        self.bodies.append((re.sub(r"['\"\\]", "", word), not quoted, bool(found[1])))
        self.ends.append(word)
        self.copy(found.end() - self.at)
        if self.text[self.at : self.at + 1] not in ("", *" \t\n;&|()<>"):
            raise CannotAnalyzeError("its here-document is not understood")

    def body(self, end: str, expands: bool, tabs: bool) -> None:
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop + 1
            line = self.text[self.at : stop]
            while expands and _continues(line) and stop < len(self.text):
                more = self.text.find("\n", stop)
                more = len(self.text) if more < 0 else more + 1
                self.check_comment(line)
                line = line[:-2] + self.text[stop:more]
                stop = more
            self.out.append(line)
            self.at = stop
            shown = line.removesuffix("\n")
            if (shown.lstrip("\t") if tabs else shown) == end:
                return


def _continues(line: str) -> bool:
    marks = len(line) - 1 - len(line[:-1].rstrip("\\")) if line.endswith("\\\n") else 0
    return marks % 2 == 1


_PLAIN = lazy_pattern(r"#?\w+|[?#$!@*-]|#[@*]")
_OPERATOR = lazy_pattern(r"(\w+)(\[[^\]]*\])?(:?[-+?]|##?|%%?|//?|/[#%]|\^\^?|,,?|:)")
_LENGTH = lazy_pattern(r"#?\w+\[(\d+|[@*])\]")


def expansion_evaluates(expansion: str) -> bool:
    """Return whether ``${…}`` can run text in a variable, or assigns one; not whether an expansion
    in it does."""
    inner = expansion.removeprefix("${").removesuffix("}")
    if _PLAIN.fullmatch(inner) or _LENGTH.fullmatch(inner):
        return False
    found = _OPERATOR.match(inner)
    if found is None:
        return True
    index = found[2] or "[0]"
    if not re.fullmatch(r"\[(\d+|[@*])\]", index):
        return True
    if found[3] == ":":
        return not re.fullmatch(r"[\s\d:-]*", inner[found.end() :])
    return False
