"""The first request of each agent: the tokens of its system prompt and tools, and their number.

Tokens are estimated with the same function for all, within some 5 % of OpenAI's tokenizer. An agent
that is not installed (on the path or in ``BENCH_PEERS``) gets a dash: no figure is from elsewhere.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.session.context.budget import estimate_tokens
from bench.peers.agents import AGENTS, Agent, ours
from bench.peers.processes import MARK, end
from bench.table import Row
from bench.testbed import Testbed, open_testbed

TIMEOUT = 120.0
"""Seconds for one agent."""


@dataclass(frozen=True)
class Size:
    """Tokens of the *system* prompt, with what stands before the user's words, and of the *tools*,
    and the *number* of tools."""

    system: int
    tools: int
    number: int


def request_size(body: dict) -> Size:
    """Return the size of a request in any of the protocols of the scripted server."""
    tools = [
        each
        for tool in body.get("tools") or []
        for each in tool.get("functionDeclarations") or [tool.get("function") or tool]
    ]
    described = [
        f"{tool.get('name', '')}\n{tool.get('description', '')}\n"
        + json.dumps(tool.get("parameters") or tool.get("input_schema") or {})
        for tool in tools
    ]
    system = "\n".join(_system_texts(body))
    return Size(estimate_tokens(system), sum(map(estimate_tokens, described)), len(tools))


def _system_texts(body: dict) -> Iterator[str]:
    for field in ("system", "instructions", "systemInstruction"):
        yield from _texts(body.get(field))
    for item in body.get("messages") or body.get("input") or []:
        if item.get("role") in {"system", "developer"}:
            yield from _texts(item.get("content"))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(value.get("text") or value.get("parts"))


def sizes(_: Testbed) -> list[Row]:
    """Measure the first request of every agent that is installed, ours first."""
    path = os.pathsep.join(filter(None, (os.environ.get("BENCH_PEERS"), os.environ["PATH"])))
    with open_testbed(lenient=True) as testbed:
        subprocess.run(("git", "-C", str(testbed.project), "init", "-q"), check=True)
        return [
            Row(f"first request: {agent.name}", _shown(_first_request(testbed, agent, path)))
            for agent in (ours(), *(agent for agent in AGENTS if agent.headless))
        ]


def _shown(size: Size | None) -> str:
    if size is None:
        return "–"
    return f"system {size.system:,}, {size.number} tools {size.tools:,} tokens"


def _first_request(testbed: Testbed, agent: Agent, path: str) -> Size | None:
    """Return the size of the agent's first request with tools, None without any."""
    if agent.found(path) is None:
        return None
    home, bodies = testbed.home / agent.name, Path(f"{testbed.log}.requests")
    bodies.unlink(missing_ok=True)
    argv, env = agent.prepared(home, testbed.url, testbed.project, path)
    process = subprocess.Popen(
        [*argv, *agent.headless, "hello there"],
        cwd=testbed.project,
        env={**env, MARK: agent.name},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
    end(process.pid, agent.name)
    lines = bodies.read_text("utf-8").splitlines() if bodies.exists() else []
    return request_size(json.loads(lines[0])) if lines else None
