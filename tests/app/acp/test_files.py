"""The client's files: ``fs/read_text_file`` and ``fs/write_text_file``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    ClientCapabilities,
    FileSystemCapabilities,
    ReadTextFileResponse,
    WriteTextFileResponse,
)

from tests.app.acp.conftest import Editor, Home
from tests.support.script import Call, Text, answer

READS, WRITES = {"read_text_file": True}, {"write_text_file": True}
EDIT = Call("edit", {"file_path": "calc.py", "old_string": "typed", "new_string": "mended"})
LOOK = Call("read", {"file_path": "calc.py"})


@dataclass
class Buffers(Editor):
    """A client with open files. *fault* replaces its response to each request."""

    unsaved: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    fault: RequestError | None = None

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        self.requests.append(("read", session_id, path))
        if self.fault is not None:
            raise self.fault
        return ReadTextFileResponse(content=self.unsaved.get(path) or _text(path))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> WriteTextFileResponse:
        self.requests.append(("write", session_id, path))
        if self.fault is not None:
            raise self.fault
        self.unsaved.pop(path, None)
        _store(path, content)
        return WriteTextFileResponse()


def _text(path: str) -> str:
    return Path(path).read_text()


def _store(path: str, content: str) -> None:
    Path(path).write_text(content)


def files(**offered: bool) -> ClientCapabilities:
    return ClientCapabilities(fs=FileSystemCapabilities(**offered))


async def test_unsaved_text_is_read_and_changed_in_the_editor(home: Home) -> None:
    home.settings(permission={"edit": "ask"})
    path = str(home.project / "calc.py")
    client = Buffers(unsaved={path: "typed = 1\n"}, answers=["once"])
    async with home.desk(client, files(**READS, **WRITES)) as desk:
        session = await desk.new()
        desk.server.script(answer(LOOK), answer(EDIT), answer(Text("Mended.")))
        await desk.prompt(session.session_id, "go")
        read = str(desk.server.requests[1].body["messages"][-1])
        assert "1: typed = 1" in read
        assert "not saved" in read
        shown = next(c for c in client.permission_requests[0][0].content or [] if c.type == "diff")
        assert (shown.old_text, shown.new_text) == ("typed = 1\n", "mended = 1\n")
    assert _text(path) == "mended = 1\n"
    assert {request[1:] for request in client.requests} == {(session.session_id, path)}
    # Typed text is saved for the user, and then changed.
    assert [kind for kind, *_ in client.requests if kind == "write"] == ["write", "write"]


@pytest.mark.parametrize("offered", [{}, READS, WRITES])
async def test_the_editor_is_used_only_if_it_both_reads_and_writes(
    home: Home, offered: dict[str, bool]
) -> None:
    """Writing past a buffer that cannot be read would overwrite unsaved changes."""
    home.settings(permission={"edit": "allow"})
    client = Buffers(unsaved={str(home.project / "calc.py"): "typed\n"})
    async with home.desk(client, files(**offered)) as desk:
        session = await desk.new()
        write = Call("write", {"file_path": "new.py", "content": "x\n"})
        desk.server.script(answer(LOOK), answer(write), answer(Text("done")))
        await desk.prompt(session.session_id, "go")
    assert client.permission_requests == []
    assert _text(str(home.project / "new.py")) == "x\n"


@pytest.mark.parametrize(
    ("fault", "written"),
    [
        (RequestError(-32000, "The workspace is read-only"), False),
        (RequestError.internal_error({"details": "The workspace is read-only"}), False),
        (RequestError.method_not_found("fs/write_text_file"), True),
    ],
)
async def test_a_write_that_the_editor_refuses_is_not_done_on_disk(
    home: Home, fault: RequestError, *, written: bool
) -> None:
    home.settings(permission={"edit": "allow"})
    client = Buffers(fault=fault)
    async with home.desk(client, files(**READS, **WRITES)) as desk:
        session = await desk.new()
        write = Call("write", {"file_path": "new.py", "content": "x\n"})
        desk.server.script(answer(write), answer(Text("left")))
        await desk.prompt(session.session_id, "go")
        result = str(desk.server.requests[-1].body["messages"])
    assert ("did not write new.py: The workspace is read-only." in result) == (not written)
    assert (home.project / "new.py").exists() == written
