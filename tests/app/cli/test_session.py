"""``opencode-py session``, ``export``, ``import`` and ``stats`` as scripts use them."""

import asyncio
import contextlib
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent.bus import Bus
from agent.records.messages import AssistantMessage, Usage
from agent.store.store import Store
from app.cli.command_support import print_table
from tests.support import records
from tests.support.installed import InstalledProgram
from tests.support.transcripts import history, moved

LAUNCHER = [sys.executable, str(Path(__file__).parents[3] / "opencode_py.py")]
GUARD = 60
KEY = "sk-" + "a1b2c3d4" * 4


def run(
    installed: InstalledProgram, *words: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAUNCHER, *words],
        cwd=installed.project,
        env=installed.env,
        input=given,
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )


@pytest.fixture
def filled(installed: InstalledProgram) -> InstalledProgram:
    """Create two sessions of the project and one of another folder."""

    async def fill() -> None:
        data = installed.home / "data"
        data.mkdir()
        store = await Store.open(data / "sessions.db", Bus())
        here = str(installed.project.resolve())
        for n, (name, folder) in enumerate((("a", here), ("b", here), ("c", "/elsewhere"))):
            session_id = f"ses_{name}"
            session = replace(
                records.session(session_id),
                directory=folder,
                project=folder,
                title=f"Session {name}",
                updated=1000.0 + n,
                turns=1,
            )
            items = [moved(item, session_id) for item in history(2)]
            key = records.user(f"msg_9{name}", f"the key is {KEY}", turn="trn_0009")
            items.append(moved(key, session_id))
            made = []
            for item in items:
                message = item.message
                if isinstance(message, AssistantMessage):
                    message = replace(
                        message, usage=Usage(input=1000, output=50), cost=0.5, created=2e9
                    )
                made += [message, *item.parts]
            await store.save(session, *made)
        await store.close()

    asyncio.run(fill())
    return installed


def test_columns_are_aligned_with_their_headings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(
        [("ID", "TITLE", "TEXT"), ("ses_a", "漢字の長い題名", "one"), ("ses_b", "plain", "two")]
    )
    lines = capsys.readouterr().out.splitlines()
    ends = ("TEXT", "one", "two")
    starts = {cell_len(line[: line.index(end)]) for line, end in zip(lines, ends, strict=True)}
    assert starts == {len("ses_a") + 2 + cell_len("漢字の長い題名") + 2}


def test_list_shows_the_folder_unless_all_is_given(filled: InstalledProgram) -> None:
    done = run(filled, "session", "list", "--json")
    assert [s["id"] for s in json.loads(done.stdout)["sessions"]] == ["ses_b", "ses_a"]
    done = run(filled, "session", "list", "--all", "-n", "1")
    assert done.returncode == 0
    assert "ses_c" in done.stdout
    assert "ses_a" not in done.stdout


def test_search_and_show(filled: InstalledProgram) -> None:
    done = run(filled, "session", "search", "answer", "1", "--json")
    hits = json.loads(done.stdout)["hits"]
    assert {hit["id"] for hit in hits} == {"ses_a", "ses_b"}
    done = run(filled, "session", "show", "ses_a")
    assert "# Session a" in done.stdout
    assert "> question 0" in done.stdout
    done = run(filled, "session", "show", "ses_nothing")
    assert done.returncode == 1
    assert "no session ses_nothing" in done.stderr


def test_delete_asks_unless_forced(filled: InstalledProgram) -> None:
    done = run(filled, "session", "delete", "ses_a", given="n\n")
    assert "was not deleted" in done.stderr
    assert run(filled, "session", "delete", "ses_a", given="y\n").stdout == "Deleted ses_a.\n"
    assert run(filled, "session", "delete", "-f", "ses_b").returncode == 0
    assert "no sessions in this folder" in run(filled, "session", "list").stderr
    assert run(filled, "session", "delete", "-f", "ses_b").returncode == 1


@pytest.mark.parametrize("form", ["json", "md", "html"])
def test_an_export_cannot_control_the_terminal(
    filled: InstalledProgram, tmp_path: Path, form: str
) -> None:
    """Control characters of the session are shown; a pipe and a file get them as they are."""
    bundle = json.loads(run(filled, "export", "ses_b").stdout)
    text = json.dumps(bundle).replace("the key is", "\\u001b]0;owned\\u0007 \\u009b2J \\u202e")
    (tmp_path / "in.json").write_text(text)
    made = json.loads(run(filled, "import", "--json", str(tmp_path / "in.json")).stdout)
    words = ("export", made["session"], "--format", form)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*LAUNCHER, *words], cwd=filled.project, env=filled.env, stdout=slave, stdin=slave
    )
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while data := os.read(master, 65_536):
            shown += data
    os.close(master)
    assert process.wait(GUARD) == 0
    assert "owned" in shown.decode()
    assert not {c for c in shown.decode() if (c < " " or "\x7f" <= c <= "\x9f") and c not in "\r\n"}
    assert "\u202e" not in shown.decode()
    assert "\x9b" in run(filled, *words).stdout


def test_export_and_import_by_command(filled: InstalledProgram, tmp_path: Path) -> None:
    done = run(filled, "export")
    data = json.loads(done.stdout)
    assert data["session"]["id"] == "ses_b"
    assert KEY not in done.stdout
    assert KEY in run(filled, "export", "ses_b", "--with-secrets").stdout
    file = tmp_path / "b.html"
    assert run(filled, "export", "ses_b", "-o", str(file)).returncode == 0
    assert file.read_text().startswith("<!doctype html>")
    assert run(filled, "export", "ses_b", "-o", str(file)).returncode == 1
    kept = tmp_path / "b.json"
    assert run(filled, "export", "ses_b", "-o", str(kept)).returncode == 0
    done = run(filled, "import", str(kept), "--json")
    new = json.loads(done.stdout)["session"]
    listed = json.loads(run(filled, "session", "list", "--json").stdout)["sessions"]
    assert new in {s["id"] for s in listed}
    assert run(filled, "import", str(file)).returncode == 1


def test_stats_by_command(filled: InstalledProgram) -> None:
    done = run(filled, "stats", "--json", "--here")
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["model"], row["steps"], row["cost"]) == ("demo/offline", 4, 2.0)
    assert row["usage"]["input"] == 4000
    done = run(filled, "stats")
    assert "$3.00" in done.stdout
    assert "elsewhere" in done.stdout
    assert run(filled, "stats", "--days", "0").returncode == 2


def test_each_command_has_help(installed: InstalledProgram) -> None:
    for words in (["session"], ["export"], ["import"], ["stats"], ["session", "list"]):
        done = run(installed, *words, "--help")
        assert (done.returncode, done.stderr) == (0, "")
    assert run(installed, "session").returncode == 2
