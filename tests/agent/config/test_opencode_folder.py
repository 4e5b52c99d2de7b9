"""Folders that were set up for opencode and Claude Code work unchanged."""

import json
import sys
from pathlib import Path

from agent.records.messages import Completed, Failed
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from tests.agent.mcp.mcp_harness import SERVERS
from tests.support.harness import MODEL, Harness, config_for, environment, tool_names, write_config
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer

SHOP = [sys.executable, str(SERVERS / "workshop.py")]

CONFIG = """\
{
  // As people have it.
  "$schema": "https://opencode.ai/config.json",
  "theme": "nord",
  "share": "manual",
  "autoupdate": true,
  "plugin": ["opencode-wakatime"],
  "instructions": ["docs/*.md"],
  "permission": {
    "bash": { "*": "ask", "git push *": "deny" },
    "edit": "allow",
    "store_*": "deny",
    "weather": "allow",
  },
  "formatter": {
    "upper": { "command": [%s, "upper.py", "$FILE"], "extensions": [".shout"] },
  },
  "agent": {
    "build": { "maxSteps": 40 },
    "writer": {
      "mode": "subagent", "description": "Writes docs", "prompt": "Write.",
      "tools": { "bash": false },
    },
  },
  "command": {
    "ship": { "template": "Ship $ARGUMENTS", "description": "Ship it", "agent": "build" },
  },
  "mcp": {
    "shop": { "type": "local", "command": %s, "enabled": true },
    "store": { "type": "local", "command": %s },
    "other": { "type": "local", "command": ["nothing-of-this-name"], "enabled": false },
  },
}
"""

FILES = {
    "AGENTS.md": "Speak of the shop as Corner Shop.",
    "upper.py": "import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\n"
    "file.write_text(file.read_text().upper())\n",
    "docs/style.md": "Short sentences.",
    ".opencode/agent/review.md": "---\ndescription: Reviews code\nmode: primary\n"
    "temperature: 0.1\npermission:\n  edit: deny\n---\nYou review.",
    ".opencode/modes/careful.md": "---\nmodel: scripted/model-1\n---\nBe careful.",
    ".opencode/plugins/sky.py": "def register(plugin):\n @plugin.tool\n"
    " def weather(city: str) -> str:\n  'Tells the weather.'\n  return f'{city}: sunny'\n",
    ".opencode/plugin/notes.ts": "export const Notes = async () => ({})",
    ".opencode/tui.json": '{"theme": "gruvbox", "diff_style": "stacked"}',
    ".opencode/command/test.md": "---\ndescription: Run the tests\nagent: review\n---\n"
    "Run the tests for $1 and look at @AGENTS.md.",
    ".opencode/skills/release/SKILL.md": "---\nname: release\n"
    "description: How to release\n---\nTag.",
    ".claude/commands/explain.md": "---\nargument-hint: [file]\n---\nExplain $ARGUMENTS.",
    ".claude/skills/figures/SKILL.md": "---\nname: figures\ndescription: Draws figures\n---\nDraw.",
}


def system_text(body: dict) -> str:
    return json.dumps(body["messages"])


async def opened(tmp_path: Path, server: ModelServer) -> Harness:
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    workshop = json.dumps(SHOP)
    (folder / "opencode.jsonc").write_text(
        CONFIG % (json.dumps(sys.executable), workshop, workshop)
    )
    stop = {
        "matcher": "Bash",
        "hooks": [{"type": "command", "command": "echo no make >&2; exit 2"}],
    }
    (folder / ".claude/settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [stop]}}))
    write_config(home, config_for(server))

    async def trust(question: object) -> str:
        _ = question
        return "trust"

    runtime = await open_runtime(folder, env=environment(home), ask_trust=trust)
    return Harness(runtime, server, folder, home)


async def test_a_folder_that_was_set_up_for_opencode_works_unchanged(tmp_path: Path) -> None:
    async with ModelServer() as server:
        harness = await opened(tmp_path, server)
        runtime = harness.runtime
        try:
            config = runtime.config.config
            assert (config.theme, config.ui.diffs) == ("gruvbox", "unified")
            # Only settings without effect are reported, with the reason.
            parts = [part for notice in runtime.notices for part in notice.split("\n")]
            named = sorted(part.split(": ", 1)[1].split()[0] for part in parts)
            assert named == ["autoupdate", "plugin", "share"]
            agents = {info.name: info for info in runtime.agents.listed()}
            own = {"writer", "review", "careful"}
            assert {"build", "plan", "general", "explore", *own} == set(agents)
            assert agents["careful"].mode == "primary"
            assert agents["build"].max_steps == 40
            assert (agents["review"].mode, agents["review"].temperature) == ("primary", 0.1)
            commands = {each.name: each for each in await runtime.commands.all()}
            assert {"ship", "test", "explain", "release", "figures"} <= set(commands)

            await runtime.mcp.wait_until_tried(30)
            server.script(
                answer(
                    Call("shop_echo", {"text": "hi"}),
                    Call("bash", {"command": "make"}),
                    Call("write", {"file_path": "a.txt", "content": "x"}),
                    Call("weather", {"city": "Oslo"}),
                ),
                answer(Text("Done.")),
            )
            runtime.permissions.mode = "auto"
            session = await runtime.sessions.repository.create(agent="review")
            base = PromptInput(text="/test shop", agent="review", model=MODEL)
            prompt = await runtime.commands.prompt("test", "shop", session, base)
            await runtime.sessions.prompt(session.id, prompt)
            await runtime.sessions.wait(session.id)
            first = server.requests[0].body
            assert "You review." in system_text(first)
            assert "Corner Shop" in system_text(first)
            assert "Short sentences." in system_text(first)
            assert "Run the tests for shop and look at @AGENTS.md." in system_text(first)
            assert "release: How to release" in system_text(first)
            assert first["temperature"] == 0.1
            assert "shop_echo" in tool_names(first)
            assert "write" not in tool_names(first)
            assert not [name for name in tool_names(first) if name.startswith("store_")]
            echo, make, write, weather = (part.state for part in await harness.tools(session))
            assert isinstance(echo, Completed)
            assert isinstance(make, Failed)
            assert "no make" in make.error
            assert isinstance(write, Failed)
            assert isinstance(weather, Completed)
            assert weather.output == "Oslo: sunny"

            # Another agent can write, and the file is formatted.
            call = Call("write", {"file_path": "a.shout", "content": "hello\n"})
            server.script(answer(call), answer(Text("Done.")))
            careful = PromptInput(text="Write.", agent="careful")
            await runtime.sessions.prompt(session.id, careful)
            await runtime.sessions.wait(session.id)
            assert (runtime.directory / "a.shout").read_text() == "HELLO\n"
        finally:
            await runtime.close()
    assert server.refused == []


async def test_without_trust_only_rules_that_tighten_count(tmp_path: Path) -> None:
    async with ModelServer() as server:
        harness = await opened(tmp_path, server)
        await harness.runtime.close()
        env = environment(tmp_path / "home")
        (tmp_path / "home/data/trust.json").unlink()
        runtime = await open_runtime(tmp_path / "project", env=env)
        try:
            assert {a.name for a in runtime.agents.listed()} == {
                "build",
                "plan",
                "general",
                "explore",
            }
            assert [c.name for c in await runtime.commands.all()] == ["review"]
            assert not runtime.hooks.all
            assert runtime.config.config.theme is None
            assert ("bash", "git push *", "deny") in [
                (r.permission, r.pattern, r.action) for r in runtime.config.rules
            ]
        finally:
            await runtime.close()


async def test_disabled_providers_and_models_are_not_listed(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    lab = {
        "options": {"baseURL": "http://127.0.0.1:9/v1"},
        "models": {"a": {}, "b": {}, "c": {"disabled": True}, "d": {}},
        "whitelist": ["a", "b", "c"],
        "blacklist": ["b"],
    }
    other = {"options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"x": {}}}
    settings = {"provider": {"lab": lab, "other": other}, "enabled_providers": ["lab"]}
    write_config(home, {"model": "lab/a", **settings})
    runtime = await open_runtime(folder, env={**environment(home), "OPENAI_API_KEY": "sk-1"})
    try:
        assert not runtime.notices
        names = [model.full_name for model in runtime.catalog.models()]
        assert names == ["lab/a", "demo/offline"]
    finally:
        await runtime.close()


CLAUDE = {
    "CLAUDE.md": "Speak of the shop as Corner Shop.",
    ".claude/agents/tester.md": "---\nname: tester\ndescription: Runs tests\n"
    "tools: Read, Bash\nmodel: inherit\n---\nYou test.",
    ".claude/commands/git/fix.md": "---\nargument-hint: [number]\nallowed-tools: Bash(git:*)\n---\n"
    "Mend $ARGUMENTS.",
    ".claude/skills/figures/SKILL.md": "---\nname: figures\ndescription: Draws figures\n---\nDraw.",
    ".claude/settings.json": json.dumps(
        {
            "permissions": {
                "allow": ["Bash(echo:*)", "Edit(/src/**)"],
                "deny": ["Read(./secrets/**)"],
            },
            "hooks": {
                "PostToolUse": [
                    {
                        "matcher": "Edit|Write",
                        "hooks": [{"type": "command", "command": "cat >> told.jsonl"}],
                    }
                ],
                "PreToolUse": [
                    {
                        "matcher": "Bash",
                        "hooks": [
                            {
                                "type": "command",
                                "command": "grep -q secret && echo 'no secrets' >&2 && exit 2;"
                                " exit 0",
                            }
                        ],
                    }
                ],
            },
            "model": "opus",
        }
    ),
    "secrets/key.txt": "k",
}


async def test_a_folder_that_was_set_up_for_claude_code_works_unchanged(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    for name, text in CLAUDE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    async def trust(question: object) -> str:
        _ = question
        return "trust"

    async with ModelServer() as server:
        write_config(home, config_for(server))
        runtime = await open_runtime(folder, env=environment(home), ask_trust=trust)
        harness = Harness(runtime, server, folder, home)
        try:
            assert not runtime.notices
            agents = {info.name: info for info in runtime.agents.listed()}
            assert "tester" in agents
            commands = {each.name: each for each in await runtime.commands.all()}
            assert {"git/fix", "figures"} <= set(commands)
            server.script(
                answer(
                    Call("bash", {"command": "echo hi"}),
                    Call("bash", {"command": "echo secret"}),
                    Call("read", {"file_path": "secrets/key.txt"}),
                    Call("write", {"file_path": "src/a.txt", "content": "x"}),
                ),
                answer(Text("Done.")),
            )
            session = await runtime.sessions.repository.create(agent="build")
            prompt = await runtime.commands.prompt("git/fix", "12", session, PromptInput(text=""))
            await runtime.sessions.prompt(session.id, prompt)
            await runtime.sessions.wait(session.id)
            first = system_text(server.requests[0].body)
            assert "Corner Shop" in first
            assert "Mend 12." in first
            assert "figures: Draws figures" in first
            echo, secret, key, write = (part.state for part in await harness.tools(session))
            assert isinstance(echo, Completed)
            assert isinstance(secret, Failed)
            assert "no secrets" in secret.error
            assert isinstance(key, Failed)
            assert "secrets/*" in key.error
            assert isinstance(write, Completed)
            (heard,) = [
                json.loads(line) for line in (folder / "told.jsonl").read_text().split("\n") if line
            ]
            assert (heard["tool_name"], heard["hook_event_name"]) == ("Write", "PostToolUse")
        finally:
            await runtime.close()
    assert server.refused == []
