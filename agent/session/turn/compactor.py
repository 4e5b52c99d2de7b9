"""Compaction of a running turn's conversation: the ``Compactor`` prunes it and replaces it by a
summary; the ``CompactionGuard`` decides when.

Each change is stored before the conversation in memory takes it over, so that a cancel in between
leaves either the old conversation or the new one.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from agent.provider.transport.retry import retry_delay
from agent.provider.usage_parsing import cost as cost_of
from agent.records.errors import FileLimit, ProviderError, ProviderErrorKind
from agent.records.events import Compacted
from agent.records.ids import new_id
from agent.records.messages import (
    Busy,
    CompactionPart,
    Completed,
    ErrorInfo,
    Failed,
    FilePart,
    MessageWithParts,
    Retry,
    Session,
    SessionStatus,
    ToolPart,
    Usage,
    UserMessage,
)
from agent.session.context.budget import estimate_tokens, message_weight
from agent.session.context.compaction_markers import (
    continue_message,
    first_unanswered,
    marker_message,
    tail_start,
)
from agent.session.context.compaction_summary import Summarizer, Summary
from agent.session.context.conversation import Conversation
from agent.session.context.deferred_tools import found_deferred_tools
from agent.session.context.pins import collect_pins, pinned_text
from agent.session.context.pruning import outputs_to_fit, outputs_to_prune, shorten
from agent.session.context.token_meter import StepSettings, TokenMeter
from agent.session.prompt.templates import template
from agent.session.spending import record_usage
from agent.session.turn.state import PlannedStep, TurnEnd
from agent.session.turn.turn_services import TurnServices
from agent.store import queries
from agent.tools.files.media import examine

MAX_FRUITLESS = 2
"""Summaries in a row that leave the conversation too long before the turn ends."""

MAX_OMISSIONS = 2
"""Times in a row that attached files are omitted after a refusal."""

OMITTED = "{files} no longer sent to the model, to save space."
ONE_FILE = "1 attached file is"

WINDOW_FULL = (
    "The conversation no longer fits the model's window, and compaction.auto is off. "
    "Run /compact, start a /new session, or choose a model with a larger window."
)
NO_SUMMARY = "The conversation is too long for the model and could not be compacted. {why}"
STILL_TOO_LONG = (
    "The conversation does not fit the model's window even after compaction. Shorten the "
    "instructions or the last message, or choose a model with a larger window."
)


class Compactor:
    """Prunes and compacts the conversation of one turn, and measures it."""

    def __init__(
        self,
        services: TurnServices,
        session: Session,
        callers: tuple[str, ...],
        conversation: Conversation,
        started: float,
        set_status: Callable[[SessionStatus], None],
    ) -> None:
        """*callers* are the agents of the sessions above, nearest first; *started* is when the
        turn began."""
        self._services = services
        self._session = session
        self._callers = callers
        self._conversation = conversation
        self._started = started
        self._set_status = set_status
        self._rules = services.compaction
        self.meter = TokenMeter(
            session.id, conversation, services.calibration, self._rules.reserved_tokens
        )

    async def prune(self, settings: StepSettings) -> bool:
        """Shorten old tool outputs; false when that would save too little."""
        if not self._rules.prune:
            return False
        factor, keep = self.meter.factor(settings), self._rules.protected_tools
        visible = self._conversation.visible
        budget = self.meter.effective_budget(settings)
        chosen = outputs_to_prune(visible, budget, keep=keep, factor=factor)
        if not chosen:
            return False
        shortened = await self._shorten(chosen)
        await self._services.store.save(*shortened)
        self._conversation.replace_parts({part.id: part for part in shortened})
        return True

    async def _shorten(self, parts: Sequence[ToolPart]) -> list[ToolPart]:
        now = self._services.clock()

        def shorten_all() -> list[ToolPart]:
            return [shorten(part, now, self._spill_file(part)) for part in parts]

        return await asyncio.to_thread(shorten_all)

    def _spill_file(self, part: ToolPart) -> str | None:
        """A new file with the whole output of *part*, None where it could not be written."""
        state = part.state
        if not isinstance(state, Completed | Failed) or state.spill is not None:
            return None
        try:
            return self._services.spills.save(state.output).path
        except OSError:
            return None

    async def omit_files(self, limit: FileLimit, *, everything: bool) -> int:
        """Stop sending attached files that exceed *limit*, oldest first, or *everything* that is
        attached; return their number."""
        now, visible = self._services.clock(), self._conversation.visible
        parts, count = await asyncio.to_thread(
            omit_files, visible, limit, now, everything=everything
        )
        await self._services.store.save(*parts)
        self._conversation.replace_parts({part.id: part for part in parts})
        return count

    async def compact(
        self,
        settings: StepSettings,
        request: UserMessage,
        *,
        auto: bool = True,
        focus: str = "",
    ) -> tuple[Usage | None, float | None]:
        """Summarize the conversation up to its tail; return the usage and cost of the summary.

        *request* is the newest user message, *focus* is what the summary must keep. After
        a compaction that the turn needs (*auto*) the model is asked to continue.

        Raises ``ProviderError`` with nothing changed when there is no summary, and
        ``PromptRefused`` when a hook refuses one that the user asked for.
        """
        summarizer = self._summarizer(settings, focus)
        hooks = self._services.hooks
        if hooks is not None:
            focus, prompt = await hooks.compacting(
                self._session.id, auto=auto, focus=focus, template=summarizer.prompt
            )
            summarizer = replace(summarizer, focus=focus, prompt=prompt)
        before, visible = self.meter.used_tokens(settings), self._conversation.visible
        budget, factor = self.meter.effective_budget(settings), self.meter.factor(settings)
        start = tail_start(
            visible, budget.tail_tokens, lambda item: message_weight(item).total * factor
        )
        summary = await self._summarize(summarizer, visible[:start] or visible)
        cost = cost_of(summary.usage, summarizer.model.price)
        await record_usage(
            self._services.update, self._session.id, summary.usage, cost, self._services.clock()
        )
        now = self._services.clock()
        message = marker_message(request, now)
        marker = CompactionPart(
            id=new_id("prt"),
            session_id=message.session_id,
            message_id=message.id,
            summary=summary.text,
            auto=auto,
            tail_start_id=visible[start].message.id if start < len(visible) else None,
            tools=found_deferred_tools(self._services.registry, self._conversation.all),
            pins=await self._pins(visible[start:], budget.pin_tokens / factor),
            before=before,
            model=summarizer.model.full_name,
            usage=summary.usage,
            cost=cost,
        )
        continues = auto and first_unanswered(visible) == len(visible)
        following = [continue_message(message, now)] if continues else []
        await self._store_marker(settings, visible[start:], (message, marker), following)
        return summary.usage, cost

    async def _store_marker(
        self,
        settings: StepSettings,
        tail: Sequence[MessageWithParts],
        made: tuple[UserMessage, CompactionPart],
        following: Sequence[MessageWithParts],
    ) -> None:
        """Store the marker and continue the conversation from it. Outputs of the *tail* are
        shortened where it would take more than half of the usable tokens."""
        message, marker = made
        budget, factor = self.meter.effective_budget(settings), self.meter.factor(settings)
        summary = estimate_tokens(marker.summary) + estimate_tokens(marker.pins)
        fixed = factor * (self.meter.fixed_tokens(settings) + summary)
        most = min(budget.usable / 2, budget.usable * 3 / 4 - fixed)
        chosen = outputs_to_fit(
            tail, max(0.0, most), keep=self._rules.protected_tools, factor=factor
        )
        shortened = await self._shorten(chosen) if chosen else []
        parts = {part.id: part for part in shortened}
        kept = [replace(m, parts=tuple(parts.get(p.id, p) for p in m.parts)) for m in tail]
        after = round(fixed + factor * sum(message_weight(item).total for item in kept))
        item = MessageWithParts(message, (replace(marker, after=after),))
        item = await self._services.system_prompt.with_session_block(
            self._session, item, self._callers
        )
        items = (item, *following)
        records = [record for each in items for record in (each.message, *each.parts)]
        await self._services.store.save(*shortened, *records)
        self._conversation.replace_parts(parts)
        self._conversation.add(*items)
        self.meter.clear_refusal()
        self._services.bus.publish(Compacted(self._session.id))

    def _summarizer(self, settings: StepSettings, focus: str) -> Summarizer:
        """The ``compaction`` agent, with the model and the prompt that the settings name."""
        agent = self._services.agents.get("compaction")
        name = self._rules.model or agent.model
        model = self._services.catalog.model(name) if name else settings.model
        return Summarizer(
            client=self._services.clients.client_for(model),
            model=model,
            prompt=(agent.prompt or template("compaction")).strip(),
            session_id=self._session.id,
            focus=focus,
            factor=self.meter.factor(replace(settings, model=model)),
        )

    async def _summarize(self, summarizer: Summarizer, old: Sequence[MessageWithParts]) -> Summary:
        """Request the summary; retried like a step, with the countdown in the status."""
        earlier = self._conversation.marker
        messages = [m for m in old if earlier is None or m.message.id != earlier.message_id]
        attempt = 1
        self._set_status(Busy(self._started, compacting=True))
        try:
            while True:
                try:
                    return await summarizer.summarize(messages, earlier.summary if earlier else "")
                except ProviderError as error:
                    wait = retry_delay(
                        attempt,
                        error,
                        self._services.rng,
                        self._services.retry,
                        retried_once=attempt > 1,
                    )
                    if wait is None:
                        raise
                    at = self._services.clock() + wait
                    self._set_status(Retry(attempt, error.message, at))
                    await asyncio.sleep(wait)
                    self._set_status(Busy(self._started, compacting=True))
                    attempt += 1
        finally:
            self._set_status(Busy(self._started))

    async def _pins(self, tail: Sequence[MessageWithParts], max_tokens: float) -> str:
        """Return the text that is kept verbatim: pinned messages, todos, skills."""
        store, session_id = self._services.store, self._session.id
        loaded = self._conversation.all
        older = await store.read(queries.preserved_messages, session_id, loaded[0].message.id)
        pins = collect_pins(
            [*older, *loaded],
            await store.read(queries.pinned_ids, session_id),
            await store.todos(session_id),
            frozenset(item.message.id for item in tail),
        )
        save = self._services.spills.save_or_explain
        return await asyncio.to_thread(pinned_text, pins, max_tokens, save)


class CompactionGuard:
    """The guard that keeps a turn's conversation within the window of the model.

    It prunes and then compacts before a step that would not fit, and after a provider refused a
    request as too long. ``relief`` records the measures taken after refusals since the last request
    that was accepted.
    """

    def __init__(
        self, compactor: Compactor, settings: Callable[[UserMessage], Awaitable[StepSettings]]
    ) -> None:
        """*settings* returns the settings of a step that responds to a message: a compaction
        changes the system prompt."""
        self._compactor = compactor
        self._meter = compactor.meter
        self._settings = settings
        self._fruitless = 0
        self._omissions = 0
        self.relief: Literal["none", "pruned", "compacted"] = "none"

    async def before_step(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        """Prune, then compact, where the step would not fit the window."""
        settings, meter = step.settings, self._meter
        budget = meter.budget(settings)
        if budget is None or self.relief == "compacted":
            return step
        if meter.used_tokens(settings) < budget.usable:
            return step
        if not settings.auto_compact:
            return TurnEnd("limit_reached", error=ErrorInfo("context", WINDOW_FULL))
        if await self._compactor.prune(settings) and meter.used_tokens(settings) < budget.usable:
            return step
        shorter = await self._compact(step)
        if isinstance(shorter, TurnEnd):
            return shorter
        return replace(shorter, settings=await self._settings(step.request))

    def give_up(self, settings: StepSettings) -> TurnEnd | None:
        """Return the end of the turn where nothing can be done about a refused request."""
        if not settings.auto_compact:
            return TurnEnd("limit_reached", "error", ErrorInfo("context", WINDOW_FULL))
        if self.relief == "compacted":
            error = ErrorInfo(ProviderErrorKind.OVERFLOW, STILL_TOO_LONG)
            return TurnEnd("failed", "error", error)
        return None

    async def omit_files(self, error: ProviderError) -> str:
        """Stop sending attached files after *error*, if that can cure it: those that exceed the
        limit, and all of them if that does not help. Return a sentence about it, "" for none."""
        limit = error.file_limit
        if limit is None or self._omissions >= MAX_OMISSIONS:
            return ""
        count = await self._compactor.omit_files(limit, everything=self._omissions > 0)
        self._omissions += 1
        if count == 0:
            return ""
        return OMITTED.format(files=f"{count} attached files are" if count > 1 else ONE_FILE)

    async def after_overflow(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        """Shorten the conversation after the provider refused the request of *step*."""
        self._meter.note_refusal(step.settings)
        if self.relief == "none" and await self._compactor.prune(step.settings):
            self.relief = "pruned"
            return step
        shorter = await self._compact(step)
        if not isinstance(shorter, TurnEnd):
            self.relief = "compacted"
        return shorter

    def note_accepted(self) -> None:
        """Note that the provider did not refuse the last request as too long."""
        self.relief = "none"
        self._omissions = 0

    async def _compact(self, step: PlannedStep) -> PlannedStep | TurnEnd:
        """Compact the session; the turn ends where that did not help twice in a row."""
        settings = step.settings
        try:
            usage, cost = await self._compactor.compact(settings, step.request)
        except ProviderError as error:
            text = NO_SUMMARY.format(why=error.message)
            overflow = error.kind is ProviderErrorKind.OVERFLOW
            info = ErrorInfo(error.kind, error.message if overflow else text)
            return TurnEnd("failed", "error", info)
        budget, used = self._meter.budget(settings), self._meter.used_tokens(settings)
        too_long = budget is not None and used >= budget.usable
        self._fruitless = self._fruitless + 1 if too_long else 0
        if self._fruitless >= MAX_FRUITLESS:
            error = ErrorInfo(ProviderErrorKind.OVERFLOW, STILL_TOO_LONG)
            return TurnEnd("failed", "error", error)
        return replace(step, totals=step.totals.add_extra(usage, cost))


# Attached files that are no longer sent after a provider refused their number or size.

MIN_REQUEST_SHARE = 1_000_000
"""Characters of attached files below which they cannot be why a request is too large."""

_Holder = FilePart | ToolPart


def omit_files(
    messages: Sequence[MessageWithParts], limit: FileLimit, now: float, *, everything: bool = False
) -> tuple[list[_Holder], int]:
    """Return the parts of *messages* with files marked as omitted, and the number of these files.

    The oldest files are omitted, or those that exceed the size that *limit* names; *everything*
    omits all. Nothing is returned if no attached file can be the reason for the refusal. Blocks.
    """
    attached = [
        (part, file)
        for part, file in _attached(messages)
        if not limit.images_only or file.mime.startswith("image/")
    ]
    files = [file for _, file in attached]
    # The last step's results are new too: the model has not responded to them.
    new = sum(1 for _ in _attached(messages[max(0, first_unanswered(messages) - 1) :]))
    omitted = files if everything else _chosen(files, limit, new)
    marked = {id(file): replace(file, omitted=now) for file in omitted}
    changed: dict[int, _Holder] = {id(p): p for p, file in attached if id(file) in marked}
    return [_with_files(part, marked) for part in changed.values()], len(marked)


def _attached(messages: Sequence[MessageWithParts]) -> Iterator[tuple[_Holder, FilePart]]:
    """Yield the files that are sent, oldest first, each with the part that contains it."""
    for item in messages:
        for part in item.parts:
            match part:
                case FilePart():
                    yield from ((part, file) for file in (part,) if _is_sent(file))
                case ToolPart(state=Completed(compacted=None) as state):
                    yield from ((part, file) for file in state.files if _is_sent(file))
                case _:
                    pass


def _is_sent(file: FilePart) -> bool:
    return file.data is not None and file.omitted is None


def _chosen(files: Sequence[FilePart], limit: FileLimit, new: int) -> Sequence[FilePart]:
    """Return the files to omit. *new* is the number of files that the model has not seen yet."""
    if limit.whole_request and sum(len(file.data or "") for file in files) < MIN_REQUEST_SHARE:
        return ()
    if large := [file for file in files if _exceeds(file, limit)]:
        return large
    kept = len(files) // 2
    if limit.count is not None:
        # Some room, so that the next image does not exceed the limit again.
        kept = min(limit.count, max(1, limit.count * 3 // 4, new), len(files) - 1)
    return files[: len(files) - max(0, kept)]


def _exceeds(file: FilePart, limit: FileLimit) -> bool:
    data = file.data or ""
    if limit.size is not None and len(data) > limit.size:
        return True
    if limit.pixels is None:
        return False
    try:
        media = examine(base64.b64decode(data))
    except ValueError:
        return True
    return max(media.width, media.height) > limit.pixels


def _with_files(part: _Holder, marked: dict[int, FilePart]) -> _Holder:
    if isinstance(part, FilePart):
        return marked[id(part)]
    assert isinstance(part.state, Completed)  # only these have files
    files = tuple(marked.get(id(file), file) for file in part.state.files)
    return replace(part, state=replace(part.state, files=files))
