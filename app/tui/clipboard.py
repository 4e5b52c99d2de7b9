"""Copying text to the clipboard: through the terminal (OSC 52), and with the tool of the desktop or
of tmux where there is one. The notice says what really happened."""

import asyncio
import base64
import contextlib
import shutil
import sys
from collections.abc import Mapping

from textual.app import App

from app.text.units import count
from app.tui.notifier import tmux_passthrough, write_sequence

MAX_OSC52_BYTES = 74_994
"""The most bytes of text sent to a terminal: encoded, with OSC 52 around them, they are the 100,000
bytes that most terminals accept."""

TOOL_TIMEOUT = 3.0
"""Seconds for a tool: an X server that hangs must not block forever."""


def clipboard_commands(env: Mapping[str, str], platform: str = sys.platform) -> list[list[str]]:
    """Return the commands, best first, that copy their standard input to the clipboard."""
    found: list[list[str]] = []
    if platform == "darwin":
        found.append(["pbcopy"])
    if env.get("WAYLAND_DISPLAY"):
        found.append(["wl-copy"])
    if env.get("DISPLAY"):
        found += [["xclip", "-selection", "clipboard", "-in"], ["xsel", "--clipboard", "--input"]]
    if env.get("WSL_DISTRO_NAME"):
        found.append(["clip.exe"])
    if env.get("TMUX"):
        found.append(["tmux", "load-buffer", "-w", "-"])
    return found


def osc52(text: str, *, tmux: bool) -> str:
    """Return the sequence that asks a terminal to put *text* on its clipboard.

    tmux either handles it or passes it on, depending on its settings: it gets both forms.
    """
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    sequence = f"\x1b]52;c;{data}\x07"
    return sequence + tmux_passthrough(sequence) if tmux else sequence


async def copy(app: App[int], env: Mapping[str, str], text: str) -> str:
    """Put *text* on the clipboard and return a sentence that says how it went."""
    lines = text.count("\n") + 1
    what = count(lines, "line") if lines > 1 else count(len(text), "character")
    tool = await _copy_with_tool(env, text)
    if len(text.encode("utf-8", "replace")) <= MAX_OSC52_BYTES:
        write_sequence(app, osc52(text, tmux="TMUX" in env))
        return f"Copied {what}." if tool else f"Sent {what} to the terminal's clipboard."
    if tool:
        return f"Copied {what}."
    limit = f"{MAX_OSC52_BYTES // 1000} KB"
    return f"Not copied: {what} are more than terminals take ({limit}). Copy less."


async def copy_and_notify(app: App[int], env: Mapping[str, str], text: str) -> None:
    """Put *text* on the clipboard and show on the screen how it went."""
    app.notify(await copy(app, env, text), markup=False)


async def _copy_with_tool(env: Mapping[str, str], text: str) -> str | None:
    """Copy *text* with a tool and return its name, None if none succeeded."""
    for command in clipboard_commands(env):
        program = shutil.which(command[0], path=env.get("PATH"))
        if program is not None and await _run_with_input([program, *command[1:]], env, text):
            return command[0]
    return None


async def _run_with_input(command: list[str], env: Mapping[str, str], text: str) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            # xclip keeps running to serve the text: it would keep our pipes open.
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(env),
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(TOOL_TIMEOUT):
            await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return False
    return process.returncode == 0
