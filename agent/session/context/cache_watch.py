"""Explains why a request found less in the provider's cache than the one before it left there.

Providers cache the beginning of a prompt: tools, then the system prompt, then the messages. The
requests of a session are compared in that order, but only after a miss: a hit costs nothing.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from agent.bus import Bus
from agent.provider.client import ModelRequest, ToolSchema, Turn
from agent.provider.usage_parsing import cost
from agent.records.amounts import money, tokens
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.messages import CAUSES, AssistantMessage, CacheMiss, CacheMissCause
from agent.records.usage import Usage
from agent.store import queries, writes
from agent.store.store import Store

LEAST_LOST = 2_000
"""Tokens that were read again below which a miss is ignored: providers cache in blocks."""
LEAST_SHARE = 0.1
"""The same as a share of what could have been read."""
EXPIRY = 300.0
"""Seconds for which providers keep a cache at least."""
WARN_AFTER = 3
"""Misses of one cause in a session before there is a warning."""
MAX_SESSIONS = 32
"""Sessions whose last request is held."""
EXCERPT = 60
COMPACTED = "the conversation was compacted"

ADVICE: dict[CacheMissCause, str] = {
    "tools": "MCP servers and plugins whose tools change, and plan mode, cause this.",
    "system": "Changing to an agent with a prompt of its own causes this.",
    "history": "Undo, shortened tool output and compaction cause this.",
    "model": "Each model has its own cache.",
    "effort": "Each effort has its own cache.",
    "expired": "Pauses of more than 5 minutes cause this.",
    "dropped": "Nothing in the request changed.",
    "restarted": "Tools and system prompt were the same, or were not known.",
}
WARNING = (
    "The prompt cache was missed {times} times because {cause}: {lost} tokens were "
    "processed again{price}. {advice} /history shows each one."
)


@frozen(kw_only=True)
class SentRequest:
    """A request and its usage. *marker* is the id of the newest compaction, *earlier* the step
    before it."""

    request: ModelRequest
    usage: Usage
    sent: float
    ended: float
    marker: str
    earlier: AssistantMessage | None


@frozen
class RequestHead:
    """Digests of what precedes the messages of a request. They are stored: after a restart they
    are what is left of it."""

    tools: Mapping[str, str]
    """Digests by the names of the tools, in order."""
    system: str
    effort: str
    marker: str

    def to_json(self) -> JsonObject:
        return {**asdict(self), "tools": [[name, digest] for name, digest in self.tools.items()]}

    @classmethod
    def from_json(cls, stored: JsonObject) -> "RequestHead | None":
        """Return the record that was stored, None where another version stored something else."""
        tools = stored.get("tools")
        if not isinstance(tools, list):
            return None
        pairs = (each for each in tools if isinstance(each, list) and len(each) == 2)
        system, effort, marker = (
            str(stored.get(key, "")) for key in ("system", "effort", "marker")
        )
        return cls({str(name): str(digest) for name, digest in pairs}, system, effort, marker)


def head_of(sent: SentRequest) -> RequestHead:
    request = sent.request
    tools = {tool.name: _digest(_json(asdict(tool))) for tool in request.tools}
    return RequestHead(tools, _digest("".join(request.system)), request.effort or "", sent.marker)


class CacheWatch:
    """Compares the requests of each session."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._last: OrderedDict[str, SentRequest] = OrderedDict()
        self._misses: dict[tuple[str, CacheMissCause], list[CacheMiss]] = {}
        self._heads: OrderedDict[str, RequestHead] = OrderedDict()
        """The stored heads of the sessions in use."""
        self._kept: dict[str, tuple[object, ...]] = {}
        """What the stored heads were made of."""

    async def recall(self, store: Store, session_id: str) -> None:
        """Read what is stored of the last request of a session that this program sent none of."""
        if session_id not in self._last:
            stored = await store.read(queries.request_head, session_id)
            head = RequestHead.from_json(stored) if stored is not None else None
            if head is not None:
                self._heads[session_id] = head

    async def keep(self, store: Store, session_id: str) -> None:
        """Store the head of the last request of a session, if it is new and there is a cache."""
        last = self._last.get(session_id)
        if last is None or not (last.usage.cache_read or last.usage.cache_write):
            return
        begins = (last.request.tools, last.request.system, last.request.effort, last.marker)
        if self._kept.get(session_id) == begins:  # making the digests takes 1 ms
            return
        self._kept[session_id] = begins
        head = head_of(last)
        if self._heads.get(session_id) != head:
            self._heads[session_id] = head
            while len(self._heads) > MAX_SESSIONS:
                self._kept.pop(self._heads.popitem(last=False)[0], None)
            await store.write(writes.save_request_head, session_id, head.to_json())

    def note(self, sent: SentRequest) -> CacheMiss | None:
        """Note a request; return why it missed the cache, None if it did not."""
        session_id = sent.request.session_id
        last = self._last.pop(session_id, None)
        self._last[session_id] = sent
        while len(self._last) > MAX_SESSIONS:
            self._last.popitem(last=False)
        before = last.usage if last is not None else sent.earlier and sent.earlier.usage
        if before is None:
            return None
        reports = before.cache_read or before.cache_write or sent.usage.cache_read
        possible = min(before.input, sent.usage.input)
        lost = possible - sent.usage.cache_read
        if not reports or lost < max(LEAST_LOST, LEAST_SHARE * possible):
            return None
        if last is not None:
            found = _explain(last, sent)
        else:
            found = _explain_resumed(self._heads.get(session_id), sent)
        miss = replace(found, lost=lost, cost=_cost(sent.request, lost))
        self._warn(session_id, miss)
        return miss

    def _warn(self, session_id: str, miss: CacheMiss) -> None:
        misses = self._misses.setdefault((session_id, miss.cause), [])
        misses.append(miss)
        if len(misses) != WARN_AFTER:
            return
        known = [each.cost for each in misses if each.cost is not None]
        sentence = WARNING.format(
            times=len(misses),
            cause=CAUSES[miss.cause],
            lost=tokens(sum(each.lost for each in misses)),
            price=f", about {money(sum(known))}" if known else "",
            advice=ADVICE[miss.cause],
        )
        self._bus.publish(Notice(sentence, session_id=session_id))


def _cost(request: ModelRequest, lost: int) -> float | None:
    """Return the price of reading *lost* tokens anew, less that of reading them from the cache."""
    price = request.model.price
    full = cost(Usage(input=lost), price)
    cached = cost(Usage(input=lost, cache_read=lost), price)
    return full - cached if full is not None and cached is not None else None


def _miss(cause: CacheMissCause, detail: str = "") -> CacheMiss:
    return CacheMiss(cause=cause, lost=0, detail=detail)


def _explain(last: SentRequest, sent: SentRequest) -> CacheMiss:
    before, now = last.request, sent.request
    if before.model.full_name != now.model.full_name:
        return _miss("model", f"{before.model.full_name} answered before")
    if before.tools != now.tools:
        texts = _tools_text(before.tools), _tools_text(now.tools)
        tools = ({tool.name: tool for tool in each.tools} for each in (before, now))
        return _at(_miss("tools", _tool_changes(*tools)), *texts)
    offset = len(_tools_text(now.tools).encode(errors="replace"))
    if before.system != now.system:
        return _at(_miss("system"), "".join(before.system), "".join(now.system), offset)
    if before.effort != now.effort:
        return _miss("effort", f"from {before.effort or 'default'} to {now.effort or 'default'}")
    offset += sum(len(text.encode(errors="replace")) for text in now.system)
    for index, old in enumerate(before.turns):
        new = now.turns[index] if index < len(now.turns) else None
        if old != new:
            offset += sum(len(_turn_text(turn).encode()) for turn in now.turns[:index])
            compacted = COMPACTED if last.marker != sent.marker else ""
            detail = compacted or f"from message {index + 1} of {len(before.turns)} on"
            text = _turn_text(new) if new is not None else ""
            return _at(_miss("history", detail), _turn_text(old), text, offset)
    return _unchanged(sent.sent - last.ended)


def _explain_resumed(head: RequestHead | None, sent: SentRequest) -> CacheMiss:
    """Explain a miss after a request of which only the *head* and the record are left."""
    earlier = sent.earlier
    if earlier is not None and earlier.model != sent.request.model.full_name:
        return _miss("model", f"{earlier.model} answered before")
    if head is not None and (changed := _head_change(head, head_of(sent))) is not None:
        return changed
    if earlier is not None and earlier.completed is not None:
        pause = sent.sent - earlier.completed
        if pause > EXPIRY:
            return _unchanged(pause)
    return _miss("restarted", "tools and system prompt are the same" if head is not None else "")


def _head_change(before: RequestHead, now: RequestHead) -> CacheMiss | None:
    """Return the miss that follows from what changed, None where nothing did."""
    if list(before.tools.items()) != list(now.tools.items()):
        return _miss("tools", _tool_changes(before.tools, now.tools))
    if before.system != now.system:
        return _miss("system")
    if before.effort != now.effort:
        return _miss("effort", f"from {before.effort or 'default'} to {now.effort or 'default'}")
    if before.marker != now.marker:
        return _miss("history", COMPACTED)
    return None


def _unchanged(pause: float) -> CacheMiss:
    if pause > EXPIRY:
        return _miss("expired", f"{pause / 60:.0f} minutes passed")
    return _miss("dropped", f"{pause:.0f} seconds passed")


def _at(miss: CacheMiss, old: str, new: str, offset: int = 0) -> CacheMiss:
    """Add the place of the first difference between two texts, which begin at byte *offset*."""
    same = old[: _common_length(old, new)]
    start = max(0, len(same) - EXCERPT // 3)
    return replace(
        miss,
        at=offset + len(same.encode(errors="replace")),
        was=old[start : start + EXCERPT],
        now=new[start : start + EXCERPT],
    )


def _common_length(old: str, new: str) -> int:
    """Return the number of characters with which both texts begin."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old.startswith(new[:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _tool_changes(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """Return the names of the tools that were added, removed and changed."""
    changes = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and old[name] != new[name]],
    }
    found = [f"{', '.join(names)} {what}" for what, names in changes.items() if names]
    return "; ".join(found) or "their order changed"


def _tools_text(tools: Sequence[ToolSchema]) -> str:
    return "".join(_json(asdict(tool)) for tool in tools)


def _turn_text(turn: Turn) -> str:
    return _json(asdict(turn))


def _json(value: object) -> str:
    return json.dumps(value, default=str)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
