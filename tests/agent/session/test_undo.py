"""Undo and redo of conversation and files."""

import asyncio
import os
import shutil
from collections.abc import Coroutine
from pathlib import Path

import pytest

from agent.records.errors import SessionBusy
from agent.records.events import FileEdited, SessionDiff, SessionIdle
from agent.records.messages import PatchPart
from tests.agent.session.undo_steps import FREE, bash, files, git, plan, turn
from tests.support.editor import OpenFiles
from tests.support.harness import open_harness
from tests.support.script import Call, Hold, Text, Tokens, answer


@pytest.mark.parametrize("repository", [True, False])
async def test_undo_and_redo_restore_files_and_prompts(tmp_path: Path, *, repository: bool) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        if repository:
            git(harness.folder, "init")
        (harness.folder / "a.txt").write_bytes(b"one\r\ntwo\xff\r\n")
        (harness.folder / "old.txt").write_text("old\n")
        states = [files(harness.folder)]
        session = await harness.session()
        await turn(harness, session, "first", bash("printf 'x\\n' > new.txt; rm old.txt"))
        states.append(files(harness.folder))
        await turn(harness, session, "second", bash("printf 'y\\n' >> a.txt; chmod +x a.txt"))
        states.append(files(harness.folder))
        undo = harness.runtime.sessions.undo
        made = await plan(harness, session)
        assert (made.text, made.messages) == ("second", 3)
        assert [(f.path, f.effect, f.modified_since) for f in made.files] == [
            ("a.txt", "will be reverted", False)
        ]
        assert await undo.undo(made, files=True, conversation=True) == ()
        assert files(harness.folder) == states[1]
        made = await plan(harness, session)
        assert {f.path: f.effect for f in made.files} == {
            "new.txt": "will be deleted",
            "old.txt": "will be restored",
        }
        await undo.undo(made, files=True, conversation=True)
        assert files(harness.folder) == states[0]
        assert await undo.plan(session.id) is None
        assert await undo.redo(session.id) == ()
        assert files(harness.folder) == states[1]
        assert await undo.redo(session.id) == ()
        assert files(harness.folder) == states[2]
        assert await undo.redo(session.id) is None


async def test_undone_messages_are_not_sent_again(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        await turn(harness, session, "keep this")
        await turn(harness, session, "forget this", bash("touch made"))
        await harness.runtime.sessions.undo.undo(
            await plan(harness, session), files=True, conversation=True
        )
        assert len(await harness.messages(session)) == 5  # nothing is gone before the next prompt
        await turn(harness, session, "another")
        sent = str(harness.server.requests[-1].body)
        assert "keep this" in sent
        assert "forget this" not in sent
        assert not (harness.folder / "made").exists()


@pytest.mark.parametrize("manual", [False, True])
async def test_a_summary_whose_turn_was_undone_no_longer_applies(
    tmp_path: Path, *, manual: bool
) -> None:
    """The messages that it replaced are sent again, word for word."""
    summary = answer(Text("## Goal\nTHE-SUMMARY"))
    full = answer(Call("bash", {"command": "true"}), Tokens(prompt=85_000))
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        for word in ("ONE", "TWO", "THREE"):
            reply = answer(Call("bash", {"command": f"echo {word} # {'x ' * 9_000}"}))
            await turn(harness, session, "step", reply)
        if manual:
            await turn(harness, session, "LAST")
            harness.server.replace((summary,))
            before = len(harness.events)
            await harness.runtime.sessions.compaction.start(session.id)
            await harness.idle(session, after=before)
        else:
            await turn(harness, session, "LAST", full, summary)
        await turn(harness, session, "after")
        assert "THE-SUMMARY" in str(harness.server.requests[-1].body)
        assert "echo ONE" not in str(harness.server.requests[-1].body["messages"])
        undo = harness.runtime.sessions.undo
        for _ in range(2):
            await undo.undo(await plan(harness, session), files=False, conversation=True)
        await turn(harness, session, "another")
        sent = str(harness.server.requests[-1].body["messages"])
        assert "THE-SUMMARY" not in sent
        assert all(f"echo {word}" in sent for word in ("ONE", "TWO", "THREE"))
        assert "LAST" not in sent


async def test_one_of_files_and_conversation(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        await turn(harness, session, "go", bash("touch made"))
        undo = harness.runtime.sessions.undo
        await undo.undo(await plan(harness, session), files=True, conversation=False)
        assert not (harness.folder / "made").exists()
        assert (await harness.runtime.store.session(session.id)).undone_at is None
        await turn(harness, session, "again", bash("touch made"))
        await undo.undo(await plan(harness, session), files=False, conversation=True)
        assert (harness.folder / "made").exists()


@pytest.mark.parametrize("ticks", [1, 20, 200])
async def test_a_canceled_undo_or_redo_continues_to_its_end(tmp_path: Path, ticks: int) -> None:
    """A user who confirms and leaves at once finds it done."""
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        await turn(harness, session, "go", bash("touch a b c"))
        undo = harness.runtime.sessions.undo

        async def canceled(work: Coroutine[None, None, object]) -> None:
            task = asyncio.create_task(work)
            for _ in range(ticks):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])

        await canceled(undo.undo(await plan(harness, session), files=True, conversation=True))
        assert files(harness.folder) == {}
        assert await undo.plan(session.id) is None
        await canceled(undo.redo(session.id))
        assert sorted(files(harness.folder)) == ["a", "b", "c"]
        assert await undo.plan(session.id) is not None


async def test_a_file_that_another_program_changed_is_left_alone(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        await turn(harness, session, "go", bash("echo a > mine; echo b > theirs"))
        (harness.folder / "theirs").write_text("changed by hand\n")
        (harness.folder / "unrelated").write_text("by hand too\n")
        made = await plan(harness, session)
        assert {f.path: f.modified_since for f in made.files} == {"mine": False, "theirs": True}
        await harness.runtime.sessions.undo.undo(made, files=True, conversation=False)
        assert sorted(files(harness.folder)) == ["theirs", "unrelated"]
        assert (harness.folder / "theirs").read_text() == "changed by hand\n"
        await harness.runtime.sessions.undo.undo(
            made, files=True, conversation=False, overwrite=True
        )
        assert sorted(files(harness.folder)) == ["unrelated"]


async def test_the_users_repository_is_not_touched(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        git(harness.folder, "init")
        git(harness.folder, "add", "-A")
        (harness.folder / ".gitignore").write_text("ignored\n")
        (harness.folder / "ignored").write_text("secret\n")
        (harness.folder / ".gitattributes").write_text("* text=auto eol=crlf filter=evil\n")
        before = {p: p.read_bytes() for p in (harness.folder / ".git").rglob("*") if p.is_file()}
        session = await harness.session()
        await turn(harness, session, "go", bash("echo changed > ignored; echo x > y"))
        made = await plan(harness, session)
        assert [f.path for f in made.files] == ["y"]
        await harness.runtime.sessions.undo.undo(made, files=True, conversation=True)
        assert (harness.folder / "ignored").read_text() == "changed\n"
        after = {p: p.read_bytes() for p in (harness.folder / ".git").rglob("*") if p.is_file()}
        assert after == before


async def test_a_file_that_is_too_large_is_reported(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        large = harness.folder / "large.bin"
        large.write_bytes(b"x" * 3_000_000)
        session = await harness.session()
        write = {"file_path": "small.txt", "content": "x\n"}
        await turn(harness, session, "go", answer(Call("write", write)))
        made = await plan(harness, session)
        assert [f.path for f in made.files] == ["small.txt"]
        kept = sum(p.stat().st_size for p in (harness.home / "data").rglob("*") if p.is_file())
        assert kept < 2_000_000


async def test_a_large_file_written_by_a_command_is_reported(tmp_path: Path) -> None:
    """Large files that are new, changed, or grown from small ones; unchanged files are not
    reported."""
    async with open_harness(tmp_path, **FREE) as harness:
        for name in ("old [1].bin", "still.bin"):
            (harness.folder / name).write_bytes(b"x" * 3_000_000)
            os.utime(harness.folder / name, (1, 1))
        (harness.folder / "grown.log").write_text("small\n")
        session = await harness.session()
        flood = "python3 -c 'import os, sys; sys.stdout.buffer.write(os.urandom(3_000_000))'"
        command = f"{flood} > new.bin; echo y >> 'old [1].bin'; {flood} >> grown.log; touch made"
        await turn(harness, session, "go", bash(command))
        made = await plan(harness, session)
        assert made.not_restorable == ("new.bin", "old [1].bin")
        assert {f.path: f.effect for f in made.files} == {
            "made": "will be deleted",
            "grown.log": "will be restored",
        }
        await harness.runtime.sessions.undo.undo(
            made, files=True, conversation=True, overwrite=True
        )
        assert (harness.folder / "grown.log").read_text() == "small\n"
        kept = sum(p.stat().st_size for p in (harness.home / "data").rglob("*") if p.is_file())
        assert kept < 2_000_000


async def test_changes_of_commands_in_a_submodule_are_reported_as_kept(tmp_path: Path) -> None:
    """A commit in the submodule is no change of a file: it is not reported as reverted."""
    async with open_harness(tmp_path, **FREE) as harness:
        source = tmp_path / "lib"
        source.mkdir()
        for folder in (source, harness.folder):
            git(folder, "init", "-q")
        (source / "x.txt").write_text("one\n")
        git(source, "add", "-A")
        git(source, "commit", "-qm", "x")
        allowed = ["-c", "protocol.file.allow=always"]
        git(harness.folder, *allowed, "submodule", "--quiet", "add", str(source), "sub")
        git(harness.folder, "commit", "-qm", "sub")
        session = await harness.session()
        commit = "git -c user.name=a -c user.email=a@example.org commit -qam y"
        changing = f"cd sub && echo two > x.txt && {commit} && cd .. && echo made > made.txt"
        await turn(harness, session, "go", bash(changing))
        made = await plan(harness, session)
        assert [file.path for file in made.files] == ["made.txt"]
        assert made.nested_repositories == ("sub",)
        await harness.runtime.sessions.undo.undo(made, files=True, conversation=True)
        assert not (harness.folder / "made.txt").exists()
        assert (harness.folder / "sub" / "x.txt").read_text() == "two\n"


async def test_a_cancelled_turn_can_be_undone(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        hold = Hold()
        harness.server.script(
            answer(*(Call("bash", {"command": "touch made"}) for _ in "ab"), hold)
        )
        session = await harness.session()
        await harness.send(session, "go")
        await hold.reached.wait()
        with pytest.raises(SessionBusy, match="stop the turn first"):
            await harness.runtime.sessions.undo.plan(session.id)
        await harness.until(lambda _: (harness.folder / "made").exists())
        await harness.runtime.sessions.cancel(session.id)
        await harness.idle(session)
        hold.gate.set()
        made = await plan(harness, session)
        await harness.runtime.sessions.undo.undo(made, files=True, conversation=True)
        assert not (harness.folder / "made").exists()


async def test_changes_of_a_sub_agent_are_undone_with_its_callers_prompt(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        await turn(
            harness,
            session,
            "go",
            answer(Call("task", {"description": "d", "prompt": "p"})),
            bash("touch made"),
            answer(Text("made it")),
        )
        parts = [p for p in await harness.parts(session) if isinstance(p, PatchPart)]
        assert [part.files for part in parts] == [("made",)]
        await harness.runtime.sessions.undo.undo(
            await plan(harness, session), files=True, conversation=True
        )
        assert not (harness.folder / "made").exists()


@pytest.mark.parametrize("deputy", [False, True])
async def test_an_undo_restores_the_users_unsaved_text(tmp_path: Path, *, deputy: bool) -> None:
    """A change of a file with unsaved text in the editor saves that text first; undo keeps it, even
    if the same step changed another file before."""
    open_files = OpenFiles()
    async with open_harness(tmp_path, editor=open_files, **FREE) as harness:
        path = harness.folder / "a.txt"
        path.write_text("saved\n")
        open_files.unsaved[str(path)] = "saved\ntyped\n"
        edit = {"file_path": "a.txt", "old_string": "saved", "new_string": "agent"}
        calls = answer(Call("bash", {"command": "touch made"}), Call("edit", edit))
        task = answer(Call("task", {"description": "d", "prompt": "p"}))
        steps = (task, calls, answer(Text("did it"))) if deputy else (calls,)
        session = await harness.session()
        await turn(harness, session, "go", *steps)
        assert path.read_text() == "agent\ntyped\n"
        assert {root for root, _ in open_files.reads} == {session.id}
        made = await plan(harness, session)
        assert sorted(f.path for f in made.files) == ["a.txt", "made"]
        await harness.runtime.sessions.undo.undo(made, files=True, conversation=True)
        assert files(harness.folder) == {"a.txt": b"saved\ntyped\n"}
        await harness.runtime.sessions.undo.redo(session.id)
        assert files(harness.folder) == {"a.txt": b"agent\ntyped\n", "made": b""}


@pytest.mark.parametrize("repository", [True, False])
async def test_changes_of_a_step_are_published_with_line_counts(
    tmp_path: Path, *, repository: bool
) -> None:
    """With any tool, once the changes are stored and before the turn ends."""
    async with open_harness(tmp_path, **FREE) as harness:
        if repository:
            git(harness.folder, "init")
        (harness.folder / "a.txt").write_text("one\ntwo\n")
        (harness.folder / "gone").write_bytes(b"\0\1")
        session = await harness.session()
        change = "printf 'one\\n2\\n3\\n' > a.txt; rm gone; printf 'x\\n' > 'b\tc'"
        await turn(harness, session, "go", bash(change))
        published = [
            e for e in harness.events if isinstance(e, FileEdited | SessionDiff | SessionIdle)
        ]
    names = ["a.txt", "b\tc", "gone"]
    counted = (("a.txt", 2, 1), ("b\tc", 1, 0), ("gone", 0, 0))
    kinds = ("modify", "create", "delete")
    edited = [FileEdited(session.id, *each) for each in zip(names, kinds, strict=True)]
    assert published[:3] == edited
    assert published[3] == SessionDiff(session.id, counted)
    assert isinstance(published[4], SessionIdle)
    assert len(published) == 5


async def test_a_fork_keeps_the_undone_prompts_of_its_source(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        for number in ("one", "two", "three"):
            await turn(harness, session, number, bash(f"touch {number}"))
        undo, directory = harness.runtime.sessions.undo, harness.runtime.sessions.repository
        made = await plan(harness, session)
        await undo.undo(made, files=True, conversation=True)
        copy = await directory.fork(session.id)
        assert (await plan(harness, copy)).text == "two"
        assert await undo.redo(copy.id) == ()
        assert (harness.folder / "three").exists()
        assert await undo.redo(copy.id) is None
        assert (await plan(harness, copy)).text == "three"
        earlier = await directory.fork(session.id, made.message_id)
        assert (await plan(harness, earlier)).text == "two"
        assert await undo.redo(earlier.id) is None


async def test_a_prompt_that_is_refused_drops_nothing(tmp_path: Path) -> None:
    """Another instance works in the session: undone prompts can still be redone here."""
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        await turn(harness, session, "one")
        await turn(harness, session, "two", bash("touch made"))
        undo = harness.runtime.sessions.undo
        await undo.undo(await plan(harness, session), files=True, conversation=True)
        async with open_harness(tmp_path, **FREE) as other:
            assert await other.runtime.store.acquire_lease(session.id)
            with pytest.raises(SessionBusy, match="Another opencode-py"):
                await harness.send(session, "three")
        assert await undo.redo(session.id) == ()
        assert (harness.folder / "made").exists()
        assert (await plan(harness, session)).text == "two"


async def test_concurrent_changes_by_others_stay(tmp_path: Path) -> None:
    """Calls that name their files do not own concurrent changes of other files by the user or
    another session; a command can have changed any file."""
    async with open_harness(tmp_path, **FREE) as harness:
        for name in ("theirs.txt", "more.txt"):
            (harness.folder / name).write_text("before\n")
        session = await harness.session()
        hold = Hold()
        write = Call("write", {"file_path": "mine.txt", "content": "mine\n"})
        harness.server.script(answer(Text("I write."), hold, write), answer(Text("done")))
        before = len(harness.events)
        await harness.send(session, "go")
        await hold.reached.wait()
        (harness.folder / "theirs.txt").write_text("theirs\n")
        hold.gate.set()
        await harness.idle(session, after=before)
        published = [e.files for e in harness.events[before:] if isinstance(e, SessionDiff)]
        assert published == [(("mine.txt", 1, 0),)]
        made = await plan(harness, session)
        assert [file.path for file in made.files] == ["mine.txt"]
        undo = harness.runtime.sessions.undo
        await undo.undo(made, files=True, conversation=True)
        assert files(harness.folder) == {"theirs.txt": b"theirs\n", "more.txt": b"before\n"}
        assert await undo.redo(session.id) == ()
        assert files(harness.folder)["mine.txt"] == b"mine\n"
        await turn(harness, session, "again", bash("printf x > more.txt"), answer(write))
        assert [file.path for file in (await plan(harness, session)).files] == ["more.txt"]


async def test_changes_of_a_background_command_are_undone_too(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        command = "until [ -e mine.txt ]; do sleep 0.01; done; echo late > late.txt"
        await turn(
            harness, session, "go", answer(Call("bash", {"command": command, "background": True}))
        )
        (shell,) = harness.runtime.shells.snapshot()
        await turn(
            harness,
            session,
            "write",
            answer(
                Call("write", {"file_path": "mine.txt", "content": "mine\n"}),
                Call("bash_output", {"id": shell.id, "wait": 20_000}),
            ),
        )
        made = await plan(harness, session)
        assert [file.path for file in made.files] == ["late.txt", "mine.txt"]


async def test_a_prompt_sent_during_an_undo_is_not_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git is slow: the user sends the next prompt before all files are restored. It is queued until
    then, and answered."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    real = shutil.which("git")
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *" checkout "*) [ -p {gate} ] && cat {gate} ;; esac\n'
        f'exec {real} "$@"\n'
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=":")
    async with open_harness(tmp_path, **FREE) as harness:
        (harness.folder / "a").write_text("before\n")
        session = await harness.session()
        await turn(harness, session, "one")
        await turn(harness, session, "forget this", bash("echo after > a"))
        made = await plan(harness, session)
        going_back = asyncio.create_task(
            harness.runtime.sessions.undo.undo(made, files=True, conversation=True)
        )
        checkout = await asyncio.to_thread(gate.open, "w")  # until git is at it
        harness.server.replace((answer(Text("answered")),))
        before = len(harness.events)
        await harness.send(session, "three")
        gate.unlink()
        checkout.close()
        assert await going_back == ()
        assert (await harness.idle(session, after=before)).outcome == "completed"
        assert (harness.folder / "a").read_text() == "before\n"
        assert (await plan(harness, session)).text == "three"
        sent = str(harness.server.requests[-1].body)
        assert "three" in sent
        assert "forget this" not in sent


async def test_queued_prompts_are_neither_undone_nor_dropped_by_an_undo(
    tmp_path: Path,
) -> None:
    """A prompt is queued because the turn before it was stopped. Undo reverts the prompt that was
    sent, and the queued one is sent with the next."""
    async with open_harness(tmp_path, **FREE) as harness:
        session = await harness.session()
        await turn(harness, session, "one")
        harness.server.replace(((Text("never"), Hold()),))
        before = len(harness.events)
        await harness.send(session, "stopped")
        await harness.until(lambda e: e.type == "part.delta", after=before)
        waiting = await harness.send(session, "waiting", delivery="follow_up")
        await harness.runtime.sessions.cancel(session.id)
        await harness.idle(session, after=before)
        made = await plan(harness, session)
        assert made.text == "stopped"
        await harness.runtime.sessions.undo.undo(made, files=True, conversation=True)
        assert (await harness.runtime.sessions.snapshot(session.id)).queued == (waiting,)
        await turn(harness, session, "next")
        sent = str(harness.server.requests[-1].body)
        assert "stopped" not in sent
        assert "waiting" in sent
        assert (await harness.runtime.sessions.snapshot(session.id)).queued == ()


async def test_what_a_turn_did_beside_the_files_is_restored_or_named(tmp_path: Path) -> None:
    """Modes are restored. Removed files that git ignores and a HEAD that moved are named."""
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        folder = harness.folder
        git(folder, "init", "-q", "-b", "main")
        (folder / ".gitignore").write_text("*.ign\nbuilt/\n")
        (folder / "run.sh").write_text("echo")
        for name in ("a.ign", "b.ign"):
            (folder / name).write_text("x")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
        git(folder, "branch", "other")
        session = await harness.session()
        work = "chmod +x run.sh; rm a.ign; git checkout -q other"
        await turn(harness, session, "go", answer(Call("bash", {"command": work})))
        made = await plan(harness, session)
        assert [(file.path, file.effect) for file in made.files] == [
            ("run.sh", "will no longer be executable")
        ]
        assert made.not_restorable == ("a.ign",)
        (note,) = made.notes
        assert note.startswith("HEAD moved from main ")
        assert " to other " in note
        assert await harness.runtime.sessions.undo.undo(made, files=True, conversation=True) == ()
        assert (folder / "run.sh").stat().st_mode & 0o111 == 0
        assert await harness.runtime.sessions.undo.redo(session.id) == ()
        assert (folder / "run.sh").stat().st_mode & 0o100
        await turn(harness, session, "again", answer(Call("bash", {"command": "rm b.ign"})))
        made = await plan(harness, session)
        assert (made.files, made.not_restorable, made.notes) == ((), ("b.ign",), ())


async def test_commands_where_git_ignores_files_are_said_not_to_cover_them(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"*": "allow"}) as harness:
        (harness.folder / ".gitignore").write_text("*.ign\n")
        (harness.folder / "a.ign").write_text("x")
        session = await harness.session()
        await turn(harness, session, "go", answer(Call("bash", {"command": "echo y > a.ign"})))
        assert (await plan(harness, session)).notes == ("Files that git ignores are not undone.",)
