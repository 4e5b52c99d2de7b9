"""Starting the program: wrong usage, what is loaded when, and the terminal at the end."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.cli.main import COMMANDS, UNSUPPORTED, main

ROOT = Path(__file__).parents[3]
GUARD = 60.0


def python(code: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Return the output of a fresh interpreter that runs *code*."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=GUARD,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("word", ["web", "share", "upgrade", "github", "plugin"])
def test_unsupported_commands_are_answered_in_a_sentence(
    word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([word, "--anything"]) == 2
    assert capsys.readouterr().err.strip() == UNSUPPORTED[word]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["/no/such/folder"], "There is no folder /no/such/folder."),
        (["--fork"], "--fork needs the session to copy"),
        (["-c", "-s", "ses_1"], "not both"),
        (["--nosuch"], "unrecognized arguments: --nosuch"),
        (["--contine"], "Did you mean --continue?"),
        (["--contine=x"], "Did you mean --continue?"),
        (["--sandbox", "requird"], "Did you mean required?"),
        (["auth", "lgin"], "Did you mean login?"),
        (["auth", "list", "--jsn"], "Did you mean --json?"),
        (["run", "hello", "--fromat", "json"], "Did you mean --format?"),
        (["models", "--refesh"], "Did you mean --refresh?"),
        (["--mod", "x"], "unrecognized arguments"),
        (["stauts"], "There is no command and no folder stauts. Did you mean opencode-py stats?"),
        (["sesion", "list", "--json"], "Did you mean opencode-py session?"),
        (["exprot"], "Did you mean opencode-py export?"),
        (["login"], "Did you mean opencode-py auth login?"),
        (["resume"], "Did you mean opencode-py --continue?"),
        (["ls"], "Did you mean opencode-py session list?"),
        (["chat"], "Did you mean opencode-py?"),
        (["update"], UNSUPPORTED["upgrade"]),
        (["hlep"], "Did you mean opencode-py help?"),
        (["help", "nosuch"], "There is no command and no folder nosuch."),
        (["upgarde"], UNSUPPORTED["upgrade"]),
        (["qqq"], "opencode-py --help lists the commands."),
        (["fix", "the", "build"], 'To send a prompt: opencode-py --prompt "…"'),
        (["fix the build"], 'To send a prompt: opencode-py --prompt "…"'),
    ],
)
def test_wrong_usage_is_reported_and_exits_with_2(
    argv: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert sentence in capsys.readouterr().err


def test_without_a_terminal_the_full_screen_names_the_alternative(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([str(tmp_path)]) == 2
    assert "--plain" in capsys.readouterr().err


def test_the_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, (_, what) in COMMANDS.items():
        assert f"\n  {name:<12}{what}\n" in shown


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["help"], ["--help"]),
        (["help", "run"], ["run", "--help"]),
        (["version"], ["--version"]),
        (["-V"], ["--version"]),
    ],
)
def test_help_and_version_are_commands_too(
    words: list[str],
    same: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert main(same) == 0
    assert shown == capsys.readouterr().out


def test_help_and_version_load_nothing_heavy() -> None:
    """They stay cheap because of what they do not import."""
    loaded = python(
        """
        import sys
        from app.cli.main import main
        for words in (["--help"], ["--version"], ["auth", "--help"], ["models", "--help"],
                      ["mcp", "--help"]):
            main(words)
        heavy = {"textual", "pydantic", "asyncio", "rich", "sqlite3", "httpx2"}
        expected = {"agent.installation", "agent.records", "agent.records.errors",
                    "agent.records.frozen"}
        loaded = {name for name in sys.modules if name.startswith("agent.")} - expected
        print("loaded:", sorted(heavy & sys.modules.keys() | loaded))
        """
    )
    assert "opencode-py [-h]" in loaded
    assert loaded.endswith("loaded: []\n")


def test_the_first_frame_is_painted_before_the_agent_is_loaded() -> None:
    """A failure to open the runtime then is one sentence."""
    loaded = python(
        """
        import asyncio, sys
        from pathlib import Path
        from agent.records.errors import StoreTooNew
        from app.tui.app import OpencodeApp
        from app.startup.launch import LaunchOptions

        async def opener(launch, env, ask_trust):
            late = ("litellm", "mcp", "acp", "httpx", "httpx2", "opentelemetry", "tree_sitter",
                    "rapidfuzz", "pydantic", "agent.runtime.runtime", "agent.session.service")
            print("painted", app.controller.main.prompt.size.width > 0)
            print("loaded", [name for name in late if name in sys.modules])
            raise StoreTooNew("The database is newer than this program.")

        app = OpencodeApp(LaunchOptions(directory=Path(".")), {}, opener)
        asyncio.run(app.run_async(headless=True, size=(80, 24)))
        print("code", app.return_code, app.controller.exit_message)
        """
    )
    assert "painted True" in loaded
    assert "loaded []" in loaded
    assert "code 1 The database is newer than this program." in loaded


def test_the_first_frame_is_complete_and_loads_little() -> None:
    """Imports, parsed rules, styled and laid out widgets are counted, since time is not
    reproducible."""
    output = python(
        """
        import asyncio, collections, json, sys
        from pathlib import Path
        from textual.css.stylesheet import Stylesheet
        from textual.screen import Screen
        from textual.widget import Widget
        from app.tui.app import OpencodeApp
        from app.startup.launch import LaunchOptions

        watched = {
            Stylesheet.reparse.__code__: "reparsed",
            Stylesheet.apply.__code__: "styled",
            Screen._refresh_layout.__code__: "laid out",
            Screen._compositor_refresh.__code__: "painted",
            Widget._on_mount.__code__: "mounted",
        }
        counts = collections.Counter()

        def called(frame, event, argument):
            if event == "call" and frame.f_code in watched:
                counts[watched[frame.f_code]] += 1

        class First(OpencodeApp):
            def _display(self, screen, renderable):
                super()._display(screen, renderable)
                if renderable is not None and "text" not in frame:
                    strips = screen._compositor.render_strips()
                    frame["text"] = ["".join(part.text for part in strip) for strip in strips]

            def _painted(self):
                sys.setprofile(None)
                self.exit(0)

        frame = {}
        app = First(LaunchOptions(directory=Path(".")), {}, None)
        sys.setprofile(called)
        asyncio.run(app.run_async(headless=True, size=(80, 24)))
        late = ("app.tui.controller", "app.actions", "app.widgets.transcript.transcript",
                "app.widgets.input.vim",
                "agent.records.messages", "agent.records.events",
                "textual.widgets._markdown", "markdown_it", "pygments", "importlib.metadata")
        frame["loaded"] = [name for name in late if name in sys.modules]
        frame["counts"] = counts
        print(json.dumps(frame))
        """
    )
    frame = json.loads(output)
    text = "\n".join(frame["text"])
    for part in ("a coding agent for this folder", "Ask for anything", "  build  "):
        assert part in text, text
    assert frame["loaded"] == []
    counts = frame["counts"]
    assert 0 < counts["mounted"] <= 10, counts
    assert 0 < counts["styled"] <= 90, counts
    assert 0 < counts["laid out"] <= 6, counts
    assert 0 < counts["painted"] <= 8, counts
    assert counts.get("reparsed", 0) == 0, counts


def test_without_the_full_screen_textual_is_not_loaded(tmp_path: Path) -> None:
    loaded = python(
        """
        import sys
        from app.cli.main import main
        code = main(["run", "list", "-m", "demo/offline", "-C", sys.argv[1]])
        print("code", code, sorted({"textual", "rich"} & sys.modules.keys()))
        """,
        str(tmp_path),
        env={"OPENCODE_PY_DATA": str(tmp_path / "data"), "HOME": str(tmp_path)},
    )
    assert loaded.endswith("code 0 []\n")


def test_a_whole_conversation_in_plain_mode(tmp_path: Path) -> None:
    """Over pipes, without an escape sequence."""
    (tmp_path / "README.md").write_text("# A shop\n")
    typed = "read README.md\nrun touch made.txt\nperhaps\ny\nrun touch not.txt\nn\n/exit\n"
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--plain", str(tmp_path)],
        input=typed,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=GUARD,
        env={**os.environ, "OPENCODE_PY_DATA": str(tmp_path / "data"), "HOME": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ok Read README.md" in done.stdout
    assert "Run this command?" in done.stdout
    assert "y once, a always or n reject?" in done.stdout
    status_line = "Agent build, model demo/offline, mode ask, cost"
    assert done.stdout.count(status_line) == 4, "at the start and after each turn"
    assert "--plain -s ses_" in done.stdout
    assert "\x1b" not in done.stdout
    assert (tmp_path / "made.txt").exists()
    assert not (tmp_path / "not.txt").exists()


RUN = "import sys; from app.cli.main import main; sys.exit(main(sys.argv[1:]))"

CRASH = """
import os, sys
from pathlib import Path
from app.tui.app import OpencodeApp
import app.tui.app as application

class Broken(OpencodeApp):
    def on_session_screen_sent(self, event):
        raise ValueError("a fault [/]")

application.OpencodeApp = Broken
from app.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

OFF = ("?1000l", "?1003l", "?1006l", "?1004l", "?2004l", "?1049l", "?25h")


@pytest.mark.parametrize("how", ["crash", "SIGTERM", "SIGHUP", "quit"])
def test_the_terminal_is_restored_on_every_way_out(how: str, tmp_path: Path) -> None:
    """Modes off, attributes as before, no traceback, the right exit code."""
    environment = {
        **os.environ,
        "OPENCODE_PY_DATA": str(tmp_path / "data"),
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
    }
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (24, 80))
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(
        [sys.executable, "-c", CRASH, str(tmp_path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    )
    try:
        shown = read_until(ours, b"sk for anything")
        match how:
            case "crash":
                os.write(ours, b"hello\r")
            case "quit":
                os.write(ours, b"\x04")
            case _:
                process.send_signal(getattr(signal, how))
        shown += read_until(ours, b"?25h")
        code = wait(process, ours)
        shown += code[1]
        assert termios.tcgetattr(theirs) == before
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
    text = shown.decode("utf-8", "replace")
    for off in OFF:
        on = off[:-1] + ("l" if off.endswith("h") else "h")
        assert text.rfind(off) > text.rfind(on), off
    assert "Traceback" not in text
    assert code[0] == {"crash": 1, "SIGTERM": 143, "SIGHUP": 129, "quit": 0}[how]
    if how == "crash":
        log = tmp_path / "data" / "log" / "opencode-py.log"
        assert str(log) in text
        assert "a fault [/]" in log.read_text()


def read_until(terminal: int, mark: bytes) -> bytes:
    """Return the output up to *mark*; fail if it does not come."""
    got = b""
    while mark not in got:
        ready, _, _ = select.select([terminal], [], [], GUARD)
        assert ready, f"{mark!r} did not come in {got[-500:]!r}"
        got += os.read(terminal, 65_536)
    return got


def wait(process: "subprocess.Popen[bytes]", terminal: int) -> tuple[int, bytes]:
    """Return the exit code, reading meanwhile so that nothing blocks."""
    got = b""
    while process.poll() is None:
        if select.select([terminal], [], [], 0.05)[0]:
            got += os.read(terminal, 65_536)
    while select.select([terminal], [], [], 0)[0]:
        got += os.read(terminal, 65_536)
    return process.returncode, got
