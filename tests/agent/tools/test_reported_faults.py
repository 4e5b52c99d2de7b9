"""Faults that users report of terminal agents, tested end to end: model, call, result, request.

The tests of single parts are with those parts.
"""

import gc
import json
import os
import subprocess
from pathlib import Path

import pytest

from agent.records.messages import Completed, Failed, ToolPart
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer


async def calls(harness: Harness, *made: Call) -> list[ToolPart]:
    """Run the calls *made* one after the other in one turn, and return their parts."""
    harness.server.script(*(answer(call) for call in made), answer(Text("done")))
    session = await harness.session()
    end = await harness.turn(session, "go")
    assert end.outcome == "completed"
    assert _valid(harness)
    return await harness.tools(session)


def _valid(harness: Harness) -> bool:
    """Return whether every request so far is UTF-8 JSON without a lone surrogate."""
    return all(json.dumps(r.body, ensure_ascii=False).encode() for r in harness.server.requests)


def output(part: ToolPart) -> str:
    assert isinstance(part.state, Completed), part.state
    return part.state.output


def error(part: ToolPart) -> str:
    assert isinstance(part.state, Failed), part.state
    return part.state.error


async def test_reads_are_bounded(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        (harness.folder / "five").write_text("1\n2\n3\n4\n5\n")
        (harness.folder / "empty").touch()
        (harness.folder / "one").write_text("only")
        five, empty, second, one = await calls(
            harness,
            Call("read", {"path": "five", "offset": 100}),
            Call("read", {"path": "empty", "offset": 1}),
            Call("read", {"path": "empty", "offset": 2}),
            Call("read", {"path": "one"}),
        )
    assert "has 5 lines" in error(five)
    assert "empty" in output(empty)
    assert "empty" in output(second)
    assert output(one) == "1: only\n\n(End of file, 1 line.)"


@pytest.mark.parametrize("before", range(3))
async def test_binary_files_are_detected(tmp_path: Path, before: int) -> None:
    """With *before* letters in front, samples end at each byte of a character."""
    async with open_harness(tmp_path) as harness:
        (harness.folder / "a").write_text("x" * before + "漢" * 5_000 + "\n漢字かな\n" * 5_000)
        (harness.folder / "b").write_bytes(b"text\0text")
        text, data = await calls(
            harness, Call("read", {"path": "a", "limit": 3}), Call("read", {"path": "b"})
        )
    assert "2: 漢字かな" in output(text)
    assert "binary file (unknown kind, 9 bytes)" in error(data)


async def test_special_files_are_refused_at_once(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission="allow") as harness:
        (harness.folder / "folder").mkdir()
        os.mkfifo(harness.folder / "pipe")
        found = await calls(
            harness,
            Call("read", {"path": "/dev/stdin"}),
            Call("read", {"path": "/dev/zero"}),
            Call("read", {"path": "pipe"}),
            Call("write", {"path": "pipe", "content": "x"}),
            Call("edit", {"path": "pipe", "old_string": "a", "new_string": "b"}),
            Call("grep", {"path": "pipe", "pattern": "x"}),
            Call("read", {"path": "folder"}),
        )
    assert all(isinstance(part.state, Failed) for part in found[:-1])
    assert "empty folder" in output(found[-1])


@pytest.mark.parametrize("name", ["n.txt", "link.txt"])
async def test_a_stale_file_is_not_overwritten(tmp_path: Path, name: str) -> None:
    async with open_harness(tmp_path, permission="allow") as harness:
        file = harness.folder / "n.txt"
        file.write_text("one\n")
        (harness.folder / "link.txt").symlink_to("n.txt")

        def outside(body: dict) -> object:
            file.write_text("one\nfrom outside\n")
            return answer(Call("write", {"path": name, "content": "mine\n"}))

        harness.server.script(
            answer(Call("read", {"path": name})),
            outside,
            answer(Call("read", {"path": name})),
            answer(Call("write", {"path": name, "content": "both\n"})),
            answer(Text("done")),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        _, refused, _, written = await harness.tools(session)
        assert "changed since you read it" in error(refused)
        assert "Wrote" in output(written)
        assert file.read_text() == "both\n"
        assert (harness.folder / "link.txt").is_symlink()


async def test_a_background_process_does_not_hold_the_call(tmp_path: Path) -> None:
    mark = f"OWN_MARK=pipe-{os.getpid()}-{tmp_path.name}"
    async with open_harness(tmp_path, permission="allow") as harness:
        found = await calls(
            harness,
            Call("bash", {"command": f"export {mark}; sleep 60 & echo done"}),
            Call(
                "bash",
                {"command": f"export {mark}; (while :; do echo x; sleep 0.1; done) & echo done"},
            ),
            Call("bash", {"command": f"export {mark}; nohup sleep 60 >/dev/null 2>&1 & echo done"}),
        )
        for part in found:
            assert "done" in output(part)
            assert "background process of this command still runs" in output(part)
    assert living_processes(mark) == []


def living_processes(mark: str) -> list[Path]:
    """Return the processes with *mark* in their environment."""
    return [p for p in Path("/proc").glob("[0-9]*/environ") if mark.encode() in _environ(p)]


def _environ(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def test_a_command_that_reads_stdin_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pagers, editors and prompts neither wait nor use the terminal."""
    for name, program in {"PAGER": "less", "GIT_PAGER": "less", "EDITOR": "vi"}.items():
        monkeypatch.setenv(name, program)
    async with open_harness(tmp_path, permission="allow") as harness:
        _history(harness.folder, 300)
        found = await calls(
            harness,
            Call("bash", {"command": 'read -p "ok? " x; echo rc=$?'}),
            Call("bash", {"command": "python3 -c 'input()'"}),
            Call("bash", {"command": "git log --oneline | cat; git log | tail -1"}),
            Call("bash", {"command": "git log | wc -l; git -c color.ui=always log -3"}),
            Call("bash", {"command": "echo x >> f; git commit -a 2>&1"}),
        )
    first, second, third, fourth, fifth = (output(part) for part in found)
    assert "rc=1" in first
    assert "EOFError" in second
    assert "commit 7" in third
    assert "commit 299" in fourth
    assert "empty commit message" in fifth


def _history(folder: Path, count: int) -> None:
    lines = ["feature done"]
    for n in range(count):
        lines += [
            "commit refs/heads/main",
            f"committer a <a@example.org> {1_000_000 + n} +0000",
            f"data {len(f'commit {n}')}",
            f"commit {n}",
            "M 644 inline f",
            f"data {len(str(n))}",
            str(n),
        ]
    lines.append("done")
    for words, given in (
        (["init", "-q", "-b", "main"], None),
        (["fast-import", "--quiet"], "\n".join(lines) + "\n"),
        (["checkout", "-qf", "main"], None),
        (["config", "user.name", "a"], None),
        (["config", "user.email", "a@example.org"], None),
    ):
        subprocess.run(["git", *words], cwd=folder, input=given, text=True, check=True)


async def test_floods_of_output_and_control_characters_are_bounded(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission="allow") as harness:
        line = "0123456789012345678901234567890123456789"
        progress = 'for i in $(seq 1 1000); do printf "\\rProgress %d%%" $i; done; echo; '
        before = resident()
        flood, bar = await calls(
            harness,
            Call("bash", {"command": f'yes "{line}" | head -c 100000000'}),
            Call("bash", {"command": progress + 'printf "a\\r\\nb\\r\\n"'}),
        )
        assert resident() - before < 100 * 1024 * 1024
        assert "it had 2,439,025 lines and 100,000,000 bytes" in output(flood)
        assert len(output(flood)) < 52 * 1024
        assert output(bar) == "Progress 1000%\na\nb"


async def test_memory_does_not_grow(tmp_path: Path) -> None:
    """Memory and store grow only by the kept output of earlier calls."""
    async with open_harness(tmp_path, permission="allow", limits={"repeats": 0}) as harness:
        harness.server.always(lambda _: answer(Text("done")))
        session = await harness.session()
        sizes: list[int] = []
        for _ in range(20):
            made = [answer(Call("bash", {"command": "seq 1 200000"})) for _ in range(5)]
            harness.server.script(*made, answer(Text("done")))
            await harness.turn(session, "again")
            # Memory of the test itself does not count.
            harness.server.requests.clear()
            harness.events.clear()
            gc.collect()
            sizes.append(resident())
        assert sizes[-1] - sizes[1] < 60 * 1024 * 1024
        stored = sum(p.stat().st_size for p in (harness.home / "data").glob("sessions.db*"))
        assert stored < 100 * 300 * 1024


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_undecodable_text_never_breaks_a_request(tmp_path: Path) -> None:
    """Undecodable bytes of commands, file names and the model's JSON never break the session."""
    async with open_harness(tmp_path, permission="allow") as harness:
        (harness.folder / os.fsdecode(b"bad\xff.txt")).write_text("needle\n")
        printed, names, lines, listed, written = await calls(
            harness,
            Call("bash", {"command": r'printf "\377\376abc\360\237"'}),
            Call("glob", {"pattern": "*.txt"}),
            Call("grep", {"pattern": "needle"}),
            Call("list", {}),
            Call("write", '{"path": "w.txt", "content": "half \\ud83d"}'),
        )
        assert output(printed) == "\ufffd\ufffdabc\ufffd"
        for part in (names, lines, listed):
            assert "bad\ufffd.txt" in output(part)
        assert isinstance(written.state, Completed | Failed)
        session = (await harness.runtime.sessions.repository.list())[0]
        harness.server.script(answer(Text("still here")))
        assert (await harness.turn(session, "and now?")).outcome == "completed"
        assert _valid(harness)


async def test_every_command_starts_in_the_session_folder(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission="allow") as harness:
        found = await calls(
            harness,
            Call("bash", {"command": "mkdir d && cd d && rm -rf ../d"}),
            Call("bash", {"command": "echo hi"}),
            Call("bash", {"command": "cd .. ; pwd"}),
            Call("bash", {"command": "pwd"}),
        )
        assert output(found[1]) == "hi"
        assert output(found[2]) == str(harness.folder.parent.resolve())
        assert output(found[3]) == str(harness.folder.resolve())
        (schema,) = [s for s in harness.runtime.registry.schemas() if s.name == "bash"]
        assert "`cd`, variables and functions do not last" in schema.description


async def test_failed_searches_are_reported(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        for name in ("-n", "x.txt"):
            (harness.folder / name).write_text("--grep\n")
        bad = (
            Call("glob", {"pattern": "["}),
            Call("grep", {"pattern": "("}),
            Call("grep", {"pattern": "x", "include": "*.{ts"}),
            Call("glob", {"pattern": "[z-a]*.md"}),
        )
        good = (
            Call("grep", {"pattern": "nowhere"}),
            Call("glob", {"pattern": "*.rs"}),
            Call("grep", {"pattern": "--grep"}),
            Call("read", {"path": "-n"}),
            Call("glob", {"pattern": "-*"}),
        )
        found = await calls(harness, *bad, *good)
    kinds = ("glob", "regular", "glob", "glob")
    for part, kind in zip(found, kinds, strict=False):
        assert f"is not a valid {kind}" in error(part)
    nothing, none, hits, text, dashes = (output(part) for part in found[len(bad) :])
    assert nothing == "No lines match."
    assert none == "No files match."
    assert "-n\n  1: --grep" in hits
    assert "1: --grep" in text
    assert dashes == "-n"


async def test_walks_honor_ignore_files(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        (harness.folder / "real").mkdir()
        (harness.folder / "real" / "x.md").write_text("needle\n")
        (harness.folder / "link").symlink_to("real")
        (harness.folder / "real" / "loop").symlink_to("..")
        (harness.folder / ".github").mkdir()
        (harness.folder / ".github" / "a.yml").touch()
        (harness.folder / ".env.example").touch()
        found = await calls(
            harness,
            Call("glob", {"pattern": "link/**/*.md"}),
            Call("glob", {"pattern": "**/*.md"}),
            Call("glob", {"pattern": ".github/*.yml"}),
            Call("glob", {"pattern": ".env.example"}),
            Call("grep", {"pattern": "needle", "path": "link"}),
        )
    through, whole, yml, env, lines = (output(part) for part in found)
    assert through.startswith("link/x.md")
    assert whole.count("x.md") == 1
    assert "Links to folders were not followed" in whole
    assert yml == ".github/a.yml"
    assert env == ".env.example"
    assert "1: needle" in lines
