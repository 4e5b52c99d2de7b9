"""opencode's environment variables.

Each is read like a file with the same settings, so that it is validated, merged and shown in the
same way. Variables without effect are reported with the reason.
"""

import json
from collections.abc import Iterator, Mapping

from agent.records.json import JsonObject

PREFIX = "OPENCODE_"

SWITCHES: Mapping[str, JsonObject] = {
    "DISABLE_AUTOCOMPACT": {"compaction": {"auto": False}},
    "DISABLE_PRUNE": {"compaction": {"prune": False}},
    "DISABLE_MOUSE": {"ui": {"mouse": False}},
    "DISABLE_TERMINAL_TITLE": {"ui": {"title": False}},
}
"""Variables that, set to 1 or true, stand for these settings."""

EFFECTIVE = (
    "CONFIG",
    "CONFIG_DIR",
    "CONFIG_CONTENT",
    "TUI_CONFIG",
    "PERMISSION",
    "PURE",
    "SERVER_PASSWORD",
    "DISABLE_PROJECT_CONFIG",
    "DISABLE_CLAUDE_CODE",
    "DISABLE_CLAUDE_CODE_PROMPT",
    "DISABLE_CLAUDE_CODE_SKILLS",
    "DISABLE_EXTERNAL_SKILLS",
    "EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS",
)
"""Further variables with an effect."""

ALWAYS_ON = (
    "DISABLE_AUTOUPDATE",
    "DISABLE_CHANNEL_DB",
    "DISABLE_DEFAULT_PLUGINS",
    "DISABLE_EMBEDDED_WEB_UI",
    "DISABLE_FFF",
    "DISABLE_LSP_DOWNLOAD",
    "DISABLE_MODELS_FETCH",
    "DISABLE_SHARE",
    "ENABLE_QUESTION_TOOL",
    "EXPERIMENTAL_BACKGROUND_SUBAGENTS",
    "EXPERIMENTAL_DISABLE_FILEWATCHER",
    "EXPERIMENTAL_LSP_TOOL",
    "EXPERIMENTAL_PLAN_MODE",
)
"""Variables for what is always the case here."""

INTERNAL = ("CALLER", "CLIENT", "EDITOR_SSE_PORT", "TEST_HOME", "FAKE_VCS", "PID", "PROCESS_ROLE")
"""Variables that programs set for each other."""

_LIST = "the list of models comes with the program; add yours under provider"
_SEARCH = "set websearch.provider"

UNSUPPORTED: Mapping[str, str] = {
    "DB": "sessions have their own folder; opencode-py debug paths shows where",
    "MODELS_URL": _LIST,
    "MODELS_PATH": _LIST,
    "ENABLE_EXPERIMENTAL_MODELS": _LIST,
    "AUTH_CONTENT": "keys come from the providers' own variables or from /connect",
    "SERVER_USERNAME": "the user of opencode-py serve is always opencode",
    "AUTO_SHARE": "sessions are never sent anywhere",
    "ENABLE_EXA": _SEARCH,
    "ENABLE_PARALLEL": _SEARCH,
    "WEBSEARCH_PROVIDER": _SEARCH,
    "ALWAYS_NOTIFY_UPDATE": "this program does not update itself",
    "GIT_BASH_PATH": "commands run in the bash that is on PATH",
    "EXPERIMENTAL_OUTPUT_TOKEN_MAX": "responses can be as long as the model allows",
}
"""Variables without effect, with the reason."""

_REST = "only parts of opencode itself use it"


def is_on(env: Mapping[str, str], name: str) -> bool:
    """Return whether the variable *name* (without its prefix) is switched on."""
    return env.get(PREFIX + name, "").strip().lower() in {"1", "true"}


def config_texts(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that contain settings, each with the settings as the text of a file."""
    if content := env.get(f"{PREFIX}CONFIG_CONTENT"):
        yield f"{PREFIX}CONFIG_CONTENT", content
    if permission := env.get(f"{PREFIX}PERMISSION"):
        yield f"{PREFIX}PERMISSION", f'{{"permission": {permission}\n}}'
    for name, settings in SWITCHES.items():
        if is_on(env, name):
            yield PREFIX + name, json.dumps(settings)
    name = f"{PREFIX}EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS"
    if timeout := env.get(name):
        yield (
            name,
            json.dumps({"bash": {"timeout": int(timeout) if timeout.isdigit() else timeout}}),
        )


def notices(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence on the variables that are set and have no effect."""
    known = {*SWITCHES, *EFFECTIVE, *ALWAYS_ON, *INTERNAL}
    reasons: dict[str, list[str]] = {}
    for variable in sorted(env):
        name = variable.removeprefix(PREFIX)
        ours = name == variable or name.startswith("PY_") or name in known or not env[variable]
        off = env[variable].lower() in {"0", "false"}
        if not ours and not off:
            reasons.setdefault(UNSUPPORTED.get(name, _REST), []).append(variable)
    if not reasons:
        return ()
    reasons_text = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
    return (f"Some environment variables have no effect here. {reasons_text}.",)
