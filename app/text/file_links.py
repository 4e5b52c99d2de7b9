"""Links to the files that a text names, for the user's editor.

A path becomes a link only if it is a file of the project, and the link leads to that very file:
what a model writes decides where links are, never where they lead.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
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
"""The URL schemes of editors that open ``scheme://file/PATH:LINE``, by command."""

MAX_TEXT = 4_000
"""Characters of one line or paragraph beyond which no files are searched in it."""

_RUN = re.compile(r"[^\s\"'`<>|:;,#…]++(?!…)")
"""Characters of a path; one that was cut off names another file."""
_LINE = re.compile(r"(?::(\d+)(?::\d+)?|#L(\d+)(?:-L?\d+)?)(?!\w)|[\"'], line (\d+)")
_EDGES = "()[]{}.!?*"


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

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where *text* names a file of the project, and the address of that file."""
        if self.folder is None or len(text) > MAX_TEXT:
            return
        subject = text.strip()
        if whole := self._address(subject, ""):
            start = text.index(subject)
            yield start, start + len(subject), whole
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
                line = _LINE.match(text, end)
                number = next(filter(None, line.groups())) if line else ""
                if address := self._address(name, number):
                    yield start, line.end() if line and line[0][0] in ":#" else end, address
                    break

    def _address(self, name: str, line: str) -> str:
        """Return the address of the file *name* of the project, "" if there is none."""
        assert self.folder is not None  # checked by find
        try:
            path = self.folder / name
            if not path.is_relative_to(self.folder) or not path.is_file():
                return ""
            path = path.resolve()
            if not path.is_relative_to(self.folder.resolve()):
                return ""
        except (OSError, ValueError):  # too long for a name, a null character
            return ""
        quoted = quote(str(path))
        if self.scheme != "file":
            return f"{self.scheme}://file{quoted}" + (f":{line}" if line else "")
        return f"file://{self.host}{quoted}" + (f"#{line}" if line and self.lines else "")


NO_LINKS = FileLinks()


def file_links(folder: Path, host: str, env: Mapping[str, str]) -> FileLinks:
    """Return the links that suit the editor and the terminal of *env*.

    An editor on this machine cannot be reached from the terminal of another one.
    """
    words = (env.get("VISUAL") or env.get("EDITOR") or "").split()
    scheme = EDITOR_SCHEMES.get(Path(words[0]).name, "") if words else ""
    if not scheme or "SSH_CONNECTION" in env:
        return FileLinks(folder.absolute(), host, lines="KITTY_WINDOW_ID" in env)
    return FileLinks(folder.absolute(), host, scheme)
