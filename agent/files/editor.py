"""The user's editor, if there is one: the current texts of its files, saved or not.

Files are always checked against the disk; an editor adds the unsaved changes of its user, and
receives our changes so that its views of the files are updated.
"""

from typing import Protocol


class EditorRefused(Exception):
    """The editor does not write a file; ``str(error)`` says why, in its own words."""


class Editor(Protocol):
    """Both methods are for a session of the user's (the root of a tree) and take the file's path,
    absolute with links resolved."""

    @property
    def writes(self) -> bool:
        """True if ``save`` works. Where it does not, files are written on disk."""
        ...

    def text(self, session_id: str, path: str) -> str | None:
        """Return the text of a file in the editor, None if it provides none. Blocks: for
        threads other than the one of the event loop."""
        ...

    async def save(self, session_id: str, path: str, text: str) -> None:
        """Make *text* the file's, in the editor and on disk. Raises ``EditorRefused``."""
        ...
