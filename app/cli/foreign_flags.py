"""Options that scripts written for opencode, Claude Code and Codex pass.

They become options of this program, are dropped where they change nothing here, or are rejected
with the reason. Words after ``--`` are left alone.
"""

import re
from collections.abc import Iterator, Mapping

ALIASES: Mapping[str, tuple[str, ...]] = {
    "--dir": ("--directory",),
    "--cd": ("--directory",),
    "--cwd": ("--directory",),
    "--variant": ("--effort",),
    "--resume": ("--session",),
    "-r": ("--session",),
    "--fork-session": ("--fork",),
    "--max-turns": ("--max-steps",),
    "--max-budget-usd": ("--max-cost",),
    "--image": ("--file",),
    "--include-partial-messages": ("--deltas",),
    "--dangerously-skip-permissions": ("--auto",),
    "--yolo": ("--auto",),
    "--full-auto": ("--auto",),
    "--dangerously-bypass-approvals-and-sandbox": ("--auto", "--sandbox", "off"),
}
"""Other names of own options; a value follows as it does there."""

WITHOUT_EFFECT: Mapping[str, int] = {
    "-p": 0,
    "--print": 0,
    "--verbose": 0,
    "--no-replay": 0,
    "--skip-git-repo-check": 0,
    "--allow-dangerously-skip-permissions": 0,
    "--log-level": 1,
    "--color": 1,
    "--thinking-display": 1,
}
"""Options that can be dropped, each with the number of its values."""

PRINTING = frozenset({"-p", "--print", "--input-format", "--output-format"})
"""Options of Claude Code for a prompt without the screen."""

GLOBAL = frozenset({"--print-logs", "--pure", "--log-level"})
"""Options that can stand before the name of a command."""

_SERVER = "Only opencode-py serve starts a server; it has its own options."
_MCP = "Write the servers under mcp in the config, or into .mcp.json of the project."
_SETTINGS = "Settings come from the config files; OPENCODE_PY_CONFIG names one more."
_PROMPT = "Write the instructions into AGENTS.md, or into the prompt of an agent (--agent NAME)."
_STORED = "Every session is stored; opencode-py session delete removes it."
_SCHEMA = "The format of an answer cannot be enforced: describe it in the prompt."
_FORMATS = "Use --format json, --format opencode or --format claude."

REJECTED: Mapping[str, str] = {
    **dict.fromkeys(("--attach", "--hostname", "--mdns", "--cors"), _SERVER),
    **dict.fromkeys(("--password", "--username", "-u"), _SERVER),
    "--share": "opencode-py shares nothing: opencode-py export writes a session.",
    **dict.fromkeys(
        ("--mini", "--interactive", "-i"), "run has no screen: start opencode-py without run."
    ),
    **dict.fromkeys(("--mcp-config", "--strict-mcp-config"), _MCP),
    **dict.fromkeys(("--settings", "--setting-sources", "--profile"), _SETTINGS),
    **dict.fromkeys(
        (
            "--system-prompt",
            "--system-prompt-file",
            "--append-system-prompt",
            "--append-system-prompt-file",
        ),
        _PROMPT,
    ),
    "--agents": "Write agents into the config or into agents/ of a config folder.",
    "--tools": "The rules decide on tools: use --deny, or an agent with permissions.",
    **dict.fromkeys(("--json-schema", "--output-schema"), _SCHEMA),
    "--session-id": "IDs are generated: each JSON line has the session's ID; -s ID continues it.",
    **dict.fromkeys(("--no-session-persistence", "--ephemeral"), _STORED),
    "--max-thinking-tokens": "Use --effort LEVEL.",
    "--json": _FORMATS,
    **dict.fromkeys(
        ("-o", "--output-last-message"),
        "Standard output contains only the last message: redirect it to a file.",
    ),
    "--oss": "Choose a model on this machine with --model ollama/NAME.",
    "--plugin-dir": "Put plugins into plugins/ of a config folder.",
}
"""Options that cannot work here, each with the alternative."""

HARMLESS: Mapping[str, str] = {
    "--system-prompt": "",
    "--append-system-prompt": "",
    "--tools": "default",
}
"""Values of rejected options that ask for nothing."""

THINKING: Mapping[str, tuple[str, ...]] = {
    "adaptive": (),
    "enabled": (),
    "disabled": ("--effort", "none"),
}
"""Values that Claude Code's ``--thinking`` has; the own option has none."""

_VALUES: Mapping[str, Mapping[str, tuple[str, ...] | str]] = {
    "--output-format": {
        "text": ("--format", "text"),
        "json": ("--format", "claude-result"),
        "stream-json": ("--format", "claude"),
    },
    "--input-format": {
        "text": (),
        "stream-json": ("--input-format", "stream-json"),
    },
    "--format": {"default": ("--format", "text")},
    "--permission-mode": {
        "bypassPermissions": ("--auto",),
        "acceptEdits": ("--auto-approve", "edit"),
        "plan": ("--agent", "plan"),
        **dict.fromkeys(("default", "manual", "dontAsk"), ()),
        "auto": ("--permission-mode", "judge"),
    },
    "--ask-for-approval": dict.fromkeys(("never", "on-request", "on-failure", "untrusted"), ()),
    "--sandbox": {
        "workspace-write": ("--sandbox", "auto"),
        "danger-full-access": ("--sandbox", "off"),
        "read-only": ("--deny", "edit"),
    },
}
"""Values that are translated. An option with other values is not ours, unless it is a known one."""

_OWN_VALUES = frozenset({"--format", "--permission-mode", "--sandbox"})
_VALUE_NAMES: Mapping[str, str] = {"-a": "--ask-for-approval"}
_RULES: Mapping[str, str] = {
    "--allowedTools": "--auto-approve",
    "--allowed-tools": "--auto-approve",
    "--disallowedTools": "--deny",
    "--disallowed-tools": "--deny",
}
_RULE = re.compile(r"(?:mcp__[\w-]+|[A-Z][A-Za-z]+)(?:\([^)]*\))?")
"""A tool of Claude Code, or a rule on it."""


class ForeignOption(Exception):
    """An option that cannot work here. The text is the reason."""


def asks_for_run(argv: list[str]) -> bool:
    """Return whether *argv* has an option that Claude Code has only without the screen."""
    own = argv[: argv.index("--")] if "--" in argv else argv
    return any(word.partition("=")[0] in PRINTING for word in own)


def command_first(argv: list[str]) -> list[str]:
    """Return *argv* with the name of its command before the options that apply to all commands."""
    at = 0
    while at < len(argv) and argv[at].partition("=")[0] in GLOBAL:
        at += 2 if argv[at] == "--log-level" else 1
    return [*argv[at : at + 1], *argv[:at], *argv[at + 1 :]] if at < len(argv) else argv


def resumed(argv: list[str]) -> list[str]:
    """Return the words after Codex's ``exec`` with those of its ``resume ID`` or ``resume --last``
    as an option.

    Raises ``ForeignOption`` if no session is named.
    """
    at = next((n for n, word in enumerate(argv) if not word.startswith("-")), 0)
    if argv[at : at + 1] != ["resume"]:
        return argv
    rest = argv[at + 1 :]
    if "--last" in rest:
        rest.remove("--last")
        return [*argv[:at], "--continue", *rest]
    named = next((n for n, word in enumerate(rest) if not word.startswith("-")), None)
    if named is None:
        raise ForeignOption("exec resume needs the id of a session, or --last.")
    return [*argv[:at], "--session", rest.pop(named), *rest]


def own_words(argv: list[str]) -> list[str]:
    """Return *argv* in this program's own options.

    Raises ``ForeignOption``.
    """
    at = argv.index("--") if "--" in argv else len(argv)
    return [*_own_words(argv[:at]), *argv[at:]]


def _own_words(argv: list[str]) -> Iterator[str]:
    words = list(reversed(argv))
    while words:
        word = words.pop()
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if equals:
            words.append(value)
        if name in HARMLESS and words and words[-1] == HARMLESS[name]:
            words.pop()
        elif name in REJECTED:
            raise ForeignOption(f"{name} does not work here. {REJECTED[name]}")
        elif name in ALIASES:
            yield from ALIASES[name]
        elif name in WITHOUT_EFFECT:
            del words[len(words) - max(WITHOUT_EFFECT[name], len(equals)) :]
        elif name in _RULES:
            yield from _rules(name, words)
        elif name == "--thinking" and words and words[-1] in THINKING:
            yield from THINKING[words.pop()]
        elif (option := _VALUE_NAMES.get(name, name)) in _VALUES and words:
            yield from _translated(option, words.pop())
        elif name == "-s" and words and words[-1] in _VALUES["--sandbox"]:
            yield from _translated("--sandbox", words.pop())
        elif name == "--add-dir" and words:
            yield from ("--auto-approve", f"external_directory:{words.pop().rstrip('/')}/*")
        else:
            yield word
            if equals:
                words.pop()


def _translated(option: str, value: str) -> tuple[str, ...]:
    made = _VALUES[option].get(value)
    if isinstance(made, tuple):
        return made
    if made is None and option in _OWN_VALUES:
        return (option, value)
    raise ForeignOption(f"{option} {value} does not work here. {made or ''}".rstrip())


def _rules(name: str, words: list[str]) -> Iterator[str]:
    """Yield an option for each rule of the values at the end of *words*, which are removed."""
    from agent.config.claude_code import permission_rules  # loads the agent package

    given = [words.pop()] if words else []
    while words and all(map(_RULE.fullmatch, _entries(words[-1]))) and _entries(words[-1]):
        given.append(words.pop())
    for entry in (each for value in given for each in _entries(value)):
        rules = list(permission_rules(entry))
        if not rules:
            raise ForeignOption(f"{name} does not know {entry}.")
        for permission, pattern in rules:
            yield _RULES[name]
            yield f"{permission}:{pattern}"


def _entries(text: str) -> list[str]:
    """Return the rules in a list that commas or spaces separate."""
    return re.findall(r"[^\s,(]+(?:\([^)]*\))?", text)
