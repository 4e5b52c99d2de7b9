"""Helpers for tests of system prompts: trusted projects, and the text of requests."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.harness import Harness, open_harness
from tests.support.script import Text, answer


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@asynccontextmanager
async def trusted(
    tmp_path: Path, files: Mapping[str, str] | None = None, **settings: object
) -> AsyncIterator[Harness]:
    """A runtime on a project with *files* that the user trusts."""
    write(tmp_path / "project", files or {})
    async with open_harness(tmp_path, **settings) as harness:
        (await harness.runtime.trust.refreshed()).save_answer("trust")
        yield harness


def system(body: dict) -> str:
    """The system prompt of a request, whole."""
    return "\n".join(m["content"] for m in body["messages"] if m["role"] == "system")


def text(body: dict) -> str:
    return json.dumps(body, ensure_ascii=False)


DONE = answer(Text("done"))
