"""Factories of the services of a runtime, from the opened folder and its settings."""

import contextlib
import os
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from agent.agents import Agents
from agent.bus import Bus
from agent.config.loading import LoadedConfig
from agent.config.paths import Paths, expand_home, home_folder
from agent.config.settings_schema import Config
from agent.config.turn_settings import CompactionConfig, FallbackConfig
from agent.files import Editor
from agent.hooks.execution import HookPrograms
from agent.hooks.loading import find_hooks
from agent.hooks.service import Hooks
from agent.lsp.file_checks import CodeServices, open_code_services
from agent.permission.sandbox.command_policy import SandboxFolders
from agent.permission.sandbox.service import CommandSandbox
from agent.permission.service import PermissionService
from agent.permission.trust.trust import Trust
from agent.plugins.loading import Plugins
from agent.process import SpillStore, Terminals, child_environment, strict_environment
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.from_config import secret_variables
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.requests import PermissionMode
from agent.records.tool_facts import PLAN_AGENT, Answering
from agent.runtime.subagent_worktrees import RuntimeWorktrees
from agent.runtime.worktrees import project_of, worktrees_folder
from agent.session.api import PromptInput
from agent.session.context.pruning import PROTECTED_TOOLS
from agent.session.fallback import Fallbacks
from agent.session.judge import Judges
from agent.session.service import SessionService
from agent.session.spending import ConfiguredCaps, Spending
from agent.session.subagents.completions import Completions
from agent.session.turn.guards import TurnLimits
from agent.session.turn.services import CompactionSettings, StopHook
from agent.store.store import Store
from agent.tools.builtin import BuiltinTool
from agent.tools.core.offered_subagents import SubagentInfo
from agent.tools.core.questions import QuestionService
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.registry import Registry
from agent.tools.shell.settings import BashSettings
from agent.tools.web.addresses import AllowedHosts
from agent.tools.web.client import Web, WebLimits
from agent.tools.web.engines import ENGINES, Engine, engine_of


@frozen(kw_only=True)
class OpenedFolder:
    """The folder, settings and options that the services are made from."""

    directory: Path
    project: Path
    paths: Paths
    loaded: LoadedConfig
    trust: Trust
    bus: Bus
    store: Store
    env: Mapping[str, str]
    stop_hooks: tuple[StopHook, ...]
    plugins: Plugins
    mode: PermissionMode | None = None
    """The permission mode to start in, None for the one of the settings."""
    editor: Editor | None = None
    wait_for_background: bool = True
    answering: Answering = "text"
    terminals: Terminals | None = None

    @property
    def transcripts(self) -> Path:
        """The folder of the messages that hooks read."""
        return self.paths.cache / "transcripts"


def permission_service(opened: OpenedFolder, agents: Agents, config: Config) -> PermissionService:
    return PermissionService(
        opened.bus,
        opened.store,
        agents.rules,
        mode=opened.mode or config.default_mode,
        trusted=opened.trust.trusted,
        deny_wins=config.permission_mode == "deny-wins",
    )


def judges(opened: OpenedFolder, completions: Completions) -> Judges:
    """Return the maker of judges, which only the user's own settings choose."""
    own = [opened.loaded.own_value(key) for key in ("judge_model", "small_model")]
    model = next((name for name in own if isinstance(name, str)), None)
    distrusted = opened.loaded.project_providers
    return Judges(completions, opened.store, opened.bus, model, distrusted)


def hook_service(
    opened: OpenedFolder, loaded: LoadedConfig, sandbox: CommandSandbox
) -> tuple[Hooks, tuple[str, ...]]:
    """The hooks that count, started with the environment that commands get; and sentences on
    what has no effect. Reads files."""
    found = find_hooks(
        loaded, opened.directory, opened.project, opened.env, trusted=opened.trust.trusted
    )
    secret = _secrets(loaded)
    if loaded.config.bash.env == "strict":
        env = strict_environment(opened.env, secret, loaded.config.bash.keep)
    else:
        env = child_environment(opened.env, secret)
    hooks = (*found.hooks, *(h for each in opened.plugins.working for h in each.plugin.hooks))
    programs = HookPrograms(env=env, sandbox=sandbox, project=str(opened.project))
    return Hooks(opened.bus, programs, hooks), found.notes


def add_plugin_tools(opened: OpenedFolder, registry: Registry) -> tuple[str, ...]:
    """Put the tools of plugins into the *registry*; sentences on those that cannot be."""
    notes: list[str] = []
    for each in opened.plugins.working:
        plugin = each.plugin
        try:
            registry.replace_tools(f"plugin {plugin.source}", plugin.tools)
        except ValueError as error:
            notes.append(f"The tools of the plugin {plugin.name} are ignored: {error}")
    return tuple(notes)


def _secrets(loaded: LoadedConfig) -> frozenset[str]:
    """The variables that nothing gets to see that is started from here."""
    engines = {spec.key for spec in ENGINES.values() if spec.key}
    return frozenset(engines | {*secret_variables(loaded)})


def turn_limits(config: Config) -> TurnLimits:
    return TurnLimits(
        max_steps=config.limits.steps,
        max_tokens=config.limits.tokens,
        max_cost=config.limits.cost,
        max_repeats=config.limits.repeats,
        target_tokens=config.limits.target_tokens,
        auto_compact=config.compaction.auto,
    )


def spending_service(opened: OpenedFolder, questions: QuestionService, config: Config) -> Spending:
    limits = config.limits
    caps: ConfiguredCaps = {
        ("session", "cost"): limits.session_cost,
        ("session", "tokens"): limits.session_tokens,
        ("day", "cost"): limits.daily_cost,
        ("day", "tokens"): limits.daily_tokens,
    }
    return Spending(opened.store, opened.bus, questions, caps, time.time)


def fallback_service(
    catalog: Catalog, questions: QuestionService, given: FallbackConfig
) -> Fallbacks:
    recheck = given.recheck / 1000
    return Fallbacks(catalog, given.models, given.mode, recheck, questions, time.time)


def compaction_settings(given: CompactionConfig) -> CompactionSettings:
    keep = PROTECTED_TOOLS | {*given.protect}
    return CompactionSettings(
        reserved_tokens=given.reserved, prune=given.prune, protected_tools=keep, model=given.model
    )


def code_service(
    opened: OpenedFolder, loaded: LoadedConfig, sandbox: CommandSandbox
) -> CodeServices:
    return open_code_services(
        loaded.config,
        opened.project,
        child_environment(opened.env, set(secret_variables(loaded))),
        opened.bus,
        SpillStore(opened.paths.data / "spill"),
        sandbox,
        safe=opened.trust.status in {"trusted", "nothing"},
        root_of=partial(project_of, opened.paths, opened.project),
    )


def subagent_worktrees(opened: OpenedFolder, code: CodeServices) -> RuntimeWorktrees:
    env = child_environment(opened.env, set(secret_variables(opened.loaded)))
    config = opened.loaded.config.worktree
    return RuntimeWorktrees(opened.paths, config, env, code.servers.end_in)


def truncator_for(opened: OpenedFolder, config: Config) -> Truncator:
    """Cuts what the model gets to read, and keeps the whole in the data directory."""
    limits = Limits(config.tool_output.max_lines, config.tool_output.max_bytes)
    return Truncator(limits, SpillStore(opened.paths.data / "spill"))


def bash_settings(loaded: LoadedConfig) -> BashSettings:
    config = loaded.config
    return BashSettings(
        secret_names=_secrets(loaded),
        strict_env=config.bash.env == "strict",
        kept_env=config.bash.keep,
        default_timeout=config.bash.timeout / 1000,
        max_timeout=config.bash.max_timeout / 1000,
    )


def command_sandbox(
    config: Config, paths: Paths, env: Mapping[str, str], bus: Bus
) -> CommandSandbox:
    """Return the sandbox of commands. That there is none is said once on this machine, and again
    if the reason changes."""
    reported = paths.data / "sandbox-missing"

    def tell(sentence: str) -> None:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if reported.is_file() and reported.read_text("utf-8") == sentence:
                return
        with contextlib.suppress(OSError):
            reported.write_text(sentence, "utf-8")
        bus.publish(Notice(sentence))

    return CommandSandbox(
        config.bash.sandbox,
        SandboxFolders(
            home=os.path.realpath(home_folder(env)),
            data=str(paths.data),
            readable=(str(paths.data / "spill"), str(worktrees_folder(paths))),
            config=str(paths.config),
            writable=tuple(
                os.path.realpath(expand_home(folder, env))
                for folder in config.bash.sandbox_writable
            ),
        ),
        on_missing=tell,
    )


def web_client(config: Config) -> Web:
    settings = config.webfetch
    return Web(
        allowed=AllowedHosts.from_settings(settings.allow),
        limits=WebLimits(seconds=settings.timeout / 1000, bytes=settings.max_bytes),
    )


def search_engine(opened: OpenedFolder, config: Config) -> Engine | None:
    search = config.websearch
    return engine_of(search.provider, search.url, search.api_key, search.headers, opened.env)


def subagent_infos(agents: Agents) -> tuple[SubagentInfo, ...]:
    """The sub-agents for the ``task`` tool; primary agents run for the user's commands only."""
    return tuple(
        SubagentInfo(a.name, a.description, offered=a.mode != "primary") for a in agents.usable()
    )


def plan_tools(
    sessions: SessionService,
    questions: QuestionService,
    permissions: PermissionService,
    agents: Agents,
    default: str,
) -> tuple[BuiltinTool, ...]:
    """The tool by which plan mode is left: for the *default* agent, or the first in the order of
    Tab. () where there is no agent to carry a plan out."""
    names = [info.name for info in agents.primary() if info.name != PLAN_AGENT]
    worker = default if default in names else next(iter(names), None)
    if worker is None or agents.find(PLAN_AGENT) is None:
        return ()

    async def hand_over(session_id: str, text: str, accept: bool) -> None:
        if accept:
            permissions.mode = "accept edits"
        # Dequeued at the turn's next step, so that the worker continues at once.
        await sessions.prompt(session_id, PromptInput(text=text, agent=worker))

    return (BuiltinTool("plan_exit", questions, hand_over),)
