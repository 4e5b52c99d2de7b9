"""The user's editor, where there is one: texts of files as they stand there, saved or not.

What is on disk stays the truth that everything is checked against; an editor adds what its user
has not saved yet, and takes changes so that its views of the files follow.
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
        """The text of a file as it stands in the editor, None where it gives none. Blocks: for
        threads other than the one of the event loop."""
        ...

    async def save(self, session_id: str, path: str, text: str) -> None:
        """Make *text* the file's, in the editor and on disk. Raises ``EditorRefused``."""
        ...
