"""Skills: instructions for particular tasks, in folders with a ``SKILL.md`` (spec 6, I3).

Names and descriptions are shown to the model, the text only when it loads one. The user's own
places count always, the project's once it is trusted.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.config.definition_files import (
    DEFINITION_FOLDERS,
    definition_paths,
    folders_without_skills,
    project_folders,
    skill_paths,
    user_folders,
)
from agent.config.markdown_files import Document, FrontmatterError, read_document
from agent.config.paths import Paths, display_path, expand_home

MAX_DESCRIPTION = 1_024
"""Characters of a description that the model sees."""

MAX_LISTED = 16_000
"""Characters of all descriptions together (some 4,000 tokens); the rest only by name."""

MAX_SAMPLED = 10
"""Files of a skill's folder that are named when it is loaded."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. *path* is its ``SKILL.md``; *hidden* ones are not offered to the model."""

    name: str
    description: str
    path: Path
    hidden: bool = False

    @property
    def folder(self) -> Path:
        return self.path.parent


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """The skills by name, sorted, and sentences on what could not be used."""

    skills: Mapping[str, Skill]
    notes: tuple[str, ...] = ()


class Skills:
    """The skills of an opened folder. They are looked for anew each time they are asked for;
    *trusted* tells whether the project's count now; *further* are folders that hold skills, as the
    settings name them."""

    def __init__(
        self,
        directory: Path,
        project: Path,
        paths: Paths,
        env: Mapping[str, str],
        trusted: Callable[[], bool],
        further: Iterable[str] = (),
    ) -> None:
        self._directory = directory
        self._project = project
        self._paths = paths
        self._env = env
        self._trusted = trusted
        # A trusted project may name its own folders: relative ones start at its root.
        self._further = tuple(project / expand_home(path, env) for path in further)

    def find(self) -> FoundSkills:
        """All skills; of two with one name the later counts. Reads files: for a thread."""
        found: dict[str, Skill] = {}
        notes: list[str] = []
        for path in self._files():
            place = display_path(path, self._env)
            try:
                skill = _skill(path)
            except (FrontmatterError, OSError, ValueError) as error:
                system = (error.strerror or "").lower() if isinstance(error, OSError) else ""
                notes.append(f"The skill {place} is left out: {system or error}.")
                continue
            before = found.get(skill.name)
            if before is not None and before.path.resolve() != path.resolve():
                notes.append(
                    f"Two skills are named {skill.name}: {place} takes the place of "
                    f"{display_path(before.path, self._env)}."
                )
            found[skill.name] = skill
        return FoundSkills(dict(sorted(found.items())), tuple(notes))

    def load(self, name: str) -> tuple[Skill, str] | None:
        """The skill *name* and its text, None where there is none. Reads files: for a thread.

        Raises ``OSError``, ``FrontmatterError`` or ``ValueError`` for one that cannot be read.
        """
        skill = self.find().skills.get(name)
        return None if skill is None else (skill, read_document(skill.path).body)

    def own_folders(self) -> tuple[str, ...]:
        """The folders of the user's own skills, whose files the agent may read unasked."""
        names, _ = DEFINITION_FOLDERS["skill"]
        tops = user_folders(self._paths, self._env)
        return tuple(str(top / name) for top in tops for name in names)

    def _files(self) -> Iterable[Path]:
        unwanted = folders_without_skills(self._env)
        for top in user_folders(self._paths, self._env):
            if top.name not in unwanted:
                yield from definition_paths("skill", top)
        if self._trusted():
            for top in project_folders(self._directory, self._project, self._env):
                if top.name not in unwanted:
                    yield from definition_paths("skill", top, self._project)
        for folder in self._further:
            yield from skill_paths(folder)


def _skill(path: Path) -> Skill:
    document = read_document(path)
    name = document.text("name") or path.parent.name
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:64]!r} is no name for a skill; use letters, digits and -")
    description = " ".join((document.text("description") or _first_line(document)).split())
    if not description:
        raise ValueError("it has no description")
    if len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 1] + "…"
    return Skill(name, description, path, document.fields.get("disable-model-invocation") is True)


def _first_line(document: Document) -> str:
    lines = (line.strip().lstrip("#").strip() for line in document.body.splitlines())
    return next((line for line in lines if line), "")


def skill_list(skills: Iterable[Skill]) -> str:
    """The skills as the model is told of them, "" for none."""
    lines: list[str] = []
    used = 0
    for skill in skills:
        if skill.hidden:
            continue
        line = f"- {skill.name}: {skill.description}"
        used += len(line)
        lines.append(line if used <= MAX_LISTED else f"- {skill.name}")
    return "\n".join(lines)


def sample_files(folder: Path) -> list[str]:
    """A few of the other files of a skill, relative to its *folder*."""
    names: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.name != "SKILL.md" and path.is_file():
            names.append(path.relative_to(folder).as_posix())
        if len(names) == MAX_SAMPLED:
            break
    return names
