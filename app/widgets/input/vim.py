"""Vim's two modes: keys in, changes of the text out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from agent.records.frozen import frozen

# Vim's motions. Positions are offsets in characters.

Kind = Literal["exclusive", "inclusive", "lines"]
"""The text that an operator takes: up to the target, including it, or whole lines."""


@frozen
class Motion:
    """The target of a motion and the text that an operator takes."""

    to: int
    kind: Kind = "exclusive"


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return the offset of the line break, or the end of the text."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_column(text: str, at: int) -> int:
    """Return the last offset on a line where the cursor can be in normal mode."""
    return max(line_start(text, at), line_end(text, at) - 1)


def _kind_of(char: str, whole: bool) -> int:
    """Return 0 for a space, 1 for a word, 2 for others; *whole* words end at spaces."""
    if char.isspace():
        return 0
    return 1 if whole or char.isalnum() or char == "_" else 2


def word_start(text: str, at: int, *, whole: bool = False) -> int:
    """Return the target of ``w``: the beginning of the next word. An empty line is a word."""
    if at >= len(text):
        return at
    kind = _kind_of(text[at], whole)
    while at < len(text) and kind and _kind_of(text[at], whole) == kind:
        at += 1
    while at < len(text) and text[at].isspace():
        if text[at] == "\n" and at + 1 < len(text) and text[at + 1] == "\n":
            return at + 1
        at += 1
    return at


def word_end(text: str, at: int, *, whole: bool = False) -> int:
    """Return the target of ``e``: the end of this word or the next."""
    at += 1
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text):
        return last_column(text, len(text))
    kind = _kind_of(text[at], whole)
    while at + 1 < len(text) and _kind_of(text[at + 1], whole) == kind:
        at += 1
    return at


def word_back(text: str, at: int, *, whole: bool = False) -> int:
    """Return the target of ``b``: the beginning of this word or the previous one."""
    at -= 1
    while at > 0 and text[at].isspace():
        if text[at] == "\n" and text[at - 1] == "\n":
            return at
        at -= 1
    if at <= 0:
        return 0
    kind = _kind_of(text[at], whole)
    while at > 0 and _kind_of(text[at - 1], whole) == kind:
        at -= 1
    return at


def first_char(text: str, at: int) -> int:
    """Return the target of ``^``: the line's first character that is not a space."""
    start, end = line_start(text, at), line_end(text, at)
    while start < end and text[start] in " \t":
        start += 1
    return start


def vertical(text: str, at: int, lines: int) -> int | None:
    """Return the offset *lines* down (or up), or as far as there are lines, in the same column;
    None if there is no such line."""
    column, first = at - line_start(text, at), at
    for _ in range(abs(lines)):
        if lines > 0:
            end = line_end(text, at)
            if end == len(text):
                break
            at = end + 1
        else:
            start = line_start(text, at)
            if start == 0:
                break
            at = line_start(text, start - 1)
    if lines and line_start(text, at) == line_start(text, first):
        return None
    return min(line_start(text, at) + column, last_column(text, at))


def find(text: str, at: int, key: str, char: str, count: int) -> Motion | None:
    """Return the target of ``f``, ``t``, ``F`` and ``T`` within the line."""
    back = key in "FT"
    place: int | None = at
    for _ in range(count):
        if back:
            place = text.rfind(char, line_start(text, at), place)
        else:
            place = text.find(char, place + 1, line_end(text, at))
        if place < 0:
            return None
    if key == "t":
        place -= 1
    elif key == "T":
        place += 1
    return Motion(place, "exclusive" if back else "inclusive")


_SIMPLE: dict[str, Callable[[str, int], Motion]] = {
    "0": lambda text, at: Motion(line_start(text, at)),
    "^": lambda text, at: Motion(first_char(text, at)),
}

_WORDS: dict[str, tuple[Callable[..., int], Kind]] = {
    "w": (word_start, "exclusive"),
    "e": (word_end, "inclusive"),
    "b": (word_back, "exclusive"),
}

KEYS = frozenset("0^$webWEBhljkGg")


def motion(text: str, at: int, key: str, count: int, given: int | None) -> Motion | None:
    """Return the target of *key*, repeated *count* times, or None if there is none.

    *given* is the count as typed, None if none was. ``g`` represents ``gg``.
    """
    if key in _SIMPLE:
        return _SIMPLE[key](text, at)
    if key.lower() in _WORDS:
        step, kind = _WORDS[key.lower()]
        for _ in range(count):
            at = step(text, at, whole=key.isupper())
        return Motion(at, kind)
    match key:
        case "$":
            below = vertical(text, at, count - 1) if count > 1 else at
            return None if below is None else Motion(last_column(text, below), "inclusive")
        case "h":
            return Motion(max(line_start(text, at), at - count))
        case "l":
            return Motion(min(line_end(text, at), at + count))
        case "j" | "k":
            to = vertical(text, at, count if key == "j" else -count)
            return None if to is None else Motion(to, "lines")
        case "G" | "g":
            lines = text.split("\n")
            line = given if given is not None else (len(lines) if key == "G" else 1)
            before = sum(len(one) + 1 for one in lines[: max(0, min(line, len(lines)) - 1)])
            return Motion(first_char(text, min(before, len(text))), "lines")
        case _:
            return None


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
