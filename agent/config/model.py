"""Every setting, documented once: validation, the JSON schema and the defaults come from here.

These are plain frozen dataclasses, so that a start without any config file loads no validation
library; ``agent.config.validation`` hands them to pydantic when there is a file. Keys are written
in files as here unless ``FILE_KEYS`` gives another spelling. Times are milliseconds, as in
opencode's files, which are read unchanged. None means that a value was not set.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from agent.records.json import JsonObject
from agent.records.requests import Action
from agent.records.sandbox import SandboxSetting

FILE_KEYS = {
    "base_url": "baseURL",
    "api_key": "apiKey",
    "chunk_timeout": "chunkTimeout",
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "callback_port": "callbackPort",
    "argument_hint": "argument-hint",
}
"""Field names with another key in a file."""


def file_key(name: str) -> str:
    """Return the key of field *name* in a file."""
    return FILE_KEYS.get(name, name)


# Read by pydantic from a plain dataclass; it is only a dictionary until then.
CHECKED: dict[str, Any] = {
    "extra": "forbid",
    "use_attribute_docstrings": True,
    "alias_generator": file_key,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LspServerConfig:
    """A language server: changes to a known one, or one of the user's own, which needs its
    *command* and *extensions*."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    command: tuple[str, ...] = ()
    """The program and its arguments."""
    extensions: tuple[str, ...] = ()
    """Ends of the names of its files, with the dot."""
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further environment variables."""
    initialization: JsonObject = field(default_factory=dict)
    """Its initialization options, which it also gets as its settings."""
    disabled: bool = False
    """Whether it is switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatterConfig:
    """A formatter: changes to a known one, or one of the user's own, which needs its *command*
    and *extensions*."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    command: tuple[str, ...] = ()
    """The program and its arguments; ``$FILE`` stands for the file, which it changes in place."""
    extensions: tuple[str, ...] = ()
    """Ends of the names of its files, with the dot."""
    environment: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further environment variables."""
    disabled: bool = False
    """Whether it is switched off."""


PermissionSetting: TypeAlias = Action | dict[str, Action | dict[str, Action]]
"""One action for everything, or for each permission an action or patterns in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """An agent: changes to a built-in one, or one of the user's own."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    description: str | None = None
    """When to use this agent, in a sentence."""
    prompt: str | None = None
    """Its instructions."""
    model: str | None = None
    """Its model, as ``provider/model``."""
    permission: PermissionSetting | None = None
    """Its permission rules, which come after the general ones."""
    steps: int | None = None
    """Model calls that it may make in one turn."""
    mode: Literal["primary", "subagent", "all"] | None = None
    """Whether the user talks to it, other agents call it, or both."""
    temperature: float | None = None
    """Sampling temperature, where the model accepts one."""
    effort: str | None = None
    """How much its model reasons: one of the model's levels."""
    color: str | None = None
    """Its colour: a hex value such as ``"#7aa2f7"``, or a role of the theme (primary, secondary,
    accent, success, warning, error, info)."""
    hidden: bool = False
    """Whether it is left out of lists."""
    disable: bool = False
    """Whether it is switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandConfig:
    """A slash command: a prompt to send, with places to fill in."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    template: str | None = None
    """What is sent. ``$ARGUMENTS`` is all that is typed behind the command, ``$1`` … its words;
    ``@path`` attaches a file, and an exclamation mark with a command in backticks is replaced by
    what the command prints."""
    description: str | None = None
    """What it does, in a sentence."""
    argument_hint: str | None = None
    """What may be typed behind it, for the list of commands."""
    agent: str | None = None
    """The agent that gets it; not set, the one that is chosen."""
    model: str | None = None
    """The model that answers it, as ``provider/model``."""
    effort: str | None = None
    """How much that model reasons: one of its levels."""
    subtask: bool | None = None
    """Whether a sub-agent does it. Not set: when its agent is one that works for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsConfig:
    """Where skills are found, beside the usual places."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    paths: tuple[str, ...] = ()
    """Further folders that hold skills, each in a folder with a ``SKILL.md``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """One program that a hook runs. It gets JSON on its standard input."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    type: Literal["command"] = "command"
    """Only programs are run here."""
    command: str
    """The shell command."""
    timeout: float | None = None
    """Seconds that it may take; 60 if not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookGroup:
    """Programs that run together, for some of the calls of an event."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    matcher: str = ""
    """Which tools it is for: a regular expression that the whole name fits, such as
    ``Edit|Write`` or ``bash``. Empty for all."""
    hooks: tuple[HookCommand, ...] = ()
    """What is run, side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOAuthConfig:
    """The login at a remote server, where it can't find that out by itself."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    client_id: str | None = None
    """The client's id, where the server registers no new ones; or the https address of a page
    that describes the client, for servers that read it from there."""
    client_secret: str | None = field(default=None, repr=False)
    """The client's secret, if it has one; better written as ``{env:NAME}`` than in full."""
    scope: str | None = None
    """What to ask for, with blanks between. Not set: what the server says that it wants."""
    callback_port: int | None = None
    """Port of this machine that the browser comes back to. Not set: any free one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConfig:
    """An MCP server: a program that is started here, or an address."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    type: Literal["local", "remote"] | None = None
    """Not set: ``remote`` with a *url*, else ``local``."""
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    cwd: str | None = None
    """The folder that it is started in; relative to the opened folder, which is the default."""
    environment: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Environment variables beside the few harmless ones that it gets."""
    url: str | None = None
    """Address of a remote server."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further HTTP headers of every request."""
    oauth: Literal[False] | McpOAuthConfig | None = None
    """How one logs in; false for a server that never asks."""
    enabled: bool = True
    """Whether it is started."""
    timeout: int | None = None
    """Milliseconds that it may take to connect (30,000 if not set), and that a call may go
    without a sign of life (120,000 if not set)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UiConfig:
    """Look and behavior of the full screen."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    diffs: Literal["auto", "unified", "split"] = "auto"
    """Old and new side by side where there is room, never (``unified``), or wherever it is just
    possible (``split``)."""
    sidebar: Literal["auto", "show", "hide"] = "auto"
    """Whether todo, changed files and context stand at the right: on wide screens, always where
    there is room, or never."""
    notifications: Literal["auto", "bell", "osc9", "osc777", "off"] = "auto"
    """How you are told that a turn ended or a question waits while the terminal has no focus:
    the bell, a desktop notification by OSC 9 or OSC 777, both bell and OSC 9 (``auto``), or not."""
    mouse: bool = True
    """Whether the program takes the mouse; without it, it selects text as in a shell."""
    animations: bool = True
    """Whether spinners turn."""
    title: bool = True
    """Whether the terminal's title tells the session and whether it works or waits."""
    scroll_speed: float | None = None
    """Lines that one turn of the mouse wheel scrolls; 2 if not set."""
    leader_timeout: int = 2_000
    """Milliseconds that the leader key waits for the key behind it."""
    vim: bool = False
    """Whether the prompt has Vim's keys."""


ProviderApi = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "ollama",
    "cohere",
    "bedrock",
]
"""The wire protocols that a configured server can use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitConfig:
    """Limits of a model in tokens."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    context: int | None = None
    """Tokens that prompt and answer may have together."""
    input: int | None = None
    """Tokens that the prompt may have, where that is less."""
    output: int | None = None
    """Tokens that one answer may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierConfig:
    """Prices of long prompts, in US dollars per million tokens."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    input: float | None = None
    """Price of prompt tokens that came from no cache."""
    output: float | None = None
    """Price of generated tokens, reasoning included."""
    cache_read: float | None = None
    """Price of prompt tokens read from the provider's cache."""
    cache_write: float | None = None
    """Price of prompt tokens written to the provider's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostConfig:
    """Prices in US dollars per million tokens; they win over the built-in catalogue."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    input: float | None = None
    """Price of prompt tokens that came from no cache."""
    output: float | None = None
    """Price of generated tokens, reasoning included."""
    cache_read: float | None = None
    """Price of prompt tokens read from the provider's cache."""
    cache_write: float | None = None
    """Price of prompt tokens written to the provider's cache."""
    context_over_200k: TierConfig | None = None
    """Prices of calls whose prompt has more than 200,000 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """One model of a provider."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    id: str | None = None
    """The model's name at the server, where it differs from the key in this file."""
    name: str | None = None
    """The name that is shown."""
    disabled: bool = False
    """Whether it is left out of lists."""
    limit: LimitConfig = field(default_factory=LimitConfig)
    """Limits in tokens."""
    reasoning: bool | None = None
    """Whether the model thinks before it answers."""
    vision: bool | None = None
    """Whether the model sees images."""
    documents: bool | None = None
    """Whether the model reads PDF files."""
    tool_call: bool | None = None
    """Whether the model can call tools."""
    temperature: bool | None = None
    """Whether the model accepts a temperature."""
    efforts: tuple[str, ...] | None = None
    """Its levels of reasoning effort, lowest first, e.g. ``["low", "high"]``."""
    cost: CostConfig | None = None
    """Prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """Access to a provider's server."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    base_url: str | None = None
    """Address of the server, e.g. ``http://127.0.0.1:8080/v1``."""
    api_key: str | None = field(default=None, repr=False)
    """The key; better written as ``{env:NAME}`` than in full."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further HTTP headers of every request."""
    timeout: int | Literal[False] | None = None
    """Milliseconds until the first event of an answer, or false for no limit."""
    chunk_timeout: int | Literal[False] | None = None
    """Milliseconds of silence in the middle of an answer that break it off, or false for none."""
    proxy: str | None = field(default=None, repr=False)
    """Address of the HTTP proxy for this provider."""
    ca: str | None = None
    """Path of a PEM file with the certificates to trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """A provider: one that is built in, changed, or one of the user's own."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    name: str | None = None
    """The name that is shown."""
    api: ProviderApi | None = None
    """The wire protocol. A provider of one's own without it speaks ``openai-chat``."""
    transport: Literal["http", "litellm"] | None = None
    """Whether its own protocol is spoken or litellm asks it. Not set: litellm only where no
    protocol here can."""
    small_model: str | None = None
    """Its model for titles and other small work, without the provider's name."""
    whitelist: tuple[str, ...] = ()
    """Ids of its only models that are listed; all, if none is named."""
    blacklist: tuple[str, ...] = ()
    """Ids of its models that are not listed."""
    env: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first that is set counts."""
    options: ProviderOptions = field(default_factory=ProviderOptions)
    """Address, key, headers."""
    models: dict[str, ModelConfig] = field(default_factory=dict[str, ModelConfig])
    """Models by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutputConfig:
    """The part of a long tool output that the model reads. The whole is kept in a file."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    max_lines: int = 2_000
    """Lines."""
    max_bytes: int = 51_200
    """Bytes (50 KB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BashConfig:
    """Execution of commands."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    timeout: int = 120_000
    """Milliseconds that a command may take when the model names no time (2 minutes)."""
    max_timeout: int = 600_000
    """Milliseconds that the model may ask for at most (10 minutes)."""
    env: Literal["inherit", "strict"] = "inherit"
    """``strict`` passes on only a short list of harmless environment variables."""
    keep: tuple[str, ...] = ()
    """Names of further variables that ``strict`` passes on; ``AWS_*`` for all that begin so."""
    sandbox: SandboxSetting = "auto"
    """``auto`` runs the model's commands in a sandbox where this machine has one, ``required``
    runs them nowhere else, ``off`` never uses one. A project can only set ``required``."""
    sandbox_writable: tuple[str, ...] = ()
    """Further folders that commands can write in the sandbox, such as ``~/.local/share/pnpm``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebfetchConfig:
    """Fetching of web pages."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    allow: tuple[str, ...] = ()
    """Names, addresses and networks beside the public internet that may be fetched from, e.g.
    ``localhost``, ``*.corp.example``, ``10.0.0.0/8``. Each host is asked for all the same."""
    timeout: int = 30_000
    """Milliseconds that a fetch may take when the model names no time."""
    max_bytes: int = 5_242_880
    """Bytes of a page, unpacked (5 MB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebsearchConfig:
    """The search engine behind the ``websearch`` tool; without a *provider* there is no such
    tool. The key may also stand in ``BRAVE_API_KEY``, ``TAVILY_API_KEY`` or ``EXA_API_KEY``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    provider: Literal["searxng", "brave", "tavily", "exa"] | None = None
    """Which engine answers. A SearXNG server needs its *url*."""
    url: str | None = None
    """Address of the engine, where it is not the usual one."""
    api_key: str | None = field(default=None, repr=False)
    """The key; better written as ``{env:NAME}`` than in full."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further HTTP headers of every search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    """Retries when a provider fails for a while."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    attempts: int = 5
    """How often a request is sent at most, the first time included."""
    delay: int = 2_000
    """Milliseconds before the second try; doubled each time, with chance, up to 30 seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """Limits that end a turn that would go on. Not set: no limit."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    steps: int | None = None
    """Model calls of one turn."""
    tokens: int | None = None
    """Tokens of one turn, prompt and answer together."""
    cost: float | None = None
    """US dollars of one turn."""
    repeats: int = 3
    """The same tool call so many times in a row is asked about; 0 never asks."""
    target_tokens: int | None = None
    """No limit but an aim: a turn that would end goes on until it has written nearly this many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig:
    """Compaction of a session that outgrows the model's context."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    auto: bool = True
    """Whether a long session is summed up without being told to. The sections are those of the
    agent ``compaction``: set its ``prompt`` to change them."""
    model: str | None = None
    """The model that sums up, as ``provider/model``. Not set: that of the agent ``compaction``,
    else the session's own."""
    reserved: int | None = None
    """Tokens of the window that are kept for the answer. Not set: 20,000, or what one answer may
    have, or a quarter of the window, whichever is least."""
    prune: bool = True
    """Whether old tool output is left out of requests, but for its first and last lines, before
    a session is summed up."""
    protect: tuple[str, ...] = ()
    """Further tools, beside ``skill``, whose output is never left out of requests to save
    space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings after merging. The defaults hold where no file says anything."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    model: str | None = None
    """The model to start with, as ``provider/model``."""
    small_model: str | None = None
    """The model for titles, as ``provider/model``; ``none`` for no such requests. Not set: a
    small model of the session's own provider, where one is known."""
    default_agent: str = "build"
    """The agent to start with."""
    permission: PermissionSetting | None = None
    """What tools may do. The rules in force, with their sources, are ``LoadedConfig.rules``."""
    permission_mode: Literal["last-wins", "deny-wins"] = "last-wins"
    """Whether the last matching rule decides, or any matching deny."""
    provider: dict[str, ProviderConfig] = field(default_factory=dict[str, ProviderConfig])
    """Providers by id."""
    disabled_providers: tuple[str, ...] = ()
    """Ids of providers that are never used, offered or looked for on this machine."""
    enabled_providers: tuple[str, ...] = ()
    """Ids of the only providers that are used; all, if none is named."""
    agent: dict[str, AgentConfig] = field(default_factory=dict[str, AgentConfig])
    """Agents by name."""
    mcp: dict[str, McpConfig] = field(default_factory=dict[str, McpConfig])
    """MCP servers by name."""
    command: dict[str, CommandConfig] = field(default_factory=dict[str, CommandConfig])
    """Slash commands of your own by name."""
    skills: SkillsConfig = field(default_factory=SkillsConfig)
    """Further places of skills."""
    hooks: dict[str, tuple[HookGroup, ...]] = field(
        default_factory=dict[str, tuple[HookGroup, ...]]
    )
    """Programs to run at certain moments, by event, in the form of Claude Code's settings."""
    subagent_depth: int = 3
    """How deep sub-agents may call others."""
    lsp: bool | dict[str, LspServerConfig] | None = None
    """Language servers by id; false for none, true for every known one that is found on the
    path. Not set: those of them that run nothing of the project."""
    formatter: bool | dict[str, FormatterConfig] | None = None
    """Formatters that run after each write, by id; true for every known one that is found on
    the path and has settings in the project. Not set: none."""
    theme: str | None = None
    """Name of the colour theme; ``auto``, and nothing, follow the terminal's background."""
    ui: UiConfig = field(default_factory=UiConfig)
    """How the full screen looks and behaves."""
    keybinds: dict[str, str] = field(default_factory=dict[str, str])
    """Keys by action, several with commas; ``none`` takes a key away."""
    tool_output: ToolOutputConfig = field(default_factory=ToolOutputConfig)
    """What the model reads of a long tool output."""
    bash: BashConfig = field(default_factory=BashConfig)
    """How commands are run."""
    webfetch: WebfetchConfig = field(default_factory=WebfetchConfig)
    """How pages of the web are fetched."""
    websearch: WebsearchConfig = field(default_factory=WebsearchConfig)
    """The search engine behind ``websearch``."""
    retry: RetryConfig = field(default_factory=RetryConfig)
    """What happens when a provider fails for a while."""
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    """What ends a turn that would go on."""
    compaction: CompactionConfig = field(default_factory=CompactionConfig)
    """What happens when a session outgrows the model's context."""
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    """Prompts of your own by family of models (claude, codex, gpt, persistent, gemini, open,
    default), in place of the built-in ones. ``{{shared}}`` in one is where the rules go that all
    families share."""
    instructions: tuple[str, ...] = ()
    """Further instruction files, as paths or patterns. All files' lists are joined."""
    instructions_mode: Literal["nearest", "stack"] = "nearest"
    """Whether only the nearest instruction file of a project counts, or all from its root down."""
    project_reads: tuple[str, ...] = ()
    """Variables and files that ``{env:NAME}`` and ``{file:path}`` may read in the settings of a
    project that you trust. Only your own settings can list them."""
    snapshot: bool = True
    """Whether the folder's state is kept at each step, so that changes can be undone."""
