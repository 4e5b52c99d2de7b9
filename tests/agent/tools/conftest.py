"""A ``ToolContext`` for tests of tools."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from agent.files import FileTracker
from agent.records.errors import PermissionRejected
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.tool import ToolContext


class MakeContext(Protocol):
    def __call__(
        self,
        directory: Path | None = None,
        *,
        project: Path | None = None,
        files: FileTracker | None = None,
        progress: Callable[[str], None] = ...,
    ) -> ToolContext: ...


async def _refuse(needs: tuple[PermissionNeed, ...], heading: str) -> PermissionReply:
    raise PermissionRejected(f"no user answers in this test: {heading} {needs}")


@pytest.fixture
def make_context(tmp_path: Path) -> MakeContext:
    """Builds a context in *directory* (default: the test's own folder), which is its project."""

    def make(
        directory: Path | None = None,
        *,
        project: Path | None = None,
        files: FileTracker | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> ToolContext:
        folder = (directory or tmp_path).resolve()
        return ToolContext(
            session_id="ses_1",
            root_id="ses_1",
            message_id="msg_1",
            call_id="call_1",
            agent="build",
            directory=str(folder),
            project=str((project or folder).resolve()),
            files=files or FileTracker(),
            progress=progress,
            ask=_refuse,
        )

    return make
