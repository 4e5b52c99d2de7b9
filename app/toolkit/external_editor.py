"""Editing a text in the user's own editor, which gets the terminal meanwhile."""

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
    try:
        with _no_interrupt(), app.suspend(), app.batch_update():
            return await run_editor(text, command, env)
    except SuspendNotSupported as error:
        raise EditorError("This terminal cannot be lent to an editor.") from error


async def run_editor(text: str, command: Sequence[str], env: Mapping[str, str]) -> str:
    """Return *text* after *command* edited it in a temporary file, without the trailing newline
    that editors add.

    Raises ``EditorError`` when the editor cannot be started or exits with an error (as after
    ``:cq``).
    """
    with tempfile.TemporaryDirectory(prefix="opencode-py-") as folder:
        file = Path(folder) / "prompt.md"
        await asyncio.to_thread(file.write_text, text, encoding="utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*command, str(file), env=dict(env))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise EditorError(f"The editor {command[0]} cannot be started: {reason}.") from error
        code = await process.wait()
        if code:
            raise EditorError(f"The editor ended with code {code}: the prompt is as it was.")
        left = await asyncio.to_thread(file.read_bytes)
    return left.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")


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
