"""Choosing a model and its effort, and connecting a provider."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from agent.provider.catalog.keys import AuthFile
from agent.provider.catalog.model_preferences import FILE_NAME, ModelPreferences
from agent.provider.catalog.prices import ModelFacts
from agent.provider.client import ModelInfo, Price
from app.screens.base.picker import Picker, Row, fuzzy_filter
from app.screens.base.small_dialogs import ApiKeyScreen
from app.screens.model import CONNECT_PREFIX, ModelList, model_rows
from tests.app.conftest import LOCAL, Running, Starter
from tests.support.provider_server import Reply, Server
from tests.support.snapshots import assert_pictures

NAMES = ["claude-sonnet-4-5", "claude-opus-4-7", "gpt-5.4-mini", "gemini-2.5-pro"]
JSON = (("content-type", "application/json"),)


def test_the_search_accepts_scattered_and_mistyped_letters() -> None:
    def found(typed: str) -> list[str]:
        return fuzzy_filter(typed, NAMES, str)

    assert found("") == NAMES
    assert found("claude") == NAMES[:2]
    assert found("4 opus") == ["claude-opus-4-7"]
    assert found("snt45") == ["claude-sonnet-4-5"]
    assert found("gmn pro") == ["gemini-2.5-pro"]
    assert found("cluade opus")[0] == "claude-opus-4-7"
    assert found("xyzzy") == []


def model(name: str, **facts: object) -> ModelInfo:
    provider, _, short = name.partition("/")
    return ModelInfo(provider=provider, id=short, name=short, api="openai-chat", **facts)


def test_each_model_is_listed_once_favorites_first() -> None:
    known = [
        model("a/one", context_limit=200_000, price=Price(3, 15), reasoning=True),
        model("a/two", price=Price(0.125, 1)),
        model("b/three"),
    ]
    missing = Row(f"{CONNECT_PREFIX}c", "C", "needs C_KEY", "Not connected: enter adds the key")
    rows = model_rows(
        ModelList(known, {"a": "Alpha", "b": "Beta"}, ["b/three", "b/gone"], ["a/two"], [missing])
    )
    assert [(row.group, row.key) for row in rows] == [
        ("Favorites", "a/two"),
        ("Recent", "b/three"),
        ("Alpha", "a/one"),
        ("Not connected: enter adds the key", "connect:c"),
    ]
    assert rows[0].note == "Alpha"
    assert rows[0].right.split() == ["–", "$0.125", "$1.00"]
    assert rows[2].right.split() == ["200k", "$3.00", "$15.00"]
    assert rows[2].group_right.split("  ") == ["context", " $/M in", " $/M out"]
    assert len({len(text) for row in rows[:3] for text in (row.right, row.group_right)}) == 1


def test_current_models_come_first_and_the_others_are_below() -> None:
    names = ["a/opus-4-7", "a/opus-5-5", "a/opus-5", "a/opus-5-20260101", "b/three"]
    rows = model_rows(ModelList([model(name) for name in names], {"a": "Alpha", "b": "Beta"}))
    assert [(row.group, row.title) for row in rows] == [
        ("Alpha", "opus-5-5"),
        ("Alpha", "opus-5"),
        ("Beta", "three"),
        ("More from Alpha", "opus-5-20260101"),
        ("More from Alpha", "opus-4-7"),
    ]


def test_picks_are_stored_and_shared_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "data" / FILE_NAME
    one, other = ModelPreferences(path), ModelPreferences(path)
    for number in range(10):
        one.add_recent(f"a/{number}")
    other.toggle_favorite("a/3")
    one.add_recent("a/5")
    again = ModelPreferences(path)
    assert again.recent == ("a/5", "a/9", "a/8", "a/7", "a/6", "a/4", "a/3", "a/2")
    assert again.favorites == ("a/3",)
    other.toggle_favorite("a/3")
    assert ModelPreferences(path).favorites == ()
    path.write_text('{"recent": [1, "no slash", "a/1"], "favourites": 3}')
    assert (ModelPreferences(path).recent, ModelPreferences(path).favorites) == (("a/1",), ())
    path.write_text("broken")
    assert ModelPreferences(path).recent == ()


def settings(folders: Mapping[str, str], **given: object) -> dict[str, str]:
    """Return an environment with these settings."""
    whole = {"disabled_providers": LOCAL, **given}
    return {"OPENCODE_PY_CONFIG_CONTENT": json.dumps(whole)}


def listing(*names: str) -> Reply:
    return Reply((json.dumps({"data": [{"id": name} for name in names]}).encode(),), 200, JSON)


async def chosen(running: Running, title: str) -> None:
    await running.until(lambda: isinstance(running.app.screen, Picker))
    await running.until_shown(title)


async def test_a_provider_is_connected_and_used_without_a_restart(
    start: Starter,
    folders: Mapping[str, str],
    server: Server,
) -> None:
    env = settings(folders, provider={"groq": {"options": {"baseURL": server.url}, "env": ["G"]}})
    refused = {"error": {"message": "Invalid API Key", "code": "invalid_api_key"}}
    server.replies = [
        Reply((json.dumps(refused).encode(),), 401, JSON),
        listing("llama-9", "whisper-1"),
    ]
    async with start(env=env) as running:
        await running.type("/connect", "enter")
        await chosen(running, "Connect a provider")
        await running.type("groq", "enter")
        await running.until(lambda: isinstance(running.app.screen, ApiKeyScreen))
        await running.type("gsk-wrong-key-1234", "enter")
        await running.until_shown("Invalid API Key")
        keys = AuthFile(Path(folders["OPENCODE_PY_DATA"]))
        assert keys.stored() == {}, "a key that is refused is not kept"

        await running.type("gsk-right-key-1234")
        assert "gsk-right" not in running.text(), "what is typed is not shown"
        await running.pilot.press("enter")
        await chosen(running, "llama-9")
        assert "demo/offline" not in running.text().split("\n")[3], "only what Groq has"
        assert keys.stored()["groq"].key == "gsk-right-key-1234"
        await running.type("llama-9", "enter")
        await running.until(lambda: running.app.controller.live.model == "groq/llama-9")
        assert server.requests[-1].headers["authorization"] == "Bearer gsk-right-key-1234"
        assert running.runtime.catalog.preferences.recent == ("groq/llama-9",)
    # The next start continues with it.
    async with start(env=env) as running:
        assert running.app.controller.live.model == "groq/llama-9"
        await running.until_shown("the one you used last")


async def test_a_provider_without_key_explains_how_to_add_one(start: Starter) -> None:
    async with start() as running:
        await running.type("/model", "enter")
        await chosen(running, "Models")
        await running.type("deepseek")
        await running.until_shown("needs DEEPSEEK_API_KEY")
        await running.pilot.press("enter")
        await running.until(lambda: isinstance(running.app.screen, ApiKeyScreen))
        await running.until_shown("platform.deepseek.com/api_keys")
        await running.pilot.press("enter", "escape")
        await chosen(running, "Models")


async def test_a_favorite_is_marked_in_the_list(start: Starter) -> None:
    env = {"GROQ_API_KEY": "gsk-1234567890"}
    async with start(env=env, size=(100, 40)) as running:
        await running.type("/model", "enter")
        await chosen(running, "Models")
        await running.type("gpt-oss-20b", "ctrl+f")
        await running.until_shown("Favorites")
        assert running.runtime.catalog.preferences.favorites == ("groq/openai/gpt-oss-20b",)
        await running.pilot.press("ctrl+f")
        await running.until(lambda: "Favorites" not in running.text())


async def test_the_effort_is_picked_or_cycled(start: Starter) -> None:
    env = {"GROQ_API_KEY": "gsk-1234567890"}
    async with start(env=env, model="groq/openai/gpt-oss-120b") as running:
        live = running.app.controller.live
        await running.type("/effort", "enter")
        await chosen(running, "Reasoning effort")
        await running.type("high", "enter")
        await running.until(lambda: live.effort == "high")
        await running.pilot.press("ctrl+t")
        await running.until(lambda: live.effort is None)
        await running.type("/effort low", "enter")
        await running.until(lambda: live.effort == "low")


async def test_a_local_server_is_found_and_offered(
    start: Starter,
    folders: Mapping[str, str],
    server: Server,
) -> None:
    server.by_path = lambda _: listing("qwen3:8b")
    others = [name for name in LOCAL if name != "ollama"]
    env = settings(
        folders,
        disabled_providers=others,
        provider={"ollama": {"options": {"baseURL": f"{server.url}/v1"}}},
    )
    async with start(env=env) as running:
        await running.until(lambda: bool(running.runtime.catalog.model_lists.local_servers))
        found = running.runtime.catalog.model_lists.local_servers
        assert found == {"ollama": {"qwen3:8b": ModelFacts()}}
        await running.type("/connect", "enter")
        await chosen(running, "On this machine")
        await running.pilot.press("enter")
        await chosen(running, "qwen3:8b")
        await running.pilot.press("enter")
        await running.until(lambda: running.app.controller.live.model == "ollama/qwen3:8b")


async def test_modules_for_the_first_prompt_are_loaded_after_the_first_frame(
    start: Starter,
    folders: Mapping[str, str],
    server: Server,
) -> None:
    own = {"options": {"baseURL": server.url, "apiKey": "k"}, "models": {"m": {}}}
    env = settings(folders, provider={"acme": own}, model="acme/m")
    async with start(env=env) as running:
        clients = running.runtime.clients
        model = running.runtime.catalog.model("acme/m")
        made = [clients.client_for(model) for _ in range(2)]
        assert made[0] is made[1]
        await asyncio.sleep(0)
    assert server.requests == [], "nothing is sent before the user asks"


async def test_pictures_of_the_pickers(start: Starter, tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "sk-ant-1234567890", "TZ": "UTC", "HOME": str(tmp_path)}
    async with start(env=env, size=(80, 24)) as running:
        picks = running.runtime.catalog.preferences
        picks.add_recent("anthropic/claude-haiku-4-5")
        picks.toggle_favorite("anthropic/claude-opus-4-7")
        await running.app.controller.live.use_model("anthropic/claude-sonnet-5-5")
        await running.type("/model", "enter")
        await chosen(running, "Recent")
        running.app.screen.query_one("#picker-filter").cursor_blink = False
        await running.pilot.pause()
        await assert_pictures(running.pilot, "screen-models-picks")
        await running.pilot.press("escape")
        await running.type("/connect anthropic", "enter")
        await running.until(lambda: isinstance(running.app.screen, ApiKeyScreen))
        running.app.screen.query_one("Input").cursor_blink = False
        await running.pilot.pause()
        await assert_pictures(running.pilot, "screen-key")
