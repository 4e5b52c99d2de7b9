"""An image on the clipboard (spec 8, U9). Terminals paste text alone, so the desktop is asked
by the tools that it has; over ssh there is none, and that is no error."""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

TIMEOUT = 3.0
"""Seconds for the desktop to answer: an X server that hangs must not hold the key for ever."""

MAX_BYTES = 32 * 1024 * 1024
"""Bytes above which an image is not taken; no provider takes one of 32 MiB."""

PNG = b"\x89PNG\r\n\x1a\n"


def reader_commands(env: Mapping[str, str], platform: str = sys.platform) -> list[list[str]]:
    """The commands, best first, that write the clipboard's image as PNG to their output."""
    if platform == "darwin":
        return [["pngpaste", "-"]]
    found: list[list[str]] = []
    if env.get("WAYLAND_DISPLAY"):
        found.append(["wl-paste", "--no-newline", "--type", "image/png"])
    if env.get("DISPLAY"):
        found.append(["xclip", "-selection", "clipboard", "-target", "image/png", "-out"])
    if env.get("WSL_DISTRO_NAME"):
        script = (
            "Add-Type -AssemblyName System.Windows.Forms;"
            "$i=[Windows.Forms.Clipboard]::GetImage();"
            "if($i){$m=New-Object IO.MemoryStream;"
            "$i.Save($m,[Drawing.Imaging.ImageFormat]::Png);"
            "$o=[Console]::OpenStandardOutput();$m.WriteTo($o)}"
        )
        found.append(["powershell.exe", "-NoProfile", "-STA", "-Command", script])
    return found


async def save_clipboard_image(env: Mapping[str, str], folder: Path) -> Path | None:
    """The clipboard's image, written to a new file in *folder*; None if there is none."""
    for command in reader_commands(env):
        program = shutil.which(command[0], path=env.get("PATH"))
        data = await _output([program, *command[1:]], env) if program else b""
        if data.startswith(PNG) and len(data) <= MAX_BYTES:
            return await asyncio.to_thread(_keep, data, folder)
    return None


def _keep(data: bytes, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / time.strftime("%Y-%m-%d-%H%M%S.png")
    file.write_bytes(data)
    return file


async def _output(command: list[str], env: Mapping[str, str]) -> bytes:
    """What *command* writes; nothing if it fails or takes too long."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(env),
        )
    except OSError:
        return b""
    try:
        async with asyncio.timeout(TIMEOUT):
            data, _ = await process.communicate()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return b""
    return data if process.returncode == 0 else b""
