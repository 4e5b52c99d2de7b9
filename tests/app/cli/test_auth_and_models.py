"""``opencode-py auth`` and ``opencode-py models`` as processes."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.support.harness import environment, write_config
from tests.support.provider_server import Reply, Server
from tests.support.web_server import WebServer, page

JSON = (("content-type", "application/json"),)
ROOT = Path(__file__).parents[3]
KEY = "sk-test-0123456789abcdefghij"
GUARD = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "shop").mkdir()
    return tmp_path


def run(
    folder: Path, *words: str, given: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "opencode_py.py"), *words],
        input=given,
        cwd=folder / "shop",
        env={**environment(folder / "home"), **(env or {})},
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )


def test_a_piped_key_is_stored_listed_by_its_last_characters_and_removed(folder: Path) -> None:
    login = run(folder, "auth", "login", "groq", given=f"{KEY}\n")
    assert login.returncode == 0
    listed = run(folder, "auth", "list")
    assert listed.stdout.split() == ["groq", "Groq", "stored", "…ghij"]
    named = json.loads(run(folder, "auth", "list", "--json").stdout)["providers"]
    assert named == [{"provider": "groq", "name": "Groq", "source": "stored", "tail": "…ghij"}]
    models = run(folder, "models", "groq")
    assert "groq/openai/gpt-oss-120b" in models.stdout
    assert run(folder, "auth", "logout", "groq").returncode == 0
    assert run(folder, "auth", "list").stdout.startswith("No provider has a key.")
    for done in (login, listed, models):
        assert KEY not in done.stdout + done.stderr


def test_a_key_is_typed_without_echo(folder: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "opencode_py.py"), "auth", "login", "mistral"],
        cwd=folder / "shop",
        env=environment(folder / "home"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = b""
    while b"not shown" not in shown:
        shown += os.read(master, 1024)
    os.write(master, KEY.encode() + b"\n")
    assert process.wait(GUARD) == 0
    while b"is saved" not in shown:
        shown += os.read(master, 1024)
    os.close(master)
    assert KEY.encode() not in shown
    assert b"console.mistral.ai" in shown
    stored = json.loads((folder / "home" / "data" / "auth.json").read_text())
    assert stored["keys"]["mistral"]["key"] == KEY


async def test_a_login_with_a_code_stores_the_token(folder: Path, server: Server) -> None:
    """A terminal gets the address and the code; without one a key is read from standard input."""
    code = {
        "device_code": "device-1",
        "user_code": "ABCD-1",
        "verification_uri": "https://github.test/login/device",
        "interval": 0,
    }
    answers = [code, {"error": "authorization_pending"}, {"access_token": KEY}]
    server.replies = [Reply((json.dumps(body).encode(),), headers=JSON) for body in answers]
    env = {**environment(folder / "home"), "GITHUB_COPILOT_LOGIN_URL": server.url}
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ROOT / "opencode_py.py"), "auth", "login", "github-copilot",
        cwd=folder / "shop", env=env, stdin=slave, stdout=slave, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    assert await asyncio.wait_for(process.wait(), GUARD) == 0
    shown = os.read(master, 65536).decode()
    os.close(master)
    assert "Open https://github.test/login/device in a browser and enter the code ABCD-1" in shown
    assert "The key of GitHub Copilot is saved." in shown
    assert KEY not in shown
    stored = json.loads((folder / "home" / "data" / "auth.json").read_text())
    assert stored["keys"]["github-copilot"]["key"] == KEY


@pytest.mark.parametrize(
    ("words", "given", "sentence"),
    [
        (("auth", "login", "antropic"), KEY, "Did you mean anthropic?"),
        (("auth", "login", "ollama"), KEY, "Ollama needs no key."),
        (("auth", "login", "groq"), "", "Enter a key. Nothing was changed."),
        (("auth", "login", "groq"), "two words", "characters that no API key has"),
        (("auth", "logout", "groq"), "", "There is no stored key of groq."),
        (("models", "groq"), "", "Groq needs a key: set GROQ_API_KEY"),
        (("models", "opnai"), "", "Did you mean openai?"),
    ],
)
def test_impossible_logins_are_refused_in_a_sentence(
    folder: Path, words: tuple[str, ...], given: str, sentence: str
) -> None:
    done = run(folder, *words, given=given)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_login_without_a_provider_needs_a_terminal(folder: Path) -> None:
    assert run(folder, "auth", "login", given=KEY).returncode == 2


def test_a_variable_that_overrides_the_stored_key_is_named(folder: Path) -> None:
    done = run(folder, "auth", "login", "groq", given=KEY, env={"GROQ_API_KEY": "gsk-other-key"})
    assert "the one in GROQ_API_KEY takes precedence" in done.stderr
    logout = run(folder, "auth", "logout", "groq", env={"GROQ_API_KEY": "gsk-other-key"})
    assert "The one in GROQ_API_KEY is still used." in logout.stderr


def test_every_known_provider_is_listed_with_its_requirements(folder: Path) -> None:
    listed = run(folder, "auth", "list", "--all").stdout
    assert "needs ANTHROPIC_API_KEY" in listed
    assert "needs GEMINI_API_KEY or GOOGLE_API_KEY" in listed


def test_unknown_context_and_prices_are_dashes(folder: Path) -> None:
    model = {"name": "Own", "limit": {"context": 8000}}
    server = {"options": {"baseURL": "http://127.0.0.1:1/v1"}, "models": {"own": model}}
    write_config(folder / "home", {"provider": {"acme": server}})
    head, row = run(folder, "models", "acme").stdout.splitlines()
    assert re.split("  +", head) == ["MODEL", "CONTEXT", "$/M IN", "$/M OUT", "$/M CACHED"]
    assert row.split() == ["acme/own", "8.0k", "–", "–", "–"]
    answer = json.loads(run(folder, "models", "acme", "--json").stdout)["models"][0]
    assert (answer["model"], answer["context"], answer["input_price"]) == ("acme/own", 8000, None)


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with WebServer({}) as server:
        yield server


async def test_refresh_requests_and_stores_the_list(folder: Path, web: WebServer) -> None:
    listed = {"data": [{"id": "new-model", "context_length": 64_000}]}
    web.pages["/v1/models"] = page(json.dumps(listed), "application/json")
    server = {"options": {"baseURL": f"{web.url}/v1", "apiKey": "sk-1"}}
    write_config(folder / "home", {"provider": {"acme": server}})
    fresh = await asyncio.to_thread(run, folder, "models", "acme", "--refresh")
    assert "acme/new-model" in fresh.stdout
    again = await asyncio.to_thread(run, folder, "models", "acme")
    assert again.stdout == fresh.stdout


async def test_a_list_that_cannot_be_read_is_reported(folder: Path, web: WebServer) -> None:
    web.pages["/v1/models"] = page('{"error": "no such key"}', "application/json", status=401)
    server = {"options": {"baseURL": f"{web.url}/v1", "apiKey": "sk-1"}}
    write_config(folder / "home", {"provider": {"acme": server}})
    done = await asyncio.to_thread(run, folder, "models", "acme", "--refresh")
    assert done.returncode == 1
    assert "acme rejected the API key" in done.stderr
