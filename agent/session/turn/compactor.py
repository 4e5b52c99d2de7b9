"""Keeps a conversation within the model's window: measures it, prunes it, sums it up (spec 2).

One room serves one turn. What it does is stored first and then taken over by the turn's
conversation, so that a cancel in between leaves the one or the other.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from agent.agents import Agents
from agent.bus import Bus
from agent.process.spill import SpillStore
from agent.provider.catalog.catalog import Catalog
from agent.provider.client_pool import ClientPool
from agent.provider.transport.retry import DEFAULT_POLICY, RetryPolicy, retry_delay
from agent.provider.usage import cost as cost_of
from agent.records.errors import ProviderError
from agent.records.events import Compacted
from agent.records.ids import new_id
from agent.records.messages import (
    Busy,
    CompactionPart,
    Completed,
    Failed,
    MessageWithParts,
    Retry,
    Session,
    SessionStatus,
    ToolPart,
    Usage,
    UserMessage,
)
from agent.session.context.budget import message_weight
from agent.session.context.compaction import (
    continue_message,
    first_unanswered,
    marker_message,
    tail_start,
)
from agent.session.context.conversation import Conversation
from agent.session.context.deferred_tools import found_deferred_tools
from agent.session.context.estimate import Calibration, estimate_tokens
from agent.session.context.pins import collect_pins, pinned_text
from agent.session.context.pruning import PROTECTED_TOOLS, outputs_to_fit, outputs_to_prune, shorten
from agent.session.context.step_settings import StepSettings
from agent.session.context.summary import Summarizer, Summary
from agent.session.context.token_meter import TokenMeter
from agent.session.hooks import SessionHooks
from agent.session.prompt.system_prompt import SystemPrompt
from agent.session.prompt.templates import template
from agent.store.store import Store
from agent.tools.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """What the settings say: *reserved* tokens of the window are kept for the answer (None: the
    rule of C1); whether old outputs are pruned; those of the tools *keep* never are; the *model*
    that sums up (None: that of the agent ``compaction``, else the session's)."""

    reserved_tokens: int | None = None
    prune: bool = True
    protected_tools: frozenset[str] = PROTECTED_TOOLS
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomDeps:
    """The services that a room works with. *spend* adds a model call to the session."""

    store: Store
    bus: Bus
    clients: ClientPool
    catalog: Catalog
    agents: Agents
    system_prompt: SystemPrompt
    registry: Registry
    spills: SpillStore
    calibration: Calibration
    rules: CompactionSettings
    spend: Callable[[Usage | None, float | None], Awaitable[None]]
    set_status: Callable[[SessionStatus], None]
    retry: RetryPolicy = DEFAULT_POLICY
    clock: Callable[[], float] = field(default=time.time)
    rng: random.Random = field(default_factory=random.Random)
    hooks: SessionHooks | None = None


class Compactor:
    """*since* is when the turn began; *callers* are the agents above the session's, nearest
    first."""

    def __init__(
        self,
        deps: RoomDeps,
        session: Session,
        callers: tuple[str, ...],
        conversation: Conversation,
        since: float,
    ) -> None:
        self._deps = deps
        self._session = session
        self._callers = callers
        self._conversation = conversation
        self._since = since
        self.meter = TokenMeter(
            session.id, conversation, deps.calibration, deps.rules.reserved_tokens
        )

    async def prune(self, setting: StepSettings) -> bool:
        """Leave old tool outputs out; false when too little would be won (C2)."""
        if not self._deps.rules.prune:
            return False
        factor, keep = self.meter.factor(setting), self._deps.rules.protected_tools
        visible = self._conversation.visible
        chosen = outputs_to_prune(
            visible, self.meter.effective_budget(setting), keep=keep, factor=factor
        )
        if not chosen:
            return False
        shortened = await self._shortened(chosen)
        await self._deps.store.save(*shortened)
        self._conversation.replace_parts({part.id: part for part in shortened})
        return True

    async def _shortened(self, parts: Sequence[ToolPart]) -> list[ToolPart]:
        now = self._deps.clock()

        def keep_all() -> list[ToolPart]:
            return [shorten(part, now, self._whole(part)) for part in parts]

        return await asyncio.to_thread(keep_all)

    def _whole(self, part: ToolPart) -> str | None:
        """The file with the whole output of *part*, None where it could not be written."""
        state = part.state
        if not isinstance(state, Completed | Failed) or state.spill is not None:
            return None
        try:
            return self._deps.spills.save(state.output).path
        except OSError:
            return None

    async def compact(
        self, setting: StepSettings, newest: UserMessage, *, auto: bool = True, focus: str = ""
    ) -> tuple[Usage | None, float | None]:
        """Sum up what is old; what that took. *newest* is the request at hand, *focus* what to
        keep above all. Unless the user wanted it (not *auto*), the turn goes on behind it (C5).

        Raises ``ProviderError`` with nothing changed when there is no summary, and
        ``PromptRefused`` when a hook objects to one that the user wants.
        """
        summariser = self._summariser(setting, focus)
        if self._deps.hooks is not None:
            focus, prompt = await self._deps.hooks.compacting(
                self._session.id, auto=auto, focus=focus, template=summariser.prompt
            )
            summariser = replace(summariser, focus=focus, prompt=prompt)
        before, visible = self.meter.used_tokens(setting), self._conversation.visible
        budget, factor = self.meter.effective_budget(setting), self.meter.factor(setting)
        start = tail_start(
            visible, budget.tail_tokens, lambda item: message_weight(item).total * factor
        )
        summary = await self._summary(summariser, visible[:start] or visible)
        cost = cost_of(summary.usage, summariser.model.price)
        await self._deps.spend(summary.usage, cost)
        now = self._deps.clock()
        message = marker_message(newest, now)
        marker = CompactionPart(
            id=new_id("prt"),
            session_id=message.session_id,
            message_id=message.id,
            summary=summary.text,
            auto=auto,
            tail_start_id=visible[start].message.id if start < len(visible) else None,
            tools=found_deferred_tools(self._deps.registry, self._conversation.all),
            pins=await self._pins(visible[start:], budget.pin_tokens / factor),
            before=before,
            model=summariser.model.full_name,
            usage=summary.usage,
            cost=cost,
        )
        goes_on = auto and first_unanswered(visible) == len(visible)
        following = [continue_message(message, now)] if goes_on else []
        await self._settle(setting, visible[start:], (message, marker), following)
        return summary.usage, cost

    async def _settle(
        self,
        setting: StepSettings,
        tail: Sequence[MessageWithParts],
        made: tuple[UserMessage, CompactionPart],
        following: Sequence[MessageWithParts],
    ) -> None:
        """Store the marker and take it over. A *tail* of few but very long outputs is shortened
        too: it may take half of what is usable."""
        message, marker = made
        budget, factor = self.meter.effective_budget(setting), self.meter.factor(setting)
        words = estimate_tokens(marker.summary) + estimate_tokens(marker.pins)
        fixed = factor * (self.meter.fixed_tokens(setting) + words)
        most = min(budget.usable / 2, budget.usable * 3 / 4 - fixed)
        chosen = outputs_to_fit(
            tail, max(0.0, most), keep=self._deps.rules.protected_tools, factor=factor
        )
        shortened = await self._shortened(chosen) if chosen else []
        parts = {part.id: part for part in shortened}
        left = [replace(m, parts=tuple(parts.get(p.id, p) for p in m.parts)) for m in tail]
        after = round(fixed + factor * sum(message_weight(item).total for item in left))
        item = MessageWithParts(message, (replace(marker, after=after),))
        item = await self._deps.system_prompt.with_session_block(self._session, item, self._callers)
        items = (item, *following)
        records = [record for each in items for record in (each.message, *each.parts)]
        await self._deps.store.save(*shortened, *records)
        self._conversation.replace_parts(parts)
        self._conversation.add(*items)
        self.meter.clear_refusal()
        self._deps.bus.publish(Compacted(self._session.id))

    def _summariser(self, setting: StepSettings, focus: str) -> Summarizer:
        """The ``compaction`` agent: its model and prompt where the settings name some (C3)."""
        agent = self._deps.agents.get("compaction")
        named = self._deps.rules.model or agent.model
        model = self._deps.catalog.model(named) if named else setting.model
        return Summarizer(
            client=self._deps.clients.client_for(model),
            model=model,
            prompt=(agent.prompt or template("compaction")).strip(),
            session_id=self._session.id,
            focus=focus,
            factor=self.meter.factor(replace(setting, model=model)),
        )

    async def _summary(self, summariser: Summarizer, old: Sequence[MessageWithParts]) -> Summary:
        """Ask for a summary as a step is asked for: tried again, with the countdown (R7)."""
        earlier = self._conversation.marker
        told = [m for m in old if earlier is None or m.message.id != earlier.message_id]
        attempt = 1
        self._deps.set_status(Busy(self._since, compacting=True))
        try:
            while True:
                try:
                    return await summariser.summarize(told, earlier.summary if earlier else "")
                except ProviderError as error:
                    mended = attempt > 1
                    wait = retry_delay(
                        attempt, error, self._deps.rng, self._deps.retry, retried_once=mended
                    )
                    if wait is None:
                        raise
                    at = self._deps.clock() + wait
                    self._deps.set_status(Retry(attempt, error.message, at))
                    await asyncio.sleep(wait)
                    self._deps.set_status(Busy(self._since, compacting=True))
                    attempt += 1
        finally:
            self._deps.set_status(Busy(self._since))

    async def _pins(self, tail: Sequence[MessageWithParts], most: float) -> str:
        store, session_id = self._deps.store, self._session.id
        held = self._conversation.all
        older = await store.preserved_messages(session_id, held[0].message.id)
        pins = collect_pins(
            [*older, *held],
            await store.pinned_ids(session_id),
            await store.todos(session_id),
            frozenset(item.message.id for item in tail),
        )
        return await asyncio.to_thread(pinned_text, pins, most, self._deps.spills.save_or_explain)
