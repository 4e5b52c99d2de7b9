"""Plugins: the documented one, failing ones, and what they add."""

import asyncio
import inspect
import json
import textwrap
import threading
from pathlib import Path

import pytest

import agent.plugins
from agent.config.paths import Paths
from agent.plugins.loading import load_plugins
from agent.records.events import PluginFailed
from agent.records.messages import Completed, Failed
from tests.support.command import run
from tests.support.harness import environment, open_harness
from tests.support.script import Call, Text, answer


def documented() -> str:
    """Return the example of the documentation, word for word."""
    text = inspect.getdoc(agent.plugins) or ""
    start, end = text.index("    def register"), text.index("A plugin runs within this program")
    return "from typing import Annotated\n\n" + textwrap.dedent(text[start:end])


def write(tmp_path: Path, text: str, at: str = "home/config/plugins/own.py") -> Path:
    path = tmp_path / at
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def test_the_documented_plugin_adds_a_tool_a_hook_a_provider_and_a_theme(tmp_path):
    write(tmp_path, documented())
    async with open_harness(tmp_path, permission={"weather": "allow"}) as harness:
        runtime = harness.runtime
        assert not runtime.notices
        assert runtime.plugins.themes["sea"]["primary"] == "#5aa9e6"
        assert runtime.catalog.model("lab/some").base_url == "http://127.0.0.1:8080/v1"
        harness.server.script(
            answer(
                Call("weather", {"city": "Oslo", "days": "3"}),
                Call("bash", {"command": "git push --force"}),
            ),
            answer(Text("Done.")),
        )
        session = await harness.session()
        await harness.turn(session, "Go.")
        offered = {
            t["function"]["name"]: t["function"] for t in harness.server.requests[0].body["tools"]
        }
        weather, bash = await harness.tools(session)
    properties = offered["weather"]["parameters"]["properties"]
    assert offered["weather"]["description"] == "Tells the weather of a city."
    assert properties["city"]["description"] == "Name of the city"
    assert offered["weather"]["parameters"]["required"] == ["city"]
    assert isinstance(weather.state, Completed)
    assert weather.state.output == "Oslo: sunny for 3 days"
    assert isinstance(bash.state, Failed)
    assert "Pushing is done by hand here." in bash.state.error


async def test_a_plugins_tool_asks_by_its_name(tmp_path):
    write(tmp_path, documented())
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("weather", {"city": "Oslo"})), answer(Text("Done.")))
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "Go.")
        request = await harness.permission_request()
        assert request.heading == "Use the tool weather of the plugin own?"
        assert request.always == (("weather", "*"),)
        harness.answer(request, "reject")
        await harness.idle(session, after=before)


BROKEN = {
    "import missing_module_of_nobody": "ModuleNotFoundError",
    "def register(plugin): 1 / 0": "ZeroDivisionError",
    "x = 1": "no function register(plugin)",
    "raise SystemExit(3)": "SystemExit",
    "def register(plugin) 1": "SyntaxError",
    "def register(plugin):\n @plugin.tool\n def a(): return 1": "no description",
    "def register(plugin):\n @plugin.tool\n def a(x): 'A.'": "declare the type of x",
    "def register(plugin):\n @plugin.tool\n def a(*x: int): 'A.'": "a model cannot supply",
    "def register(plugin):\n plugin.hook('Never')(print)": "there is no event Never",
    "def register(plugin):\n plugin.theme('a', {})": "no primary color",
}


@pytest.mark.parametrize(("text", "why"), BROKEN.items())
async def test_a_failing_plugin_is_reported_and_the_others_work(tmp_path, text, why):
    write(tmp_path, text)
    write(tmp_path, documented(), "home/config/plugins/z.py")
    async with open_harness(tmp_path) as harness:
        (notice,) = harness.runtime.notices
        assert notice.startswith("The plugin own (")
        assert why in notice
        assert "weather" in harness.runtime.registry.names


async def test_a_plugins_tool_cannot_have_the_name_of_a_built_in_one(tmp_path):
    write(tmp_path, 'def register(plugin):\n @plugin.tool\n def bash(x: int): "B."\n')
    async with open_harness(tmp_path) as harness:
        assert "ignored: A tool named bash" in harness.runtime.notices[0]


async def test_a_tool_that_raises_is_an_error_for_the_model(tmp_path):
    write(tmp_path, 'def register(plugin):\n @plugin.tool\n async def a(): "A."; 1 / 0\n')
    async with open_harness(tmp_path, permission={"a": "allow"}) as harness:
        harness.server.script(answer(Call("a", {})), answer(Text("Done.")))
        session = await harness.session()
        assert (await harness.turn(session, "Go.")).outcome == "completed"
        (part,) = await harness.tools(session)
        assert isinstance(part.state, Failed)
        assert "ZeroDivisionError" in part.state.error


async def test_a_hook_that_raises_is_shown_and_blocks_a_call(tmp_path):
    write(tmp_path, 'def register(plugin):\n @plugin.hook("PreToolUse")\n def a(c): 1 / 0\n')
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("bash", {"command": "ls"})), answer(Text("Done.")))
        session = await harness.session()
        await harness.turn(session, "Go.")
        (part,) = await harness.tools(session)
        assert isinstance(part.state, Failed)
        (failed,) = [e for e in harness.events if isinstance(e, PluginFailed)]
        assert "ZeroDivisionError" in failed.message


async def test_a_projects_plugin_is_not_run_without_trust(tmp_path):
    ran = tmp_path / "ran"
    write(tmp_path, f"open({str(ran)!r}, 'w')", "project/.opencode-py/plugins/theirs.py")
    async with open_harness(tmp_path) as harness:
        assert not ran.exists()
        now = await harness.runtime.trust.refreshed()
        assert [(runs.kind, runs.name) for runs in now.found.runs] == [("plugin", "theirs")]


async def test_the_users_file_overrides_a_plugins_provider(tmp_path):
    write(tmp_path, 'def register(p): p.provider("scripted", {"options": {"baseURL": "http://x"}})')
    async with open_harness(tmp_path) as harness:
        model = harness.runtime.catalog.model("scripted/model-1")
        assert model.base_url == harness.server.url


def test_debug_plugins_shows_additions_and_failures(tmp_path: Path) -> None:
    write(tmp_path, documented())
    write(tmp_path, "def register(plugin): 1 / 0", "home/config/tools/bad.py")
    (tmp_path / "shop").mkdir()
    done = run(
        ["debug", "plugins"],
        cwd=tmp_path / "shop",
        home=tmp_path / "home",
    )
    assert done.returncode == 1
    assert "tools     weather" in done.stdout
    assert "hooks     PreToolUse" in done.stdout
    assert "ZeroDivisionError" in done.stdout
    assert "line 1, in register" in done.stdout
    done = run(["debug", "plugins", "--json"], cwd=tmp_path / "shop", home=tmp_path / "home")
    reported = {each["name"]: each for each in json.loads(done.stdout)}
    assert done.returncode == 1
    assert "division by zero" in reported["bad"]["failure"]
    (good,) = [each for name, each in reported.items() if name != "bad"]
    assert (good["tools"], good["failure"]) == (["weather"], None)


def test_the_schema_is_printed_for_editors(tmp_path: Path) -> None:
    done = run(
        ["debug", "config", "--schema"],
        cwd=tmp_path,
        home=tmp_path,
    )
    schema = json.loads(done.stdout)
    assert {"command", "hooks", "agent", "mcp"} <= set(schema["properties"])


def test_values_are_shown_with_their_source_and_keys_are_hidden(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps(
            {
                "theme": "nord",
                "provider": {"lab": {"options": {"apiKey": "sk-1", "headers": {"x": "sk-2"}}}},
                "command": {"fix": {"template": "Fix $1"}},
            }
        )
    )
    done = run(
        ["debug", "config"],
        cwd=tmp_path,
        home=tmp_path,
    )
    assert 'theme = "nord"   ~/config/config.json' in done.stdout
    assert 'command.fix.template = "Fix $1"' in done.stdout
    assert "provider.lab.options.apiKey" in done.stdout
    assert "sk-" not in done.stdout


HANGING = {
    "waits": "import threading\nthreading.Event().wait()",
    "loops": "while True: pass",
    "register": "def register(plugin):\n while True: pass",
}


@pytest.mark.parametrize("name", HANGING)
async def test_a_plugin_that_never_loads_is_skipped_without_delay(tmp_path, name):
    write(tmp_path, HANGING[name], f"home/config/plugins/{name}.py")
    write(tmp_path, documented(), "home/config/plugins/z.py")
    env = environment(tmp_path / "home")
    paths = Paths.find(env)
    plugins = await load_plugins(tmp_path, tmp_path, paths, env, trusted=False, timeout=3.0)
    hung, own = plugins.all
    assert "it has not loaded within 3 seconds" in hung.failure
    assert f"{name}.py" in hung.traceback
    assert [tool.spec.name for tool in own.plugin.tools] == ["weather"]
    if name != "waits":  # a loop is ended; a thread that only waits is harmless
        for thread in [t for t in threading.enumerate() if t.name == f"plugin {name}"]:
            await asyncio.to_thread(thread.join)


async def test_a_plugin_leaves_no_bytecode_and_can_be_switched_off(tmp_path):
    path = write(tmp_path, documented())
    env = environment(tmp_path / "home")
    paths = Paths.find(env)
    assert (await load_plugins(tmp_path, tmp_path, paths, env, trusted=False)).working
    assert [each.name for each in path.parent.iterdir()] == ["own.py"]
    off = {**env, "OPENCODE_PURE": "1"}
    assert not (await load_plugins(tmp_path, tmp_path, paths, off, trusted=False)).all


async def test_entry_points_of_packages_are_found_and_a_failing_one_is_reported(
    tmp_path, monkeypatch
):
    site = tmp_path / "site"
    write(tmp_path, documented(), "site/sky_of_ours.py")
    points = "[opencode_py.plugins]\nsky = sky_of_ours:register\nlost = no_such_module:register\n"
    write(tmp_path, points, "site/sky_of_ours-1.0.dist-info/entry_points.txt")
    write(tmp_path, "Name: sky-of-ours\nVersion: 1.0\n", "site/sky_of_ours-1.0.dist-info/METADATA")
    monkeypatch.syspath_prepend(str(site))
    env = environment(tmp_path / "home")
    plugins = await load_plugins(tmp_path, tmp_path, Paths.find(env), env, trusted=False)
    lost, sky = (each for each in plugins.all if each.plugin.source == "sky-of-ours")
    assert [tool.spec.name for tool in sky.plugin.tools] == ["weather"]
    assert "ModuleNotFoundError" in lost.failure
