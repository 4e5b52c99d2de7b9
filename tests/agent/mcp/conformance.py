"""The client for the protocol's conformance suite: ``python -m tests.agent.mcp.conformance URL``.

The suite serves one scenario at *URL* and watches. The program's own MCP service connects, logs in
with a browser that accepts everything, and calls each tool.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx2

from agent.config.settings_schema import McpOAuthConfig
from agent.mcp.forms import ACCEPT, REFUSE, form_values
from agent.mcp.records import Server, ToolDefinition
from agent.records.errors import OpencodePyError
from agent.records.json import Json, JsonObject
from agent.records.requests import Question, QuestionReply
from tests.agent.mcp.mcp_harness import McpHarness, open_mcp

NAME = "suite"
PAGE = "https://conformance-test.local/client-metadata.json"
"""The client's metadata page; a server that knows it needs no registration."""

LOGINS = 3
"""Logins during one call: its scopes can be too few."""

VALUES: dict[str, Json] = {"number": 2, "integer": 2, "string": "two", "boolean": True, "array": []}


async def accept(question: Question, on_asked: Callable[[str | None], None]) -> QuestionReply:
    """Leave each field as it is, with its default."""
    _ = on_asked
    if question.fields:
        return QuestionReply(values=form_values((each, each.default) for each in question.fields))
    labels = tuple(option.label for option in question.options)
    return QuestionReply(labels=(ACCEPT,) if labels == (ACCEPT, REFUSE) else ())


async def browse(address: str) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(address)


async def log_in(mcp: McpHarness) -> None:
    pages: list[asyncio.Task[None]] = []

    async def show(address: str) -> None:
        pages.append(asyncio.create_task(browse(address)))

    await mcp.service.log_in(NAME, show)
    await asyncio.gather(*pages)
    await mcp.until(lambda: mcp.status(NAME).state != "connecting")


def arguments(schema: JsonObject, first: JsonObject) -> JsonObject:
    """Return values for the required arguments. A schema is filled with that of the *first*
    tool."""
    fields, required = schema.get("properties"), schema.get("required")
    if not isinstance(fields, dict) or not isinstance(required, list):
        return {}
    wanted = {name: fields[name] for name in required if name in fields}
    return {
        name: first if name == "schema" else VALUES.get(str(spec.get("type")), {})
        for name, spec in wanted.items()
    }


async def drive(url: str, context: JsonObject) -> int:
    """Connect and try each call; return 0.

    The suite decides whether the calls went right, since some scenarios mean them to fail.
    """
    server = Server(name=NAME, url=url, oauth=await client_of(url, context))
    with tempfile.TemporaryDirectory() as folder:
        async with open_mcp(Path(folder), server, ask=accept) as mcp:
            for _ in range(LOGINS):
                if mcp.status(NAME).state == "needs auth":
                    await log_in(mcp)
            status = mcp.status(NAME)
            if status.state != "connected":
                sys.stderr.write(f"{status.state}: {status.reason}\n")
                return 1
            for tool, given in calls(status.tools, context):
                await call(mcp, tool, given)
            return 0


async def client_of(url: str, context: JsonObject) -> McpOAuthConfig | None:
    """Return what a user would have written into the settings."""
    known = context.get("client_id")
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    if scenario == "auth/basic-cimd":
        known = PAGE
    secret = context.get("client_secret")
    issuer = await issuer_of(url) if scenario == "auth/client-credentials-basic" else None
    return (
        McpOAuthConfig(client_id=str(known), client_secret=secret, issuer=issuer) if known else None
    )  # type: ignore[arg-type]


async def issuer_of(url: str) -> str:
    """Return the authorization server of the credentials, which the suite names nowhere else."""
    place = urljoin(url, f"/.well-known/oauth-protected-resource{urlsplit(url).path}")
    async with httpx2.AsyncClient() as client:
        return (await client.get(place)).json()["authorization_servers"][0]


def calls(
    tools: tuple[tuple[str, ToolDefinition], ...], context: JsonObject
) -> Iterator[tuple[str, JsonObject]]:
    """Return the calls of a scenario, or each tool with made-up arguments."""
    names = {definition.name: name for name, definition in tools}
    wanted = context.get("toolCalls")
    if isinstance(wanted, list):
        for one in wanted:
            yield names[one["name"]], one["arguments"]
        return
    for name, definition in tools:
        yield name, arguments(definition.schema, tools[0][1].schema)


async def call(mcp: McpHarness, tool: str, given: JsonObject) -> None:
    for _ in range(LOGINS):
        try:
            result = await mcp.call(tool, **given)
        except OpencodePyError as error:
            sys.stderr.write(f"{tool}: {error.message}\n")
            if "log in" not in error.message:
                return
            await log_in(mcp)
        else:
            sys.stderr.write(f"{tool}: {result.output}\n")
            return


def main() -> int:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    try:
        return asyncio.run(drive(sys.argv[1], context))
    except OpencodePyError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
