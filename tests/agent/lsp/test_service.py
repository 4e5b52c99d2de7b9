"""Language servers that work and that fail, as real processes."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.lsp.client import MAX_DIAGNOSTIC
from agent.lsp.connection import RequestRefused, ServerGone, ServerSpec
from agent.lsp.service import MAX_MISSED, MAX_STARTS, LspService
from agent.records.events import Event, LspChanged
from tests.support.lsp import PATIENCE, SCRIPT, until, write

Opener = Callable[..., AbstractAsyncContextManager[LspService]]


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    @asynccontextmanager
    async def open_service(
        mode: str, *, bus: Bus | None = None, **more: object
    ) -> AsyncIterator[LspService]:
        spec = ServerSpec(
            id="tiny",
            command=(sys.executable, SCRIPT, mode),
            extensions=(".tiny",),
            markers=("tiny.toml",),
            initialization={"tiny": {"rules": ["a"]}},
        )
        env = {"PATH": "/usr/bin:/bin", "LSP_LOG": str(tmp_path / "log")}
        service = LspService(lambda: (spec,), tmp_path, env, bus or Bus(), **more)
        try:
            yield service
        finally:
            await service.close()
            for status in service.statuses:
                assert status.state in {"ended", "failed"}

    return open_service


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.tiny"
    path.write_text("fine\n  ERROR here\n")
    return path


async def errors(service: LspService, file: Path) -> list[tuple[int, int, str]] | None:
    found = await service.diagnostics((str(file),), PATIENCE)
    said = found.get(str(file))
    return None if said is None else [(d.line, d.column, d.message) for d in said]


def messages(tmp_path: Path) -> list[dict]:
    return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]


@pytest.mark.parametrize("mode", ["good", "pull"])
async def test_errors_are_those_of_the_current_file(opened: Opener, file: Path, mode: str) -> None:
    async with opened(mode) as service:
        assert await errors(service, file) == [(2, 3, "ERROR here")]
        write(file, "fine\n")
        assert await errors(service, file) == []
        write(file, "ERROR again\n")
        assert await errors(service, file) == [(1, 1, "ERROR again")]
        (status,) = service.statuses
        assert (status.state, status.files, status.errors) == ("ready", 1, 1)


async def test_no_server_starts_before_a_file_is_used(opened: Opener, file: Path) -> None:
    async with opened("good") as service:
        assert service.statuses == ()
        service.warm_up([str(file.with_suffix(".other"))])
        assert service.statuses == ()
        service.warm_up([str(file)])
        assert [status.state for status in service.statuses] == ["starting"]


async def test_one_server_for_each_root(opened: Opener, tmp_path: Path, file: Path) -> None:
    inner = tmp_path / "part" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "part" / "tiny.toml").touch()
    (inner / "b.tiny").write_text("ERROR b\n")
    async with opened("good") as service:
        assert await errors(service, file) == [(2, 3, "ERROR here")]
        assert await errors(service, inner / "b.tiny") == [(1, 1, "ERROR b")]
        roots = {status.root for status in service.statuses}
        assert roots == {str(tmp_path), str(tmp_path / "part")}


async def test_a_server_gets_the_settings_that_it_requests(opened: Opener, file: Path) -> None:
    async with opened("spoken") as service:
        assert await errors(service, file) == [(1, 1, 'ERROR settings [["a"], null]')]


async def test_positions_are_in_the_protocols_units(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "a.tiny"
    file.write_text("def shout(x)\n😀 shout(1)\n")
    async with opened("good") as service:
        params = {
            "textDocument": {"uri": file.as_uri()},
            "position": {"line": 1, "character": 3},
        }
        answer = await service.request(str(file), "textDocument/definition", params)
        assert answer == [{"uri": file.as_uri(), "range": {"start": {"line": 0, "character": 4}}}]
        with pytest.raises(RequestRefused, match="no textDocument/hover here"):
            await service.request(str(file), "textDocument/hover", params)


async def test_a_server_that_starts_too_slowly_is_skipped(opened: Opener, file: Path) -> None:
    async with opened("mute") as service:
        assert await service.diagnostics((str(file),), 0.05) == {}
        assert [status.state for status in service.statuses] == ["starting"]


async def test_garbage_is_a_reason_for_failure(opened: Opener, file: Path) -> None:
    async with opened("garbage") as service:
        assert await errors(service, file) is None
        (status,) = service.statuses
        assert (status.state, status.reason) == ("failed", "it sent a message of many bytes")


async def test_a_flood_of_diagnostics_is_stored_with_few_notifications(
    opened: Opener, file: Path
) -> None:
    """10,000 errors arrive in as many messages."""
    published: list[Event] = []

    def keep(event: Event) -> bool:
        published.append(event)
        return False

    bus = Bus()
    with bus.subscribe(keep):
        async with opened("flood", bus=bus) as service, asyncio.timeout(PATIENCE):
            while len(await errors(service, file) or ()) < 10_000:
                continue
            await until(lambda: service.statuses[0].errors == 10_000)
    assert LspChanged("tiny") in published
    assert len(published) < 1_000


async def test_a_server_that_sends_updates_without_end_is_not_waited_for(
    opened: Opener, file: Path
) -> None:
    async with opened("ceaseless") as service, asyncio.timeout(PATIENCE):
        found = await service.diagnostics((str(file),), 3_600)
        assert [one.message for one in found[str(file)]] == ["ERROR once more"]


async def test_a_long_diagnostic_is_cut(opened: Opener, file: Path) -> None:
    write(file, f"ERROR {'x' * 100_000}\n")
    async with opened("good") as service:
        ((_, _, said),) = await errors(service, file) or ()
        assert len(said) == MAX_DIAGNOSTIC


async def test_a_server_that_keeps_dying_is_not_restarted(
    opened: Opener, tmp_path: Path, file: Path
) -> None:
    async with opened("dies") as service:
        for _ in range(MAX_STARTS + 2):
            assert await errors(service, file) is None
        (status,) = service.statuses
        assert (status.state, status.reason) == ("failed", "out of ideas")
        starts = [m for m in messages(tmp_path) if m.get("method") == "initialize"]
        assert len(starts) == MAX_STARTS
        await service.restart()
        assert await errors(service, file) is None
        assert len([m for m in messages(tmp_path) if m.get("method") == "initialize"]) > MAX_STARTS


async def test_a_server_that_does_not_respond_is_ended(opened: Opener, file: Path) -> None:
    async with opened("silent", request_timeout=0.5) as service:
        # Only requests after the start count.
        service.warm_up([str(file)])
        await until(lambda: service.statuses[0].state == "ready")
        for _ in range(MAX_MISSED):
            with pytest.raises(TimeoutError):
                await service.request(str(file), "textDocument/definition", {})
        await until(lambda: service.statuses[0].state == "failed")
        assert "did not answer" in service.statuses[0].reason


@pytest.mark.skipif(sys.platform != "linux", reason="memory is only known on Linux")
async def test_a_server_that_uses_too_much_memory_is_ended(opened: Opener, file: Path) -> None:
    async with opened("fat", max_memory=200 * 1024**2) as service:
        assert await errors(service, file) == [(2, 3, "ERROR here")]
        await until(lambda: service.statuses[0].state == "failed")
        assert "of memory: it was ended" in service.statuses[0].reason


async def test_a_missing_program_is_a_reason_for_failure(tmp_path: Path, file: Path) -> None:
    spec = ServerSpec(id="none", command=("/nowhere/server",), extensions=(".tiny",))
    service = LspService(lambda: (spec,), tmp_path, {}, Bus())
    assert await errors(service, file) is None
    (status,) = service.statuses
    assert (status.state, status.reason) == (
        "failed",
        "cannot be started: No such file or directory",
    )
    with pytest.raises(ServerGone):
        await service.request(str(file), "textDocument/definition", {})
    await service.close()


async def test_closing_during_the_start_leaves_no_process(opened: Opener, file: Path) -> None:
    async with opened("mute") as service:
        service.warm_up([str(file)])


async def test_binary_files_are_not_sent(opened: Opener, tmp_path: Path) -> None:
    binary = tmp_path / "b.tiny"
    binary.write_bytes(b"\xff\xfe\x00")
    async with opened("good") as service:
        assert await errors(service, binary) is None
        assert await errors(service, tmp_path / "gone.tiny") is None


BASEDPYRIGHT = shutil.which("basedpyright-langserver") or shutil.which(
    "basedpyright-langserver", path=str(Path(sys.executable).parent)
)


@pytest.mark.skipif(BASEDPYRIGHT is None, reason="basedpyright is not installed")
async def test_a_real_server_reports_errors_and_definitions(tmp_path: Path) -> None:
    assert BASEDPYRIGHT is not None
    spec = ServerSpec(id="basedpyright", command=(BASEDPYRIGHT, "--stdio"), extensions=(".py",))
    file = tmp_path / "a.py"
    file.write_text("def add(a: int) -> int:\n    return a\n\n\nadd('one')\n")
    env = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    service = LspService(lambda: (spec,), tmp_path, env, Bus())
    try:
        async with asyncio.timeout(120):
            while not (found := await errors(service, file)):
                continue
        assert any(line == 5 for line, _, _ in found)
        params = {
            "textDocument": {"uri": file.as_uri()},
            "position": {"line": 4, "character": 1},
        }
        answer = await service.request(str(file), "textDocument/definition", params)
        assert isinstance(answer, list)
        assert json.dumps(answer).count('"line": 0') >= 1
    finally:
        await service.close()
