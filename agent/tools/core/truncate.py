"""Truncate what a model gets to read, and keep the whole text in a private file.

The limits are 2,000 lines or 50 KB, whichever comes first, from the head or the tail; lines are
cut at 2,000 characters. The notice, which counts toward the limits, says how much there was and
how to read the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent.process import CapturedOutput, SpillFile, SpillStore

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024
MAX_LINE_CHARS = 2_000
LINE_SLACK = 100
"""Characters that a tool can add to a line that it has cut itself (numbers, a mark)."""

NUMBER_CHARS = 10
NOTE_LINES, NOTE_BYTES = 10, 1_024
"""Additions of a tool that paginates: a number for each line, and a closing note."""

Keep = Literal["head", "tail"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an output: lines, UTF-8 bytes in all, characters of a line."""

    lines: int = MAX_LINES
    bytes: int = MAX_BYTES
    line_chars: int = MAX_LINE_CHARS

    def reduced(self, *, lines: int, bytes: int) -> "Limits":  # named like the field
        """Return these limits minus the size of a notice, at least half of each."""
        return Limits(
            max(self.lines - lines, (self.lines + 1) // 2),
            max(self.bytes - bytes, (self.bytes + 1) // 2),
            self.line_chars,
        )


@dataclass(frozen=True, slots=True)
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
    if count_lines(text) > limits.lines:
        return False
    longest = limits.line_chars + LINE_SLACK
    return len(text) <= longest or all(len(line) <= longest for line in text.split("\n"))


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


def _shorten(line: str, limits: Limits) -> str:
    if len(line) <= limits.line_chars + LINE_SLACK:
        return line
    return f"{line[: limits.line_chars]}… ({len(line):,} characters, cut)"


def cut(text: str, limits: Limits, keep: Keep) -> str:
    """Return the head or tail of *text* that fits, never half a character."""
    kept: list[str] = []
    room = limits.bytes
    for line in _lines(text, keep):
        shown = _shorten(line, limits)
        data = shown.encode("utf-8", "replace")
        if len(data) + 1 > room:
            if not kept:
                part = data[: room - 1] if keep == "head" else data[len(data) - room + 1 :]
                kept.append(part.decode("utf-8", "ignore"))
            break
        kept.append(shown)
        room -= len(data) + 1
        if len(kept) == limits.lines:
            break
    return "\n".join(kept if keep == "head" else reversed(kept))


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
        room = 360 + len((spill.path if spill else error).encode("utf-8", "replace"))
        kept = cut(text, limits.reduced(lines=2, bytes=room), keep)
        notice = _notice(keep, count_lines(kept), whole, spilled)
        pieces = (kept, "", notice) if keep == "head" else (notice, "", kept)
        return Truncated("\n".join(pieces), spill.path if spill else None)


def _notice(
    keep: Keep, shown: int, whole: tuple[int, int], spilled: tuple[SpillFile | None, str]
) -> str:
    spill, error = spilled
    lines, size = whole
    end = "first" if keep == "head" else "last"
    if spill is not None:
        kept = f"All but {spill.omitted:,} bytes of its middle" if spill.omitted else "All of it"
        rest = (
            f"{kept} is in {spill.path}: read that file with offset and limit, or search it "
            "with grep, rather than printing it again."
        )
    else:
        rest = f"The rest could not be kept ({error}); run it again with less output."
    return (
        f"[Output cut: it had {lines:,} lines and {size:,} bytes, the {end} {shown:,} lines are "
        f"shown. {rest}]"
    )
