"""Common language servers, through the tools as the model calls them.

One that is not installed is skipped. ``TYPESCRIPT_LANGUAGE_SERVER`` may name that one's program.
"""

import asyncio
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.records.messages import Completed
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer

PATIENCE = 120
"""Seconds for a real server to start on a busy machine; a guard against hanging."""


@dataclass(frozen=True)
class Real:
    """A server with a project of two files: *used* is defined in one and called in *main*, where
    the call on line 3 has a wrong argument."""

    id: str
    program: str | None
    main: str
    files: dict[str, str]
    hover: str


def program(name: str, variable: str = "") -> str | None:
    named = os.environ.get(variable, "") if variable else ""
    bin_folder = str(Path(sys.executable).parent)
    return named or shutil.which(name) or shutil.which(name, path=bin_folder)


SERVERS = (
    Real(
        "basedpyright",
        program("basedpyright-langserver"),
        "main.py",
        {
            "lib.py": "def used(count: int) -> int:\n    return count\n",
            "main.py": "from lib import used\n\nused('three')\n",
        },
        "count: int",
    ),
    Real(
        "typescript",
        program("typescript-language-server", "TYPESCRIPT_LANGUAGE_SERVER"),
        "main.ts",
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext"}}',
            "lib.ts": "export function used(count: number): number {\n  return count;\n}\n",
            "main.ts": 'import { used } from "./lib";\n\nused("three");\n',
        },
        "count: number",
    ),
)


async def wait_for_error(harness: Harness, real: Real) -> None:
    """Wait until the server has reported the error."""
    servers, path = harness.runtime.code.servers, str(harness.folder / real.main)
    async with asyncio.timeout(PATIENCE):
        while not (await servers.diagnostics((path,), 5.0)).get(path):
            assert "failed" not in {status.state for status in servers.statuses}


@pytest.mark.parametrize("real", SERVERS, ids=lambda real: real.id)
async def test_a_real_server_responds_through_the_tools(tmp_path: Path, real: Real) -> None:
    if real.program is None:
        pytest.skip(f"{real.id} is not installed")
    ending = Path(real.main).suffix
    lsp = {real.id: {"command": [real.program, "--stdio"], "extensions": [ending]}}
    async with open_harness(tmp_path, lsp=lsp) as harness:
        for name, text in real.files.items():
            (harness.folder / name).write_text(text)
        await wait_for_error(harness, real)
        at = {"file_path": real.main, "line": 3, "symbol": "used"}
        library = next(name for name in real.files if name.startswith("lib."))
        harness.server.script(
            answer(
                *(
                    Call("lsp", {"operation": operation, **at})
                    for operation in ("definition", "references", "hover")
                ),
                Call("lsp", {"operation": "symbols", "file_path": library}),
                Call("lsp", {"operation": "diagnostics", "file_path": real.main}),
            ),
            answer(Text("Done.")),
        )
        session = await harness.session()
        await harness.send(session, "Look.")
        await harness.idle(session)
        states = [part.state for part in await harness.tools(session)]
        outputs = [state.output if isinstance(state, Completed) else str(state) for state in states]
        definition, references, hover, symbols, diagnostics = outputs
        assert f"{library}:1:" in definition
        assert f"{real.main}:3:" in references
        assert f"{real.main}:1:" in references
        assert real.hover in hover
        assert "used" in symbols
        assert "3:" in diagnostics
        assert [status.state for status in harness.runtime.code.servers.statuses] == ["ready"]
    statuses = harness.runtime.code.servers.statuses
    assert [status.state for status in statuses] == ["ended"]
