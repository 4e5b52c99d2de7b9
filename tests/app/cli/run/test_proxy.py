"""``opencode-py run`` behind a SOCKS proxy."""

import asyncio
import json
import subprocess
from urllib.parse import urlsplit

import pytest

from tests.app.cli.run.process import GUARD, LAUNCHER
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Text, answer


def through(
    installed: InstalledProgram, proxy: str, address: str
) -> subprocess.CompletedProcess[bytes]:
    """Run it with *proxy* in the environment and the provider at *address*."""
    file = installed.home / "config/config.json"
    settings = json.loads(file.read_text())
    settings["provider"]["scripted"]["options"]["baseURL"] = address
    settings["retry"] = {"attempts": 1}
    file.write_text(json.dumps(settings))
    return subprocess.run(
        [*LAUNCHER, "go"],
        cwd=installed.project, env={**installed.env, "ALL_PROXY": proxy},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=GUARD, check=False,
    )  # fmt: skip


async def _serve(port: int, names: list[str]) -> asyncio.Server:
    """Start a SOCKS 5 proxy that leads every name to *port* of this machine."""

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
        target.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods = (await reader.readexactly(2))[1]
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        length = (await reader.readexactly(5))[4]
        names.append((await reader.readexactly(length)).decode())
        await reader.readexactly(2)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, up_writer), copy(up_reader, writer))

    return await asyncio.start_server(serve, "127.0.0.1", 0)


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_requests_go_through_a_socks_proxy(
    installed: InstalledProgram, scripted: ServerThread, scheme: str
) -> None:
    scripted.server.script(answer(Text("done")))
    names: list[str] = []
    own = urlsplit(str(scripted.server.url))
    assert own.port is not None
    proxy = asyncio.run_coroutine_threadsafe(_serve(own.port, names), scripted.loop).result(GUARD)
    address = f"{scheme}://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    done = through(installed, address, f"http://model.example{own.path}")
    scripted.loop.call_soon_threadsafe(proxy.close)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr
    assert "model.example" in names


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "socks://127.0.0.1:1", "socks9://x"])
def test_a_proxy_that_cannot_be_used_is_a_sentence(
    installed: InstalledProgram, scripted: ServerThread, proxy: str
) -> None:
    done = through(installed, proxy, "http://model.example/v1")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Traceback" not in done.stderr
    assert b"proxy" in done.stderr.lower() or b"connect" in done.stderr.lower()
    assert scripted.server.requests == []
