"""A permission service in memory, with the requests that it publishes."""

import asyncio
from collections.abc import Sequence

from agent.bus import Bus, Subscription
from agent.permission.rules import DEFAULT_RULES, Rule
from agent.permission.service import PermissionContext, PermissionService
from agent.records.events import Event, PermissionAsked, PermissionReplied
from agent.records.requests import PermissionNeed, PermissionReply, PermissionRequest


class MemoryRules:
    """The rules from "always", in memory."""

    def __init__(self) -> None:
        self.rules: dict[str, list[tuple[str, str]]] = {}

    async def session_rules(self, root_id: str) -> tuple[tuple[str, str], ...]:
        return tuple(self.rules.get(root_id, ()))

    async def add_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        self.rules.setdefault(root_id, []).append((permission, pattern))

    async def drop_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        kept = self.rules.get(root_id, [])
        kept[:] = [rule for rule in kept if rule != (permission, pattern)]


class RequestQueue:
    """A permission service with the requests that it publishes."""

    def __init__(self, *rules: Rule, **how: object) -> None:
        self.bus = Bus()
        self.stored = MemoryRules()
        self.rules: Sequence[Rule] = (*DEFAULT_RULES, *rules)
        self.service = PermissionService(
            self.bus, self.stored, lambda _agent, **_: self.rules, **how
        )
        self.events: Subscription = self.bus.subscribe()
        self.seen: list[Event] = []

    def ask(
        self,
        pattern: str,
        *,
        session: str = "ses_1",
        root: str = "ses_1",
        always: str | None = None,
    ) -> "asyncio.Task[PermissionReply | None]":
        context = PermissionContext(session, root, "msg", f"call {pattern}", "build", "bash", "/w")
        need = PermissionNeed("bash", pattern, always=always)
        return asyncio.ensure_future(self.service.ask(context, (need,), "Run this command?"))

    async def published(self, count: int) -> list[PermissionRequest]:
        """Return the requests so far, once there are *count*."""
        while True:
            self.seen += self.events.drain()
            found = [e.request for e in self.seen if isinstance(e, PermissionAsked)]
            if len(found) >= count:
                return found
            await asyncio.wait_for(self.events.wait(), 30)

    def replies(self) -> dict[str, PermissionReply | None]:
        self.seen += self.events.drain()
        return {e.request_id: e.reply for e in self.seen if isinstance(e, PermissionReplied)}


ONCE, ALWAYS = PermissionReply("once"), PermissionReply("always")
REJECT, WITH_WORDS = PermissionReply("reject"), PermissionReply("reject", "use make")
