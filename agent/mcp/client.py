"""One connection to a server, over the official SDK (spec 10, X1).

The SDK's types stay in here: what comes out are the records of this room. A link is opened and
closed by one task; calls may come from any.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, Protocol, TypeVar, cast

import anyio
import mcp_types as types
from mcp.client import Client, ClientRequestContext
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from agent.mcp.records import (
    Blob,
    ConnectionLost,
    Content,
    Listing,
    Prompt,
    PromptArgument,
    Resource,
    ResourceLink,
    Server,
    ServerResponse,
    Text,
    ToolDefinition,
    Transport,
)
from agent.mcp.sampling import SampleMessage, SampleRequest, SamplingRefused
from agent.mcp.transports import Hooks, TransportState, open_transport
from agent.records.errors import ToolError
from agent.records.json import JsonObject
from agent.tools.core.clean_text import without_invisible

REFUSED = -1
"""The code for what the user does not want to be asked of a model."""

MOST_PAGES = 100
"""Pages of a list that are read."""

MOST_ENTRIES = 2_000
"""Tools, resources or prompts of a server that are taken."""

AGAIN = 1.0
"""Seconds before a lost stream of changes is asked for again."""

_EXPIRED = "Session terminated"
_REFUSED = "Server returned an error response"
"""What the SDK says where HTTP alone says that something failed."""

Page = TypeVar("Page", types.ListToolsResult, types.ListResourcesResult, types.ListPromptsResult)
Entry = TypeVar("Entry")
Listed_co = TypeVar("Listed_co", covariant=True)


class Fetch(Protocol[Listed_co]):
    """Asks for a page of a list."""

    def __call__(
        self, *, cursor: str | None, cache_mode: Literal["refresh"]
    ) -> Awaitable[Listed_co]: ...


class McpClient:
    """A connection that is up. *wire* is how the server is reached."""

    def __init__(self, client: Client, wired: TransportState, wire: Transport) -> None:
        self._client = client
        self._wired = wired
        self._calls: set[asyncio.Task[types.CallToolResult]] = set()
        self._limits: dict[asyncio.Timeout, float] = {}
        self.wire: Transport = wire

    @property
    def about(self) -> str:
        """The server's own name and version."""
        info = self._client.server_info
        return f"{info.name} {info.version}".strip() if info is not None else ""

    async def offer(self) -> Listing:
        """All that the server offers now. Raises ``LinkLost`` or ``ToolError``."""
        able, client = self._client.server_capabilities, self._client
        self._wired.problems.clear()
        problems: list[str] = []
        tools: list[types.Tool] = []
        if able.tools is not None:
            tools = await self._pages(client.list_tools, lambda page: page.tools, problems)
        resources: list[types.Resource] = []
        if able.resources is not None:
            resources = await self._optional(
                client.list_resources, lambda page: page.resources, problems
            )
        prompts: list[types.Prompt] = []
        if able.prompts is not None:
            prompts = await self._optional(client.list_prompts, lambda page: page.prompts, problems)
        return Listing(
            tools=tuple({tool.name: definition_of(tool) for tool in tools}.values()),
            resources=tuple(resource_of(one) for one in resources),
            prompts=tuple(prompt_of(one) for one in prompts),
            words=instructions_of(client.instructions),
            problems=(*self._wired.problems, *problems),
        )

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        silence: float,
        tell: Callable[[str], None],
    ) -> ServerResponse:
        """Call *tool*. *silence* is in seconds. Raises ``LinkLost`` or ``ToolError``."""
        loop = asyncio.get_running_loop()

        async def told(progress: float, total: float | None, message: str | None) -> None:
            limit.reschedule(loop.time() + silence)
            share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            tell(f"{message}  {share}" if message else share)

        # A task of its own: whoever cancels need not wait until the server has been told.
        task = asyncio.create_task(
            self._client.call_tool(tool, dict(arguments), progress_callback=told)
        )
        limit = asyncio.timeout(silence)
        self._limits[limit] = silence
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        try:
            async with limit:
                await asyncio.wait({task})
        except TimeoutError:
            raise ToolError(
                f"The server gave no sign of life for {silence:g} seconds, so the call was given "
                "up. It may have been done all the same."
            ) from None
        finally:
            self._limits.pop(limit, None)
            task.cancel()
        result = await self._answered(task)
        return ServerResponse(tuple(result_content(result)), failed=bool(result.is_error))

    @contextlib.contextmanager
    def asking(self) -> Generator[None]:
        """While the user is asked something, the time of calls stands still."""
        for limit in self._limits:
            limit.reschedule(None)
        try:
            yield
        finally:
            for limit, silence in self._limits.items():
                limit.reschedule(asyncio.get_running_loop().time() + silence)

    async def read(self, uri: str) -> ServerResponse:
        """The content of a resource. Raises ``LinkLost`` or ``ToolError``."""
        found = await self._answered(self._client.read_resource(uri, cache_mode="bypass"))
        return ServerResponse(tuple(resource_content(one) for one in found.contents))

    async def prompt(self, name: str, arguments: dict[str, str]) -> ServerResponse:
        """A prompt, filled in. Raises ``LinkLost`` or ``ToolError``."""
        found = await self._answered(self._client.get_prompt(name, arguments))
        return ServerResponse(tuple(content_of(message.content) for message in found.messages))

    async def follow(self, changed: Callable[[], None]) -> None:
        """Call *changed* for each change that newer servers tell only to who listens."""
        if self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        while True:
            try:
                async with self._client.listen(
                    tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
                ) as events:
                    async for _ in events:
                        changed()
            except (MCPError, ListenNotSupportedError, TimeoutError):
                return
            except SubscriptionLost:
                await asyncio.sleep(AGAIN)
                changed()

    async def _optional(
        self,
        fetch: Fetch[Page],
        pick: Callable[[Page], list[Entry]],
        problems: list[str],
    ) -> list[Entry]:
        """A list without which the server is still of use."""
        try:
            return await self._pages(fetch, pick, problems)
        except ToolError as error:
            problems.append(f"A list could not be read: {error}")
            return []

    async def _pages(
        self,
        fetch: Fetch[Page],
        pick: Callable[[Page], list[Entry]],
        problems: list[str],
    ) -> list[Entry]:
        found: list[Entry] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            page = await self._answered(fetch(cursor=cursor, cache_mode="refresh"))
            found += pick(page)
            cursor = page.next_cursor
            if cursor is None or len(found) > MOST_ENTRIES:
                break
            if cursor in seen:
                problems.append("A list goes round in circles; what was read of it is used.")
                break
            seen.add(cursor)
        else:
            problems.append(f"A list has more than {MOST_PAGES} pages; the rest is left out.")
        if len(found) > MOST_ENTRIES:
            problems.append(f"A list has more than {MOST_ENTRIES:,} entries; the rest is left out.")
        return found[:MOST_ENTRIES]

    async def _answered(self, request: Awaitable[Entry]) -> Entry:
        """The answer to *request*, its failures in the words of this room."""
        try:
            return await request
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or error.message == _EXPIRED:
                raise ConnectionLost(expired=error.message == _EXPIRED) from error
            told = self._wired.fault if error.message == _REFUSED else ""
            raise ToolError(
                told or error.message or f"The server told error {error.code}."
            ) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise ConnectionLost from error
        except ValidationError as error:
            raise ToolError("The server's answer is not as the protocol has it.") from error
        except RuntimeError as error:  # what the SDK says of an answer that it can't use
            raise ToolError(f"The server's answer cannot be used: {error}") from error


@contextlib.asynccontextmanager
async def connect(server: Server, wire: Transport, hooks: Hooks) -> AsyncGenerator[McpClient, None]:
    """A link to *server* over *wire*, after the handshake."""

    async def heard(message: object) -> None:
        if isinstance(
            message,
            types.ToolListChangedNotification
            | types.ResourceListChangedNotification
            | types.PromptListChangedNotification,
        ):
            hooks.changed()

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        _ = context
        root = types.Root(uri=hooks.root.as_uri(), name=hooks.root.name)  # pyright: ignore[reportArgumentType] - pydantic takes text for an address
        return types.ListRootsResult(roots=[root])

    async def elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        _ = context
        form = isinstance(params, types.ElicitRequestFormParams)
        with link.asking():
            wanted = cast("JsonObject", params.requested_schema) if form else params.url
            given = await hooks.elicit(params.message, wanted)
        content = cast("dict[str, str | int | float | bool | list[str] | None]", given.content)
        accepted = form and given.action == "accept"
        return types.ElicitResult(action=given.action, content=content if accepted else None)

    async def sample(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        _ = context
        if params.tools:
            return types.ErrorData(code=types.INVALID_PARAMS, message="Tools are not given here.")
        try:
            with link.asking():
                given = await hooks.sample(sample_of(params))
        except SamplingRefused as error:
            return types.ErrorData(code=REFUSED, message=str(error))
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=given.text),
            model=given.model,
            stop_reason="endTurn",
        )

    wired = TransportState(hooks.gone)
    client = Client(
        open_transport(server, wire, hooks, wired),
        client_info=types.Implementation(name="opencode-py", version=_version()),
        list_roots_callback=roots,
        elicitation_callback=elicit,
        sampling_callback=sample,
        message_handler=heard,
    )
    link = McpClient(client, wired, wire)
    async with client:
        yield link


def _version() -> str:
    try:
        return version("opencode-py")
    except PackageNotFoundError:
        return "0"


LONGEST_WORDS = 4_000
"""Characters of what a server says of its tools that models are told."""


def instructions_of(said: str | None) -> str:
    """What a server says of its tools, as models may be told it."""
    text = without_invisible(said or "").strip()
    return text if len(text) <= LONGEST_WORDS else text[:LONGEST_WORDS].rstrip() + "…"


def definition_of(tool: types.Tool) -> ToolDefinition:
    hints = tool.annotations
    return ToolDefinition(
        name=tool.name,
        title=tool.title or (hints.title if hints else None) or "",
        description=tool.description or "",
        schema=tool.input_schema,
        read_only=bool(hints and hints.read_only_hint),
    )


def resource_of(one: types.Resource) -> Resource:
    return Resource(
        uri=str(one.uri),
        name=one.title or one.name,
        description=one.description or "",
        mime=one.mime_type or "",
    )


def prompt_of(one: types.Prompt) -> Prompt:
    return Prompt(
        name=one.name,
        description=one.description or one.title or "",
        arguments=tuple(
            PromptArgument(
                name=each.name, description=each.description or "", required=bool(each.required)
            )
            for each in one.arguments or ()
        ),
    )


def result_content(result: types.CallToolResult) -> list[Content]:
    found = [content_of(one) for one in result.content]
    if not found and result.structured_content is not None:
        return [Text(json.dumps(result.structured_content, ensure_ascii=False, indent=1))]
    return found


def content_of(content: types.ContentBlock) -> Content:
    match content:
        case types.TextContent():
            return Text(content.text)
        case types.ImageContent() | types.AudioContent():
            return Blob(content.mime_type, content.data)
        case types.ResourceLink():
            name = content.title or content.name
            return ResourceLink(str(content.uri), name, content.description or "")
        case types.EmbeddedResource():
            return resource_content(content.resource)


def resource_content(one: types.TextResourceContents | types.BlobResourceContents) -> Content:
    if isinstance(one, types.TextResourceContents):
        return Text(one.text, str(one.uri))
    return Blob(one.mime_type or "", one.blob, str(one.uri))


def sample_of(params: types.CreateMessageRequestParams) -> SampleRequest:
    said = [
        SampleMessage(message.role, tuple(_sampled(one) for one in message.content_as_list))
        for message in params.messages
    ]
    hints = params.model_preferences.hints if params.model_preferences else None
    return SampleRequest(
        system=params.system_prompt or "",
        said=tuple(said),
        most=params.max_tokens,
        temperature=params.temperature,
        hints=tuple(hint.name for hint in hints or () if hint.name),
    )


def _sampled(content: types.SamplingMessageContentBlock) -> Content:
    match content:
        case types.TextContent() | types.ImageContent() | types.AudioContent():
            return content_of(content)
        case _:
            raise SamplingRefused("Calls of tools are not replayed here.")
