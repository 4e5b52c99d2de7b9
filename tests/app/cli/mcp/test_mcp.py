"""``opencode-py mcp``."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from app.cli.main import main
from tests.agent.mcp.mcp_harness import SERVERS
from tests.support.harness import environment

ROOT = Path(__file__).parents[4]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home folder, and a folder that is the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def settings(home: Path) -> dict:
    return json.loads((home / "config" / "config.json").read_text())


def test_servers_are_added_and_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "list"]) == 0
    assert "No MCP server is configured" in capsys.readouterr().out
    assert main(["mcp", "add", "docs", "--env", "A=b=c", "--", "npx", "-y", "docs mcp"]) == 0
    assert main(["mcp", "add", "far", "--url", "https://x.test/mcp", "--header", "K=V"]) == 0
    assert main(["mcp", "add", "near", "nearby"]) == 0
    assert settings(home)["mcp"] == {
        "docs": {
            "type": "local",
            "command": ["npx", "-y", "docs mcp"],
            "environment": {"A": "b=c"},
        },
        "far": {"type": "remote", "url": "https://x.test/mcp", "headers": {"K": "V"}},
        "near": {"type": "local", "command": ["nearby"]},
    }
    capsys.readouterr()
    assert main(["mcp", "list"]) == 0
    shown = capsys.readouterr().out
    assert "npx -y 'docs mcp'" in shown
    assert "https://x.test/mcp" in shown
    assert main(["mcp", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["servers"]
    assert [one["name"] for one in listed] == ["docs", "far", "near"]
    assert listed[0]["command"] == ["npx", "-y", "docs mcp"]
    assert listed[1] | {"source": None} == {
        "name": "far",
        "type": "remote",
        "command": None,
        "url": "https://x.test/mcp",
        "enabled": True,
        "source": None,
        "problem": None,
    }


def test_comments_in_the_settings_are_kept(home: Path) -> None:
    path = home / "config" / "config.jsonc"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "mcp": {\n    "old": {"command": ["old"]},\n  },\n}\n')
    assert main(["mcp", "add", "new", "--", "new"]) == 0
    assert "// mine" in path.read_text()
    assert '"old": {"command": ["old"]}' in path.read_text()
    assert '"new"' in path.read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["add", "docs"], "Pass either --url"),
        (["add", "docs", "--url", "https://x.test", "--", "x"], "Pass either --url"),
        (["add", "docs", "--url", "x.test"], "is not an address"),
        (["add", "a b", "--", "x"], "made of letters"),
        (["add", "docs", "--url", "https://x.test", "--env", "A=b"], "--header NAME=VALUE"),
        (["add", "docs", "--env", "A", "--", "x"], "--env NAME=VALUE"),
        (["nosuch"], "invalid choice"),
    ],
)
def test_wrong_usage(
    home: Path, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", *words]) == 2
    assert why in capsys.readouterr().err
    assert not (home / "config").exists()


def test_debug_connects_to_a_server(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["mcp", "add", "shop", "--", sys.executable, str(SERVERS / "workshop.py")])
    main(["mcp", "add", "bad", "--", sys.executable, str(SERVERS / "raw.py"), "exits"])
    capsys.readouterr()
    assert main(["mcp", "debug", "shop"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("shop   connected\nworkshop 1.2   over stdio\n")
    assert "tool       shop_echo   Gives back what it is given." in printed
    assert "resource   shop://plan" in printed
    assert main(["mcp", "debug", "bad"]) == 1
    assert "It said: no licence found" in capsys.readouterr().out
    assert main(["mcp", "debug", "none"]) == 1
    assert "There are: bad, shop." in capsys.readouterr().err


def test_a_projects_servers_are_listed_once_it_is_trusted(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "project" / "opencode.json").write_text('{"mcp": {"evil": {"command": ["evil"]}}}')
    assert main(["mcp", "list"]) == 0
    captured = capsys.readouterr()
    assert "evil" not in captured.out
    assert "not trusted" in captured.err


def test_a_server_of_claude_code_is_imported(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = {"type": "stdio", "command": "npx", "args": ["-y", "git"], "env": {"T": "${TOKEN}"}}
    here = str(home / "project")
    kept = {
        "mcpServers": {"git": theirs, "far": {"type": "sse", "url": "https://far.test/sse"}},
        "projects": {here: {"mcpServers": {"own": {"command": "own"}}}, "/x": {"mcpServers": 7}},
    }
    (home / ".claude.json").write_text(json.dumps(kept))
    main(["mcp", "add", "far", "--url", "https://far.test/mcp"])
    capsys.readouterr()
    main(["mcp", "list"])
    printed = capsys.readouterr().out
    assert "Claude Code has these too: git, own." in printed
    assert main(["mcp", "add", "git", "--from-claude-code"]) == 0
    assert settings(home)["mcp"]["git"] == {
        "type": "local",
        "command": ["npx", "-y", "git"],
        "environment": {"T": "{env:TOKEN}"},
    }
    assert main(["mcp", "add", "none", "--from-claude-code"]) == 2
    assert "It has: git, far, own." in capsys.readouterr().err
    (home / ".claude.json").write_text("[")
    main(["mcp", "list"])
    assert "Claude Code" not in capsys.readouterr().out


class Closed(BaseHTTPRequestHandler):
    """A server that needs a login and has none to offer."""

    def do_POST(self) -> None:
        wanted = 401 if self.path == "/mcp" else 404
        self.send_response(wanted)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("auth", "The login at far failed: Registration failed: 404"),
        ("debug", "Log in with: opencode-py mcp auth far"),
    ],
)
def test_errors_are_sentences(home: Path, part: str, says: str) -> None:
    """The SDK's own messages go to the log."""
    with HTTPServer(("127.0.0.1", 0), Closed) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        main(["mcp", "add", "far", "--url", f"http://127.0.0.1:{server.server_port}/mcp"])
        done = subprocess.run(
            [sys.executable, str(ROOT / "opencode_py.py"), "mcp", part, "far"],
            check=False,
            capture_output=True,
            text=True,
            timeout=100,
        )
        server.shutdown()
    printed = done.stdout + done.stderr
    assert done.returncode == 1, printed
    assert "Traceback" not in printed
    assert says in printed
