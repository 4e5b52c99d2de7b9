"""Factories of the services of a runtime, from the opened folder and its settings."""

import asyncio
import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agent.agents import Agents
from agent.bus import Bus
from agent.config.definitions import SMALL_MODEL
from agent.config.loading import LoadedConfig, load_config
from agent.config.paths import Paths, display_path, expand_home, home_folder
from agent.config.settings_schema import AgentConfig, CommandConfig, Config
from agent.config.turn_settings import CompactionConfig, FallbackConfig
from agent.files import Editor
from agent.hooks.execution import HookPrograms
from agent.hooks.loading import find_hooks
from agent.hooks.service import Hooks
from agent.lsp.file_checks import CodeServices, open_code_services
from agent.permission.sandbox_policy.command_policy import SandboxFolders
from agent.permission.sandbox_policy.service import CommandSandbox
from agent.permission.service import PermissionService
from agent.permission.trust.project_files import scan_project
from agent.permission.trust.trust import AskTrust, Trust, TrustStore, resolve_trust
from agent.plugins.loading import Plugins
from agent.process import SpillStore, Terminals, child_environment, strict_environment
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.from_config import catalog_from_config, secret_variables
from agent.provider.catalog.providers import DEMO, KNOWN_PROVIDERS
from agent.records.errors import AgentNotFound, ModelNotFound
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.json import Json
from agent.records.requests import PermissionMode
from agent.records.tool_facts import PLAN_AGENT, Answering
from agent.runtime.worktrees import RuntimeWorktrees, project_of, worktrees_folder
from agent.session.api import PromptInput
from agent.session.context.pruning import PROTECTED_TOOLS
from agent.session.fallback import Fallbacks, fallback_notices
from agent.session.judge import Judges
from agent.session.service import SessionService
from agent.session.spending import ConfiguredCaps, Spending
from agent.session.subagents.completions import Completions
from agent.session.turn.guards import TurnLimits
from agent.session.turn.turn_services import CompactionSettings, StopHook
from agent.store.store import Store
from agent.tools.builtin_tools import BuiltinTool
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
    opened: OpenedFolder, catalog: Catalog, questions: QuestionService, given: FallbackConfig
) -> Fallbacks:
    recheck = given.recheck / 1000
    return Fallbacks(catalog, given.models, given.mode, recheck, questions, opened.bus, time.time)


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


# The settings of an opened folder, once it is clear whether its own files count.


async def read_settings(
    directory: Path,
    project: Path,
    env: Mapping[str, str],
    overrides: Mapping[str, Json] | None = None,
    *,
    paths: Paths | None = None,
    ask: AskTrust | None = None,
    trust_once: bool = False,
) -> tuple[LoadedConfig, Trust]:
    """Return the settings for *directory* in *project* (both resolved), and the project's trust.

    *ask* is called before anything of the project is used; without it only what was trusted
    before is used, or everything with *trust_once*. See ``load_config`` for the rest.
    """
    paths = paths or Paths.find(env)
    own = load_config(directory, project, env, overrides, paths=paths)
    look = partial(scan_project, directory, project, paths, env, own.config.instructions)
    trust = Trust(
        store=TrustStore(paths.data),
        project=project,
        folder=display_path(project, env),
        scan=look,
        found=await asyncio.to_thread(look),
        once=trust_once,
    )
    trust = await resolve_trust(trust, ask)
    if not trust.trusted and not (trust.status == "nothing" and own.project_files):
        return own, trust
    loaded = load_config(
        directory,
        project,
        env,
        overrides,
        paths=paths,
        trusted=True,
        providers_with_keys={
            spec.id: (spec.base_url, *(f"{{env:{name}}}" for name in spec.key_variables))
            for spec in KNOWN_PROVIDERS.values()
            if not spec.local
        },
    )
    # Where nothing needs trust, the only use of the project's files is to say what has no effect.
    return (loaded if trust.trusted else replace(own, notices=loaded.notices)), trust


# The models and agents of an opened folder.
#
# What a project's files ask for and the user cannot use is ignored with a notice, and the user's
# own value is used: a project never keeps the program from working. A wrong name in the user's own
# settings is reported at once, not at the first prompt.

_Entry = TypeVar("_Entry", AgentConfig, CommandConfig)

_CHOICES = ("enabled_providers", "disabled_providers")
_MODEL_TABLES = ("provider.", *_CHOICES)


def models_and_agents(opened: OpenedFolder) -> tuple[Catalog, Agents, LoadedConfig]:
    """Return the models, the agents, and the settings without what cannot be used."""
    catalog, loaded = _usable_default(opened, opened.loaded)
    loaded = _with_usable_models(catalog, loaded)
    agents = Agents(loaded)
    default = loaded.config.default_agent
    try:
        agents.get(default)
    except AgentNotFound as error:
        own = "default_agent" in loaded.sources and not loaded.from_project("default_agent")
        if own and not _project_changes(loaded, (f"agent.{default}.",)):
            raise
        given = loaded.own_value("default_agent")
        found = agents.find(given) if isinstance(given, str) else None
        used = (found or agents.primary()[0]).name
        loaded = _without(loaded, "default_agent", f"{error.message} {used} is used.", used)
    notices = fallback_notices(catalog, loaded.config.fallback.models)
    return catalog, agents, replace(loaded, notices=(*loaded.notices, *notices))


def _usable_default(opened: OpenedFolder, loaded: LoadedConfig) -> tuple[Catalog, LoadedConfig]:
    """Return the catalog, whose default model the user can use unless no settings give one."""

    def catalog_of(settings: LoadedConfig) -> Catalog:
        return catalog_from_config(settings, opened.paths, opened.env)

    catalog = catalog_of(loaded)
    try:
        catalog.model(catalog.default_model())
    except ModelNotFound as error:
        if not (loaded.from_project("model") or _project_changes(loaded, _MODEL_TABLES)):
            raise
        loaded = _without(loaded, "model", error.message, loaded.own_value("model"))
        catalog = catalog_of(loaded)
    why = _unusable(catalog, catalog.default_model())
    if why and loaded.from_project("model"):
        loaded = _without(loaded, "model", why, loaded.own_value("model"))
        catalog = catalog_of(loaded)
    choices = [key for key in _CHOICES if _project_changes(loaded, (key,))]
    if not choices or not (catalog.lacks_model or _unusable(catalog, catalog.default_model())):
        return catalog, loaded
    others = replace(loaded, config=replace(loaded.config, model=None))
    if not (catalog := catalog_of(others)).lacks_model:
        why = f"it leaves {catalog.default_model()}, which is used instead of {loaded.config.model}"
        notice = f"{loaded.sources[choices[0]]}: {choices[0]}: {why}."
        return catalog, replace(others, notices=(*loaded.notices, notice))
    for key in choices:
        own = loaded.own_value(key) or ()
        loaded = _without(loaded, key, "it would leave no provider that you can use.", own)
    return catalog_of(loaded), loaded


def _with_usable_models(catalog: Catalog, loaded: LoadedConfig) -> LoadedConfig:
    """Return *loaded* with models of agents and commands, and other models, that can be used."""
    small = catalog.small_model(catalog.default_model().partition("/")[0])
    config = loaded.config
    ignored: dict[tuple[str, str], list[str]] = {}
    """The keys by their file and the reason."""

    def usable(model: str | None, *key: str) -> str | None:
        if model == SMALL_MODEL:
            return small
        dotted = ".".join(key)
        why = _unusable(catalog, model) if model and loaded.from_project(dotted) else ""
        if not why:
            return model
        source = loaded.sources[dotted]
        ignored.setdefault((source, why), []).append(key[-1] if source.endswith(".md") else dotted)
        own = loaded.own_value(*key)
        return own if isinstance(own, str) else None

    def with_models(kind: str, entries: Mapping[str, _Entry]) -> dict[str, _Entry]:
        return {
            name: replace(entry, model=usable(entry.model, kind, name, "model"))
            for name, entry in entries.items()
        }

    made = replace(
        config,
        small_model=usable(config.small_model, "small_model"),
        compaction=replace(
            config.compaction, model=usable(config.compaction.model, "compaction", "model")
        ),
        agent=with_models("agent", config.agent),
        command=with_models("command", config.command),
    )
    notices = (
        f"{source}: {', '.join(keys)} {'are' if len(keys) > 1 else 'is'} ignored: {why}"
        for (source, why), keys in ignored.items()
    )
    return replace(loaded, config=made, notices=(*loaded.notices, *notices))


def _unusable(catalog: Catalog, model: str) -> str:
    """Return a sentence why *model* cannot be used, "" if it can."""
    try:
        provider = catalog.model(model).provider
    except ModelNotFound as error:
        return error.message
    if not catalog.has_model(model):
        return f"{provider} is turned off."
    usable = provider == DEMO or catalog.access.is_usable(provider)
    return "" if usable else f"there is no key for {provider}."


def _project_changes(loaded: LoadedConfig, prefixes: tuple[str, ...]) -> bool:
    """Return whether a project's file sets a value whose dotted key begins with a prefix."""
    return any(
        key.startswith(prefixes) and source in loaded.project_files
        for key, source in loaded.sources.items()
    )


def _without(loaded: LoadedConfig, key: str, why: str, instead: Any) -> LoadedConfig:
    """Return *loaded* with *instead* in place of the value of *key*, and a notice."""
    notice = f"{loaded.sources.get(key, 'Settings')}: {key} is ignored: {why}"
    return replace(
        loaded,
        config=replace(loaded.config, **{key: instead}),
        notices=(*loaded.notices, notice),
        sources={name: source for name, source in loaded.sources.items() if name != key},
    )
