"""Short descriptions of tool results: counts, paths and failures."""

import re

from agent.provider.demo.conversation import CompletedCall

_SAID = re.compile(r"\bsaid: (.+)", re.DOTALL)
_REFUSED = re.compile(r"\breject|\bis denied|the rule\b|not allowed", re.IGNORECASE)
_STOPPED = re.compile(r"abort|cancel|interrupt|stopped|not run", re.IGNORECASE)
_TOTAL = re.compile(r"\b(\d[\d,]*) (?:lines?|files?|match|matches) (?:match|found)", re.IGNORECASE)
_NUMBERED = re.compile(r"\s+\d+: ")
_NOTHING = re.compile(r"no |.+ has nothing ", re.IGNORECASE)
_QUOTED = 160


def failure_sentence(call: CompletedCall) -> str:
    """Return a sentence about a failed call, which quotes the user's comment if there is one."""
    said = _SAID.search(call.output)
    if said is not None:
        return (
            f"You refused that and said: “{_shorten(said[1])}” I did nothing. A real model "
            "would act on your words now; as a script I can only pass them by."
        )
    if _REFUSED.search(_first_line(call.output)):
        return "That was refused, so nothing was done."
    if _STOPPED.search(_first_line(call.output)):
        return "That was stopped before it was done."
    reason = _shorten(_first_line(call.output))
    return f"That did not work: {reason}" + ("" if reason.endswith((".", "?", "!", "…")) else ".")


def count_matches(output: str) -> int:
    """Return the number of search results: from the note, else the numbered lines or paths."""
    if is_empty(output):
        return 0
    lines = _lines(output)
    for note in filter(_is_note, lines):
        if said := _TOTAL.search(note):
            return int(said[1].replace(",", ""))
    numbered = [line for line in lines if _NUMBERED.match(line)]
    return len(numbered or [line for line in lines if not _is_note(line)])


def count_entries(output: str) -> int:
    """Return the number of entries in the listing of a folder."""
    return 0 if is_empty(output) else sum(1 for line in _tree(output) if not _is_note(line))


def is_empty(output: str) -> bool:
    """Return whether a tool reports that it found nothing."""
    return not output.strip() or _NOTHING.match(output.lstrip(" (")) is not None


def count_phrase(number: int, one: str, many: str) -> str:
    """Return a number with its noun: ``1 file``, ``3 files``, ``no files``."""
    if number == 1:
        return f"1 {one}"
    return f"{number:,} {many}" if number else f"no {many}"


def file_paths(output: str) -> list[str]:
    """Return the plain files in a folder's listing (an indented tree), those near the top first."""
    files: list[tuple[int, str]] = []
    folders: list[tuple[int, str]] = []
    for line in _tree(output):
        name, indent = line.strip(), len(line) - len(line.lstrip())
        while folders and folders[-1][0] >= indent:
            folders.pop()
        if name.endswith("/"):
            folders.append((indent, name))
        elif _PATH.fullmatch(name) and not _PRIVATE.search(name):
            files.append((len(folders), "".join(folder for _, folder in folders) + name))
    return [name for _, name in sorted(files, key=lambda item: item[0])]


_PATH = re.compile(r"[\w@+-][\w@+./-]*\.[A-Za-z]{1,8}|README|LICENSE|Makefile|Dockerfile")
# Reading files that can contain secrets would ask for permission.
_PRIVATE = re.compile(r"(?i)\.(env|pem|key|p12|pfx)|secret|credential|token|(^|/)id_")


def _lines(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.strip()]


def _tree(output: str) -> list[str]:
    """Return the lines of a listing without the folder's own name above them."""
    lines = _lines(output)
    headed = len(lines) > 1 and lines[0].endswith("/") and lines[1].startswith(" ")
    return lines[1:] if headed else lines


def _is_note(line: str) -> bool:
    return line.strip().startswith(("(", "[", "<"))


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "there was no answer"


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTED else flat[: _QUOTED - 1] + "…"
