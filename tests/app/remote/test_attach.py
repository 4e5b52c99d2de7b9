"""The full screen on a session of a server."""

import asyncio
from pathlib import Path

import pytest

from agent.records.errors import NothingToDo
from app.remote.changes import NO_BASE, NO_PULL_REQUESTS
from tests.app.remote.conftest import Attach
from tests.app.server.conftest import Served
from tests.app.server.prompts import prompted
from tests.support.script import Call, Finish, Hold, Text, answer

QUESTION = {
    "questions": [
        {
            "question": "Which color?",
            "header": "Color",
            "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}],
        }
    ]
}


async def test_a_prompt_streams_and_ends(served: Served, attach: Attach) -> None:
    hold = Hold()
    served.model.script(answer(Text("First words "), hold, Text("and the rest."), Finish("stop")))
    async with attach() as running:
        await running.type("hello", "enter")
        await running.until_shown("First words")
        hold.gate.set()
        await running.until_idle()
        await running.until_shown("First words and the rest.")
        session = running.app.controller.live.session
        assert session is not None
        stored = await served.call("GET", f"/session/{session.id}/message")
        resumes = f" attach {served.address} -s {session.id}"
        assert running.app.resume_command().endswith(resumes)
    assert [item["info"]["role"] for item in stored] == ["user", "assistant"]


async def test_a_permission_is_answered_in_the_dialog(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Call("bash", {"command": "echo from-the-server"}), Finish("calls")),
        answer(Text("It printed."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("go", "enter")
        await running.until_shown("Run this command?")
        await running.until_shown("echo from-the-server")
        await running.pilot.press("o")
        await running.until_shown("It printed.")
        await running.until_idle()
    assert "from-the-server" in str(served.model.requests[1].body)


async def test_the_request_is_the_one_that_the_server_has(served: Served, attach: Attach) -> None:
    served.model.script(answer(Call("bash", {"command": "echo hi; rm -r x"}), Finish("calls")))
    async with attach() as running:
        await running.type("go", "enter")
        await running.until_shown("Run this command?")
        folder = await served.folders.open(str(served.project))
        assert running.runtime.permissions.pending() == folder.runtime.permissions.pending()
        await running.pilot.press("ctrl+c")
        await running.until_idle()


async def test_a_part_of_a_change_is_accepted(served: Served, attach: Attach) -> None:
    before = [f"line {number}\n" for number in range(40)]
    (served.project / "a.txt").write_text("".join(before))
    after = "".join(["first\n", *before[1:-1], "last\n"])
    served.model.script(
        answer(Call("read", {"file_path": "a.txt"}), Finish("calls")),
        answer(Call("write", {"file_path": "a.txt", "content": after}), Finish("calls")),
        answer(Text("Done."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("go", "enter")
        await running.until(lambda: bool(running.runtime.permissions.pending()))
        (request,) = running.runtime.permissions.pending()
        await served.call(
            "POST", f"/permission/{request.id}/reply", {"reply": "once", "hunks": [0]}
        )
        await running.until_idle()
    assert (served.project / "a.txt").read_text() == "".join(["first\n", *before[1:]])


async def test_another_client_answers_first(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Call("bash", {"command": "echo hi"}), Finish("calls")),
        answer(Text("Done."), Finish("stop")),
    )
    async with attach() as first, attach() as second, served.stream() as browser:
        await first.type("go", "enter")
        await first.until_shown("Run this command?")
        session = first.app.controller.live.session
        assert session is not None
        await second.app.controller.live.open(session.id)
        await second.until_shown("Run this command?")
        await first.pilot.press("o")
        await first.until_shown("Done.")
        await second.until_shown("Done.")
        assert "Run this command?" not in second.text()
        asked = await browser.next("permission.asked")
        replied = await browser.next("permission.replied")
        assert (replied["requestID"], replied["reply"]) == (asked["id"], "once")
        late = {"reply": "reject"}
        await served.call("POST", f"/permission/{asked['id']}/reply", late, status=404)
        await second.until_idle()


async def test_a_question_is_answered(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Call("question", QUESTION), Finish("calls")),
        answer(Text("Blue it is."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("go", "enter")
        await running.until_shown("Which color?")
        await running.pilot.press("down", "enter")
        await running.until_shown("Blue it is.")
        await running.until_idle()
    assert "Blue" in str(served.model.requests[1].body)


async def test_ctrl_c_ends_the_turn_at_the_server(served: Served, attach: Attach) -> None:
    served.model.script(answer(Text("one "), Hold(), Text("two"), Finish("stop")))
    async with attach() as running:
        await running.type("hello", "enter")
        await running.until_shown("one")
        await running.pilot.press("ctrl+c")
        await running.until_idle()
        assert await served.call("GET", "/session/status") == {}
        await running.until_shown("Interrupted")


async def test_a_session_is_opened_in_the_middle_of_a_turn(served: Served, attach: Attach) -> None:
    hold = Hold()
    served.model.script(answer(Text("one "), hold, Text("two "), Text("three"), Finish("stop")))
    session = await served.session()
    async with attach() as running:
        await served.send(session, "hello")
        async with served.stream() as stream:
            await stream.next("server.connected")
        await running.app.controller.live.open(session)
        await running.until_shown("one")
        hold.gate.set()
        await running.until_idle()
        await running.until_shown("one two three")
        assert "one two one" not in running.text()


async def test_the_server_ends_and_comes_back(served: Served, attach: Attach) -> None:
    hold = Hold()
    served.model.script(
        answer(Text("one "), hold, Text("two"), Finish("stop")),
        answer(Text("I am back."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("hello", "enter")
        await running.until_shown("one")
        await served.stop()
        await running.until_shown("The connection to the server was lost.")
        await running.type("again")
        await running.pilot.press("enter")
        await running.until(lambda: running.prompt == "again")
        await served.start()
        await running.until_shown("Reconnected to the server.")
        await running.until_idle()
        await running.pilot.press("enter")
        await running.until_shown("I am back.")
        await running.until_idle()


async def test_sessions_are_listed_renamed_forked_and_deleted(
    served: Served, attach: Attach
) -> None:
    served.model.script(answer(Text("Hello."), Finish("stop")))
    session = await served.session()
    await prompted(served, session, "hi")
    await served.call("PATCH", f"/session/{session}", {"title": "An old session"})
    async with attach(resume=True) as running:
        await running.until_shown("Hello.")
        await running.type("/rename A better name", "enter")
        await running.until(lambda: running.app.controller.live.session.title == "A better name")
        await running.type("/fork", "enter")
        await running.until(lambda: running.app.controller.live.session.id != session)
        await running.until_shown("Hello.")
        await running.type("/sessions", "enter")
        await running.until_shown("A better name")
        await running.pilot.press("escape")
        await running.type("/delete", "enter")
        await running.until_shown("This cannot be undone.")
        await running.pilot.press("y")
        await running.until(lambda: running.app.controller.live.session is None)
    listed = await served.call("GET", "/session")
    assert [one["title"] for one in listed] == ["A better name"]


async def test_a_change_is_undone_and_redone(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Call("write", {"file_path": "a.txt", "content": "new\n"}), Finish("calls")),
        answer(Text("Written."), Finish("stop")),
    )
    changed = served.project / "a.txt"
    async with attach() as running:
        await running.type("write it", "enter")
        await running.until_shown("a.txt")
        await running.pilot.press("o")
        await running.until_shown("Written.")
        await running.until_idle()
        await running.type("/undo", "enter")
        await running.until_shown("will be deleted")
        await running.pilot.press("enter")
        await running.until(lambda: not changed.exists() and running.prompt == "write it")
        await running.pilot.press("ctrl+c")
        await running.type("/redo", "enter")
        await running.until(changed.exists)


async def test_redo_restores_one_prompt_after_the_other(served: Served, attach: Attach) -> None:
    for name in ("a.txt", "b.txt"):
        served.model.script(
            answer(Call("write", {"file_path": name, "content": "new\n"}), Finish("calls")),
            answer(Text(f"Wrote {name}."), Finish("stop")),
        )
    first, second = served.project / "a.txt", served.project / "b.txt"
    async with attach() as running:
        for name in ("a.txt", "b.txt"):
            await running.type(f"write {name}", "enter")
            await running.until_shown("Create this file?")
            await running.pilot.press("o")
            await running.until_shown(f"Wrote {name}.")
            await running.until_idle()
        for prompt in ("write b.txt", "write a.txt"):
            await running.type("/undo", "enter")
            await running.until_shown("will be deleted")
            await running.pilot.press("enter")
            await running.until(lambda prompt=prompt: running.prompt == prompt)
            await running.pilot.press("ctrl+c")
        assert not first.exists()
        await running.type("/redo", "enter")
        await running.until(first.exists)
        await running.until_shown("Wrote a.txt.")
        assert not second.exists()
        assert "Wrote b.txt." not in running.text()
        await running.type("/redo", "enter")
        await running.until(second.exists)
        await running.until_shown("Wrote b.txt.")


async def test_changes_of_the_server_are_reviewed(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Call("write", {"file_path": "a.txt", "content": "by the agent\n"}), Finish("calls")),
        answer(Text("Written."), Finish("stop")),
        answer(Text("I see your comment."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("write it", "enter")
        await running.until_shown("Create this file?")
        await running.pilot.press("o")
        await running.until_shown("Written.")
        await running.until_idle()
        await running.type("/review turn", "enter")
        await running.until_shown("Review of the last turn")
        await running.until_shown("by the agent")
        assert "revert" not in running.text()
        await running.pilot.press("c")
        await running.type("Why this?", "enter")
        await running.pilot.press("enter")
        await running.until_shown("I see your comment.")
        await running.until_idle()
        for base, said in (("branch other", NO_BASE), ("pr 3", NO_PULL_REQUESTS)):
            await running.type(f"/review {base}", "enter")
            await running.until_shown(said[:40])
    assert "Why this?" in str(served.model.requests[2].body)


async def test_uncommitted_changes_of_the_server_are_reviewed(
    served: Served, attach: Attach
) -> None:
    for arguments in ("init -q", "add .", "commit -q --allow-empty -m first"):
        await git(served.project, *arguments.split())
    (served.project / "mine.txt").write_text("by hand\n")
    async with attach() as running:
        await running.type("/review", "enter")
        await running.until_shown("Review of the working tree")
        await running.until_shown("by hand")
        await running.pilot.press("escape")
        await running.type("/init", "enter")
        await running.until_idle()
    assert "AGENTS.md" in str(served.model.requests[0].body)


async def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    program = await asyncio.create_subprocess_exec("git", *identity, *arguments, cwd=folder)
    assert await program.wait() == 0


async def test_editors_drive_an_attached_screen(served: Served, attach: Attach) -> None:
    """An editor plugin that uses a server without a screen fills in that of an attached one."""
    served.model.script(answer(Text("Hello editor."), Finish("stop")))
    async with attach() as running:
        await served.call("POST", "/tui/append-prompt", {"text": "from the editor"})
        await running.until(lambda: running.prompt == "from the editor")
        await served.call("POST", "/tui/submit-prompt")
        await running.until_shown("Hello editor.")
        await running.until_idle()
        first = running.app.controller.live.session
        assert first is not None
        await served.call("POST", "/tui/execute-command", {"command": "session_new"})
        await running.until(lambda: running.app.controller.live.session is None)
        await served.call("POST", "/tui/select-session", {"sessionID": first.id})
        await running.until_shown("Hello editor.")


async def test_messages_wait_in_the_queue_of_the_server(served: Served, attach: Attach) -> None:
    hold = Hold()
    served.model.script(
        answer(Text("Working on it. "), hold, Text("Done."), Finish("stop")),
        answer(Text("Now the later one."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("begin", "enter")
        await running.until_shown("Working on it.")
        await running.type("/later the later one", "enter")
        await running.until_shown("1 message queued")
        await running.type("a second one", "enter")
        await running.until_shown("2 messages queued")
        await running.pilot.press("up")
        await running.until(lambda: running.prompt == "a second one")
        await running.until_shown("1 message queued")
        session = running.app.controller.live.session
        assert session is not None
        async with attach(session=session.id) as other:
            await other.until_shown("1 message queued")
            hold.gate.set()
            await running.until_shown("Now the later one.")
            await running.until_idle()
            await other.until_idle()
            assert "queued" not in running.text()
            assert "queued" not in other.text()
    texts = [str(request.body) for request in served.model.requests]
    assert "the later one" in texts[1]
    assert all("a second one" not in text for text in texts)


async def test_shell_commands_run_at_the_server(served: Served, attach: Attach) -> None:
    async with attach() as running:
        await running.type("!pwd", "enter")
        await running.until_shown(str(served.project)[:30])
        await running.until_idle()


async def test_a_check_is_not_run_for_a_session_there(served: Served, attach: Attach) -> None:
    async with attach() as running:
        session = await served.session()
        with pytest.raises(NothingToDo):
            await running.runtime.sessions.run_check(session, "true", 1_000)


async def test_an_unknown_session_ends_the_start(served: Served, attach: Attach) -> None:
    async with attach(session="ses_none", ready=False) as running:
        await running.until(lambda: bool(running.app.exit_message))
        assert "There is no session ses_none" in running.app.exit_message
