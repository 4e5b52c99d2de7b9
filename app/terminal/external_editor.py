"""The user's own editor, for a text or a file, and their pager, which get the terminal
meanwhile."""

import asyncio
import contextlib
import shlex
import signal
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from textual.app import App, SuspendNotSupported

from agent.records.errors import OpencodePyError
from app.text.file_links import EDITOR_SCHEMES, FilePlace

FALLBACKS = ("nano", "vim", "vi")
"""Editors that are tried in this order if the environment names none."""


class EditorError(OpencodePyError):
    """The editor could not be used; the text is unchanged."""


def editor_command(env: Mapping[str, str]) -> list[str]:
    """Return the editor's command with its arguments.

    Raises ``EditorError`` if there is none.
    """
    import shutil  # few sessions open an editor

    named = env.get("VISUAL") or env.get("EDITOR")
    if named:
        try:
            words = shlex.split(named)
        except ValueError as error:
            raise EditorError(f"$EDITOR cannot be read ({named}): {error}.") from error
        if words:
            return words
    for name in FALLBACKS:
        if found := shutil.which(name, path=env.get("PATH")):
            return [found]
    raise EditorError("There is no editor: set $EDITOR to the one you use, such as vim or nano.")


async def edit_text(app: App[int], text: str, env: Mapping[str, str]) -> str:
    """Return *text* as the user left it in the editor.

    The agent keeps working meanwhile, but the screen is not painted. Raises ``EditorError`` as
    ``run_editor`` does.
    """
    command = editor_command(env)
    with _terminal_of(app, "an editor"):
        return await run_editor(text, command, env)


LINE_OPTION = frozenset(
    {"vi", "vim", "nvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg", "ne"}
)
"""Editors that take the line as ``+LINE`` before the file."""
LINE_SUFFIX = frozenset({"hx", "helix", "subl", "mate", *EDITOR_SCHEMES})
"""Editors that take ``FILE:LINE``."""
GOTO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Those of them that need an option for that."""


def file_arguments(editor: str, place: FilePlace) -> list[str]:
    """Return the arguments with which *editor*, a command, opens *place*; one that is not known
    opens the file at its beginning."""
    name, file = Path(editor).name, str(place.path)
    if place.line and name in LINE_OPTION:
        return [f"+{place.line}", file]
    if place.line and name in LINE_SUFFIX:
        return [*(["--goto"] if name in GOTO else []), f"{file}:{place.line}"]
    return [file]


async def open_file(app: App[int], place: FilePlace, env: Mapping[str, str]) -> None:
    """Open *place* in the editor, which gets the terminal unless it has windows of its own. Raises
    ``EditorError`` if that is not possible."""
    words = editor_command(env)
    command = [*words, *file_arguments(words[0], place)]
    if Path(words[0]).name in EDITOR_SCHEMES:
        await _start(command, env, asyncio.subprocess.DEVNULL)
        return
    with _terminal_of(app, "an editor"):
        process = await _start(command, env)
        await process.wait()


PAGERS = ("less", "more")
"""Pagers that are tried in this order if the environment names none."""


async def read_text(app: App[int], text: str, env: Mapping[str, str]) -> None:
    """Show *text* in ``$PAGER``. Raises ``EditorError`` if that is not possible."""
    import shutil  # few sessions open a pager

    found = (shutil.which(name, path=env.get("PATH")) for name in PAGERS)
    try:
        command = shlex.split(env.get("PAGER", "")) or [name for name in found if name][:1]
    except ValueError as error:
        raise EditorError(f"$PAGER cannot be read ({env['PAGER']}): {error}.") from error
    if not command:
        raise EditorError("There is no pager: set $PAGER to the one you use, such as less.")
    with _terminal_of(app, "a pager"):
        await _run(text, "output.txt", command, env)


async def run_editor(text: str, command: Sequence[str], env: Mapping[str, str]) -> str:
    """Return *text* after *command* edited it in a temporary file, without the trailing newline
    that editors add.

    Raises ``EditorError`` when the editor cannot be started or exits with an error (as after
    ``:cq``).
    """
    written = await _run(text, "prompt.md", command, env)
    return written.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")


async def _run(text: str, name: str, command: Sequence[str], env: Mapping[str, str]) -> bytes:
    """Run *command* on a temporary file of that *name* with *text*, and return its content after.

    Raises ``EditorError`` as ``run_editor`` does.
    """
    with tempfile.TemporaryDirectory(prefix="opencode-py-") as folder:
        file = Path(folder) / name
        await asyncio.to_thread(file.write_text, text, encoding="utf-8", errors="replace")
        process = await _start([*command, str(file)], env)
        code = await process.wait()
        if code:
            raise EditorError(f"{command[0]} ended with code {code}: nothing was changed.")
        return await asyncio.to_thread(file.read_bytes)


async def _start(
    command: Sequence[str], env: Mapping[str, str], streams: int | None = None
) -> asyncio.subprocess.Process:
    """Start *command* on the terminal, or with other *streams*. Raises ``EditorError`` if that is
    not possible."""
    try:
        return await asyncio.create_subprocess_exec(
            *command, env=dict(env), stdin=streams, stdout=streams, stderr=streams
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise EditorError(f"{command[0]} cannot be started: {reason}.") from error


@contextlib.contextmanager
def _terminal_of(app: App[int], program: str) -> Generator[None]:
    """Leave the terminal to a *program* meanwhile. Raises ``EditorError`` if that is not
    possible."""
    try:
        with _no_interrupt(), app.suspend(), app.batch_update():
            yield
    except SuspendNotSupported as error:
        raise EditorError(f"Cannot open {program} in this terminal.") from error


@contextlib.contextmanager
def _no_interrupt() -> Generator[None]:
    """Leave Ctrl+C to the editor. A handler is used because SIG_IGN would be inherited."""

    def ignore(number: int, frame: FrameType | None) -> None:
        pass

    before = signal.signal(signal.SIGINT, ignore)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
