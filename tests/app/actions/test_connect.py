"""The first prompt without a model, and connecting one."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.provider.catalog.keys import AuthFile
from agent.runtime.runtime import Runtime
from app.screens.base.picker import Picker
from app.screens.base.small_dialogs import ApiKeyScreen, OwnServerScreen, TextScreen
from app.screens.model import ModelScreen
from app.startup.launch import load_runtime
from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.provider_server import Reply, Server
from tests.support.script import Text, answer
from tests.support.snapshots import assert_pictures

JSON = (("content-type", "application/json"),)


async def offered(running: Running) -> None:
    await running.until(lambda: isinstance(running.app.screen, Picker))
    await running.until_shown("no model is connected yet")


async def test_a_prompt_without_a_model_is_kept_and_models_are_offered(
    start: Starter, work: Path
) -> None:
    before = os.listdir(work)  # noqa: PTH208 - in an asynchronous test
    async with start() as running:
        await running.until_shown("/connect")
        await running.type("hello", "enter")
        await offered(running)
        for name in ("Anthropic", "OpenAI", "Google", "OpenRouter", "Copilot", "Another OpenAI"):
            assert name in running.text()
        await running.pilot.press("escape")
        await running.until(lambda: not isinstance(running.app.screen, Picker))
        assert running.prompt == "hello"
        view = running.app.controller.live.view
        assert view is None or not view.message_ids
    assert os.listdir(work) == before  # noqa: PTH208 - in an asynchronous test


async def test_prompts_entered_before_a_model_return_in_order_and_offer_models_once(
    start: Starter,
) -> None:
    gate = asyncio.Event()

    async def slow(*given: Any) -> Runtime:
        await gate.wait()
        return await load_runtime(*given)

    async with start(ready=False, open_runtime=slow) as running:
        for prompt in ("first", "second", "third"):
            await running.type(prompt, "enter")
        await running.type("typed since")
        gate.set()
        await offered(running)
        assert running.prompt == "first\nsecond\nthird\ntyped since"
        await running.pilot.press("escape")
        await running.until(lambda: not isinstance(running.app.screen, Picker))
        assert running.app.controller.on_main_screen()


async def test_the_demo_is_used_when_it_is_named(start: Starter) -> None:
    async with start() as running:
        await running.type("hello", "enter")
        await offered(running)
        await running.type("demo", "enter")
        await running.until(lambda: not isinstance(running.app.screen, Picker))
        assert running.prompt == "hello"
        await running.pilot.press("enter")
        await running.until_shown("I do not understand that request")
        await running.until_idle()


async def test_the_demo_follows_its_own_requests_without_being_chosen(start: Starter) -> None:
    async with start() as running:
        await running.type("read README.md", "enter")
        await running.until_shown("● Read README.md")
        await running.until_idle()


def listing(path: str) -> Reply:
    """Return the models of a server that needs no key."""
    found = {"data": [{"id": "qwen-10", "max_model_len": 64_000}, {"id": "llama-9"}]}
    return Reply((json.dumps(found if path == "/v1/models" else {}).encode(),), 200, JSON)


async def connect_other(running: Running, url: str, key: str = "") -> None:
    await running.type("/connect", "enter")
    await running.until(lambda: isinstance(running.app.screen, Picker))
    await running.type("another", "enter")
    await running.until(lambda: isinstance(running.app.screen, OwnServerScreen))
    await running.type(url, "enter", *key, "enter")


async def test_a_server_is_connected_by_its_address_and_used_the_next_time(
    start: Starter, folders: Mapping[str, str], server: Server
) -> None:
    server.by_path = listing
    async with start(size=(80, 24)) as running:
        await running.type("/connect", "enter")
        await running.until(lambda: isinstance(running.app.screen, Picker))
        running.app.screen.query_one("#picker-filter").cursor_blink = False
        await running.pilot.pause()
        await assert_pictures(running.pilot, "screen-connect")
        await running.pilot.press("escape")
        await connect_other(running, f"127.0.0.1:{server.port}")
        await running.until(lambda: isinstance(running.app.screen, ModelScreen))
        await running.until_shown("llama-9")
        await running.pilot.press("enter")
        name = f"localhost-{server.port}/qwen-10"
        await running.until(lambda: running.app.controller.live.model == name)
        assert running.runtime.catalog.model(name).context_limit == 64_000
        assert not running.runtime.catalog.lacks_model
    async with start() as running:
        assert running.app.controller.live.model == name
        assert running.runtime.catalog.model(name).base_url == f"{server.url}/v1"
        await connect_other(running, f"{server.url}/v1", "sk-1")
        await running.until(lambda: isinstance(running.app.screen, ModelScreen))
        keys = AuthFile(Path(folders["OPENCODE_PY_DATA"])).stored()
        assert {name: kept.key for name, kept in keys.items()} == {
            f"localhost-{server.port}": "sk-1"
        }


async def test_a_wrong_address_or_key_is_explained_and_can_be_corrected(
    start: Starter, server: Server
) -> None:
    refused = Reply((b'{"error": {"message": "no"}}',), 401, JSON)
    replies = [refused, refused]
    server.by_path = lambda path: replies.pop() if replies else listing(path)
    async with start() as running:
        await connect_other(running, "not an address")
        await running.until_shown("That is not an address.")
        await running.pilot.press("ctrl+u")
        await running.type("http://127.0.0.1:1", "enter", "enter")
        await running.until_shown("Nothing answers at http://127.0.0.1:1.")
        await running.pilot.press("ctrl+u")
        await running.type(server.url, "enter", "enter")
        await running.until_shown("The server needs a key.")
        await running.pilot.press("enter", "x", "enter")
        await running.until_shown("The server refused the key.")
        await running.pilot.press("enter", "y", "enter")
        await running.until(lambda: isinstance(running.app.screen, ModelScreen))


async def test_a_server_without_a_list_of_models_is_asked_for_one_and_answers(
    start: Starter,
) -> None:
    async with ModelServer() as server:
        server.script(answer(Text("Here I am.")))
        async with start() as running:
            await running.type("hello", "enter")
            await offered(running)
            await running.type("another", "enter")
            await running.until(lambda: isinstance(running.app.screen, OwnServerScreen))
            await running.type(server.url, "enter", "enter")
            await running.until(lambda: isinstance(running.app.screen, TextScreen))
            await running.type("model-1", "enter")
            await running.until(lambda: isinstance(running.app.screen, ModelScreen))
            await running.pilot.press("enter", "enter")
            await running.until_shown("Here I am.")
            await running.until_idle()
        assert server.requests[-1].body["model"] == "model-1"


async def test_a_session_whose_model_is_gone_continues_with_the_default(
    start: Starter, folders: Mapping[str, str], scripted: ModelServer
) -> None:
    scripted.script(answer(Text("First.")), answer(Text("Second.")), answer(Text("Third.")))
    config = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py" / "config.json"
    settings = json.loads(config.read_text())
    async with start() as running:
        await running.type("hello", "enter")
        await running.until_shown("First.")
        await running.until_idle()
    settings["provider"]["other"] = settings["provider"].pop("scripted")
    config.write_text(json.dumps({**settings, "model": "other/model-1"}))
    async with start(resume=True) as running:
        assert running.app.controller.live.model == "other/model-1"
        await running.type("/status", "enter")
        await running.until_shown("other/model-1")
        await running.pilot.press("escape")
        await running.type("again", "enter")
        await running.until_shown("The model scripted/model-1 is no longer available.")
        await running.until_shown("Second.")
        await running.until_idle()
        await running.type("again", "enter")
        await running.until_shown("Third.")
        gone = [
            one
            for one in running.app.controller.main.notices.all
            if "no longer available" in one.text
        ]
        assert [one.times for one in gone] == [1]


class CopilotLogin:
    """The answers of GitHub and Copilot; the user has entered the code once *entered* is set."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.denied = False

    def __call__(self, path: str) -> Reply:
        wait: tuple[asyncio.Event, ...] = ()
        match path:
            case "/login/device/code":
                found: object = {
                    "device_code": "device-1",
                    "user_code": "ABCD-1234",
                    "verification_uri": "https://github.test/login/device",
                    "expires_in": 900,
                    "interval": 0,
                }
            case "/login/oauth/access_token" if self.denied:
                found = {"error": "access_denied"}
            case "/login/oauth/access_token":
                wait, found = (self.entered,), {"access_token": "gho_0123456789abcdefghij"}
            case _:
                found = {"data": [{"id": "gpt-5"}]}
        return Reply((*wait, json.dumps(found).encode()), 200, JSON)


def copilot_at(server: Server) -> dict[str, str]:
    """Return an environment in which GitHub and Copilot are *server*."""
    content = {
        "disabled_providers": ["ollama", "lmstudio", "llama.cpp", "vllm"],
        "provider": {"github-copilot": {"options": {"baseURL": server.url}}},
    }
    return {
        "GITHUB_COPILOT_LOGIN_URL": server.url,
        "OPENCODE_PY_CONFIG_CONTENT": json.dumps(content),
    }


async def log_in_to_copilot(running: Running) -> None:
    await running.type("/connect", "enter")
    await running.until(lambda: isinstance(running.app.screen, Picker))
    await running.type("copilot", "enter")
    await running.until_shown("ABCD-1234")
    await running.until_shown("https://github.test/login/device")


async def test_a_login_with_a_code_connects_copilot(
    start: Starter, folders: Mapping[str, str], server: Server
) -> None:
    server.by_path = github = CopilotLogin()
    async with start(env=copilot_at(server)) as running:
        await log_in_to_copilot(running)
        await running.pilot.press("enter")
        await running.until_shown("No browser opens here")
        await running.pilot.press("c")
        await running.until_shown("The code is copied.")
        assert running.app.clipboard == "ABCD-1234"
        github.entered.set()
        await running.until(lambda: isinstance(running.app.screen, ModelScreen))
        await running.until_shown("gpt-5")
        stored = AuthFile(Path(folders["OPENCODE_PY_DATA"])).stored()
        assert stored["github-copilot"].key == "gho_0123456789abcdefghij"
        (check,) = [r for r in server.requests if r.path == "/models"]
        assert check.headers["authorization"] == "Bearer gho_0123456789abcdefghij"


async def test_a_login_can_be_closed_and_replaced_by_a_token(
    start: Starter, folders: Mapping[str, str], server: Server
) -> None:
    server.by_path = github = CopilotLogin()
    async with start(env=copilot_at(server)) as running:
        await log_in_to_copilot(running)
        await running.pilot.press("escape")
        await running.until(lambda: isinstance(running.app.screen, Picker))
        await running.pilot.press("escape")
        await log_in_to_copilot(running)
        await running.pilot.press("t")
        await running.until(lambda: isinstance(running.app.screen, ApiKeyScreen))
        await running.pilot.press("escape")
        await running.until(lambda: isinstance(running.app.screen, Picker))
        await running.pilot.press("escape")
        github.denied = True
        await running.type("/connect github-copilot", "enter")
        await running.until_shown("The login was canceled at GitHub.")
        await running.type("gho_other_0123456789", "enter")
        await running.until(lambda: isinstance(running.app.screen, ModelScreen))
        stored = AuthFile(Path(folders["OPENCODE_PY_DATA"])).stored()
        assert stored["github-copilot"].key == "gho_other_0123456789"
