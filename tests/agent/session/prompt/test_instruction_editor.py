"""Lines added to the project's instructions."""

from functools import partial
from pathlib import Path

import pytest

from agent.permission.trust.project_files import ProjectFindings
from agent.permission.trust.trust import Trust, TrustStore
from agent.records.errors import ToolError
from agent.records.requests import PermissionReply
from agent.session.prompt.instruction_editor import InstructionEditor

ONCE = PermissionReply("once")


def notes(project: Path, directory: Path | None = None) -> InstructionEditor:
    look = partial(ProjectFindings)
    trust = Trust(TrustStore(project.parent / "data"), project, str(project), look, look())
    return InstructionEditor(directory or project, project, trust, "nearest")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


CASES = {
    "no file": (None, "# Instructions for coding agents\n\n- Use tabs\n"),
    "an empty file": ("\n", "# Instructions for coding agents\n\n- Use tabs\n"),
    "a list": ("# A\n\n- one\n", "# A\n\n- one\n- Use tabs\n"),
    "another kind of list": ("* one", "* one\n* Use tabs\n"),
    "text": ("Be brief.\n\n\n", "Be brief.\n\n- Use tabs\n"),
    "Windows line ends": ("# A\r\n- one\r\n", "# A\r\n- one\r\n- Use tabs\r\n"),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
async def test_the_line_becomes_the_last_item(
    project: Path, before: str | None, after: str
) -> None:
    if before is not None:
        (project / "AGENTS.md").write_bytes(before.encode())
    remember = notes(project)
    draft = await remember.draft("  Use   tabs ")
    assert await remember.write(draft, ONCE) == "AGENTS.md"
    assert (project / "AGENTS.md").read_bytes().decode() == after


async def test_the_line_goes_into_the_file_in_force(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "AGENTS.md").write_text("a")
    (project / "sub" / "CLAUDE.md").write_text("b")
    remember = notes(project, project / "sub")
    draft = await remember.draft("x")
    assert draft.request.heading == "Add this line to sub/CLAUDE.md?"
    await remember.write(draft, ONCE)
    assert (project / "sub" / "CLAUDE.md").read_text() == "b\n\n- x\n"


async def test_a_file_that_changed_since_it_was_shown_is_left_alone(project: Path) -> None:
    (project / "AGENTS.md").write_text("a")
    remember = notes(project)
    draft = await remember.draft("x")
    (project / "AGENTS.md").write_text("b")
    with pytest.raises(ToolError, match="changed"):
        await remember.write(draft, ONCE)
    assert (project / "AGENTS.md").read_text() == "b"


async def test_a_line_that_cannot_be_added_is_an_error(project: Path) -> None:
    with pytest.raises(ToolError, match="Nothing to add"):
        await notes(project).draft("  ")
    outside = project.parent / "x.md"
    outside.write_text("x")
    (project / "AGENTS.md").symlink_to(outside)
    with pytest.raises(ToolError, match="points outside the project"):
        await notes(project).draft("y")
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").write_bytes(b"\0\1\2")
    with pytest.raises(ToolError, match="binary"):
        await notes(project).draft("y")
