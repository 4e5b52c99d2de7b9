"""Exported documents contain whole outputs, comments and what was refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.permission.decision_records import decision_of_reply
from agent.records.blocks import ShellBlock, TextBlock
from agent.records.messages import ToolPart
from agent.records.requests import PermissionReply
from agent.transfer.bundle import full_output
from agent.transfer.exporter import _macros
from agent.transfer.markdown import _tool as tool_as_markdown
from tests.app.screens.requests.examples import request
from tests.support.records import completed, diff, tool

LINES = "\n".join(f"line {n}" for n in range(2_000))


def tool_as_html(part: ToolPart) -> str:
    return str(_macros().tool(part))


def call(tmp_path: Path) -> ToolPart:
    """Return a call whose block has the last line of a long output."""
    spill = tmp_path / "spill"
    spill.write_text(LINES)
    state = completed("Bash", "make", ShellBlock("make", "line 1999", earlier=1_999))
    decided = decision_of_reply(
        request(blocks=(ShellBlock("make clean"),)),
        PermissionReply("once", "not that one", edited_command="make"),
    )
    part = tool("prt_1", "msg_1", replace(state, spill=str(spill), output="… line 1999"))
    return replace(part, decisions=(decided,))


@pytest.mark.parametrize("write", [tool_as_markdown, tool_as_html])
def test_an_output_is_exported_in_full(tmp_path: Path, write) -> None:
    part = call(tmp_path)
    text = "".join(write(part))
    assert LINES in text
    for shown in ("not that one", "make clean"):
        assert shown in text
    (tmp_path / "spill").unlink()  # after some days
    assert "… line 1999" in "".join(write(part))


@pytest.mark.parametrize("write", [tool_as_markdown, tool_as_html])
def test_the_output_of_any_tool_is_exported(write) -> None:
    state = replace(completed("Fetch", "x", TextBlock("short")), output="the whole page")
    assert "the whole page" in "".join(write(tool("prt_1", "msg_1", state)))


def test_the_refused_hunks_of_a_change_are_kept() -> None:
    change = diff("a.py", " one", "-two", "+2", " three")
    other = replace(change.hunks[0], index=1)
    asked = request(blocks=(replace(change, hunks=(change.hunks[0], other)),))
    decided = decision_of_reply(asked, PermissionReply("once", hunks=frozenset({0})))
    assert decided.reason == "only some of the changes"
    assert decided.refused.splitlines()[1:] == ["-two", "+2"]
    assert decided.refused.startswith("a.py:")
    assert decision_of_reply(asked, PermissionReply("once")).refused == ""


def test_without_a_file_the_output_is_what_the_model_read() -> None:
    state = replace(completed("Fetch", "x"), output="read", spill="/no/such/file")
    assert full_output(tool("prt_1", "msg_1", state)) == "read"
