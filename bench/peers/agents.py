"""The agents: one entry each, with facts about their settings and screens.

To add one, write its entry, then look at its screen: ``python -m bench.peers --look NAME``.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.testbed import COMMAND, ROOT, config

KEY = "sk-bench-0001"
MODEL = "one"
MUCH = 1_000_000


@dataclass(frozen=True)
class Agent:
    """An agent. *command* is looked up on the PATH and in ``BENCH_PEERS``. *settings* returns files
    to write under the home, given the server's address and the project. *ready* is on the screen (a
    pattern) once a prompt can be typed, *cancel* the keys that stop a turn, *cancelled* on the
    screen after it. *read* is its tool that reads a file and the name of its argument, None without
    one. *plain* agents offer no tools to the model. Keys in *dismiss* close dialogs before the
    first prompt. *headless* are the words before a prompt that is answered without a screen (none:
    it cannot), *resume* those that open the latest session."""

    name: str
    command: str
    ready: str
    arguments: tuple[str, ...] = ()
    settings: Callable[[str, Path], Mapping[str, str]] = lambda _url, _project: {}
    env: Mapping[str, str] = field(default_factory=dict)
    cancel: tuple[str, ...] = ("Escape",)
    read: tuple[str, str] | None = None
    plain: bool = False
    types_at_work: bool = True
    dismiss: tuple[tuple[str, str], ...] = ()
    headless: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    cancelled: str = r"[Ii]nterrupted|[Cc]ancel+ed|[Aa]borted"

    def found(self, path: str) -> str | None:
        """Return the path of the program, None where it is not installed."""
        return shutil.which(self.command, path=path)

    def prepared(
        self, home: Path, url: str, project: Path, path: str
    ) -> tuple[list[str], dict[str, str]]:
        """Write the settings under *home*; return the command and its environment."""
        url = url.replace("/v1", "/plain/v1") if self.plain else url
        home.mkdir(parents=True, exist_ok=True)
        for name, text in self.settings(url, project).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)

        def filled(text: str) -> str:
            return text.replace("{HOME}", str(home)).replace("{URL}", url)

        env = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "tmux-256color"}
        env |= {"COLORTERM": "truecolor", "SHELL": "/bin/sh"}
        env |= {name: filled(value) for name, value in self.env.items()}
        return [self.found(path) or self.command, *map(filled, self.arguments)], env


def _opencode(url: str, _project: Path) -> dict[str, str]:
    model = {"name": MODEL, "tool_call": True, "limit": {"context": MUCH, "output": 32_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": url, "apiKey": KEY},
        "models": {MODEL: model},
    }
    told = {
        "model": f"bench/{MODEL}",
        "small_model": f"bench/{MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "provider": {"bench": provider},
    }
    return {".config/opencode/opencode.json": json.dumps(told)}


def _pi(url: str, _project: Path) -> dict[str, str]:
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    model = {"id": MODEL, "name": MODEL, "input": ["text"], "reasoning": False, "cost": cost}
    model |= {"contextWindow": MUCH, "maxTokens": 32_000}
    bench = {"baseUrl": url, "api": "openai-completions", "apiKey": KEY, "models": [model]}
    return {
        ".pi/agent/models.json": json.dumps({"providers": {"bench": bench}}),
        ".pi/agent/settings.json": json.dumps({"defaultProvider": "bench", "defaultModel": MODEL}),
    }


def _claude(url: str, project: Path) -> dict[str, str]:
    told = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "autoUpdates": False,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    env = {"ANTHROPIC_BASE_URL": url}
    return {".claude.json": json.dumps(told), ".claude/settings.json": json.dumps({"env": env})}


def _codex(url: str, project: Path) -> dict[str, str]:
    lines = [
        f'model = "{MODEL}"',
        'model_provider = "bench"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "check_for_update_on_startup = false",
        f"model_context_window = {MUCH}",
        "[analytics]",
        "enabled = false",
        "[model_providers.bench]",
        'name = "bench"',
        f'base_url = "{url}"',
        'wire_api = "responses"',
        'env_key = "BENCH_KEY"',
        f'[projects."{project}"]',
        'trust_level = "trusted"',
    ]
    return {".codex/config.toml": "\n".join(lines)}


def _vibe(url: str, project: Path) -> dict[str, str]:
    lines = [
        'active_model = "bench"',
        "enable_telemetry = false",
        "enable_update_checks = false",
        "enable_auto_update = false",
        "enable_notifications = false",
        "[[providers]]",
        'name = "bench"',
        f'api_base = "{url}"',
        'api_key_env_var = "BENCH_KEY"',
        'api_style = "openai"',
        'backend = "generic"',
        "[[models]]",
        f'name = "{MODEL}"',
        'provider = "bench"',
        'alias = "bench"',
        "input_price = 0.0",
        "output_price = 0.0",
        f"auto_compact_threshold = {MUCH}",
    ]
    trusted = f'trusted = ["{project}"]\nuntrusted = []\n'
    return {".vibe/config.toml": "\n".join(lines), ".vibe/trusted_folders.toml": trusted}


AGENTS = (
    Agent(
        name="opencode",
        command="opencode",
        ready=r"Ask anything",
        settings=_opencode,
        env={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        },
        cancel=("Escape", "Escape"),
        read=("read", "filePath"),
        headless=("run",),
        resume=("--continue",),
    ),
    Agent(
        name="pi",
        command="pi",
        ready=rf"{MODEL}\b",
        settings=_pi,
        env={"PI_SKIP_VERSION_CHECK": "1", "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        read=("read", "path"),
        headless=("-p",),
        resume=("--continue",),
    ),
    Agent(
        name="claude",
        command="claude",
        ready=r"❯",
        settings=_claude,
        env={
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        read=("Read", "file_path"),
        headless=("-p",),
        resume=("--continue",),
    ),
    Agent(
        name="codex",
        command="codex",
        ready=r"(?m)^\W*› |Ask Codex",
        settings=_codex,
        env={"BENCH_KEY": KEY},
        read=("exec_command", "cmd"),
        headless=("exec", "--skip-git-repo-check"),
        resume=("resume", "--last", "--include-non-interactive"),
    ),
    Agent(
        name="vibe",
        command="vibe",
        ready=r"(?m)^\W*>",
        settings=_vibe,
        env={"BENCH_KEY": KEY, "VIBE_HOME": "{HOME}/.vibe"},
        read=("read_file", "path"),
        headless=("--max-turns", "5000", "-p"),
        resume=("--continue",),
    ),
    Agent(
        name="aider",
        command="aider",
        arguments=(
            *("--model", f"openai/{MODEL}", "--openai-api-base", "{URL}", "--openai-api-key", KEY),
            *("--no-check-update", "--analytics-disable", "--no-show-model-warnings"),
            *("--no-show-release-notes", "--no-gitignore", "--map-tokens", "0", "--no-git"),
        ),
        ready=r"(?m)^\w*> *$",
        env={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        cancel=("C-c",),
        plain=True,
        types_at_work=False,
    ),
)


def ours() -> Agent:
    """Return the entry of this program, from this checkout."""
    return Agent(
        name="opencode-py",
        command=COMMAND,
        env={"PYTHONPATH": str(ROOT)},
        ready=r"Ask for anything",
        settings=lambda url, _: {".config/opencode-py/config.json": json.dumps(config(url))},
        cancelled="Interrupted|Stopping",
        read=("read", "file_path"),
        headless=("run",),
        resume=("--continue",),
    )
