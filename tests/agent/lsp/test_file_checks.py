"""Formatters and diagnostics after a change, from the model's call to its result."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from agent.records.blocks import DiffBlock
from agent.records.messages import Completed, Failed, ToolPart
from tests.support.harness import Harness, open_harness
from tests.support.lsp import PATIENCE, SCRIPT, until, write
from tests.support.script import Call, Hold, Text, answer

FORMATTER = """
import sys
path = sys.argv[1]
text = open(path).read()
if "REFUSE" in text:
    sys.stderr.write("cannot read this\\nsee the manual\\n")
    sys.exit(2)
open(path, "w").write(text.upper() if "SHOUT" in text else text)
"""


def settings(tmp_path: Path, mode: str = "good") -> dict[str, object]:
    script = tmp_path / "formatter.py"
    script.write_text(FORMATTER)
    gate = str(tmp_path / "gate")
    server = {"command": [sys.executable, SCRIPT, mode, gate], "extensions": [".tiny"]}
    formatter = {"command": [sys.executable, str(script), "$FILE"], "extensions": [".tiny"]}
    return {
        "lsp": {"tiny": server},
        "formatter": {"loud": formatter},
        "permission": {"edit": "allow", "lsp": "allow"},
    }


async def results(harness: Harness, *calls: Call) -> list[ToolPart]:
    session = await harness.session()
    harness.server.script(answer(*calls), answer(Text("done")))
    assert (await harness.turn(session, "go")).outcome == "completed"
    return await harness.tools(session)


async def warm(harness: Harness) -> None:
    """Wait until the server has started: later changes then get diagnostics on slow machines
    too."""
    runtime = harness.runtime
    write(harness.folder / "warm.tiny", "fine\n")
    found = await runtime.code.servers.diagnostics((str(harness.folder / "warm.tiny"),), PATIENCE)
    assert found


WRONG = Call("write", {"file_path": "a.tiny", "content": "ERROR one\n"})
RIGHT = Call(
    "edit", {"file_path": "a.tiny", "old_string": "ERROR one", "new_string": "one and all"}
)


async def test_the_first_change_waits_for_a_server_that_starts(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        harness.runtime.code.servers.cold_wait = PATIENCE
        (part,) = await results(harness, WRONG)
        assert isinstance(part.state, Completed)
        assert "1:1 error: ERROR one" in part.state.output


async def came(harness: Harness) -> None:
    """Wait until the late diagnostics of all changes have come."""
    await until(lambda: not harness.runtime.code.file_checks.waits)


async def test_late_errors_come_with_the_next_step(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path, "late")) as harness:
        harness.runtime.code.servers.cold_wait = 0
        await warm_late(harness, tmp_path)
        hold = Hold()
        harness.server.script(
            answer(WRONG),
            answer(hold, Call("glob", {"pattern": "*.none"})),
            answer(Text("fixing")),
        )
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "go")
        await hold.reached.wait()
        (tmp_path / "gate").touch()
        await came(harness)
        hold.gate.set()
        assert (await harness.idle(session, after=before)).outcome == "completed"
        first, second, third = (r.body["messages"] for r in harness.server.requests)
        assert "ERROR one" not in str(second[len(first) + 1 :])
        reminder = third[-1]
        assert reminder["role"] == "user"
        assert reminder["content"].startswith("<system-reminder>")
        assert "1:1 error: ERROR one" in reminder["content"]
        await harness.turn(session, "and?")
        assert str(harness.server.requests[-1].body).count("error: ERROR one") == 1


async def test_late_errors_continue_a_turn_that_would_end(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path, "late")) as harness:
        await warm_late(harness, tmp_path)
        hold = Hold()
        harness.server.script(
            answer(WRONG), answer(Text("do"), hold, Text("ne")), answer(RIGHT), answer(Text("ok"))
        )
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "go")
        await hold.reached.wait()
        (tmp_path / "gate").touch()
        await came(harness)
        hold.gate.set()
        assert (await harness.idle(session, after=before)).outcome == "completed"
        assert len(harness.server.requests) == 4
        assert "1:1 error: ERROR one" in str(harness.server.requests[2].body["messages"][-1])


@pytest.mark.parametrize("mode", ["late", "plain"])
async def test_late_errors_of_an_earlier_text_are_not_reported(tmp_path: Path, mode: str) -> None:
    """The text was corrected before they came, with or without a version that says so."""
    async with open_harness(tmp_path, **settings(tmp_path, mode)) as harness:
        await warm_late(harness, tmp_path)
        hold = Hold()
        harness.server.script(
            answer(WRONG),
            answer(RIGHT),
            answer(hold, Call("glob", {"pattern": "*.none"})),
            answer(Text("done")),
        )
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "go")
        await hold.reached.wait()
        (tmp_path / "gate").touch()
        await came(harness)
        hold.gate.set()
        assert (await harness.idle(session, after=before)).outcome == "completed"
        assert "reports errors" not in str(harness.server.requests[-1].body)
        assert "reported errors" not in str(harness.server.requests[-1].body)


async def warm_late(harness: Harness, tmp_path: Path) -> None:
    """Start the server, so that a change waits only as long as for one that is warm."""
    (tmp_path / "gate").touch()
    await warm(harness)
    (tmp_path / "gate").unlink()


@pytest.mark.parametrize("again", ["write", "edit"])
async def test_a_file_that_a_hook_changed_counts_as_read(tmp_path: Path, again: str) -> None:
    """Its errors are those of the text after the hook, and the model learns what changed."""
    command = "sed -i 's/^one$/ERROR one/' a.tiny"
    hook = {"matcher": "write", "hooks": [{"type": "command", "command": command}]}
    given = {**settings(tmp_path), "hooks": {"PostToolUse": [hook]}}
    async with open_harness(tmp_path, **given) as harness:
        await warm(harness)
        session = await harness.session()
        repeat = (
            RIGHT
            if again == "edit"
            else Call("write", {"file_path": "a.tiny", "content": "fine\n"})
        )
        harness.server.script(
            answer(Call("write", {"file_path": "a.tiny", "content": "zero\none\n"})),
            answer(repeat),
            answer(Text("done")),
        )
        await harness.turn(session, "go")
        first, second = (part.state for part in await harness.tools(session))
        assert isinstance(first, Completed)
        assert "a.tiny was changed after that" in first.output
        assert "\n2: ERROR one" in first.output
        assert "2:1 error: ERROR one" in first.output
        assert isinstance(second, Completed), second


@pytest.mark.parametrize("tool", ["write", "edit"])
async def test_the_result_says_that_the_file_was_formatted(tmp_path: Path, tool: str) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        await warm(harness)
        old = {"old_string": "", "new_string": "a SHOUT\n"}
        given = old if tool == "edit" else {"content": "a SHOUT\n"}
        (part,) = await results(harness, Call(tool, {"file_path": "a.tiny", **given}))
        assert isinstance(part.state, Completed)
        assert "A formatter changed a.tiny" in part.state.output
        assert "1: A SHOUT" in part.state.output


async def test_errors_of_a_change_come_with_its_result(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        await warm(harness)
        (part,) = await results(
            harness, Call("write", {"file_path": "a.tiny", "content": "one\nERROR two\n"})
        )
        assert isinstance(part.state, Completed)
        assert part.state.output.startswith("Created a.tiny (2 lines).")
        assert "errors in a.tiny" in part.state.output
        assert "  2:1 error: ERROR two (tiny E1)" in part.state.output


async def test_a_change_without_errors_gets_no_report(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        await warm(harness)
        (part,) = await results(
            harness, Call("write", {"file_path": "a.tiny", "content": "fine\n"})
        )
        assert isinstance(part.state, Completed)
        assert part.state.output == "Created a.tiny (1 line)."


async def test_the_model_is_shown_a_few_of_many_errors(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path, "flood")) as harness:
        file = str(harness.folder / "a.tiny")
        write(harness.folder / "a.tiny", "fine\n")
        report = ""
        async with asyncio.timeout(PATIENCE):
            while "more" not in report:
                report = await harness.runtime.code.file_checks.error_report("ses", (file,))
        assert report.endswith("… and 9,980 more")
        assert len(report.splitlines()) == 22


async def test_a_read_starts_the_server(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        write(harness.folder / "a.tiny", "ERROR\n")
        assert harness.runtime.code.servers.statuses == ()
        (part,) = await results(harness, Call("read", {"file_path": "a.tiny"}))
        assert isinstance(part.state, Completed)
        assert "error" not in part.state.output.replace("ERROR", "")
        await until(lambda: harness.runtime.code.servers.statuses[0].state == "ready")


@pytest.mark.parametrize("tool", ["write", "edit", "apply_patch"])
async def test_the_diff_is_that_of_the_formatted_file(tmp_path: Path, tool: str) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        write(harness.folder / "a.tiny", "one\n")
        patch = "*** Begin Patch\n*** Update File: a.tiny\n@@\n-one\n+shout SHOUT\n*** End Patch\n"
        calls = {
            "write": Call("write", {"file_path": "a.tiny", "content": "shout SHOUT\n"}),
            "edit": Call(
                "edit",
                {"file_path": "a.tiny", "old_string": "one", "new_string": "shout SHOUT"},
            ),
            "apply_patch": Call("apply_patch", {"patch": patch}),
        }
        again = Call(
            "edit", {"file_path": "a.tiny", "old_string": "SHOUT SHOUT", "new_string": "end"}
        )
        session = await harness.session()
        steps = [Call("read", {"file_path": "a.tiny"}), calls[tool], again]
        harness.server.script(*(answer(step) for step in steps), answer(Text("done")))
        assert (await harness.turn(session, "go")).outcome == "completed"
        _, part, last = await harness.tools(session)
        assert isinstance(part.state, Completed), part.state
        (block,) = part.state.blocks
        assert isinstance(block, DiffBlock)
        added = [line.text for hunk in block.hunks for line in hunk.lines if line.kind == "add"]
        assert added == ["SHOUT SHOUT"]
        assert isinstance(last.state, Completed), "the session knows the formatted file"


async def test_a_failing_formatter_is_reported_and_the_change_stays(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        (part,) = await results(
            harness, Call("write", {"file_path": "a.tiny", "content": "REFUSE\n"})
        )
        assert isinstance(part.state, Completed)
        assert "The formatter loud ended with code 2: cannot read this." in part.state.output
        assert (harness.folder / "a.tiny").read_text() == "REFUSE\n"


async def test_the_lsp_tool_returns_locations_in_the_project(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **settings(tmp_path)) as harness:
        await warm(harness)
        write(harness.folder / "a.tiny", "def shout(x)\n😀 shout(1)\nERROR\n")
        asked = {"operation": "definition", "file_path": "a.tiny", "line": 2}
        parts = await results(
            harness,
            Call("lsp", {**asked, "symbol": "shout"}),
            Call("lsp", {**asked, "symbol": "whisper"}),
            Call("lsp", asked),
            Call("lsp", {"operation": "diagnostics", "file_path": "a.tiny"}),
            Call("lsp", {"operation": "hover", "file_path": "b.other", "line": 1, "symbol": "x"}),
            Call("lsp", {"operation": "symbols", "file_path": "a.tiny"}),
        )
        found, absent, short, said, missing, refused = (part.state for part in parts)
        assert isinstance(found, Completed)
        assert found.output == "a.tiny:1:5  def shout(x)"
        assert isinstance(absent, Failed)
        assert "is not on line 2 of a.tiny" in absent.error
        assert isinstance(short, Failed)
        assert "needs line (from 1) and symbol" in short.error
        assert isinstance(said, Completed)
        assert said.output == "3:1 error: ERROR (tiny E1)"
        assert isinstance(missing, Failed)
        assert isinstance(refused, Failed)
        assert "no textDocument/documentSymbol here" in refused.error


async def test_without_servers_there_is_no_lsp_tool_and_no_search_for_servers(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, lsp=False) as harness:
        assert "lsp" not in harness.runtime.registry.names
        assert harness.runtime.code.servers.specs == ()


async def test_an_untrusted_folder_starts_no_servers(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    given = settings(tmp_path)
    (project / "opencode.json").write_text(json.dumps({"lsp": given["lsp"]}))
    async with open_harness(tmp_path, **given) as harness:
        assert harness.runtime.trust.status == "open"
        assert harness.runtime.code.servers.specs == ()
        assert harness.runtime.code.file_checks.formatters == ()
