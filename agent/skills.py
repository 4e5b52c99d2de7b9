"""Skills: instructions for particular tasks, in folders with a ``SKILL.md``.

The model is given names and descriptions, and the text only when it loads a skill. The user's own
folders always count, the project's once it is trusted.
"""

import re
from collections.abc import Callable, Iterable, Mapping
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
from agent.records.frozen import frozen

MAX_DESCRIPTION = 1_024
"""Characters of a description that the model sees."""

MAX_LISTED = 16_000
"""Characters of all descriptions together (some 4,000 tokens); the rest are listed by name."""

MAX_SAMPLED = 10
"""Files of a skill's folder that are named when it is loaded."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")


@frozen
class Skill:
    """One skill."""

    name: str
    description: str
    path: Path
    """Its ``SKILL.md``."""
    hidden: bool = False
    """True if the model is not offered it."""
    is_command: bool = True
    """False if only the model loads it."""

    @property
    def folder(self) -> Path:
        return self.path.parent


@frozen
class FoundSkills:
    """The skills by name, sorted."""

    skills: Mapping[str, Skill]
    notes: tuple[str, ...] = ()
    """Sentences on what could not be used."""


class Skills:
    """The skills of an opened folder, looked up anew on each call."""

    def __init__(
        self,
        directory: Path,
        project: Path,
        paths: Paths,
        env: Mapping[str, str],
        trusted: Callable[[], bool],
        extra_folders: Iterable[str] = (),
    ) -> None:
        """*trusted* returns whether the project's skills are used; *extra_folders* are further
        folders of skills from the settings."""
        self._directory = directory
        self._project = project
        self._paths = paths
        self._env = env
        self._trusted = trusted
        # A trusted project can name its own folders: relative ones start at its root.
        self._extra_folders = tuple(project / expand_home(path, env) for path in extra_folders)

    def find(self) -> FoundSkills:
        """Return all skills; of two with one name the later counts. Reads files: call it in a
        thread."""
        found: dict[str, Skill] = {}
        notes: list[str] = []
        for path in self._files():
            shown_path = display_path(path, self._env)
            try:
                skill = _skill(path)
            except (FrontmatterError, OSError, ValueError) as error:
                system = (error.strerror or "").lower() if isinstance(error, OSError) else ""
                notes.append(f"The skill {shown_path} is ignored: {system or error}.")
                continue
            before = found.get(skill.name)
            if before is not None and before.path.resolve() != path.resolve():
                notes.append(
                    f"Two skills are named {skill.name}: {shown_path} is used instead of "
                    f"{display_path(before.path, self._env)}."
                )
            found[skill.name] = skill
        return FoundSkills(dict(sorted(found.items())), tuple(notes))

    def load(self, name: str) -> tuple[Skill, str] | None:
        """Return the skill *name* and its text, None if there is none.

        Reads files: call it in a thread. Raises ``OSError``, ``FrontmatterError`` or ``ValueError``
        for a skill that cannot be read.
        """
        skill = self.find().skills.get(name)
        return None if skill is None else (skill, read_document(skill.path).body)

    def user_skill_folders(self) -> tuple[str, ...]:
        """Return the folders of the user's own skills, which the agent can read without asking."""
        names, _ = DEFINITION_FOLDERS["skill"]
        folders = user_folders(self._paths, self._env)
        return tuple(str(folder / name) for folder in folders for name in names)

    def _files(self) -> Iterable[Path]:
        unwanted = folders_without_skills(self._env)
        for folder in user_folders(self._paths, self._env):
            if folder.name not in unwanted:
                yield from definition_paths("skill", folder)
        if self._trusted():
            for folder in project_folders(self._directory, self._project, self._env):
                if folder.name not in unwanted:
                    yield from definition_paths("skill", folder, self._project)
        for folder in self._extra_folders:
            yield from skill_paths(folder)


def _skill(path: Path) -> Skill:
    document = read_document(path)
    name = document.text("name") or path.parent.name
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name[:64]!r} is not a valid name for a skill; use letters, digits and -"
        )
    description = " ".join((document.text("description") or _first_line(document)).split())
    if not description:
        raise ValueError("it has no description")
    if len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 1] + "…"
    return Skill(
        name,
        description,
        path,
        hidden=document.text("disable-model-invocation").lower() == "true",
        is_command=document.text("user-invocable").lower() != "false",
    )


def _first_line(document: Document) -> str:
    lines = (line.strip().lstrip("#").strip() for line in document.body.splitlines())
    return next((line for line in lines if line), "")


def skill_list(skills: Iterable[Skill]) -> str:
    """Return the skills as listed for the model, "" for none."""
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
    """Return a few of the other files of a skill, relative to its *folder*."""
    names: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.name != "SKILL.md" and path.is_file():
            names.append(path.relative_to(folder).as_posix())
        if len(names) == MAX_SAMPLED:
            break
    return names
