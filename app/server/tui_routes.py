"""The endpoints by which editors drive the full screen: they become events that it follows."""

from starlette.requests import Request

from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from app.server.bodies import (
    NoBody,
    SelectSessionBody,
    TextBody,
    ToastBody,
    TuiCommandBody,
    TuiEventBody,
    read_body,
)
from app.server.endpoint import Endpoint
from app.server.errors import RequestError
from app.server.folders import Folders

COMMANDS = {
    "session_new": "session.new",
    "session_list": "session.list",
    "session_interrupt": "session.interrupt",
    "session_compact": "session.compact",
    "session_share": "session.share",
    "messages_page_up": "session.page.up",
    "messages_page_down": "session.page.down",
    "messages_half_page_up": "session.half.page.up",
    "messages_half_page_down": "session.half.page.down",
    "messages_first": "session.first",
    "messages_last": "session.last",
    "agent_cycle": "agent.cycle",
}
"""Names of commands in earlier versions of the API, and those of the events."""

EVENTS = frozenset(
    {"tui.prompt.append", "tui.command.execute", "tui.toast.show", "tui.session.select"}
)


@frozen
class TuiRoutes:
    """Requests of editors to the full screen."""

    folders: Folders

    def endpoints(self) -> tuple[Endpoint, ...]:
        def command(path: str, name: str) -> Endpoint:
            async def execute(_: Request) -> Json:
                return self._execute(name)

            return Endpoint("POST", f"/tui/{path}", f"Run {name}", execute, bool)

        return (
            Endpoint(
                "POST",
                "/tui/append-prompt",
                "Add text to the prompt",
                self.append,
                bool,
                TextBody,
            ),
            command("submit-prompt", "prompt.submit"),
            command("clear-prompt", "prompt.clear"),
            command("open-help", "help.show"),
            command("open-sessions", "session.list"),
            command("open-themes", "theme.list"),
            command("open-models", "model.list"),
            Endpoint(
                "POST",
                "/tui/execute-command",
                "Run a command",
                self.run,
                bool,
                TuiCommandBody,
            ),
            Endpoint("POST", "/tui/show-toast", "Show a message", self.toast, bool, ToastBody),
            Endpoint(
                "POST",
                "/tui/select-session",
                "Open a session",
                self.select,
                bool,
                SelectSessionBody,
            ),
            Endpoint(
                "POST",
                "/tui/publish",
                "Send one of these events",
                self.publish,
                bool,
                TuiEventBody,
            ),
            Endpoint("POST", "/log", "Log a message from a client", self.log, bool, NoBody),
        )

    async def append(self, request: Request) -> Json:
        body = await read_body(request, TextBody)
        return self._publish("tui.prompt.append", {"text": body.text})

    async def run(self, request: Request) -> Json:
        body = await read_body(request, TuiCommandBody)
        return self._execute(COMMANDS.get(body.command, body.command))

    async def toast(self, request: Request) -> Json:
        body = await read_body(request, ToastBody)
        shown: JsonObject = {"message": body.message, "variant": body.variant}
        return self._publish(
            "tui.toast.show", shown | ({"title": body.title} if body.title else {})
        )

    async def select(self, request: Request) -> Json:
        body = await read_body(request, SelectSessionBody)
        folder = await self.folders.of(request)
        await folder.session(body.session_id)
        return self._publish("tui.session.select", {"sessionID": body.session_id})

    async def publish(self, request: Request) -> Json:
        """Send an event of the full screen as it is."""
        body = await read_body(request, TuiEventBody)
        if body.type not in EVENTS:
            raise RequestError(400, f"There is no event {body.type} of the full screen.")
        properties = {
            key: value for key, value in body.properties.items() if isinstance(value, str)
        }
        return self._publish(body.type, {**properties})

    async def log(self, _: Request) -> Json:
        """Accept a client's log line. It is not kept: clients have logs of their own."""
        return True

    def _execute(self, command: str) -> Json:
        return self._publish("tui.command.execute", {"command": command})

    def _publish(self, kind: str, properties: JsonObject) -> Json:
        self.folders.publish(kind, properties)
        return True
