"""A client of one MCP server, over the official SDK.

The SDK's types stay in this module: it returns the records of this package. A client is opened
and closed by one task; any task can call it.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from typing import Any, Literal, Protocol, TypeVar, cast

import anyio
import mcp_types as types
from mcp.client import Client, ClientRequestContext
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from agent.installation import VERSION
from agent.mcp.records import (
    Blob,
    ConnectionLost,
    Content,
    Listing,
    Prompt,
    PromptArgument,
    Resource,
    ResourceLink,
    ServerResponse,
    Text,
    ToolDefinition,
    Transport,
)
from agent.mcp.sampling import SampleMessage, SampleRequest, SamplingRefused
from agent.mcp.transports import ConnectionHost, TransportState, open_transport
from agent.records.errors import ToolError
from agent.records.json import JsonObject
from agent.tools.core.truncate import without_invisible

SAMPLING_REFUSED = -1
"""The error code for a prompt that the user rejected."""

MAX_PAGES = 100
"""Pages of a list that are read."""

MAX_ENTRIES = 2_000
"""Tools, resources or prompts of a server that are used."""

MAX_INSTRUCTIONS = 4_000
"""Characters of a server's instructions that are passed on to models."""

RESUBSCRIBE_DELAY = 1.0
"""Seconds before a lost stream of changes is requested again."""

_EXPIRED = "Session terminated"
_REFUSED = "Server returned an error response"
"""The SDK's message where only HTTP says what failed."""

PageT = TypeVar("PageT", types.ListToolsResult, types.ListResourcesResult, types.ListPromptsResult)
EntryT = TypeVar("EntryT")
PageT_co = TypeVar("PageT_co", covariant=True)


class FetchPage(Protocol[PageT_co]):
    """Requests a page of a list."""

    def __call__(
        self, *, cursor: str | None, cache_mode: Literal["refresh"]
    ) -> Awaitable[PageT_co]: ...


class McpClient:
    """An open connection to a server over *transport*."""

    def __init__(self, client: Client, state: TransportState, transport: Transport) -> None:
        self._client = client
        self._state = state
        self._calls: set[asyncio.Task[Any]] = set()
        self._timeouts: dict[asyncio.Timeout, float] = {}
        self.transport: Transport = transport

    @property
    def server_info(self) -> str:
        """The server's own name and version."""
        info = self._client.server_info
        return f"{info.name} {info.version}".strip() if info is not None else ""

    async def list_all(self) -> Listing:
        """Return everything that the server offers. Raises ``ConnectionLost`` or ``ToolError``."""
        able, client = self._client.server_capabilities, self._client
        self._state.problems.clear()
        problems: list[str] = []
        tools: list[types.Tool] = []
        if able.tools is not None:
            tools = await self._pages(client.list_tools, lambda page: page.tools, problems)
        resources: list[types.Resource] = []
        if able.resources is not None:
            resources = await self._optional_pages(
                client.list_resources, lambda page: page.resources, problems
            )
        prompts: list[types.Prompt] = []
        if able.prompts is not None:
            prompts = await self._optional_pages(
                client.list_prompts, lambda page: page.prompts, problems
            )
        return Listing(
            tools=tuple({tool.name: definition_of(tool) for tool in tools}.values()),
            resources=tuple(resource_of(one) for one in resources),
            prompts=tuple(prompt_of(one) for one in prompts),
            instructions=instructions_of(client.instructions),
            problems=(*self._state.problems, *problems),
        )

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        idle_timeout: float,
        on_progress: Callable[[str], None],
    ) -> ServerResponse:
        """Call *tool*; give up after *idle_timeout* seconds without a progress message.

        Raises ``ConnectionLost`` or ``ToolError``.
        """
        loop = asyncio.get_running_loop()

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            limit.reschedule(loop.time() + idle_timeout)
            share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            on_progress(f"{message}  {share}" if message else share)

        limit = asyncio.timeout(idle_timeout)
        self._timeouts[limit] = idle_timeout
        request = self._client.call_tool(tool, dict(arguments), progress_callback=progressed)
        try:
            result = await self._in_time(request, limit, idle_timeout)
        finally:
            self._timeouts.pop(limit, None)
        return ServerResponse(tuple(result_content(result)), is_error=bool(result.is_error))

    @contextlib.contextmanager
    def pause_timeouts(self) -> Generator[None]:
        """Stop the clocks of running calls while the user or a model is asked something."""
        for limit in self._timeouts:
            limit.reschedule(None)
        try:
            yield
        finally:
            for limit, seconds in self._timeouts.items():
                limit.reschedule(asyncio.get_running_loop().time() + seconds)

    async def read(self, uri: str, timeout: float) -> ServerResponse:
        """Return the content of a resource within *timeout* seconds. Raises ``ConnectionLost`` or
        ``ToolError``."""
        request = self._client.read_resource(uri, cache_mode="bypass")
        found = await self._in_time(request, asyncio.timeout(timeout), timeout)
        return ServerResponse(tuple(resource_content(one) for one in found.contents))

    async def prompt(self, name: str, arguments: dict[str, str], timeout: float) -> ServerResponse:
        """Return a prompt, filled in, within *timeout* seconds. Raises ``ConnectionLost`` or
        ``ToolError``."""
        request = self._client.get_prompt(name, arguments)
        found = await self._in_time(request, asyncio.timeout(timeout), timeout)
        return ServerResponse(tuple(content_of(message.content) for message in found.messages))

    async def watch_changes(self, changed: Callable[[], None]) -> None:
        """Call *changed* for the changes that newer servers send to subscribers only."""
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
                await asyncio.sleep(RESUBSCRIBE_DELAY)
                changed()

    async def _optional_pages(
        self,
        fetch: FetchPage[PageT],
        entries_of: Callable[[PageT], list[EntryT]],
        problems: list[str],
    ) -> list[EntryT]:
        """Read a list without which the server is still of use."""
        try:
            return await self._pages(fetch, entries_of, problems)
        except ToolError as error:
            problems.append(f"A list of the server could not be read: {error}")
            return []

    async def _pages(
        self,
        fetch: FetchPage[PageT],
        entries_of: Callable[[PageT], list[EntryT]],
        problems: list[str],
    ) -> list[EntryT]:
        found: list[EntryT] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            page = await self._translate_errors(fetch(cursor=cursor, cache_mode="refresh"))
            found += entries_of(page)
            cursor = page.next_cursor
            if cursor is None or len(found) > MAX_ENTRIES:
                break
            if cursor in seen:
                problems.append("A list repeats its pages; only the entries read so far are used.")
                break
            seen.add(cursor)
        else:
            problems.append(f"A list has more than {MAX_PAGES} pages; the rest is ignored.")
        if len(found) > MAX_ENTRIES:
            problems.append(f"A list has more than {MAX_ENTRIES:,} entries; the rest is ignored.")
        return found[:MAX_ENTRIES]

    async def _in_time(
        self, request: Coroutine[Any, Any, EntryT], limit: asyncio.Timeout, seconds: float
    ) -> EntryT:
        """Return the result of *request* if it comes within *limit*, which is *seconds* long."""
        # A task of its own: a cancel need not wait until the server has been notified.
        task = asyncio.create_task(request)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        try:
            async with limit:
                await asyncio.wait({task})
        except TimeoutError:
            raise ToolError(
                f"The server sent nothing for {seconds:g} seconds, so the call was "
                "canceled. It may have taken effect anyway."
            ) from None
        finally:
            task.cancel()
        return await self._translate_errors(task)

    async def _translate_errors(self, request: Awaitable[EntryT]) -> EntryT:
        """Return the result of *request*; raise the SDK's errors as those of this package."""
        try:
            return await request
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or error.message == _EXPIRED:
                raise ConnectionLost(expired=error.message == _EXPIRED) from error
            http_error = self._state.http_error if error.message == _REFUSED else ""
            raise ToolError(
                http_error or error.message or f"The server reported error {error.code}."
            ) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise ConnectionLost from error
        except ValidationError as error:
            raise ToolError("The server's response does not follow the protocol.") from error
        except RuntimeError as error:  # the SDK's error for a response that it cannot use
            raise ToolError(f"The server's response cannot be used: {error}") from error


@contextlib.asynccontextmanager
async def connect(host: ConnectionHost) -> AsyncGenerator[McpClient, None]:
    """Open a client for the connection *host*, after the handshake."""

    async def notified(message: object) -> None:
        if isinstance(
            message,
            types.ToolListChangedNotification
            | types.ResourceListChangedNotification
            | types.PromptListChangedNotification,
        ):
            host.lists_changed()

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        folder = host.settings.root
        root = types.Root(uri=FileUrl(folder.as_uri()), name=folder.name)
        return types.ListRootsResult(roots=[root])

    async def elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        is_form = isinstance(params, types.ElicitRequestFormParams)
        with client.pause_timeouts():
            request = cast("JsonObject", params.requested_schema) if is_form else params.url
            given = await host.owner.elicit(params.message, request)
        content = cast("dict[str, str | int | float | bool | list[str] | None]", given.content)
        accepted = is_form and given.action == "accept"
        return types.ElicitResult(action=given.action, content=content if accepted else None)

    async def sample(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        if params.tools:
            return types.ErrorData(code=types.INVALID_PARAMS, message="Tools are not supported.")
        try:
            with client.pause_timeouts():
                given = await host.owner.sample(sample_request(params))
        except SamplingRefused as error:
            return types.ErrorData(code=SAMPLING_REFUSED, message=str(error))
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=given.text),
            model=given.model,
            stop_reason="endTurn",
        )

    state = TransportState(host.gone)
    sdk_client = Client(
        open_transport(host, state),
        client_info=types.Implementation(name="opencode-py", version=VERSION),
        list_roots_callback=roots,
        elicitation_callback=elicit,
        sampling_callback=sample,
        message_handler=notified,
    )
    client = McpClient(sdk_client, state, host.transport)
    async with sdk_client:
        yield client


def instructions_of(text: str | None) -> str:
    """Return a server's instructions as models can read them: cleaned and cut."""
    clean = without_invisible(text or "").strip()
    if len(clean) <= MAX_INSTRUCTIONS:
        return clean
    return clean[:MAX_INSTRUCTIONS].rstrip() + "…"


def definition_of(tool: types.Tool) -> ToolDefinition:
    hints = tool.annotations
    return ToolDefinition(
        name=tool.name,
        title=tool.title or (hints.title if hints else None) or "",
        description=tool.description or "",
        schema=tool.input_schema,
        read_only=bool(hints and hints.read_only_hint),
    )


def resource_of(resource: types.Resource) -> Resource:
    return Resource(
        uri=str(resource.uri),
        name=resource.title or resource.name,
        description=resource.description or "",
        mime=resource.mime_type or "",
    )


def prompt_of(prompt: types.Prompt) -> Prompt:
    return Prompt(
        name=prompt.name,
        description=prompt.description or prompt.title or "",
        arguments=tuple(
            PromptArgument(
                name=each.name, description=each.description or "", required=bool(each.required)
            )
            for each in prompt.arguments or ()
        ),
    )


def result_content(result: types.CallToolResult) -> list[Content]:
    found = [content_of(block) for block in result.content]
    if not found and result.structured_content is not None:
        return [Text(json.dumps(result.structured_content, ensure_ascii=False, indent=1))]
    return found


def content_of(block: types.ContentBlock) -> Content:
    match block:
        case types.TextContent():
            return Text(block.text)
        case types.ImageContent() | types.AudioContent():
            return Blob(block.mime_type, block.data)
        case types.ResourceLink():
            name = block.title or block.name
            return ResourceLink(str(block.uri), name, block.description or "")
        case types.EmbeddedResource():
            return resource_content(block.resource)


def resource_content(one: types.TextResourceContents | types.BlobResourceContents) -> Content:
    if isinstance(one, types.TextResourceContents):
        return Text(one.text, str(one.uri))
    return Blob(one.mime_type or "", one.blob, str(one.uri))


def sample_request(params: types.CreateMessageRequestParams) -> SampleRequest:
    messages = [
        SampleMessage(message.role, tuple(_sample_content(one) for one in message.content_as_list))
        for message in params.messages
    ]
    hints = params.model_preferences.hints if params.model_preferences else None
    return SampleRequest(
        system=params.system_prompt or "",
        messages=tuple(messages),
        max_tokens=params.max_tokens,
        temperature=params.temperature,
        hints=tuple(hint.name for hint in hints or () if hint.name),
    )


def _sample_content(block: types.SamplingMessageContentBlock) -> Content:
    match block:
        case types.TextContent() | types.ImageContent() | types.AudioContent():
            return content_of(block)
        case _:
            raise SamplingRefused("Messages with tool calls are not supported.")
