"""Links to the files that a text names, for the user's editor.

A path becomes a link only if it is a file of the project, and the link leads to that very file:
what a model writes decides where links are, never where they lead.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from agent.records.frozen import frozen

EDITOR_SCHEMES = {
    "code": "vscode",
    "code-insiders": "vscode-insiders",
    "codium": "vscodium",
    "cursor": "cursor",
    "windsurf": "windsurf",
    "zed": "zed",
}
"""The URL schemes of editors with windows of their own, which open ``scheme://file/PATH:LINE``, by
command."""

MAX_TEXT = 4_000
"""Characters of one line or paragraph beyond which no files are searched in it."""

_RUN = re.compile(r"[^\s\"'`<>|:;,#…]++(?!…)")
"""Characters of a path; one that was cut off names another file."""
_LINE = re.compile(r"(?::(\d+)(?::\d+)?|#L(\d+)(?:-L?\d+)?)(?!\w)|[\"'], line (\d+)")
_EDGES = "()[]{}.!?*"


class FilePlace(NamedTuple):
    """A file of the project, and a line in it."""

    path: Path
    line: int = 0
    """The line from 1, 0 for none."""

    def name(self, folder: Path) -> str:
        """Return the path within *folder* with the line, as it is written."""
        path = self.path.relative_to(folder) if self.path.is_relative_to(folder) else self.path
        return f"{path}:{self.line}" if self.line else str(path)


class FileLink(NamedTuple):
    """A link in a text, from *start* to *end*."""

    start: int
    end: int
    address: str
    place: FilePlace


@frozen
class FileLinks:
    """The project whose files can be links, and the form of their addresses."""

    folder: Path | None = None
    """The root of the project, absolute; without one there are no links."""
    host: str = ""
    """The host name in ``file`` addresses, by which a terminal knows files of another machine."""
    scheme: str = "file"
    lines: bool = False
    """True if the terminal understands a line number in a ``file`` address."""
    in_terminal: bool = False
    """True if the editor runs in the terminal: no address opens it, so that a click has to."""

    def find(self, text: str) -> Iterator[FileLink]:
        """Yield the links to files of the project that *text* names."""
        if self.folder is None or len(text) > MAX_TEXT:
            return
        subject = text.strip()
        if path := self._path(subject):
            start = text.index(subject)
            yield self._link(start, start + len(subject), FilePlace(path))
            return
        for run in _RUN.finditer(text):
            found = run.group()
            if "." not in found and "/" not in found:
                continue
            ended = found.rstrip(_EDGES)
            names = (found, ended, ended.lstrip(_EDGES), ended.rpartition("=")[2])
            for name in dict.fromkeys(names):
                start = run.start() + found.rindex(name)
                end = start + len(name)
                if (path := self._path(name)) is None:
                    continue
                line = _LINE.match(text, end)
                number = int(next(filter(None, line.groups()))) if line else 0
                if line and line[0][0] in ":#":
                    end = line.end()
                yield self._link(start, end, FilePlace(path, number))
                break

    def _path(self, name: str) -> Path | None:
        """Return the path of the file *name* of the project, None if there is none."""
        assert self.folder is not None  # checked by find
        try:
            path = self.folder / name
            if not path.is_relative_to(self.folder) or not path.is_file():
                return None
            path = path.resolve()
            return path if path.is_relative_to(self.folder.resolve()) else None
        except (OSError, ValueError):  # too long for a name, a null character
            return None

    def _link(self, start: int, end: int, place: FilePlace) -> FileLink:
        quoted, line = quote(str(place.path)), place.line
        if self.scheme != "file":
            address = f"{self.scheme}://file{quoted}" + (f":{line}" if line else "")
        else:
            address = f"file://{self.host}{quoted}" + (f"#{line}" if line and self.lines else "")
        return FileLink(start, end, address, place)


NO_LINKS = FileLinks()


def file_links(folder: Path, host: str, env: Mapping[str, str]) -> FileLinks:
    """Return the links that suit the editor and the terminal of *env*.

    An editor on this machine cannot be reached from the terminal of another one.
    """
    words = (env.get("VISUAL") or env.get("EDITOR") or "").split()
    scheme = EDITOR_SCHEMES.get(Path(words[0]).name, "") if words else ""
    lines, in_terminal = "KITTY_WINDOW_ID" in env, bool(words) and not scheme
    if not scheme or "SSH_CONNECTION" in env:
        return FileLinks(folder.absolute(), host, lines=lines, in_terminal=in_terminal)
    return FileLinks(folder.absolute(), host, scheme)
