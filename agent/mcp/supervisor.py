"""Keeps one server connected: in the background, again after it broke, never in the way (X2)."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agent.mcp.connection import AttemptDeps, AuthSource, Connection
from agent.mcp.elicitation import Ask, ElicitationResult
from agent.mcp.records import (
    ConnectionLost,
    Listing,
    Server,
    ServerResponse,
    ServerState,
    ServerStatus,
    Transport,
)
from agent.mcp.sampling import SampleRequest, SampleResult, SamplingRefused
from agent.records.errors import ToolError
from agent.records.json import JsonObject
from agent.tools.core.base import ToolContext
from agent.tools.core.clean_text import without_invisible

if TYPE_CHECKING:  # brings the SDK
    from agent.mcp.client import McpClient
from collections.abc import Coroutine, Iterator
from typing import Any

from agent.mcp.elicitation import Elicitation
from agent.mcp.sampling import MAX_REQUESTS, complete_sample

ResultT = TypeVar("ResultT", ElicitationResult, SampleResult)


class ActiveCall:
    """The call *context* of a tool of *server*. What was asked for it ends with it: a server that
    is told of a cancelled call may go on all the same."""

    def __init__(self, server: str, context: ToolContext, ask: Ask | None) -> None:
        self._server = server
        self._context = context
        self._ask = ask
        self._asked: set[asyncio.Task[Any]] = set()
        self._samples = 0

    def end(self) -> None:
        """The call is over."""
        for task in self._asked:
            task.cancel()

    async def elicit(self, message: str, wanted: JsonObject | str) -> ElicitationResult:
        """What the user answers."""
        if self._ask is None:
            return ElicitationResult("decline", {})
        asking = Elicitation(self._server, self._context, self._ask)
        if isinstance(wanted, str):
            given = await self._within(asking.address(message, wanted))
        else:
            given = await self._within(asking.form(message, wanted))
        return given or ElicitationResult("cancel", {})

    async def sample(self, sample: SampleRequest) -> SampleResult:
        """What a model answers. Raises ``Refused``."""
        self._samples += 1
        if self._samples > MAX_REQUESTS:
            raise SamplingRefused(f"One call may ask a model {MAX_REQUESTS} times.")
        given = await self._within(complete_sample(self._server, sample, self._context))
        if given is None:
            raise SamplingRefused("The call was cancelled.")
        return given

    async def _within(self, asked: Coroutine[Any, Any, ResultT]) -> ResultT | None:
        """What comes of *asked*, None if the call ended meanwhile."""
        task = asyncio.create_task(asked)
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        return None if task.cancelled() else task.result()


MAX_REASON = 300
"""Characters of a reason."""


def leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """*error*, or what it holds if it is a group of several."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of any kind
            yield from leaf_errors(one)  # pyright: ignore[reportUnknownArgumentType] - as above
    else:
        yield error


def cannot_start(error: BaseException | None) -> bool:
    """Whether trying again is of no use: the program is not there, or may not be run."""
    kinds = FileNotFoundError | PermissionError | NotADirectoryError
    return error is not None and any(isinstance(one, kinds) for one in leaf_errors(error))


def failure_reason(error: BaseException | None, server: Server, log: str, *, late: bool) -> str:
    """What went wrong. *late*: its time was over; *log* is the end of its error stream."""
    if late:
        return _with_log(f"It was not ready within {server.connecting:g} seconds.", log)
    if error is None:
        return _with_log("It ended the connection.", log)
    found = list(leaf_errors(error))
    first = next((one for one in found if not isinstance(one, ConnectionLost)), found[0])
    if isinstance(first, FileNotFoundError | NotADirectoryError) and server.command:
        if not server.folder.is_dir():
            return f"There is no folder {server.folder} to start it in."
        return f"There is no program {server.command[0]} on this machine's PATH."
    if isinstance(first, PermissionError) and server.command:
        return f"{server.command[0]} may not be run (permission denied)."
    if isinstance(first, ConnectionLost):
        return _with_log("It ended the connection.", log)
    said = " ".join(str(first).split()) or type(first).__name__
    if server.remote and type(first).__name__ in _UNREACHED:
        return f"Nothing answers at {server.url}: {said}"[:MAX_REASON]
    return _with_log(said[:MAX_REASON].rstrip(".") + ".", log)


_UNREACHED = frozenset({"ConnectError", "ConnectTimeout", "ConnectionRefusedError"})


def _with_log(sentence: str, log: str) -> str:
    """*sentence*, and the last line that the program printed on its error stream."""
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
    return f"{sentence} It said: {last[:MAX_REASON]}" if last else sentence


MAX_FAILURES = 5
"""Connections in a row that may fail before it is given up on until somebody asks again."""

FIRST_PAUSE = 1.0
"""Seconds before the second attempt; doubled each time."""

STABLE_AFTER = 60.0
"""Seconds after which a connection counts as one that worked."""

RECONNECT_WAIT = 10.0
"""Seconds that a call waits for a server that is being connected again."""

Got = TypeVar("Got")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperDeps:
    """*root* is the folder that servers may know of, *environment* that of programs; *told* is
    called when the standing changed, *offered* with what the server offers, None when that is
    nothing any more. *ask* asks the user a question; *first_pause* is in seconds."""

    root: Path
    environment: Mapping[str, str]
    told: Callable[[], None]
    offered: Callable[[Listing | None], None]
    ask: Ask | None = None
    login: AuthSource | None = None
    first_pause: float = FIRST_PAUSE


class ServerSupervisor:
    """One server. ``standing`` tells how it stands."""

    def __init__(self, server: Server, deps: KeeperDeps) -> None:
        self._server = server
        self._deps = deps
        self._task: asyncio.Task[None] | None = None
        self._link: McpClient | None = None
        self._callers: list[ActiveCall] = []
        self._now: Connection | None = None
        self._wire: Transport = _first_wire(server)
        self._settled = asyncio.Event()
        self._tried = asyncio.Event()
        self._hurry = asyncio.Event()
        state: ServerState = "connecting" if server.enabled else "disabled"
        self.standing = ServerStatus(server=server, state=state)

    def start(self) -> None:
        """Connect from now on, and stay connected. While it pauses, it tries at once."""
        if self._server.problem:
            self._give_up("failed", self._server.problem, "")
        elif self._task is None or self._task.done():
            self._settled.clear()
            self._tried.clear()
            self._wire = _first_wire(self._server)
            self._tell("connecting")
            self._task = asyncio.create_task(self._keep(), name=f"mcp {self._server.name}")
        else:
            self._hurry.set()

    async def stop(self) -> None:
        """End the connection and what was started for it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None
        self._link = None
        self._deps.offered(None)
        self._give_up("disabled", "", "")

    async def tried(self) -> None:
        """Wait until it is connected, or the first attempt has failed."""
        await self._tried.wait()

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ServerResponse:
        """Call a tool. Raises ``ToolError``."""
        silence = self._server.silence
        caller = ActiveCall(self._server.name, ctx, self._deps.ask)
        self._callers.append(caller)
        try:
            return await self._ask(
                lambda link: link.call(
                    tool, arguments, silence, lambda text: ctx.progress(without_invisible(text))
                )
            )
        finally:
            self._callers.remove(caller)
            caller.end()

    async def _elicit(self, message: str, wanted: JsonObject | str) -> ElicitationResult:
        """Ask the user of the newest call. A server without one has nothing to ask."""
        if not self._callers:
            return ElicitationResult("decline", {})
        return await self._callers[-1].elicit(message, wanted)

    async def _sample(self, sample: SampleRequest) -> SampleResult:
        """Have a model answer for the newest call. Raises ``Refused``."""
        if not self._callers:
            raise SamplingRefused("A model is asked in the middle of a call alone.")
        return await self._callers[-1].sample(sample)

    async def read(self, uri: str) -> ServerResponse:
        """The content of a resource. Raises ``ToolError``."""
        return await self._ask(lambda link: link.read(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> ServerResponse:
        """A prompt, filled in. Raises ``ToolError``."""
        return await self._ask(lambda link: link.prompt(name, arguments))

    async def _ask(self, request: "Callable[[McpClient], Awaitable[Got]]") -> Got:
        for _ in range(2):
            link = await self._ready()
            try:
                return await request(link)
            except ConnectionLost as lost:
                refused = self._now is not None and self._now.refused
                self._broken(link)
                if refused:
                    raise ToolError(
                        f"The MCP server {self._server.name} wants a login for this. The user can "
                        "log in, with ctrl+l in /mcp."
                    ) from None
                # Where the server had forgotten the session, nothing was done: once more.
                if not lost.expired:
                    raise ToolError(
                        f"The connection to the MCP server {self._server.name} broke during the "
                        "call, which may have been done all the same. It is being connected again."
                    ) from None
        raise ToolError(f"The MCP server {self._server.name} broke off twice.")

    async def _ready(self) -> "McpClient":
        """The connection, waited for if there is hope. Raises ``ToolError``."""
        if self._link is None and self.standing.state in {"connecting", "failed"}:
            self.start()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(RECONNECT_WAIT, self._server.connecting)):
                    await self._settled.wait()
        if self._link is None:
            name, standing = self._server.name, self.standing
            why = standing.reason or f"it is {standing.state}."
            if standing.state == "needs auth":
                why = "it needs a login: the user can log in with /mcp."
            raise ToolError(f"The MCP server {name} is not connected: {why}")
        return self._link

    def _broken(self, link: "McpClient") -> None:
        if self._link is link and self._now is not None:
            self._link = None
            self._settled.clear()
            self._tell("connecting", reason="The connection broke.")
            self._now.end()

    async def _keep(self) -> None:
        """Connect, again and again, until it is of no use."""
        failures = 0
        while True:
            self._hurry.clear()
            now = self._now = Connection(self._server, self._wire, self._attempt_deps())
            try:
                error = await now.held()
            finally:
                self._link = None
            self._settled.clear()
            if self._falls_back(now, error):
                continue
            failures = 1 if now.was_up and now.lasted >= STABLE_AFTER else failures + 1
            late = not now.was_up and now.lasted >= self._server.connecting
            reason = failure_reason(error, self._server, now.log, late=late)
            if now.refused:
                self._deps.offered(None)
                self._give_up("needs auth", now.refused, now.log)
                return
            if failures >= MAX_FAILURES or cannot_start(error):
                self._give_up("failed", reason, now.log)
                return
            self._tried.set()
            pause = self._deps.first_pause * 2 ** (failures - 1)
            self._tell("connecting", reason=f"{reason} Trying again in {pause:g} s.", log=now.log)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._hurry.wait()

    def _falls_back(self, now: Connection, error: BaseException | None) -> bool:
        """Whether SSE is to be tried next: an older server knows nothing of streamable HTTP."""
        if now.wire != "http" or now.was_up or now.refused:
            return False
        if error is None or "Connect" in type(error).__name__:
            return False
        self._wire = "sse"
        return True

    def _give_up(self, state: ServerState, reason: str, log: str) -> None:
        self._tell(state, reason=reason, log=log)
        self._settled.set()
        self._tried.set()

    def _attempt_deps(self) -> AttemptDeps:
        return AttemptDeps(
            root=self._deps.root,
            environment=self._deps.environment,
            up=self._up,
            offered=self._offered,
            unread=lambda problem: self._tell("connected", problems=(problem,)),
            elicit=self._elicit,
            sample=self._sample,
            login=self._deps.login,
        )

    def _up(self, link: "McpClient", offer: Listing) -> None:
        self._link = link
        self._offered(link, offer)
        self._settled.set()
        self._tried.set()

    def _offered(self, link: "McpClient", offer: Listing) -> None:
        self.standing = replace(
            self.standing,
            wire=link.wire,
            about=link.about,
            resources=offer.resources,
            prompts=offer.prompts,
        )
        self._deps.offered(offer)
        self._tell("connected", problems=offer.problems)

    def _tell(
        self, state: ServerState, *, reason: str = "", log: str = "", problems: tuple[str, ...] = ()
    ) -> None:
        self.standing = replace(
            self.standing, state=state, reason=reason, log=log, problems=problems
        )
        self._deps.told()


def _first_wire(server: Server) -> Transport:
    return "http" if server.remote else "stdio"
