"""Truncate what a model gets to read, and keep the whole text in a private file.

The limits are 2,000 lines or 50 KiB, whichever comes first, from the head or the tail; a long line
is cut only where it does not fit. The notice, which counts toward the limits, says how much there
was and how to read the rest.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeVar, cast

from agent.process import CapturedOutput, SpillFile, SpillStore
from agent.records.frozen import frozen
from agent.records.json import Json, encodable
from agent.redact import without_known_secrets

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024
MAX_LINE_CHARS = 2_000
MARK_BYTES = 40
"""The most bytes of the mark at the end of a line that was cut."""

NUMBER_CHARS = 10
NOTE_LINES, NOTE_BYTES = 10, 1_024
"""Additions of a tool that paginates: a number for each line, and a closing note."""

Keep = Literal["head", "tail"]


@frozen
class Limits:
    """The limits of an output: lines, and UTF-8 bytes in all."""

    lines: int = MAX_LINES
    bytes: int = MAX_BYTES
    line_chars: int = MAX_LINE_CHARS
    """Bytes that a line keeps at least before other lines are left out."""

    def reduced(self, *, lines: int, bytes: int) -> "Limits":  # named like the field
        """Return these limits minus the size of a notice, at least half of each."""
        return Limits(
            max(self.lines - lines, (self.lines + 1) // 2),
            max(self.bytes - bytes, (self.bytes + 1) // 2),
            self.line_chars,
        )


@frozen
class Truncated:
    """The text for the model, with the notice."""

    text: str
    spill: str | None = None
    """The file with the whole text."""


def count_lines(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def fits(text: str, limits: Limits) -> bool:
    """Return whether *text* is within the limits."""
    if len(text) > limits.bytes or len(text.encode("utf-8", "replace")) > limits.bytes:
        return False
    return count_lines(text) <= limits.lines


def _lines(text: str, keep: Keep) -> Iterator[str]:
    """Yield the lines of *text* from its kept end on, without splitting more than is used."""
    if keep == "head":
        start = 0
        while start < len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            yield text[start:end]
            start = end + 1
        return
    end = len(text) - text.endswith("\n")
    while end >= 0 and text:
        start = text.rfind("\n", 0, end) + 1
        yield text[start:end]
        end = start - 1


def shared_width(sizes: Iterable[int], room: int) -> int | None:
    """Return the bytes that each of the longest lines can have so that all lines, of *sizes*, fit
    in *room*; None if they fit whole."""
    ordered = sorted(sizes)
    for place, size in enumerate(ordered):
        share = room // (len(ordered) - place)
        if size > share:
            return max(0, share)
        room -= size
    return None


def head_of(line: str, width: int) -> str:
    """Return the start of *line* in at most *width* bytes, never half a character."""
    return line.encode("utf-8", "replace")[: max(0, width)].decode("utf-8", "ignore")


def cut(text: str, limits: Limits, keep: Keep) -> str:
    """Return the head or tail of *text* that fits, never half a character."""
    return _cut(text, limits, keep)[0]


def _cut(text: str, limits: Limits, keep: Keep) -> tuple[str, int]:
    """Return what is kept of *text*, and the number of its lines that are kept in part only.

    Long lines are shortened only as far as is needed, and then to ``line_chars`` at most, before
    lines are left out.
    """
    taken: list[str] = []
    sizes: list[int] = []
    least = 0
    for line in _lines(text, keep):
        size = len(line.encode("utf-8", "replace")) + 1
        least += min(size, limits.line_chars + MARK_BYTES)
        if len(taken) == limits.lines or (taken and least > limits.bytes):
            break
        taken.append(line)
        sizes.append(size)
    width = shared_width(sizes, limits.bytes)
    if width is None:
        return "\n".join(taken if keep == "head" else reversed(taken)), 0
    if len(taken) == 1:
        data = taken[0].encode("utf-8", "replace")
        part = data[: width - 1] if keep == "head" else data[len(data) - width + 1 :]
        return part.decode("utf-8", "ignore"), 1
    shown = [
        line if size <= width else f"{head_of(line, width - MARK_BYTES)}{_mark(line)}"
        for line, size in zip(taken, sizes, strict=True)
    ]
    shortened = sum(size > width for size in sizes)
    return "\n".join(shown if keep == "head" else reversed(shown)), shortened


def _mark(line: str) -> str:
    return f"… ({len(line):,} characters, cut)"


class Truncator:
    """Truncates outputs and keeps the whole text in *spills*.

    Its methods write files: call them in a thread if the text does not fit.
    """

    def __init__(self, limits: Limits, spills: SpillStore) -> None:
        self.limits = limits
        self.spills = spills

    def fits(self, text: str, *, paged: bool = False) -> bool:
        """Return whether *text* is within the limits. *paged* text can exceed them by its line
        numbers and a closing note."""
        limits = self.limits
        if paged:
            limits = Limits(
                limits.lines + NOTE_LINES,
                limits.bytes + limits.lines * NUMBER_CHARS + NOTE_BYTES,
                limits.line_chars,
            )
        return fits(text, limits)

    def shorten(self, text: str, keep: Keep) -> str:
        """Return *text* within the limits, without notice or file: for errors."""
        return text if self.fits(text) else cut(text, self.limits, keep)

    def apply(self, text: str, keep: Keep) -> Truncated:
        """Return *text*, truncated with a notice and saved if it does not fit."""
        if self.fits(text):
            return Truncated(text)
        spill, error = self._save(text)
        size = len(text.encode("utf-8", "replace"))
        return self._cut(text, keep, (count_lines(text), size), (spill, error), self.limits)

    def apply_captured(
        self, captured: CapturedOutput, *, note_lines: int, note_bytes: int
    ) -> Truncated:
        """Return the tail of a command's output, less by notes of the given size."""
        limits = self.limits.reduced(lines=note_lines, bytes=note_bytes)
        spill, error = captured.spill, captured.spill_error
        if captured.complete:
            if fits(captured.text, limits):
                return Truncated(captured.text)
            spill, error = self._save(captured.text)
        return self._cut(
            captured.text, "tail", (captured.lines, captured.size), (spill, error), limits
        )

    def _save(self, text: str) -> tuple[SpillFile | None, str]:
        try:
            return self.spills.save(text), ""
        except OSError as error:
            return None, error.strerror or str(error)

    def _cut(
        self,
        text: str,
        keep: Keep,
        whole: tuple[int, int],
        spilled: tuple[SpillFile | None, str],
        limits: Limits,
    ) -> Truncated:
        """Cut *text*, which is part of a *whole* of lines and bytes; *spilled* is the file, or why
        there is none."""
        spill, error = spilled
        room = 420 + len((spill.path if spill else error).encode("utf-8", "replace"))
        kept, partial = _cut(text, limits.reduced(lines=2, bytes=room), keep)
        notice = _notice(keep, (count_lines(kept), partial), whole, spilled)
        pieces = (kept, "", notice) if keep == "head" else (notice, "", kept)
        return Truncated("\n".join(pieces), spill.path if spill else None)


def _notice(
    keep: Keep,
    shown: tuple[int, int],
    whole: tuple[int, int],
    spilled: tuple[SpillFile | None, str],
) -> str:
    """Return the notice; *shown* are the lines that are shown, and those of them in part only."""
    spill, error = spilled
    lines, size = whole
    end = "first" if keep == "head" else "last"
    if spill is not None:
        kept = f"All but {spill.omitted:,} bytes of its middle" if spill.omitted else "All of it"
        rest = (
            f"{kept} is in {spill.path}: read that file with offset and limit (column within a "
            "long line), or search it with grep, rather than printing it again."
        )
    else:
        rest = f"The rest could not be kept ({error}); run it again with less output."
    count, partial = shown
    some = f", {partial:,} of them only in part" if partial else ""
    return (
        f"[Output truncated: it had {lines:,} lines and {size:,} bytes; the {end} {count:,} lines "
        f"are shown{some}. {rest}]"
    )


# Clean text: without lone surrogates, so that it can be stored and sent, and without invisible
# marks.
#
# Lone surrogates come from JSON escapes of a model (``\ud83d`` alone) and from file names that are
# not UTF-8. One of them in a session would make every later request fail.

ValueT = TypeVar("ValueT")


def encodable_json(value: Json) -> Json:
    """Return *value* with every string in it made encodable."""
    match value:
        case str():
            return encodable(value)
        case list():
            return [encodable_json(item) for item in value]
        case dict():
            return {encodable(key): encodable_json(item) for key, item in value.items()}
        case _:
            return value


def encodable_record(value: ValueT) -> ValueT:
    """Return a frozen record (a block, a label) or a tuple of them with every string encodable and
    without secrets of the settings."""
    return cast("ValueT", _clean_value(value))


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return without_known_secrets(encodable(value))
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        changed = tuple([_clean_value(item) for item in items])
        same = all(new is old for new, old in zip(changed, items, strict=True))
        return items if same else changed
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            old = getattr(value, field.name)
            new = _clean_value(old)
            if new is not old:
                changes[field.name] = new
        return dataclasses.replace(value, **changes) if changes else value
    return value


_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Marks that no reader sees but a model reads; hidden instructions are written with them."""


def without_invisible(text: str) -> str:
    """Return *text* without invisible marks. Joiners stay: scripts and emoji need them."""
    return _INVISIBLE.sub("", text)
