"""The options that a client can choose for a session: agent, model, effort, slash commands."""

from functools import partial
from itertools import groupby
from typing import TypeAlias

from acp import schema
from acp.exceptions import RequestError

from agent.records.errors import ModelNotFound
from agent.records.messages import Session
from agent.records.requests import PermissionMode
from agent.runtime.runtime import Runtime
from app.text.sanitize import sanitize_line

Option: TypeAlias = schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean

_select = partial(schema.SessionConfigOptionSelect, type="select")

DEFAULT = "default"
"""The value for the model's own effort."""

MODES: dict[PermissionMode, str] = {
    "ask": "Asks before edits and commands that can change something",
    "accept edits": "Edits files of the folder without asking",
    "judge": "A small model approves calls for you, or you are asked",
}
"""The permission modes that can be chosen, each with what it does."""

BUILTIN_COMMANDS = (
    ("compact", "Compact the conversation to free context", "what to preserve"),
    ("goal", "Work until a check passes", "text --check command, or pause, resume, stop"),
    ("init", "Write the project's instructions", "what matters"),
    ("loop", "Repeat a prompt", "10m prompt"),
    ("merge", "Show the changes of a worktree, or merge them", "name, merge, squash or patch"),
)
"""Commands that the program runs itself: name, description, hint."""


def modes(runtime: Runtime, session: Session) -> schema.SessionModeState:
    """Return the agents that the user can choose, as modes."""
    return schema.SessionModeState(
        current_mode_id=session.agent,
        available_modes=[
            schema.SessionMode(id=info.name, name=_title(info.name), description=info.description)
            for info in runtime.agents.primary()
        ],
    )


def options(runtime: Runtime, session: Session) -> list[Option]:
    """Return the same agents, the models, and the efforts of the session's model."""
    current = session.model or runtime.catalog.default_model()
    agents = [_choice(info.name, info.description) for info in runtime.agents.primary()]
    permission_modes = [_choice(name, description) for name, description in MODES.items()]
    found: list[Option] = [
        _select(
            id="mode",
            name="Agent",
            current_value=session.agent,
            options=agents,
            category="mode",
        ),
        _select(
            id="model",
            name="Model",
            current_value=current,
            options=_models(runtime, current),
            category="model",
        ),
        _select(
            id="permission_mode",
            name="Permissions",
            current_value=runtime.permissions.mode,
            options=permission_modes,
            description="For all sessions of this folder",
        ),
    ]
    if efforts := _efforts(runtime, current):
        found.append(
            _select(
                id="effort",
                name="Effort",
                current_value=session.effort if session.effort in efforts else DEFAULT,
                options=[_choice(value) for value in (DEFAULT, *efforts)],
                category="thought_level",
                description="How much the model reasons",
            )
        )
    return found


def _choice(value: str, description: str | None = None) -> schema.SessionConfigSelectOption:
    return schema.SessionConfigSelectOption(
        value=value, name=_title(value), description=description
    )


async def set_option(runtime: Runtime, session_id: str, option: str, value: object) -> Session:
    """Set an option and return the changed session.

    Raises ``AgentNotFound``, ``ModelNotFound``, and ``RequestError`` for an unknown option or
    effort.
    """
    repository = runtime.sessions.repository
    session = await repository.get(session_id)
    model = session.model or runtime.catalog.default_model()
    match option, value:
        case "mode", str():
            return await repository.set_agent(session_id, runtime.agents.get(value).name)
        case "model", str():
            return await repository.set_model(session_id, runtime.catalog.model(value).full_name)
        case "permission_mode", str() if value in MODES:
            runtime.permissions.mode = next(mode for mode in MODES if mode == value)
            return session
        case "effort", str():
            efforts = _efforts(runtime, model)
            if value not in {DEFAULT, *efforts}:
                raise _invalid(f"The efforts of {model} are {', '.join((DEFAULT, *efforts))}.")
            return await repository.set_model(
                session_id, model, None if value == DEFAULT else value
            )
        case _:
            raise _invalid(f"There is no option {option} that takes such a value.")


async def commands_update(runtime: Runtime) -> schema.AvailableCommandsUpdate:
    """Return the slash commands: the built-in ones, the user's own, and the skills."""
    found = {name: (description, hint) for name, description, hint in BUILTIN_COMMANDS}
    for known in await runtime.commands.all():
        found.setdefault(known.name, (known.description, known.hint.strip("[]")))
    return schema.AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            schema.AvailableCommand(
                name=name,
                description=sanitize_line(description),
                input=schema.AvailableCommandInput(
                    root=schema.UnstructuredCommandInput(hint=sanitize_line(hint))
                )
                if hint
                else None,
            )
            for name, (description, hint) in sorted(found.items())
        ],
    )


def _models(runtime: Runtime, current: str) -> list[schema.SessionConfigSelectGroup]:
    """Return the usable models by provider, and the current one in any case."""
    names = dict.fromkeys(model.full_name for model in runtime.catalog.models())
    names.setdefault(current)
    grouped = groupby(sorted(names, key=_provider), key=_provider)
    return [
        schema.SessionConfigSelectGroup(
            group=provider,
            name=provider,
            options=[
                schema.SessionConfigSelectOption(
                    value=name, name=sanitize_line(name.partition("/")[2])
                )
                for name in found
            ],
        )
        for provider, found in grouped
    ]


def _efforts(runtime: Runtime, model: str) -> tuple[str, ...]:
    """Return the efforts of a model, none for a model that no longer exists."""
    try:
        return tuple(runtime.catalog.model(model).efforts)
    except ModelNotFound:
        return ()


def _provider(name: str) -> str:
    return name.partition("/")[0]


def _title(name: str) -> str:
    return sanitize_line(name[:1].upper() + name[1:])


def _invalid(details: str) -> RequestError:
    return RequestError(-32602, details)
