"""What is defined in markdown (spec 10, K7): an agent's settings in the frontmatter and its prompt
below it; a command's settings and what it sends."""

from collections.abc import Callable, Mapping

from agent.config.definitions import DEFINITION_FOLDERS, DefinitionFile, DefinitionKind
from agent.config.frontmatter import Document, read_document
from agent.records.json import Json, JsonObject

TOOL_PERMISSIONS = ("bash", "edit", "glob", "grep", "list", "read", "skill", "task", "todowrite",
                    "webfetch", "websearch")  # fmt: skip
"""What another program's list of tools may leave out."""

_CALLED = {"write": "edit", "multiedit": "edit", "notebookedit": "edit", "ls": "list",
           "todoread": "todowrite"}  # fmt: skip


def read_agent(file: DefinitionFile) -> JsonObject:
    """The settings of the agent, as under ``agent.<name>`` of a config file.

    Raises ``FrontmatterError``, ``OSError`` or ``ValueError`` for what cannot be read.
    """
    document = read_document(file.path)
    values: dict[str, Json] = dict(document.fields)
    values.pop("name", None)
    values.setdefault("mode", _mode(file))
    if document.body:
        values["prompt"] = document.body
    return _their_agent(values) if file.foreign else values


def read_command(file: DefinitionFile) -> JsonObject:
    """The settings of the command, as under ``command.<name>`` of a config file.

    Raises as ``read_agent`` does.
    """
    document = read_document(file.path)
    values: dict[str, Json] = {**document.fields, "template": document.body}
    values.pop("name", None)
    if isinstance(hint := values.get("argument-hint"), list):
        values["argument-hint"] = " ".join(f"[{word}]" for word in hint)
    return _their_command(values, document) if file.foreign else values


DEFINITION_READERS: Mapping[DefinitionKind, Callable[[DefinitionFile], JsonObject]] = {
    "agent": read_agent,
    "command": read_command,
}
"""How each kind that becomes a table of the settings is read."""


def _mode(file: DefinitionFile) -> str:
    folders, _ = DEFINITION_FOLDERS["agent"]
    if file.folder in folders[2:]:
        return "primary"
    return "subagent" if file.foreign else "all"


def _their_agent(values: JsonObject) -> JsonObject:
    """*values* as another program writes them. Its list of tools only ever takes away: which
    of them ask is the user's to say."""
    _drop_alias(values)
    listed = values.pop("tools", None)
    for key in [key for key in values if key not in {"description", "prompt", "mode", "model"}]:
        del values[key]
    if listed is not None:
        names = listed.split(",") if isinstance(listed, str) else listed
        words = [str(name).strip().lower() for name in names] if isinstance(names, list) else []
        kept = {_CALLED.get(word, word) for word in words}
        left_out = [name for name in TOOL_PERMISSIONS if name not in kept]
        if words and "*" not in kept:
            values["permission"] = dict[str, Json](dict.fromkeys(left_out, "deny"))
    return values


def _their_command(values: JsonObject, document: Document) -> JsonObject:
    """*values* as another program writes them. What it would allow without asking is the user's
    to say, so that counts for nothing here."""
    _drop_alias(values)
    known = {"description", "template", "model", "argument-hint"}
    kept: JsonObject = {key: value for key, value in values.items() if key in known}
    if document.text("context") == "fork":
        kept["subtask"] = True
    return kept


def _drop_alias(values: JsonObject) -> None:
    """Drop a model that is an alias of another program's, such as "inherit" or "opus"."""
    model = values.get("model")
    if not (isinstance(model, str) and "/" in model):
        values.pop("model", None)
