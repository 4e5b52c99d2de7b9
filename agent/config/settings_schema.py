"""Every setting, documented once: validation, the JSON schema and the defaults come from here.

Plain frozen dataclasses, so that a start without a config file loads no validation library; keys
are written as here unless ``FILE_KEYS`` gives another spelling. Times are milliseconds, as in
opencode's files, which are read unchanged. None means that a value was not set.
"""

from dataclasses import field
from typing import Any, ClassVar, Literal, TypeAlias

from agent.config.file_keys import CHECKED
from agent.config.turn_settings import CompactionConfig, FallbackConfig, LimitsConfig, RetryConfig
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.requests import Action
from agent.records.sandbox import ProgramSandbox, SandboxSetting


@frozen(kw_only=True)
class LspServerConfig:
    """A language server: changes to a known one, or one of your own, which needs its
    *command* and *extensions*."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    command: tuple[str, ...] = ()
    """The program and its arguments."""
    extensions: tuple[str, ...] = ()
    """Its file extensions, with the dot."""
    env: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Additional environment variables."""
    initialization: JsonObject = field(default_factory=dict)
    """Its initialization options, which it also gets as its settings."""
    disabled: bool = False
    """True to turn it off."""


@frozen(kw_only=True)
class FormatterConfig:
    """A formatter: changes to a known one, or one of your own, which needs its *command*
    and *extensions*."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    command: tuple[str, ...] = ()
    """The program and its arguments; ``$FILE`` is the path of the file that it changes in place."""
    extensions: tuple[str, ...] = ()
    """Its file extensions, with the dot."""
    environment: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Additional environment variables."""
    disabled: bool = False
    """True to turn it off."""


PermissionSetting: TypeAlias = Action | dict[str, Action | dict[str, Action]]
"""One action for everything, or for each permission an action or patterns in order."""


@frozen(kw_only=True)
class AgentConfig:
    """An agent: changes to a built-in one, or one of your own."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    description: str | None = None
    """When to use this agent, in a sentence."""
    prompt: str | None = None
    """Its instructions."""
    model: str | None = None
    """Its model, as ``provider/model``; ``small`` for the small one of the usual provider."""
    permission: PermissionSetting | None = None
    """Its permission rules, which come after the general ones."""
    steps: int | None = None
    """The maximum number of model calls in one turn."""
    mode: Literal["primary", "subagent", "all"] | None = None
    """``primary`` for an agent that the user talks to, ``subagent`` for one that other agents call,
    ``all`` for both."""
    temperature: float | None = None
    """Sampling temperature, where the model accepts one."""
    effort: str | None = None
    """The reasoning effort: one of the model's levels."""
    color: str | None = None
    """Its color: a hex value such as ``"#7aa2f7"``, or a role of the theme (primary, secondary,
    accent, success, warning, error, info)."""
    worktree: bool = False
    """True to give each sub-agent a git worktree of its own, with a branch, to work in."""
    hidden: bool = False
    """True to omit it from lists."""
    disable: bool = False
    """True to turn it off."""


@frozen(kw_only=True)
class CommandConfig:
    """A slash command: a prompt to send, with places to fill in."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    template: str | None = None
    """The prompt. ``$ARGUMENTS`` is all that is typed after the command, ``$1`` … its words;
    ``@path`` attaches a file, and an exclamation mark with a command in backticks is replaced by
    what the command prints."""
    description: str | None = None
    """A sentence on its purpose."""
    argument_hint: str | None = None
    """The arguments that it expects, as the list of commands shows them."""
    agent: str | None = None
    """The agent that receives the prompt. Not set: the current one."""
    model: str | None = None
    """The model that responds, as ``provider/model``."""
    effort: str | None = None
    """The reasoning effort of that model: one of its levels."""
    subtask: bool | None = None
    """True to run it in a sub-agent. Not set: true if its agent is a sub-agent."""


@frozen(kw_only=True)
class SkillsConfig:
    """Places of skills in addition to the usual ones."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    paths: tuple[str, ...] = ()
    """Additional folders of skills; each skill is a folder with a ``SKILL.md``."""


@frozen(kw_only=True)
class HookCommand:
    """A program that a hook runs with JSON on its standard input, or an address that gets it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    type: Literal["command", "http"] = "command"
    """A program or an address."""
    command: str = ""
    """The shell command."""
    url: str = ""
    """The address."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Additional headers; ``$NAME`` is a variable of *allowedEnvVars*."""
    allowed_env: tuple[str, ...] = ()
    """The variables that headers may name."""
    timeout: float | None = None
    """The time limit in seconds; 60 if not set."""
    sandbox: ProgramSandbox = "off"
    """The sandbox that it runs in. With ``bash.sandbox`` set to ``required``, ``off`` means
    ``workspace-write``."""


@frozen(kw_only=True)
class HookGroup:
    """Programs that run together, for some of the calls of an event."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    matcher: str = ""
    """The tools that it applies to: a regular expression that matches the whole name, such as
    ``Edit|Write`` or ``bash``. Empty for all."""
    hooks: tuple[HookCommand, ...] = ()
    """The programs, which run in parallel."""


@frozen(kw_only=True)
class McpOAuthConfig:
    """The login at a remote server that does not describe it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    client_id: str | None = None
    """The client's id, where the server registers no new ones; or the https address of a page
    that describes the client, for servers that read it from there."""
    client_secret: str | None = field(default=None, repr=False)
    """The client's secret, if it has one. Prefer ``{env:NAME}`` to the secret itself."""
    issuer: str | None = None
    """The authorization server that the id and the secret belong to. With all three the program
    logs in by itself, without a browser (client credentials)."""
    scope: str | None = None
    """The scopes to request, separated by spaces. Not set: those that the server names."""
    callback_port: int | None = None
    """The local port that the browser is redirected to. Not set: any free one."""


@frozen(kw_only=True)
class McpConfig:
    """An MCP server: a local program, or the URL of a remote server."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    type: Literal["local", "remote"] | None = None
    """Not set: ``remote`` with a *url*, else ``local``."""
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    cwd: str | None = None
    """Its working directory, relative to the opened folder, which is the default."""
    environment: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Environment variables in addition to the few harmless ones that it gets."""
    url: str | None = None
    """Address of a remote server."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Additional HTTP headers of every request."""
    oauth: Literal[False] | McpOAuthConfig | None = None
    """The login; false for a server that needs none."""
    enabled: bool = True
    """False to keep it from starting."""
    sandbox: ProgramSandbox = "off"
    """The sandbox that the program runs in. Without one on this machine, the server is not started
    then. A project can only restrict a server of yours further."""
    timeout: int | None = None
    """The time limit in milliseconds for connecting (30,000 if not set), and for a call without
    any progress (120,000 if not set)."""


@frozen(kw_only=True)
class UiConfig:
    """Look and behavior of the full screen."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    diffs: Literal["auto", "unified", "split"] = "auto"
    """The layout of diffs: side by side where there is room (``auto``), never (``unified``), or
    wherever it is possible at all (``split``)."""
    sidebar: Literal["auto", "show", "hide"] = "auto"
    """The sidebar with to-dos, changed files and context: on wide screens, wherever there is room,
    or never."""
    notifications: Literal["auto", "bell", "osc9", "osc777", "off"] = "auto"
    """The notification when a turn ends or a question is pending while the terminal has no focus:
    the bell, a desktop notification by OSC 9 or OSC 777, both bell and OSC 9 (``auto``), or none
    (``off``)."""
    mouse: bool = True
    """True to use the mouse; false leaves it to the terminal, which selects text as in a shell."""
    animations: bool = True
    """True to animate spinners."""
    title: bool = True
    """True to show the session and its state in the terminal's title."""
    scroll_speed: float | None = None
    """Lines that one step of the mouse wheel scrolls; 2 if not set."""
    leader_timeout: int = 2_000
    """The time in milliseconds to press the next key after the leader key."""
    vim: bool = False
    """True for Vim's keys in the prompt."""


@frozen(kw_only=True)
class StatusLineConfig:
    """A command that prints the status line, in Claude Code's form."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    command: str
    """The command. It gets facts about the session as JSON on its standard input, and the first
    line that it prints within 5 seconds is shown."""
    type: Literal["command"] = "command"
    """The kind of status line; there is one."""
    padding: int = 0
    """Ignored: the line has the padding of the screen."""


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


@frozen(kw_only=True)
class LimitConfig:
    """Limits of a model in tokens."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    context: int | None = None
    """The limit for prompt and response together."""
    input: int | None = None
    """The limit for the prompt, where that is lower."""
    output: int | None = None
    """The limit for one response."""


@frozen(kw_only=True)
class TierConfig:
    """Prices of long prompts, in US dollars per million tokens."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    input: float | None = None
    """Price of prompt tokens that were not cached."""
    output: float | None = None
    """Price of generated tokens, reasoning included."""
    cache_read: float | None = None
    """Price of prompt tokens read from the provider's cache."""
    cache_write: float | None = None
    """Price of prompt tokens written to the provider's cache."""


@frozen(kw_only=True)
class CostConfig:
    """Prices in US dollars per million tokens; they replace those of the built-in catalog."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    input: float | None = None
    """Price of prompt tokens that were not cached."""
    output: float | None = None
    """Price of generated tokens, reasoning included."""
    cache_read: float | None = None
    """Price of prompt tokens read from the provider's cache."""
    cache_write: float | None = None
    """Price of prompt tokens written to the provider's cache."""
    context_over_200k: TierConfig | None = None
    """Prices of calls whose prompt has more than 200,000 tokens."""


@frozen(kw_only=True)
class ModelConfig:
    """One model of a provider."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    id: str | None = None
    """The model's name at the server, where it differs from the key in this file."""
    name: str | None = None
    """The displayed name."""
    disabled: bool = False
    """True to omit it from lists."""
    limit: LimitConfig = field(default_factory=LimitConfig)
    """Limits in tokens."""
    reasoning: bool | None = None
    """True if the model reasons before it responds."""
    vision: bool | None = None
    """True if the model accepts images."""
    documents: bool | None = None
    """True if the model accepts PDF files."""
    tool_call: bool | None = None
    """True if the model can call tools."""
    temperature: bool | None = None
    """True if the model accepts a temperature."""
    efforts: tuple[str, ...] | None = None
    """Its levels of reasoning effort, lowest first, e.g. ``["low", "high"]``."""
    effort: str | None = None
    """Its reasoning effort, if neither the prompt, the session nor the agent sets one."""
    cost: CostConfig | None = None
    """Prices."""


@frozen(kw_only=True)
class ProviderOptions:
    """Access to a provider's server."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    base_url: str | None = None
    """Address of the server, e.g. ``http://127.0.0.1:8080/v1``."""
    api_key: str | None = field(default=None, repr=False)
    """The API key. Prefer ``{env:NAME}`` to the key itself."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Additional HTTP headers of every request."""
    timeout: int | Literal[False] | None = None
    """The time limit in milliseconds for the first event of a response, or false for no limit."""
    chunk_timeout: int | Literal[False] | None = None
    """The time limit in milliseconds between two events of a response, and for the first one where
    ``timeout`` is not set; or false for no limit."""
    proxy: str | None = field(default=None, repr=False)
    """Address of the HTTP proxy for this provider."""
    ca: str | None = None
    """Path of a PEM file with the certificates to trust."""


@frozen(kw_only=True)
class ProviderConfig:
    """A provider: changes to a built-in one, or one of your own."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    name: str | None = None
    """The displayed name."""
    api: ProviderApi | None = None
    """The wire protocol; ``openai-chat`` for a provider of your own that sets none."""
    transport: Literal["http", "litellm"] | None = None
    """``http`` for its own protocol, ``litellm`` to call it through litellm. Not set: litellm only
    for providers whose protocol is not built in."""
    small_model: str | None = None
    """Its model for titles and other small work, without the provider's name."""
    whitelist: tuple[str, ...] = ()
    """Ids of its only models that are listed; all, if none is named."""
    blacklist: tuple[str, ...] = ()
    """Ids of its models that are not listed."""
    env: tuple[str, ...] = ()
    """Environment variables for the key; the first that is set is used."""
    options: ProviderOptions = field(default_factory=ProviderOptions)
    """Address, key, headers."""
    models: dict[str, ModelConfig] = field(default_factory=dict[str, ModelConfig])
    """Models by id."""


@frozen(kw_only=True)
class ToolOutputConfig:
    """The part of a long tool output that the model reads. The full output is saved in a file."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    max_lines: int = 2_000
    """Lines."""
    max_bytes: int = 51_200
    """Bytes (50 KB)."""


@frozen(kw_only=True)
class BashConfig:
    """Execution of commands."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    timeout: int = 120_000
    """The time limit of a command in milliseconds if the model sets none (2 minutes)."""
    max_timeout: int = 600_000
    """The longest time limit in milliseconds that the model can set (10 minutes)."""
    env: Literal["inherit", "strict"] = "inherit"
    """``strict`` passes on only a short list of harmless environment variables."""
    keep: tuple[str, ...] = ()
    """Names of further variables that ``strict`` passes on; ``AWS_*`` for all that begin so."""
    sandbox: SandboxSetting = "auto"
    """``auto`` runs the model's commands in a sandbox where this machine has one, ``required``
    runs them nowhere else, ``off`` never uses one. A project can only set ``required``."""
    sandbox_writable: tuple[str, ...] = ()
    """Additional folders that sandboxed commands can write to, such as ``~/.local/share/pnpm``."""


@frozen(kw_only=True)
class WebfetchConfig:
    """Fetching of web pages."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    allow: tuple[str, ...] = ()
    """Names, addresses and networks outside the public internet that can be fetched from, e.g.
    ``localhost``, ``*.corp.example``, ``10.0.0.0/8``. Each host still needs permission."""
    timeout: int = 30_000
    """The time limit of a fetch in milliseconds if the model sets none."""
    max_bytes: int = 5_242_880
    """The maximum size of a page in bytes, uncompressed (5 MB)."""


@frozen(kw_only=True)
class WorktreeConfig:
    """The worktrees that ``/new --worktree``, ``opencode-py -w`` and sub-agents make."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    copy: tuple[str, ...] = ()
    """Ignored files that a new worktree gets a copy of, as paths or patterns from the project's
    root: ``.env``, ``config/*.local.json``."""
    setup: str = ""
    """A shell command that runs in a new worktree before it is used: ``npm ci``."""


@frozen(kw_only=True)
class WebsearchConfig:
    """The search engine behind the ``websearch`` tool; without a *provider* there is no such
    tool. The key can also be in ``BRAVE_API_KEY``, ``TAVILY_API_KEY`` or ``EXA_API_KEY``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    provider: Literal["searxng", "brave", "tavily", "exa"] | None = None
    """The engine. A SearXNG server needs its *url*."""
    url: str | None = None
    """The engine's address, if it is not the usual one."""
    api_key: str | None = field(default=None, repr=False)
    """The API key. Prefer ``{env:NAME}`` to the key itself."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Additional HTTP headers of every search."""


@frozen(kw_only=True)
class Config:
    """All settings after merging. The defaults apply where no file sets a value."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    model: str | None = None
    """The model to start with, as ``provider/model``."""
    effort: str | None = None
    """The reasoning effort of models that reason: ``none``, ``minimal``, ``low``, ``medium``,
    ``high``, ``xhigh`` or ``max``; a model without this level uses its nearest one. Not set: medium
    for Claude, the server's default for others."""
    small_model: str | None = None
    """The model for titles, as ``provider/model``; ``none`` for no such requests. Not set: a small
    model of the session's provider, where one is known; on your own server, the model of the
    session, after its first turn."""
    judge_model: str | None = None
    """The model that judges calls in the permission mode ``judge``, as ``provider/model``; ``none``
    for no model. Not set: ``small_model``, else the small model of the session's provider."""
    default_agent: str = "build"
    """The agent to start with."""
    default_mode: Literal["ask", "accept edits", "judge"] = "ask"
    """The permission mode to start in."""
    permission: PermissionSetting | None = None
    """The permissions of tools."""
    permission_mode: Literal["last-wins", "deny-wins"] = "last-wins"
    """The rule that decides: the last one that matches, or any deny that matches."""
    provider: dict[str, ProviderConfig] = field(default_factory=dict[str, ProviderConfig])
    """Providers by id."""
    disabled_providers: tuple[str, ...] = ()
    """Ids of providers that are never used, listed or searched for on this machine."""
    enabled_providers: tuple[str, ...] = ()
    """Ids of the only providers that are used; all, if none is named."""
    agent: dict[str, AgentConfig] = field(default_factory=dict[str, AgentConfig])
    """Agents by name."""
    mcp: dict[str, McpConfig] = field(default_factory=dict[str, McpConfig])
    """MCP servers by name."""
    command: dict[str, CommandConfig] = field(default_factory=dict[str, CommandConfig])
    """Your own slash commands, by name."""
    skills: SkillsConfig = field(default_factory=SkillsConfig)
    """Additional folders of skills."""
    hooks: dict[str, tuple[HookGroup, ...]] = field(
        default_factory=dict[str, tuple[HookGroup, ...]]
    )
    """Programs to run at certain moments, by event, in the form of Claude Code's settings."""
    subagent_depth: int = 3
    """The maximum nesting of sub-agents."""
    lsp: bool | dict[str, LspServerConfig] | None = None
    """Language servers by id; false for none, true for every known one that is found on
    PATH. Not set: only those that run no code of the project."""
    formatter: bool | dict[str, FormatterConfig] | None = None
    """Formatters that run after each write, by id; true for every known one that is found on
    PATH and has settings in the project. Not set: none."""
    theme: str | None = None
    """Name of the color theme; ``auto``, or not set, follows the terminal's background."""
    ui: UiConfig = field(default_factory=UiConfig)
    """Look and behavior of the full screen."""
    status_line: StatusLineConfig | None = None
    """Your own status line; a project cannot set it."""
    keybinds: dict[str, str] = field(default_factory=dict[str, str])
    """Keys by action, separated by commas; ``none`` removes the key."""
    tool_output: ToolOutputConfig = field(default_factory=ToolOutputConfig)
    """The part of a long tool output that the model reads."""
    bash: BashConfig = field(default_factory=BashConfig)
    """Execution of commands."""
    webfetch: WebfetchConfig = field(default_factory=WebfetchConfig)
    """Fetching of web pages."""
    websearch: WebsearchConfig = field(default_factory=WebsearchConfig)
    """The search engine behind ``websearch``."""
    worktree: WorktreeConfig = field(default_factory=WorktreeConfig)
    """Setup of new worktrees."""
    retry: RetryConfig = field(default_factory=RetryConfig)
    """Retries when a provider fails temporarily."""
    fallback: FallbackConfig = field(default_factory=FallbackConfig)
    """Models that continue when one fails."""
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    """Limits that end a turn."""
    compaction: CompactionConfig = field(default_factory=CompactionConfig)
    """Compaction of long sessions."""
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    """Your own prompts by model family (claude, codex, gpt, persistent, gemini, open,
    default), in place of the built-in ones. ``{{shared}}`` in one is where the rules go that all
    families share."""
    instructions: tuple[str, ...] = ()
    """Additional instruction files, as paths or patterns. All files' lists are joined."""
    instructions_mode: Literal["nearest", "stack"] = "nearest"
    """The instruction files of a project that apply: only the nearest, or all from its root
    down."""
    project_reads: tuple[str, ...] = ()
    """Variables and files that ``{env:NAME}`` and ``{file:path}`` may read in the settings of a
    project that you trust. Only your own settings can list them."""
    snapshot: bool = True
    """True to keep the folder's state at each step, so that changes can be undone; without it, only
    changes by the edit tools can."""
