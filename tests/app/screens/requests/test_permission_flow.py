"""Permissions in the real app, from the model's call to the tool result that the model gets."""

from pathlib import Path

import pytest

from agent.records.messages import Failed, ToolPart
from app.screens.requests.permission import PermissionScreen
from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer

LINES = [f"line {n}" for n in range(40)]


def tool_results(server: ModelServer) -> list[str]:
    """Return the tool results in the newest request to the model."""
    messages = server.requests[-1].body["messages"]
    return [m["content"] for m in messages if m["role"] == "tool"]


def tools(running: Running) -> list[ToolPart]:
    view = running.app.controller.live.view
    assert view is not None
    entries = [view.entry(message_id) for message_id in view.message_ids]
    return [part for e in entries if e for part in e.parts if isinstance(part, ToolPart)]


def dialog(running: Running) -> PermissionScreen | None:
    screen = running.app.screen
    return screen if isinstance(screen, PermissionScreen) else None


async def test_one_of_three_hunks_is_refused(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    """The file has only the accepted hunks, the model learns which, and the row shows them."""
    file = work / "a.txt"
    file.write_text("\n".join(LINES) + "\n")
    edits = [{"old_string": f"line {n}\n", "new_string": f"changed {n}\n"} for n in (2, 20, 38)]
    scripted.script(
        answer(Call("read", {"file_path": "a.txt"})),
        answer(Call("multiedit", {"file_path": "a.txt", "edits": edits})),
        answer(Text("As you wish.")),
    )
    async with start(size=(80, 24)) as running:
        await running.type("change it", "enter")
        await running.until_shown("change 1 of 3")
        await running.pilot.press("n", "space")
        assert "✕ reject  change 2 of 3" in running.text()
        await running.type("c")
        await running.type("not in the middle", "enter")
        await running.pilot.press("o")
        await running.until_shown("As you wish.")
        now = file.read_text().splitlines()
        shown = running.text()
    assert (now[2], now[20], now[38]) == ("changed 2", "line 20", "changed 38")
    assert len(now) == 40
    (_, result) = tool_results(scripted)
    assert "2 of 3 hunks" in result
    assert "hunk 2" in result
    assert "not in the middle" in scripted.requests[-1].body["messages"][-1]["content"]
    assert "changed 38" in shown
    assert shown.count("changed 20") == shown.count("✕ +changed 20") == 1


async def test_an_edited_command_runs_and_is_reported_to_the_model(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    scripted.script(answer(Call("bash", {"command": "touch one"})), answer(Text("As you wish.")))
    async with start() as running:
        await running.type("go", "enter")
        await running.until_shown("Run this command?")
        await running.pilot.press("e", "ctrl+u", *"touch", "space", *"two", "enter")
        await running.until_shown("checked again")
        await running.pilot.press("o")
        await running.until_shown("As you wish.")
    assert not (work / "one").exists()
    assert (work / "two").exists()
    newest = scripted.requests[-1].body["messages"][-1]["content"]
    assert "This ran instead: touch two" in newest


async def test_a_file_that_changed_while_the_dialog_was_open_is_not_overwritten(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    file = work / "a.txt"
    file.write_text("one\ntwo\n")
    change = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
    scripted.script(
        answer(Call("read", {"file_path": "a.txt"})),
        answer(Call("edit", change)),
        answer(Text("I see.")),
    )
    async with start() as running:
        await running.type("go", "enter")
        await running.until_shown("once")
        file.write_text("one\nother\n")
        await running.pilot.press("o")
        await running.until_shown("I see.")
    assert file.read_text() == "one\nother\n"
    assert "changed" in tool_results(scripted)[-1]


@pytest.mark.parametrize(
    ("answers", "ends", "requests"),
    [
        (["o", "cno\nr", "o"], ["completed", "denied", "completed"], 2),
        (["o", "r"], ["completed", "denied", "denied"], 1),
        (["\x1b"], ["denied", "denied", "denied"], 1),
    ],
)
async def test_three_questions_at_once(
    start: Starter,
    scripted: ModelServer,
    work: Path,
    answers: list[str],
    ends: list[str],
    requests: int,
) -> None:
    """They come one at a time with a count, none is lost, and each answer goes to its own call; a
    refusal without a comment ends the turn."""
    for n in range(3):
        (work / f".env.{n}").write_text(f"KEY={n}\n")
    calls = [Call("read", {"file_path": f".env.{n}"}, id=f"call_{n}") for n in range(3)]
    scripted.script(answer(*calls), answer(Text("All done.")))
    async with start() as running:
        await running.type("go", "enter")
        await running.until_shown("1 of 3 waiting")
        for keys in answers:
            shown = dialog(running)
            assert shown is not None
            await running.pilot.press(
                *({"\n": "enter", "\x1b": "escape"}.get(key, key) for key in keys)
            )
            await running.until(lambda shown=shown: running.app.screen is not shown)
        await running.until_idle()
        states = [part.state for part in tools(running)]
        assert [s.kind if isinstance(s, Failed) else s.status for s in states] == ends
        assert dialog(running) is None
    assert len(scripted.requests) == requests


async def test_always_for_a_chain_covers_only_the_shown_pattern(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    """The shown pattern is stored and no other: the destructive part asks again."""
    (work / "old").mkdir()
    (work / "new").mkdir()
    scripted.script(
        answer(Call("bash", {"command": "npm run x; rm -r ./old"})),
        answer(Call("bash", {"command": "rm -r ./new"})),
        answer(Text("All done.")),
    )
    async with start(size=(100, 30)) as running:
        await running.type("go", "enter")
        await running.until_shown("“Always” allows")
        first = dialog(running)
        assert first is not None
        assert all("new" not in pattern for _, pattern in first.request.always)
        await running.pilot.press("a")
        await running.until(lambda: dialog(running) not in {None, first})
        assert "rm -r ./new" in running.text()
        await running.pilot.press("r")
        await running.until_idle()
    assert (work / "new").exists()
    assert not (work / "old").exists()


async def test_ctrl_c_in_the_dialog_cancels_the_turn(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    scripted.script(answer(Call("bash", {"command": "touch one"})))
    async with start() as running:
        await running.type("go", "enter")
        await running.until_shown("Run this command?")
        await running.pilot.press("ctrl+c")
        await running.until_idle()
        assert dialog(running) is None
        (part,) = tools(running)
        assert isinstance(part.state, Failed)
        assert part.state.kind == "aborted"
    assert not (work / "one").exists()
    assert len(scripted.requests) == 1
