"""The clipboard: copying text, and reading images.

Text is copied through the terminal (OSC 52), and with the tool of the desktop or of tmux where one
exists. Terminals paste only text, so images come from the desktop's tools; over ssh there are none,
which is not an error.
"""

import asyncio
import base64
import contextlib
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from textual.app import App

from agent.records.amounts import count
from app.terminal.driver import tmux_passthrough, write_sequence

MAX_OSC52_BYTES = 74_994
"""The most bytes of text sent to a terminal: encoded, with OSC 52 around them, they are the 100,000
bytes that most terminals accept."""

TOOL_TIMEOUT = 3.0
"""Seconds for a tool: an X server that hangs must not block forever."""

MAX_IMAGE_BYTES = 32 * 1024 * 1024
"""The largest image; no provider accepts 32 MiB."""

PNG = b"\x89PNG\r\n\x1a\n"

READ_IMAGE_ON_WINDOWS = (
    "Add-Type -AssemblyName System.Windows.Forms;"
    "$i=[Windows.Forms.Clipboard]::GetImage();"
    "if($i){$m=New-Object IO.MemoryStream;"
    "$i.Save($m,[Drawing.Imaging.ImageFormat]::Png);"
    "$o=[Console]::OpenStandardOutput();$m.WriteTo($o)}"
)


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


def reader_commands(env: Mapping[str, str], platform: str = sys.platform) -> list[list[str]]:
    """Return the commands, best first, that print the clipboard's image as PNG."""
    if platform == "darwin":
        return [["pngpaste", "-"]]
    found: list[list[str]] = []
    if env.get("WAYLAND_DISPLAY"):
        found.append(["wl-paste", "--no-newline", "--type", "image/png"])
    if env.get("DISPLAY"):
        found.append(["xclip", "-selection", "clipboard", "-target", "image/png", "-out"])
    if env.get("WSL_DISTRO_NAME"):
        found.append(["powershell.exe", "-NoProfile", "-STA", "-Command", READ_IMAGE_ON_WINDOWS])
    return found


def osc52(text: str, *, tmux: bool) -> str:
    """Return the sequence that asks a terminal to put *text* on its clipboard.

    tmux either handles it or passes it on, depending on its settings: it gets both forms.
    """
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    sequence = f"\x1b]52;c;{data}\x07"
    return sequence + tmux_passthrough(sequence) if tmux else sequence


async def copy_and_notify(app: App[int], env: Mapping[str, str], text: str) -> None:
    """Put *text* on the clipboard and show on the screen what really happened."""
    app.notify(await _copy(app, env, text), markup=False)


async def _copy(app: App[int], env: Mapping[str, str], text: str) -> str:
    lines, data = text.count("\n") + 1, text.encode("utf-8", "replace")
    what = count(lines, "line") if lines > 1 else count(len(text), "character")
    copied = False
    for command in clipboard_commands(env):
        copied = copied or await _run(command, env, data) is not None
    if len(data) <= MAX_OSC52_BYTES:
        write_sequence(app, osc52(text, tmux="TMUX" in env))
        return f"Copied {what}." if copied else f"Sent {what} to the terminal's clipboard."
    if copied:
        return f"Copied {what}."
    limit = f"{MAX_OSC52_BYTES // 1000} KB"
    return f"Not copied: {what} is more than terminals accept ({limit}). Copy less."


async def save_clipboard_image(env: Mapping[str, str], folder: Path) -> Path | None:
    """Write the clipboard's image to a file in *folder* and return it, None for none."""
    for command in reader_commands(env):
        data = await _run(command, env) or b""
        if data.startswith(PNG) and len(data) <= MAX_IMAGE_BYTES:
            return await asyncio.to_thread(_write_file, data, folder)
    return None


def _write_file(data: bytes, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / time.strftime("%Y-%m-%d-%H%M%S.png")
    file.write_bytes(data)
    return file


async def _run(
    command: list[str], env: Mapping[str, str], data: bytes | None = None
) -> bytes | None:
    """Return the output of a tool, None if it is missing, fails or times out.

    With *data* as its input, its output is not read: xclip keeps running to serve the text and
    would keep our pipe open.
    """
    program = shutil.which(command[0], path=env.get("PATH"))
    if program is None:
        return None
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *command[1:],
            stdin=nothing if data is None else pipe,
            stdout=pipe if data is None else nothing,
            stderr=nothing,
            env=dict(env),
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(TOOL_TIMEOUT):
            output, _ = await process.communicate(data)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return None
    return None if process.returncode else output or b""
