"""A page in headless Chromium, driven over its debugging pipe."""

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe"),
)

LAUNCH = """
import fcntl, os, sys
# The browser reads file descriptor 3 and writes 4: move ours out of the way first.
given = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for number, descriptor in zip((3, 4), given):
    os.dup2(descriptor, number, inheritable=True)
os.execv(sys.argv[3], sys.argv[3:])
"""

GUARD = 60
"""Seconds after which a page has failed to show what a test waits for."""


@dataclass
class Page:
    """One tab. *errors* are the exceptions of its scripts."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: str = ""
    errors: list[str] = field(default_factory=list)
    _ids: count = field(default_factory=count)

    async def send(self, method: str, **params: object) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        await self.writer.drain()
        while True:
            answer = json.loads((await self.reader.readuntil(b"\0"))[:-1])
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(answer["params"]))
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    async def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        result = await self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    async def until(self, script: str) -> Any:
        """Wait until an expression is true, and return its value."""
        try:
            async with asyncio.timeout(GUARD):
                while not (value := await self.run(script)):
                    await self.run("new Promise(requestAnimationFrame)")
                return value
        except TimeoutError:
            text = await self.run("document.body?.innerText")
            raise AssertionError(f"{script} did not become true in:\n{text}") from None

    async def until_shown(self, text: str) -> None:
        await self.until(f"document.body?.innerText.includes({json.dumps(text)})")

    async def click(self, text: str) -> None:
        """Click the visible button of that text."""
        find = (
            "[...document.querySelectorAll('button')]"
            f".find((each) => each.innerText === {json.dumps(text)} && each.offsetParent)"
        )
        await self.until(f"!!{find}")
        await self.run(f"{find}.click()")

    async def resize(self, width: int, height: int) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )


@asynccontextmanager
async def browser_page(url: str, profile: Path) -> AsyncIterator[Page]:
    """Open *url* in a browser of its own, with an empty *profile* folder."""
    to_browser, from_us = os.pipe()
    from_browser, to_us = os.pipe()
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        LAUNCH,
        str(to_browser),
        str(to_us),
        CHROMIUM,
        *OPTIONS,
        f"--user-data-dir={profile}",
        pass_fds=(to_browser, to_us),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(to_us)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=16_000_000)
    incoming, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_browser, "rb")
    )
    outgoing, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(from_us, "wb")
    )
    try:
        page = Page(reader, asyncio.StreamWriter(outgoing, protocol, None, loop))
        target = (await page.send("Target.createTarget", url="about:blank"))["targetId"]
        attached = await page.send("Target.attachToTarget", targetId=target, flatten=True)
        page.session = attached["sessionId"]
        await page.send("Runtime.enable")
        await page.send("Page.enable")
        await page.send("Page.navigate", url=url)
        yield page
        assert page.errors == []
    finally:
        incoming.close()
        outgoing.close()
        with contextlib.suppress(ProcessLookupError):
            program.kill()
        await program.wait()
