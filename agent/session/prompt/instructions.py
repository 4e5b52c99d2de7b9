"""The instruction files in force (spec 6, I4 and I5): the user's own, those of the config, and
the project's, which count once it is trusted (spec 4, M9)."""

import asyncio
import glob
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Literal

from agent.config import environment
from agent.config.discovery import folder_chain
from agent.config.paths import Paths, home_folder, opencode_folder
from agent.permission.trust.project_files import INSTRUCTION_FILES, MAX_PATTERN_FILES, pattern_files
from agent.permission.trust.trust import TrustStatus
from agent.records.messages import Completed
from agent.session.prompt.instruction_file import Bounds, Reading, read_instructions
from agent.session.prompt.remote import fetch_text
from agent.tools.files.paths import printable

MAX_TOTAL = 120_000
"""Characters of all files together (some 30,000 tokens); what comes after is left out."""

MAX_NESTED = 20_000
"""Characters that are attached to the result of one call."""

Mode = Literal["nearest", "stack"]
Scope = Literal["yours", "config", "project", "folder"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One file or address with its *text*, bounded, imports below. *source* is what people and
    the model read of where it is; *scope* whose it is, ``folder`` for one of a deeper folder."""

    source: str
    text: str
    scope: Scope

    @property
    def digest(self) -> str:
        return sha256(self.text.encode()).hexdigest()[:16]

    @property
    def mark(self) -> str:
        """What tells this text of this file from any other."""
        return f"{self.source} {self.digest}"


@dataclass(frozen=True, slots=True)
class Collected:
    """What is in force, the nearest to the work last. *notes* are sentences for the user."""

    files: tuple[Instruction, ...] = ()
    notes: tuple[str, ...] = ()


class Instructions:
    """Finds and reads instructions. *entries* are the ``instructions`` of the config;
    *standing* tells where a project (its path) stands with the user now: its files count only
    if it is trusted."""

    def __init__(
        self,
        paths: Paths,
        env: Mapping[str, str],
        standing: Callable[[str], TrustStatus],
        *,
        entries: Iterable[str] = (),
        mode: Mode = "nearest",
    ) -> None:
        self._paths = paths
        self._home = home_folder(env)
        self._env = env
        self._standing = standing
        self._entries = tuple(entries)
        self._mode: Mode = mode
        self._fetched: dict[str, str] = {}

    async def collect(self, directory: str, project: str, *, fetch: bool) -> Collected:
        """The instructions for a session in *directory* of *project*.

        Files are read each time. Addresses are asked only with *fetch*; else what they said
        before holds.
        """
        notes = await self._fetch() if fetch else []
        work = partial(self._collect, Path(directory), Path(project))
        found = await asyncio.to_thread(work)
        return Collected(found.files, (*notes, *found.notes))

    async def nested(
        self, touched: str, directory: str, project: str, known: frozenset[str]
    ) -> Collected:
        """The instructions of folders deeper than *directory* on the way to the file *touched*
        (a real path), the outermost first; without those whose source is *known*."""
        standing = self._standing(project)
        if standing not in {"trusted", "nothing"}:
            return Collected()
        if standing == "nothing":
            new = nested_files(Path(touched), Path(directory), Path(project))
            return Collected(notes=_waiting(new, Path(project)))
        work = partial(self._nested, Path(touched), Path(directory), Path(project), known)
        return await asyncio.to_thread(work)

    def _collect(self, directory: Path, project: Path) -> Collected:
        reading = Reading()
        own = Bounds(home=self._home)
        found: list[Instruction] = []

        def add(path: Path, bounds: Bounds, scope: Scope) -> None:
            text = read_instructions(path, bounds, reading)
            if text is not None:
                found.append(Instruction(bounds.show(path), text, scope))

        for path in self._own_file():
            add(path, own, "yours")
        for entry in self._entries:
            if entry in self._fetched:
                found.append(Instruction(entry, self._fetched[entry], "config"))
            for path in self._outside(entry):
                add(path, own, "config")
        standing = self._standing(str(project))
        waiting: tuple[str, ...] = ()
        if standing == "nothing":
            waiting = _waiting(project_files(directory, project, self._mode), project)
        if standing == "trusted":
            inside = Bounds(project.resolve(), project)
            for path in project_files(directory, project, self._mode):
                add(path, inside, "project")
            for entry in self._entries:
                for path in pattern_files(entry, directory, project):
                    add(path, inside, "config")
        files, left_out = _bounded(found)
        notes = [f"{name} is left out: the instructions are too long." for name in left_out]
        return Collected(files, (*reading.notes, *notes, *waiting))

    def _own_file(self) -> list[Path]:
        """The user's own file: ours, else the one of another program."""
        candidates = [self._paths.config / "AGENTS.md", opencode_folder(self._env) / "AGENTS.md"]
        if not any(
            environment.is_on(self._env, name)
            for name in ("DISABLE_CLAUDE_CODE", "DISABLE_CLAUDE_CODE_PROMPT")
        ):
            candidates.append(self._home / ".claude" / "CLAUDE.md")
        return [path for path in candidates if path.is_file()][:1]

    def _outside(self, entry: str) -> list[Path]:
        """The files of an entry that is a path of its own (only the user's config has such)."""
        if not entry.startswith(("/", "~/")):
            return []
        path = str(self._home / entry[2:]) if entry.startswith("~/") else entry
        found = glob.iglob(path, recursive=True)  # noqa: PTH207 - Path takes no absolute pattern
        return [Path(name) for name in islice(found, MAX_PATTERN_FILES) if Path(name).is_file()]

    async def _fetch(self) -> list[str]:
        """Ask the addresses, side by side; the sentences on those that failed."""
        addresses = [entry for entry in self._entries if "://" in entry]
        answers = await asyncio.gather(*map(fetch_text, addresses))
        notes: list[str] = []
        for address, (text, problem) in zip(addresses, answers, strict=True):
            if problem:
                notes.append(f"The instructions at {address} are left out: {problem}.")
            else:
                self._fetched[address] = text
        return notes

    def _nested(
        self, touched: Path, directory: Path, project: Path, known: frozenset[str]
    ) -> Collected:
        bounds = Bounds(project.resolve(), project)
        reading = Reading()
        found: list[Instruction] = []
        for path in nested_files(touched, directory, project):
            source = bounds.show(path)
            text = read_instructions(path, bounds, reading) if source not in known else None
            if text is not None:
                if len(text) > MAX_NESTED:
                    text = f"{text[:MAX_NESTED]}\n[Cut here. Read {source} for the rest.]"
                found.append(Instruction(source, text, "folder"))
        return Collected(tuple(found), tuple(reading.notes))


ATTACHED = (
    "<system-reminder>\nInstructions for what lies beside {source}:\n\n{text}\n</system-reminder>"
)


async def no_instructions(touched: tuple[str, ...]) -> tuple[Instruction, ...]:
    """For calls whose files bring no instructions with them."""
    _ = touched
    return ()


def with_instructions(state: Completed, found: Iterable[Instruction]) -> Completed:
    """The result of a call with the instructions that it brought with it."""
    texts = [ATTACHED.format(source=each.source, text=each.text) for each in found]
    return replace(
        state,
        output="\n\n".join([state.output, *texts]),
        facts=(*state.facts, *(f"with {each.source}" for each in found)),
        attached=(*state.attached, *(each.mark for each in found)),
    )


def project_files(directory: Path, project: Path, mode: Mode) -> list[Path]:
    """The project's instruction files: the nearest folder's from *directory* up to *project*,
    or with ``stack`` each folder's from the root down."""
    chain = [found for folder in folder_chain(directory, project) if (found := file_in(folder))]
    return chain if mode == "stack" else chain[-1:]


def file_in(folder: Path) -> Path | None:
    """The instruction file of *folder*: the first of the known names that is there."""
    return next((folder / name for name in INSTRUCTION_FILES if (folder / name).is_file()), None)


def nested_files(touched: Path, directory: Path, project: Path) -> list[Path]:
    """The instruction files on the way from *directory* down to *touched*, outermost first.

    A repository inside the project is another one: what lies in it does not count. Nor does
    *touched* itself.
    """
    found: list[Path] = []
    for folder in touched.parents:
        if directory.is_relative_to(folder) or not folder.is_relative_to(project):
            break
        path = file_in(folder)
        if path is not None and path != touched:
            found.append(path)
        if os.path.lexists(folder / ".git"):
            found.clear()
    return found[::-1]


def _waiting(paths: Iterable[Path], project: Path) -> tuple[str, ...]:
    """What is said of files that were not there, or not found, when the folder was opened."""
    names = (printable(path.relative_to(project).as_posix()) for path in paths)
    return tuple(f"{name} is used once you trust this folder (/trust)." for name in names)


def _bounded(found: Iterable[Instruction]) -> tuple[tuple[Instruction, ...], list[str]]:
    """The files that fit together, and the names of those that do not."""
    total = 0
    kept: list[Instruction] = []
    left_out: list[str] = []
    for each in found:
        if total + len(each.text) > MAX_TOTAL:
            left_out.append(each.source)
        else:
            total += len(each.text)
            kept.append(each)
    return tuple(kept), left_out
