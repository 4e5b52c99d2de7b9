"""What clients do with sessions."""

import asyncio
from asyncio.subprocess import PIPE, STDOUT
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.screens.requests.examples import FORM
from tests.app.server.conftest import Served
from tests.app.server.prompts import prompted
from tests.support.git import git, make_repository
from tests.support.script import Call, Finish, Hold, Text, answer


async def test_a_prompt_is_answered_with_its_message(served: Served) -> None:
    served.model.script(answer(Text("Hello."), Finish("end")))
    session = await served.session()
    last = await prompted(served, session, "hi", system="Answer in one word.")
    assert [part["text"] for part in last["parts"] if part["type"] == "text"] == ["Hello."]
    assert last["info"]["finish"] == "stop"
    assert "Answer in one word." in str(served.model.requests[0].body)


async def test_a_message_without_reply_is_read_with_the_next_prompt(served: Served) -> None:
    served.model.script(answer(Text("Noted."), Finish("end")))
    session = await served.session()
    async with served.stream() as stream:
        kept = await prompted(served, session, "The door is blue.", noReply=True)
        assert kept["info"]["role"] == "user"
        assert kept["parts"][0]["text"] == "The door is blue."
        assert served.model.requests == []
        assert await served.call("GET", "/session/status") == {}
        assert "session.idle" not in stream.names()
        await prompted(served, session, "What color is the door?")
        await stream.next("session.idle")
    asked = str(served.model.requests[0].body)
    assert asked.index("The door is blue.") < asked.index("What color is the door?")
    messages = await served.call("GET", f"/session/{session}/message")
    assert [item["info"]["role"] for item in messages] == ["user", "user", "assistant"]


async def test_a_message_without_reply_during_a_turn_joins_it(served: Served) -> None:
    hold = Hold()
    served.model.script(
        answer(Text("one"), hold, Call("read", {"file_path": "a.txt"}), Finish("calls")),
        answer(Text("two"), Finish("end")),
    )
    (served.project / "a.txt").write_text("hi\n")
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        await stream.until(lambda each: "one" in str(each.state(session)))
        await prompted(served, session, "By the way.", noReply=True)
        hold.gate.set()
        await stream.next("session.idle")
    assert "By the way." in str(served.model.requests[1].body)


async def test_what_is_refused_says_what_to_do(served: Served) -> None:
    for method, path, status, says in (
        ("PATCH", "/config", 403, "loosen the permissions"),
        ("PUT", "/auth/acme", 403, "auth login"),
        ("POST", "/mcp", 403, "opencode-py mcp"),
        ("POST", "/session/ses_1/share", 501, "opencode-py export"),
        ("POST", "/pty", 501, "/session/ID/shell"),
        ("DELETE", "/config", 405, "/config takes no DELETE."),
        ("GET", "/nothing", 404, "There is no GET /nothing."),
    ):
        error = await served.call(method, path, {} if method != "GET" else None, status)
        assert says in error["data"]["message"], path


async def test_a_client_that_hangs_up_does_not_end_the_turn(served: Served) -> None:
    hold = Hold()
    served.model.script(answer(Text("one "), hold, Text("two"), Finish("end")))
    session = await served.session()
    async with served.stream() as stream:
        waiting = asyncio.create_task(prompted(served, session, "hi"))
        await stream.until(lambda each: "one" in str(each.state(session)))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        hold.gate.set()
        await stream.next("session.idle")
    assert [text for _, text in stream.state(session) if "one" in text] == ["one two"]


async def test_an_abort_ends_the_turn_and_its_request(served: Served) -> None:
    served.model.script(answer(Call("bash", {"command": "echo hi"}), Finish("calls")))
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        await stream.next("permission.asked")
        assert set(await served.call("GET", "/session/status")) == {session}
        assert await served.call("POST", f"/session/{session}/abort") is True
        await stream.next("session.idle")
    assert await served.call("GET", "/permission") == []
    assert await served.call("GET", "/session/status") == {}


async def test_a_permission_can_be_rejected_with_a_comment(served: Served) -> None:
    served.model.script(
        answer(Call("bash", {"command": "echo hi"}), Finish("calls")),
        answer(Text("Understood."), Finish("end")),
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        asked = await stream.next("permission.asked")
        assert asked["permission"] == "bash"
        assert asked["metadata"]["command"] == "echo hi"
        path = f"/permission/{asked['id']}/reply"
        await served.call("POST", path, {"reply": "reject", "message": "Use printf."})
        await stream.next("session.idle")
    assert "Use printf." in str(served.model.requests[1].body)


async def test_a_change_shows_its_diff_and_can_be_undone(served: Served) -> None:
    served.model.script(
        answer(Call("write", {"file_path": "a.txt", "content": "new\n"}), Finish("calls")),
        answer(Text("Done."), Finish("end")),
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        asked = await stream.next("permission.asked")
        assert "+new" in asked["metadata"]["diff"]
        assert asked["metadata"]["filepath"] == str(served.project / "a.txt")
        await served.call("POST", f"/permission/{asked['id']}/reply", {"reply": "once"})
        await stream.next("session.idle")
    changed = served.project / "a.txt"
    assert changed.read_text() == "new\n"
    (file,) = await served.call("GET", f"/session/{session}/diff")
    assert (file["file"], file["additions"], file["status"]) == ("a.txt", 1, "added")
    messages = await served.call("GET", f"/session/{session}/message")
    first = messages[0]["info"]["id"]
    undone = await served.call("POST", f"/session/{session}/revert", {"messageID": first})
    assert undone["revert"] == {"messageID": first}
    assert not changed.exists()
    redone = await served.call("POST", f"/session/{session}/unrevert")
    assert "revert" not in redone
    assert changed.read_text() == "new\n"


async def test_a_revert_to_a_later_message_restores_what_is_before_it(served: Served) -> None:
    session = await served.session()
    for name in ("a.txt", "b.txt", "c.txt"):
        served.model.script(
            answer(Call("write", {"file_path": name, "content": "x\n"}), Finish("calls")),
            answer(Text("Done."), Finish("end")),
        )
        async with served.stream() as stream:
            await served.send(session, name)
            asked = await stream.next("permission.asked")
            await served.call("POST", f"/permission/{asked['id']}/reply", {"reply": "once"})
            await stream.next("session.idle")
    messages = await served.call("GET", f"/session/{session}/message")
    first, second, _ = (m["info"]["id"] for m in messages if m["info"]["role"] == "user")
    path = f"/session/{session}/revert"
    await served.call("POST", path, {"messageID": first})
    assert not list(served.project.glob("*.txt"))
    later = await served.call("POST", path, {"messageID": second})
    assert later["revert"] == {"messageID": second}
    assert [each.name for each in served.project.glob("*.txt")] == ["a.txt"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("one\ntwo\n", "one\n2\n"),
        ("no end", "no end\nmore\n"),
        ("a", "b"),
        ("a\nb", "x\nb"),
        ("", "new"),
        ("a\n", "a\nb"),
    ],
)
async def test_editors_apply_the_diff_of_a_request(served: Served, before: str, after: str) -> None:
    """Editors show both sides of a change with ``patch``, which refuses a diff cut in a line."""
    changed = served.project / "a.txt"
    changed.write_text(before)
    served.model.script(
        answer(Call("read", {"file_path": "a.txt"}), Finish("calls")),
        answer(Call("write", {"file_path": "a.txt", "content": after}), Finish("calls")),
        answer(Text("Done."), Finish("end")),
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        asked = await stream.next("permission.asked")
        patched = served.project.parent / "patched"
        patched.mkdir()
        (patched / "a.txt").write_text(before)
        await git_apply(patched, asked["metadata"]["diff"])
        assert (patched / "a.txt").read_text() == after
        await served.call("POST", f"/permission/{asked['id']}/reply", {"reply": "once"})
        await stream.next("session.idle")
    (file,) = await served.call("GET", f"/session/{session}/diff")
    (patched / "a.txt").write_text(before)
    await git_apply(patched, file["patch"])
    assert (patched / "a.txt").read_text() == after


async def test_uncommitted_changes_are_listed(served: Served) -> None:
    assert await served.call("GET", "/vcs/diff?mode=git") == []
    program = await asyncio.create_subprocess_exec("git", "init", "-q", cwd=served.project)
    assert await program.wait() == 0
    (served.project / "new.txt").write_text("one\n")
    (file,) = await served.call("GET", "/vcs/diff?mode=git")
    assert (file["file"], file["status"], file["additions"]) == ("new.txt", "added", 1)
    assert file["patch"].endswith("+one\n")
    assert await served.call("GET", "/vcs/diff?mode=branch") == []


async def test_a_renamed_file_is_one_changed_file(served: Served) -> None:
    (served.project / "long name.txt").write_text("one\n")
    make_repository(served.project)
    git(served.project, "mv", "long name.txt", "b.txt")
    (served.project / "new.txt").touch()
    found = await served.call("GET", "/file/status")
    assert {each["path"]: each["status"] for each in found} == {
        "b.txt": "modified",
        "new.txt": "added",
    }


async def test_clients_read_the_folder_in_opencodes_shapes(served: Served) -> None:
    """What typed clients of PyPI require: they refuse answers that lack a field."""
    (served.project / "a.py").write_text("one\n    return 1\n")
    session = await served.call("POST", "/session", {})
    assert session["path"] == ""
    (found,) = await served.call("GET", "/find?pattern=return")
    assert (found["lines"]["text"], found["line_number"]) == ("    return 1\n", 2)
    project = await served.call("GET", "/project/current")
    (folder,) = await served.call("GET", f"/project/{project['id']}/directories")
    assert folder["directory"] == str(served.project)
    await served.call("GET", "/project/none/directories", status=404)
    assert (await served.call("GET", "/global/config")) == (await served.call("GET", "/config"))
    (provider, *_) = (await served.call("GET", "/provider"))["all"]
    for model in provider["models"].values():
        assert {"api", "family", "release_date"} <= model.keys()
        assert model["capabilities"]["interleaved"] is False


async def test_a_queued_message_is_marked_and_can_be_dropped(served: Served) -> None:
    hold = Hold()
    served.model.script(answer(Text("One. "), hold, Text("Two."), Finish("end")))
    session = await served.session()
    path = f"/session/{session}/message"
    async with served.stream() as stream:
        await served.send(session, "begin")
        await stream.next("message.part.delta")
        parts = [{"type": "text", "text": "later"}]
        body = {"parts": parts, "delivery": "follow_up"}
        await served.call("POST", f"/session/{session}/prompt_async", body, status=204)
        *_, first, queued = await served.call("GET", path)
        assert (queued["info"]["queued"], queued["info"]["role"]) == ("follow_up", "user")
        assert await served.call("DELETE", f"{path}/{queued['info']['id']}") is True
        removed = await stream.next("message.removed")
        assert removed["messageID"] == queued["info"]["id"]
        await served.call("DELETE", f"{path}/{queued['info']['id']}", status=404)
        await served.call("DELETE", f"{path}/{first['info']['id']}", status=501)
        hold.gate.set()
        await stream.next("session.idle")
    assert len(served.model.requests) == 1


async def test_a_client_has_the_project_described(served: Served) -> None:
    served.model.script(answer(Text("Described."), Finish("end")))
    session = await served.session()
    body = {"messageID": "msg_x", "providerID": "scripted", "modelID": "model-1"}
    assert await served.call("POST", f"/session/{session}/init", body) is True
    (request,) = served.model.requests
    assert "AGENTS.md" in str(request.body)


async def test_words_that_a_query_does_not_take_are_refused(served: Served) -> None:
    for query in ("vcs/diff?mode=all", "find/file?query=a&type=link", "session?roots=perhaps"):
        refused = await served.call("GET", f"/{query}", status=400)
        assert " or " in refused["data"]["message"]


async def test_the_branch_and_its_changes(served: Served) -> None:
    for arguments in ("init -q -b main", "add .", "commit -q --allow-empty -m first"):
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        program = await asyncio.create_subprocess_exec(
            "git", *identity, *arguments.split(), cwd=served.project
        )
        assert await program.wait() == 0
    (served.project / "a.txt").write_text("one\n")
    branch = {"branch": "main", "default_branch": "main"}
    assert await served.call("GET", "/vcs") == branch
    (changed,) = await served.call("GET", "/vcs/status")
    assert changed == {"file": "a.txt", "additions": 1, "deletions": 0, "status": "added"}
    raw = await served.client.get("/vcs/diff/raw")
    assert raw.headers["content-type"].startswith("text/x-diff")
    assert raw.text.endswith("@@ -0,0 +1,1 @@\n+one\n")


async def git_apply(folder: Path, diff: str) -> None:
    program = await asyncio.create_subprocess_exec(
        "git", "apply", "-", cwd=folder, stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    said, _ = await program.communicate(diff.encode())
    assert program.returncode == 0, said.decode()


async def test_commands_forks_and_titles(served: Served) -> None:
    served.model.script(answer(Text("Hello."), Finish("end")))
    session = await served.session()
    await prompted(served, session, "hi")
    ran = await served.call("POST", f"/session/{session}/shell", {"command": "echo from-user"})
    outputs = [part["state"]["output"] for part in ran["parts"] if part["type"] == "tool"]
    assert "from-user" in outputs[0]
    renamed = await served.call("PATCH", f"/session/{session}", {"title": "A title"})
    assert renamed["title"] == "A title"
    fork = await served.call("POST", f"/session/{session}/fork", {})
    assert fork["id"] != session
    listed = await served.call("GET", "/session?search=a%20title")
    assert session in {one["id"] for one in listed}
    assert await served.call("DELETE", f"/session/{fork['id']}") is True
    await served.call("GET", f"/session/{fork['id']}", status=404)


async def test_a_session_of_another_folder_is_found_by_its_id(served: Served) -> None:
    other = served.project.parent / "other"
    other.mkdir()
    made = await served.call("POST", f"/session?directory={other}", {})
    assert (await served.call("GET", f"/session/{made['id']}"))["directory"] == str(other)


async def test_a_question_is_answered(served: Served) -> None:
    asks = {
        "questions": [
            {
                "question": "Which color?",
                "header": "Color",
                "options": [{"label": "Red", "description": ""}, {"label": "Blue"}],
            }
        ]
    }
    served.model.script(
        answer(Call("question", asks), Finish("calls")), answer(Text("Blue it is."), Finish("end"))
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        asked = await stream.next("question.asked")
        assert asked["questions"][0]["question"] == "Which color?"
        assert await served.call("GET", "/question") == [asked]
        await served.call("POST", f"/question/{asked['id']}/reply", {"answers": [["Blue"]]})
        replied = await stream.next("question.replied")
        await stream.next("session.idle")
    assert replied["answers"] == [["Blue"]]
    assert "Blue" in str(served.model.requests[1].body)


async def test_a_form_has_a_question_per_field(served: Served) -> None:
    """A client that shows each field by itself sends all answers together."""
    session = await served.session()
    runtime = (await served.folders.open(str(served.project))).runtime
    form = replace(FORM, session_id=session, root_id=session)
    async with served.stream() as stream:
        await stream.next("server.connected")
        reply = asyncio.create_task(runtime.questions.ask(form, lambda _: None))
        asked = await stream.next("question.asked")
        assert await served.call("GET", "/question") == [asked]
        first, *_, tools = asked["questions"]
        assert first["question"] == f"{form.text}\nName (default Bob)"
        assert (first["options"], first["custom"]) == ([], True)
        assert [o["label"] for o in tools["options"]] == ["A saw", "Glue"]
        assert (tools["multiple"], tools["custom"], tools["header"]) == (True, False, "shop")
        path = f"/question/{asked['id']}/reply"
        refused = await served.call("POST", path, {"answers": [[""], [], ["x"]]}, status=400)
        assert "Legs: enter a whole number; Wood: required." in str(refused)
        answers = [[""], ["a@b"], ["4"], ["oak"], ["Yes"], ["Glue"]]
        assert await served.call("POST", path, {"answers": answers}) is True
        replied = await stream.next("question.replied")
    assert replied["answers"] == [["Bob"], ["a@b"], ["4"], ["oak"], ["True"], ["glue"]]
    assert (await reply).values == {
        "name": "Bob", "mail": "a@b", "legs": 4, "wood": "oak", "painted": True, "tools": ["glue"],
    }  # fmt: skip


async def test_editors_drive_the_full_screen_by_events(served: Served) -> None:
    session = await served.session()
    async with served.stream() as stream:
        await served.call("POST", "/tui/append-prompt", {"text": "x"})
        await served.call("POST", "/tui/execute-command", {"command": "session_new"})
        await served.call("POST", "/tui/show-toast", {"message": "m", "variant": "info"})
        await served.call("POST", "/tui/select-session", {"sessionID": session})
        await stream.next("tui.session.select")
    assert stream.of("tui.prompt.append") == [{"text": "x"}]
    assert stream.of("tui.command.execute") == [{"command": "session.new"}]
    assert stream.of("tui.toast.show") == [{"message": "m", "variant": "info"}]
