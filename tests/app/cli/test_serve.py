"""``opencode-py serve`` from its start to its exit code."""

import asyncio
import signal
import sys
from pathlib import Path

import httpx2
import pytest

from tests.support.harness import GUARD, config_for, environment, write_config
from tests.support.model_server import ModelServer

ROOT = Path(__file__).resolve().parents[3]
COMMAND = [sys.executable, str(ROOT / "opencode_py.py"), "serve"]


async def start(home: Path, *arguments: str, **env: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env={**environment(home), "PYTHONPATH": str(ROOT), **env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(GUARD):
        _, errors = await process.communicate()
    return process.returncode, errors.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_until_a_signal_comes(tmp_path: Path, number: signal.Signals) -> None:
    async with ModelServer() as model:
        write_config(tmp_path, config_for(model))
        process = await start(tmp_path, str(tmp_path), "--port", "0")
        assert process.stdout is not None
        async with asyncio.timeout(GUARD):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("opencode server listening on http://127.0.0.1:")
        address = line.split()[-1]
        token = (tmp_path / "data" / "server-token").read_text().strip()
        async with httpx2.AsyncClient(base_url=address) as client:
            assert (await client.get("/path")).status_code == 401
            client.headers["authorization"] = f"Bearer {token}"
            async with client.stream("GET", "/event") as stream:
                assert stream.status_code == 200
                process.send_signal(number)
                code, errors = await ended(process)
    assert code == 128 + number
    assert "server-token" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--hostname", "0.0.0.0"), "OPENCODE_SERVER_PASSWORD"),
        (("--port", "70000"), "70000"),
        (("--cors", "null"), "null is not an origin"),
        (("--cors", "http://host/path"), "http://host/path is not an origin"),
        (("/not/there",), "/not/there"),
    ],
)
async def test_it_says_why_it_does_not_start(
    tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    code, errors = await ended(await start(tmp_path, *arguments))
    assert code in {1, 2}
    assert says in errors
    assert "Traceback" not in errors


async def test_others_are_never_served_without_a_password(tmp_path: Path) -> None:
    given = ("--hostname", "0.0.0.0", "--no-token")
    code, errors = await ended(await start(tmp_path, *given, OPENCODE_SERVER_PASSWORD="x"))
    assert code == 2
    assert "--no-token" in errors
