"""Images on the clipboard.

Terminals paste only text, so the desktop's clipboard tools are asked. Over ssh there are none,
which is not an error.
"""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

TIMEOUT = 3.0
"""Seconds that a clipboard tool can take: a hanging X server must not block the key."""

MAX_BYTES = 32 * 1024 * 1024
"""The largest image in bytes; no provider accepts 32 MiB."""

PNG = b"\x89PNG\r\n\x1a\n"


def reader_commands(env: Mapping[str, str], platform: str = sys.platform) -> list[list[str]]:
    """Return the commands, best first, that write the clipboard's image as PNG to standard
    output."""
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
    """Write the clipboard's image to a new file in *folder* and return its path, or None if there
    is none."""
    for command in reader_commands(env):
        program = shutil.which(command[0], path=env.get("PATH"))
        data = await _output([program, *command[1:]], env) if program else b""
        if data.startswith(PNG) and len(data) <= MAX_BYTES:
            return await asyncio.to_thread(_write_file, data, folder)
    return None


def _write_file(data: bytes, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / time.strftime("%Y-%m-%d-%H%M%S.png")
    file.write_bytes(data)
    return file


async def _output(command: list[str], env: Mapping[str, str]) -> bytes:
    """Return the output of *command*; nothing if it fails or times out."""
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
