"""Agents that are defined in markdown (spec 10, K7): settings in the frontmatter, the prompt
below it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.config.definitions import FOREIGN_TOPS, PLACES, files_of
from agent.config.frontmatter import read_document
from agent.config.paths import shown
from agent.jsontypes import Json, JsonObject

TOOL_PERMISSIONS = ("bash", "edit", "glob", "grep", "list", "read", "skill", "task", "todowrite",
                    "webfetch", "websearch")  # fmt: skip
"""What another program's list of tools may leave out."""

_CALLED = {"write": "edit", "multiedit": "edit", "notebookedit": "edit", "ls": "list",
           "todoread": "todowrite"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One definition. *name* is the path below its folder without ``.md``; *source* is what
    people read of where it is. *project* is the project that it came with, None for the
    user's own."""

    name: str
    path: Path
    source: str
    mode: str
    foreign: bool
    project: Path | None = None


def agent_files(
    tops: Iterable[Path], env: Mapping[str, str], project: Path | None = None
) -> Iterator[AgentFile]:
    """The definitions below *tops*, in order; later ones win."""
    folders, _ = PLACES["agent"]
    for top in tops:
        foreign = top.name in FOREIGN_TOPS
        for path in files_of("agent", top, project):
            relative = path.relative_to(top)
            folder, name = relative.parts[0], Path(*relative.parts[1:]).with_suffix("")
            mode = "primary" if folder in folders[2:] else "subagent" if foreign else "all"
            inside = project is not None and path.is_relative_to(project)
            source = path.relative_to(project).as_posix() if project and inside else None
            yield AgentFile(
                name=name.as_posix(),
                path=path,
                source=source or shown(path, env),
                mode=mode,
                foreign=foreign,
                project=project,
            )


def read_agent(file: AgentFile) -> JsonObject:
    """The settings of the agent, as under ``agent.<name>`` of a config file.

    Raises ``FrontmatterError``, ``OSError`` or ``ValueError`` for what cannot be read.
    """
    document = read_document(file.path)
    values: dict[str, Json] = dict(document.fields)
    values.pop("name", None)
    values.setdefault("mode", file.mode)
    if document.body:
        values["prompt"] = document.body
    return _translated(values) if file.foreign else values


def _translated(values: JsonObject) -> JsonObject:
    """*values* as another program writes them. Its list of tools only ever takes away: which
    of them ask is the user's to say."""
    model = values.get("model")
    if not (isinstance(model, str) and "/" in model):
        values.pop("model", None)  # an alias such as "inherit"
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
