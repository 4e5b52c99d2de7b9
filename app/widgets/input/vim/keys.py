"""Vim's two modes: keys in, changes of the text out."""

from dataclasses import dataclass, field
from typing import Literal

from agent.records.frozen import frozen
from app.widgets.input.vim.motions import (
    KEYS,
    Motion,
    find,
    first_char,
    last_column,
    line_end,
    line_start,
    motion,
    vertical,
    word_end,
)

Mode = Literal["insert", "normal"]
OPERATORS = frozenset("dcy")
FINDS = frozenset("fFtT")

ALIASES = {
    "x": "dl",
    "X": "dh",
    "D": "d$",
    "C": "c$",
    "s": "cl",
    "S": "cc",
    "Y": "yy",
}
"""Keys that represent an operator with its motion."""


@frozen
class Change:
    """Replace the text from *start* to *end* with *insert* and move the cursor to *cursor*."""

    cursor: int
    start: int = 0
    end: int = 0
    insert: str = ""
    command: Literal["", "undo", "redo"] = ""
    """A command for the editor itself."""


@dataclass(slots=True)
class Vim:
    """The current mode and the command typed so far. The editor holds the text."""

    mode: Mode = "insert"
    _pending: str = ""
    _count: str = ""
    _operator_count: str = ""
    _register: str = field(default="")

    @property
    def waiting(self) -> bool:
        """Return whether a command is incomplete."""
        return bool(self._pending or self._count)

    def press(self, key: str, char: str | None, text: str, at: int) -> Change | None:
        """Return the change for a key with the cursor *at* in *text*.

        None means that the key is the editor's own: in insert mode all but Esc, always arrows,
        Enter and the like.
        """
        if self.mode == "insert":
            if key != "escape":
                return None
            self.mode = "normal"
            return Change(max(line_start(text, at), at - 1))
        if key == "escape":
            if not self.waiting:
                return None
            self._reset()
            return Change(at)
        if key == "ctrl+r":
            self._reset()
            return Change(at, command="redo")
        if char is None or not char.isprintable():
            self._reset()
            return None
        return self._normal(char, text, at) or Change(at)

    def _reset(self) -> None:
        self._pending = self._count = self._operator_count = ""

    def _normal(self, char: str, text: str, at: int) -> Change | None:
        if char.isdigit() and (char != "0" or self._count) and self._pending[-1:] not in FINDS:
            self._count += char
            return None
        self._pending += char
        typed = self._pending
        if typed[0] not in OPERATORS:
            done = self._simple(typed, text, at)
        else:
            done = self._operate(typed, text, at)
        if done is not None or not self._is_half(typed):
            self._reset()
        return done

    def _is_half(self, typed: str) -> bool:
        if typed[0] in OPERATORS:
            if len(typed) == 1 and not self._operator_count:
                self._operator_count, self._count = self._count or "1", ""
            rest = typed[1:]
            return rest in {"", "g", "i", "a", *FINDS}
        return typed in {"g", "r", *FINDS}

    def _times(self) -> tuple[int, int | None]:
        """Return how often to repeat, and the count as typed (None if it was not)."""
        times = min(9999, int(self._count or "1") * int(self._operator_count or "1"))
        return times, times if self._count or self._operator_count not in {"", "1"} else None

    def _simple(self, typed: str, text: str, at: int) -> Change | None:
        count, given = self._times()
        if typed in ALIASES:
            whole = ALIASES[typed]
            return self._operate(whole, text, at)
        if (target := _target_of(typed, text, at, count, given)) is not None:
            return Change(min(target.to, last_column(text, target.to)))
        match typed:
            case "i" | "a" | "I" | "A" | "o" | "O":
                self.mode = "insert"
                return _start_insert(typed, text, at)
            case "p" | "P":
                return self._paste(text, at, count, after=typed == "p")
            case "u":
                return Change(at, command="undo")
            case "J":
                return _join(text, at)
            case "~":
                end = min(at + count, line_end(text, at))
                return Change(min(end, last_column(text, at)), at, end, text[at:end].swapcase())
            case _ if typed[0] == "r" and len(typed) == 2 and at + count <= line_end(text, at):
                return Change(at + count - 1, at, at + count, typed[1] * count)
            case _:
                return None

    def _operate(self, typed: str, text: str, at: int) -> Change | None:
        operator, rest = typed[0], typed[1:]
        count, given = self._times()
        if not rest:
            return None
        if rest == operator:
            last = vertical(text, at, count - 1) if count > 1 else at
            return (
                None
                if last is None
                else self._apply_operator(operator, text, at, Motion(last, "lines"))
            )
        if rest in {"iw", "aw"}:
            start, end = _word_around(text, at, with_spaces=rest == "aw")
            return self._apply_to_range(operator, text, start, end, at)
        if rest in {"w", "W"} and operator == "c" and at < len(text) and not text[at].isspace():
            # Vim's own exception: cw changes to the word's end, not to the next word.
            to = at - 1
            for _ in range(count):
                to = word_end(text, to, whole=rest == "W")
            return self._apply_operator(operator, text, at, Motion(to, "inclusive"))
        target = _target_of(rest, text, at, count, given)
        if target is None:
            return None
        if rest in {"w", "W"} and "\n" in text[at : target.to]:
            # dw on the last word of a line keeps the line break.
            end = target.to
            while text[end - 1].isspace() and end - 1 > at and "\n" in text[at:end]:
                end -= 1
            target = Motion(line_end(text, end - 1) if "\n" not in text[at:end] else end)
        return self._apply_operator(operator, text, at, target)

    def _apply_operator(self, operator: str, text: str, at: int, target: Motion) -> Change | None:
        start, end = min(at, target.to), max(at, target.to)
        if target.kind == "inclusive":
            end = min(end + 1, max(end, line_end(text, end)))
        elif target.kind == "exclusive" and end > start and end == line_start(text, end):
            end -= 1  # a motion that ends before a line's first character excludes the break
        if target.kind != "lines":
            return self._apply_to_range(operator, text, start, end, at)
        start, end = line_start(text, start), line_end(text, end)
        self._register = text[start:end] + "\n"
        if operator == "y":
            return Change(min(at, target.to))
        if operator == "c":
            self.mode = "insert"
            return Change(start, start, end)
        if end < len(text):
            end += 1
        elif start > 0:
            start -= 1
        left = text[:start] + text[end:]
        return Change(first_char(left, min(start, len(left))), start, end)

    def _apply_to_range(
        self, operator: str, text: str, start: int, end: int, at: int
    ) -> Change | None:
        if end <= start:
            if operator == "c":
                self.mode = "insert"
                return Change(at)
            return None
        self._register = text[start:end]
        if operator == "y":
            return Change(start)
        if operator == "c":
            self.mode = "insert"
            return Change(start, start, end)
        left = text[:start] + text[end:]
        return Change(min(start, last_column(left, min(start, len(left)))), start, end)

    def _paste(self, text: str, at: int, count: int, *, after: bool) -> Change | None:
        if not self._register:
            return None
        put = self._register * count
        if not put.endswith("\n"):
            place = min(at + 1, line_end(text, at)) if after else at
            return Change(place + len(put) - 1, place, place, put)
        if not after:
            start = line_start(text, at)
            return Change(start + first_char(put, 0), start, start, put)
        end = line_end(text, at)
        return Change(end + 1 + first_char(put, 0), end, end, "\n" + put[:-1])


def _target_of(typed: str, text: str, at: int, count: int, given: int | None) -> Motion | None:
    if typed[0] in FINDS:
        return find(text, at, typed[0], typed[1], count) if len(typed) == 2 else None
    if typed == "gg":
        return motion(text, at, "g", count, given)
    return motion(text, at, typed, count, given) if typed in KEYS - {"g"} else None


def _join(text: str, at: int) -> Change | None:
    """Return the change for ``J``: join the next line, with one space between where needed."""
    end = line_end(text, at)
    if end == len(text):
        return None
    following = first_char(text, end + 1)
    empty = following == line_end(text, following)
    closes = text[following : following + 1] == ")"
    spaced = end > line_start(text, at) and text[end - 1] in " \t"
    between = "" if empty or closes or spaced or end == line_start(text, at) else " "
    place = end if between or not (empty or spaced) else max(line_start(text, at), end - 1)
    return Change(place, end, following, between)


def _start_insert(key: str, text: str, at: int) -> Change:
    """Return the change that starts insert mode."""
    match key:
        case "a":
            return Change(min(at + 1, line_end(text, at)))
        case "I":
            return Change(first_char(text, at))
        case "A":
            return Change(line_end(text, at))
        case "o":
            end = line_end(text, at)
            return Change(end + 1, end, end, "\n")
        case "O":
            start = line_start(text, at)
            return Change(start, start, start, "\n")
        case _:
            return Change(at)


def _word_around(text: str, at: int, *, with_spaces: bool) -> tuple[int, int]:
    """Return the word at an offset, with the spaces after it (or before, at a line's end)."""
    if at >= line_end(text, at):
        return at, at
    start = at
    kind = text[at].isspace(), text[at].isalnum() or text[at] == "_"
    while start > line_start(text, at) and _same(text[start - 1], kind):
        start -= 1
    end = at
    while end < line_end(text, at) and _same(text[end], kind):
        end += 1
    if with_spaces:
        wide = end
        while wide < line_end(text, at) and text[wide] in " \t":
            wide += 1
        if wide == end:
            while start > line_start(text, at) and text[start - 1] in " \t":
                start -= 1
        end = wide
    return start, end


def _same(char: str, kind: tuple[bool, bool]) -> bool:
    return (char.isspace(), char.isalnum() or char == "_") == kind
