"""The instruction files in force: the user's own, those of the config, and the project's.

A project's files count once the project is trusted. A line can name another file as ``@path``,
whose text follows below. Imports are bounded in depth and number, come once, and never leave the
allowed folder.
"""

import asyncio
import errno
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from agent.config import env_variables
from agent.config.discovery import folder_chain
from agent.config.markdown_files import FrontmatterError, parse_document
from agent.config.paths import Paths, home_folder, opencode_folder
from agent.files import decode, is_binary, load, printable
from agent.permission.protected import is_secret
from agent.permission.trust.project_files import (
    INSTRUCTION_FILES,
    MAX_PATTERN_FILES,
    pattern_files,
    rule_files,
)
from agent.permission.trust.trust import TrustStatus
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.json import encodable
from agent.records.messages import Completed
from agent.tools.search.globs import check_glob, matcher

MAX_CHARACTERS = 40_000
"""Characters of one file (some 10,000 tokens); the rest is ignored with a note."""

MAX_BYTES = 4 * 1024 * 1024
"""Bytes above which a file is not opened."""

MAX_DEPTH = 5
"""Depth of imports inside imports."""

MAX_IMPORTS = 30
"""Files that one instruction file can import."""

CUT = "[{shown:,} of {whole:,} characters are shown. Read {name} where you need the rest.]"

# As in mail addresses and package names, an @ inside a word or code is none of ours.
_IMPORT = re.compile(r"(?<![\w`@./])@(~?[^\s,`@]+)")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)


@frozen
class ImportBounds:
    """The allowed places of instruction files and their imports."""

    inside: Path | None = None
    """The folder that files really lie in; None for anywhere."""
    base: Path | None = None
    """The project, to which displayed paths are relative."""
    home: Path | None = None
    """The meaning of ``~``; None where it cannot be used."""

    def display_name(self, path: Path) -> str:
        """Return *path* as users and the model read it."""
        if self.base is not None and path.is_relative_to(self.base):
            return printable(path.relative_to(self.base).as_posix())
        if self.home is not None and path.is_relative_to(self.home):
            return printable(f"~/{path.relative_to(self.home).as_posix()}")
        return printable(str(path))


@dataclass(slots=True)
class ReadState:
    """State over several files. *seen* are real paths, each of which is read once; *notes* are
    sentences for the user."""

    seen: set[str] = field(default_factory=set[str])
    notes: list[str] = field(default_factory=list[str])


def read_instructions(path: Path, bounds: ImportBounds, reading: ReadState) -> str | None:
    """Return the text of the file at *path* and of its imports; None if it cannot be read or was
    read before."""
    parts = list(_read_with_imports(path, bounds, reading, MAX_DEPTH, [MAX_IMPORTS]))
    if not parts:
        return None
    (_, first), *imported = parts
    sections = [f"## Imported from {name}\n\n{text}" for name, text in imported if text]
    return "\n\n".join([first, *sections]).strip() or None


def _read_with_imports(
    path: Path, bounds: ImportBounds, reading: ReadState, depth: int, left: list[int]
) -> Iterator[tuple[str, str]]:
    """Yield name and text of a file, then of its imports, in order."""
    name = bounds.display_name(path)
    real = _allowed_path(path, name, bounds, reading)
    text = _read_text(real, name, reading) if real is not None else None
    if text is None:
        return
    yield name, text
    for word in imported_paths(text):
        target = _import_target(word, path.parent, bounds)
        if target is None or str(target.resolve()) in reading.seen:
            continue
        if depth == 0 or left[0] == 0:
            limit = "deep" if depth == 0 else "many"
            reading.notes.append(f"{name}: @{printable(word)} is ignored: too {limit} imports.")
            continue
        left[0] -= 1
        yield from _read_with_imports(target, bounds, reading, depth - 1, left)


def imported_paths(text: str) -> list[str]:
    """Return the paths that *text* imports, in order, each once; none from code."""
    plain = _CODE.sub(" ", _without_fences(text))
    words = (match[1].rstrip(".,;:!?)]}'\"") for match in _IMPORT.finditer(plain))
    return list(dict.fromkeys(word for word in words if word))


def _without_fences(text: str) -> str:
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            continue
        if mark:
            fence = mark[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def _import_target(word: str, folder: Path, bounds: ImportBounds) -> Path | None:
    """Return the file that an import names; None for a word that only looks like one."""
    if word.startswith("~"):
        if bounds.home is None or not word.startswith("~/"):
            return None
        path = bounds.home / word[2:]
    else:
        path = folder / word
    try:
        return Path(os.path.normpath(path)) if path.is_file() else None
    except (OSError, ValueError):
        return None  # too long for a path, or a NUL in it


def _allowed_path(path: Path, name: str, bounds: ImportBounds, reading: ReadState) -> Path | None:
    """Return the real path of a file that can be read and was not read yet."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return None  # a circle of links
    if bounds.inside is not None and not real.is_relative_to(bounds.inside):
        reading.notes.append(f"{name} points outside the project and is ignored.")
        return None
    if is_secret(str(real)) or is_secret(str(path)):
        reading.notes.append(f"{name} may contain secrets and is ignored.")
        return None
    if str(real) in reading.seen:
        return None
    reading.seen.add(str(real))
    return real


def _read_text(real: Path, name: str, reading: ReadState) -> str | None:
    try:
        data = load(str(real), MAX_BYTES).data
    except OSError as error:
        reason = "it is too large" if error.errno == errno.EFBIG else (error.strerror or "").lower()
        reading.notes.append(f"{name} cannot be read and is ignored: {reason}.")
        return None
    if is_binary(data):
        reading.notes.append(f"{name} is not text and is ignored.")
        return None
    text = encodable(decode(data).text).replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) <= MAX_CHARACTERS:
        return text
    reading.notes.append(
        f"{name} has {len(text):,} characters; only the first {MAX_CHARACTERS:,} reach the model."
    )
    shown = text[:MAX_CHARACTERS].rsplit("\n", 1)[0]
    return f"{shown}\n{CUT.format(shown=len(shown), whole=len(text), name=name)}"


MAX_TOTAL = 120_000
"""Characters of all files together (some 30,000 tokens); later files are ignored."""

MAX_NESTED = 20_000
"""Characters that are attached to the result of one call."""

InstructionsMode = Literal["nearest", "stack"]
InstructionScope = Literal["yours", "config", "project", "folder"]


@frozen
class Instruction:
    """One file or address with its *text*, truncated, imports included."""

    source: str
    """The place of the file, as users and the model read it."""
    text: str
    scope: InstructionScope
    """The origin of the file; ``folder`` for one of a deeper folder."""

    @property
    def digest(self) -> str:
        return sha256(self.text.encode()).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """Identifies this text of this file."""
        return f"{self.source} {self.digest}"


@frozen
class CollectedInstructions:
    """The instructions in force, the nearest to the work last. *notes* are sentences for the
    user."""

    files: tuple[Instruction, ...] = ()
    notes: tuple[str, ...] = ()


class Instructions:
    """Finds and reads instructions. *entries* are the ``instructions`` of the config;
    *trust_status* returns the user's trust in a project (its path): its files count only if it is
    trusted."""

    def __init__(
        self,
        paths: Paths,
        env: Mapping[str, str],
        trust_status: Callable[[str], TrustStatus],
        *,
        entries: Iterable[str] = (),
        mode: InstructionsMode = "nearest",
    ) -> None:
        self._paths = paths
        self._home = home_folder(env)
        self._env = env
        self._trust_status = trust_status
        self._entries = tuple(entries)
        self._mode: InstructionsMode = mode
        self._fetched: dict[str, str] = {}

    async def collect(self, directory: str, project: str, *, fetch: bool) -> CollectedInstructions:
        """Return the instructions for a session in *directory* of *project*.

        Files are read each time. Addresses are requested only with *fetch*; otherwise their last
        text counts.
        """
        notes = await self._fetch() if fetch else []
        work = partial(self._collect, Path(directory), Path(project))
        found = await asyncio.to_thread(work)
        return CollectedInstructions(found.files, (*notes, *found.notes))

    async def nested(
        self, touched: str, directory: str, project: str, known: frozenset[str]
    ) -> CollectedInstructions:
        """Return the instructions of folders deeper than *directory* on the way to the file
        *touched* (a real path), the outermost first; without those whose source is *known*."""
        standing = self._trust_status(project)
        if standing not in {"trusted", "nothing"}:
            return CollectedInstructions()
        if standing == "nothing":
            new = nested_files(Path(touched), Path(directory), Path(project))
            return CollectedInstructions(notes=_untrusted_notes(new, Path(project)))
        work = partial(self._nested, Path(touched), Path(directory), Path(project), known)
        return await asyncio.to_thread(work)

    def _collect(self, directory: Path, project: Path) -> CollectedInstructions:
        reading = ReadState()
        own = ImportBounds(home=self._home)
        found: list[Instruction] = []

        def add(path: Path, bounds: ImportBounds, scope: InstructionScope) -> None:
            text = read_instructions(path, bounds, reading)
            if text is not None:
                found.append(Instruction(bounds.display_name(path), rule_text(path, text), scope))

        for path in self._user_file():
            add(path, own, "yours")
        for entry in self._entries:
            if entry in self._fetched:
                found.append(Instruction(entry, self._fetched[entry], "config"))
            for path in self._files_outside(entry):
                add(path, own, "config")
        standing = self._trust_status(str(project))
        waiting: tuple[str, ...] = ()
        if standing == "nothing":
            waiting = _untrusted_notes(project_files(directory, project, self._mode), project)
        if standing == "trusted":
            inside = ImportBounds(project.resolve(), project)
            for path in project_files(directory, project, self._mode):
                add(path, inside, "project")
            for path in rules_for(project) if self._uses_claude_files() else ():
                add(path, inside, "project")
            for entry in self._entries:
                for path in pattern_files(entry, directory, project):
                    add(path, inside, "config")
        files, left_out = _within_limit(found)
        notes = [f"{name} is ignored: the instructions are too long." for name in left_out]
        return CollectedInstructions(files, (*reading.notes, *notes, *waiting))

    def _user_file(self) -> list[Path]:
        """Return the user's own file: ours, else another program's."""
        candidates = [self._paths.config / "AGENTS.md", opencode_folder(self._env) / "AGENTS.md"]
        if self._uses_claude_files():
            candidates.append(self._home / ".claude" / "CLAUDE.md")
        return [path for path in candidates if path.is_file()][:1]

    def _uses_claude_files(self) -> bool:
        return not any(
            env_variables.is_on(self._env, name)
            for name in ("DISABLE_CLAUDE_CODE", "DISABLE_CLAUDE_CODE_PROMPT")
        )

    def _files_outside(self, entry: str) -> list[Path]:
        """Return the files of an entry with an absolute path (only the user's config has such)."""
        if not entry.startswith(("/", "~/")):
            return []
        path = str(self._home / entry[2:]) if entry.startswith("~/") else entry
        found = glob.iglob(path, recursive=True)  # noqa: PTH207 - Path takes no absolute pattern
        return [Path(name) for name in islice(found, MAX_PATTERN_FILES) if Path(name).is_file()]

    async def _fetch(self) -> list[str]:
        """Request the addresses side by side; return sentences on those that failed."""
        addresses = [entry for entry in self._entries if "://" in entry]
        answers = await asyncio.gather(*map(fetch_text, addresses))
        notes: list[str] = []
        for address, (text, problem) in zip(addresses, answers, strict=True):
            if problem:
                notes.append(f"The instructions at {address} are ignored: {problem}.")
            else:
                self._fetched[address] = text
        return notes

    def _nested(
        self, touched: Path, directory: Path, project: Path, known: frozenset[str]
    ) -> CollectedInstructions:
        bounds = ImportBounds(project.resolve(), project)
        reading = ReadState()
        found: list[Instruction] = []
        rules = rules_for(project, touched) if self._uses_claude_files() else []
        for path in (*nested_files(touched, directory, project), *rules):
            source = bounds.display_name(path)
            text = read_instructions(path, bounds, reading) if source not in known else None
            if text is not None:
                text = rule_text(path, text)
                if len(text) > MAX_NESTED:
                    text = f"{text[:MAX_NESTED]}\n[Cut here. Read {source} for the rest.]"
                found.append(Instruction(source, text, "folder"))
        return CollectedInstructions(tuple(found), tuple(reading.notes))


INSTRUCTIONS_REMINDER = "Instructions from {source}, for the files you just used:\n\n{text}"


def with_instructions(state: Completed, found: Iterable[Instruction]) -> Completed:
    """Return the result of a call with the instructions that it brings."""
    texts = [INSTRUCTIONS_REMINDER.format(source=each.source, text=each.text) for each in found]
    return replace(
        state,
        reminders=(*state.reminders, *texts),
        facts=(*state.facts, *(f"with {each.source}" for each in found)),
        attached=(*state.attached, *(each.fingerprint for each in found)),
    )


def project_files(directory: Path, project: Path, mode: InstructionsMode) -> list[Path]:
    """Return the project's instruction files: the nearest folder's from *directory* up to
    *project*, or with ``stack`` each folder's from the root down."""
    chain = [
        found
        for folder in folder_chain(directory, project)
        if (found := instruction_file_in(folder))
    ]
    return chain if mode == "stack" else chain[-1:]


def instruction_file_in(folder: Path) -> Path | None:
    """Return the instruction file of *folder*: the first of the known names that exists."""
    return next((folder / name for name in INSTRUCTION_FILES if (folder / name).is_file()), None)


def nested_files(touched: Path, directory: Path, project: Path) -> list[Path]:
    """Return the instruction files on the way from *directory* down to *touched*, outermost first.

    Files in a repository inside the project do not count, nor does *touched* itself.
    """
    found: list[Path] = []
    for folder in touched.parents:
        if directory.is_relative_to(folder) or not folder.is_relative_to(project):
            break
        path = instruction_file_in(folder)
        if path is not None and path != touched:
            found.append(path)
        if os.path.lexists(folder / ".git"):
            found.clear()
    return found[::-1]


def _untrusted_notes(paths: Iterable[Path], project: Path) -> tuple[str, ...]:
    """Return a note for each file that is used only once the project is trusted."""
    names = (printable(path.relative_to(project).as_posix()) for path in paths)
    return tuple(f"{name} is used once you trust this folder (/trust)." for name in names)


def _within_limit(found: Iterable[Instruction]) -> tuple[tuple[Instruction, ...], list[str]]:
    """Return the files that fit together, and the names of those that do not."""
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


FETCH_TIMEOUT = 5.0
"""Seconds that a server can take; a session's first prompt waits for it."""

MAX_FETCHED_BYTES = 256 * 1024
MAX_FETCHED_CHARACTERS = 40_000


async def fetch_text(url: str) -> tuple[str, str]:
    """Return the text at *url* and "", or "" and the reason for the failure. Only https, or http of
    this machine; no redirects, no credentials."""
    parts = _url_parts(url)
    local = parts is not None and parts[1] in {"localhost", "127.0.0.1", "::1"}
    if parts is None or (parts[0] != "https" and not (parts[0] == "http" and local)):
        return "", "only https addresses without a password are fetched"
    import httpx2  # loaded only where an address is configured

    try:
        async with (
            httpx2.AsyncClient(timeout=FETCH_TIMEOUT, follow_redirects=False) as client,
            client.stream("GET", url) as response,
        ):
            if response.status_code != 200:
                return "", f"the server answered {response.status_code}"
            data = bytearray()
            async for piece in response.aiter_bytes():
                data += piece
                if len(data) > MAX_FETCHED_BYTES:
                    return "", "the text is too long"
    except httpx2.HTTPError as error:
        return "", str(error).lower() or type(error).__name__
    text = bytes(data).decode("utf-8", "replace").strip()
    if "\0" in text:
        return "", "it is not text"
    return text[:MAX_FETCHED_CHARACTERS], ""


def _url_parts(url: str) -> tuple[str, str] | None:
    """Return scheme and host of *url*; None for no URL, and for one with a password."""
    try:
        parts = urlsplit(url)
        return None if "@" in parts.netloc else (parts.scheme.lower(), parts.hostname or "")
    except ValueError:
        return None


# The rules of Claude Code: instruction files in ``.claude/rules``, some only for some files.


def rules_for(project: Path, touched: Path | None = None) -> list[Path]:
    """Return the rules of *project* for every file; with *touched*, those for that file alone."""
    return [
        path
        for path in rule_files(project)
        for patterns in (_patterns(path),)
        if (touched is None and not patterns) or (touched and _fits(touched, project, patterns))
    ]


def rule_text(path: Path, text: str) -> str:
    """Return the *text* of an instruction file; of a rule without its frontmatter."""
    if ".claude" not in path.parts:
        return text
    try:
        return parse_document(text).body
    except FrontmatterError:
        return text


def _patterns(path: Path) -> list[str]:
    """Return the patterns of the files that a rule is for, none for every file."""
    try:
        given = parse_document(path.read_text("utf-8", "replace")).fields.get("paths")
    except (FrontmatterError, OSError):
        return []
    listed = given.split(",") if isinstance(given, str) else given
    return [str(each).strip() for each in listed] if isinstance(listed, list) else []


def _fits(touched: Path, project: Path, patterns: list[str]) -> bool:
    if not touched.is_relative_to(project):
        return False
    name = touched.relative_to(project).as_posix()
    for pattern in patterns:
        try:
            check_glob(pattern, "paths")
        except ToolError:
            continue
        if matcher(pattern)(name):
            return True
    return False
