"""Text to the clipboard (spec 8, U15; trial CLIPBOARD): through the terminal (OSC 52), and by
the desktop's or tmux's own tool where there is one. What is said of it is what happened."""

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
"""Bytes of text that a terminal is sent: with OSC 52 around it, the 100,000 that most take."""

TOOL_TIMEOUT = 3.0
"""Seconds for a tool: an X server that hangs must not hold it for ever."""


def clipboard_commands(env: Mapping[str, str], platform: str = sys.platform) -> list[list[str]]:
    """The commands, best first, that put what they read on the clipboard."""
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
    """The sequence that asks a terminal to put *text* on its clipboard. tmux takes it itself or
    passes it on, by its settings: it gets both."""
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    sequence = f"\x1b]52;c;{data}\x07"
    return sequence + tmux_passthrough(sequence) if tmux else sequence


async def copy(app: App[int], env: Mapping[str, str], text: str) -> str:
    """Put *text* on the clipboard; returns a sentence that says how it went."""
    lines = text.count("\n") + 1
    what = count(lines, "line") if lines > 1 else count(len(text), "character")
    tool = await _by_tool(env, text)
    if len(text.encode("utf-8", "replace")) <= MAX_OSC52_BYTES:
        write_sequence(app, osc52(text, tmux="TMUX" in env))
        return f"Copied {what}." if tool else f"Sent {what} to the terminal's clipboard."
    if tool:
        return f"Copied {what}."
    limit = f"{MAX_OSC52_BYTES // 1000} KB"
    return f"Not copied: {what} are more than terminals take ({limit}). Copy less."


async def copy_and_notify(app: App[int], env: Mapping[str, str], text: str) -> None:
    """Put *text* on the clipboard and say on the screen how it went."""
    app.notify(await copy(app, env, text), markup=False)


async def _by_tool(env: Mapping[str, str], text: str) -> str | None:
    """The tool that took *text*, None if none did."""
    for command in clipboard_commands(env):
        program = shutil.which(command[0], path=env.get("PATH"))
        if program is not None and await _feed([program, *command[1:]], env, text):
            return command[0]
    return None


async def _feed(command: list[str], env: Mapping[str, str], text: str) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            # xclip stays behind to serve the text: pipes of ours would be held by it.
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
