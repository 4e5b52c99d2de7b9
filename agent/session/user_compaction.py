"""Compaction that the user requests: a turn of its own kind."""

from collections.abc import Sequence
from dataclasses import replace

from agent.records.errors import NothingToDo, ProviderError, SessionBusy
from agent.records.messages import AssistantMessage, ErrorInfo, MessageWithParts, UserMessage
from agent.session.context.compaction_markers import is_request, marker_of
from agent.session.turn.state import TurnEnd
from agent.session.turn.turn import Turn
from agent.session.turn_runner import Runner
from agent.store.store import Store

BUSY = (
    "The agent is working. Run /compact when it is done; it compacts automatically when it has to."
)
EMPTY = "Nothing to compact yet."
NO_SUMMARY = "The session could not be compacted. "
NOTHING_NEW = "Nothing is new since the last summary."
UNDONE = "Part of this session is undone. Redo it with /redo, or send a message first."


class CompactionRequests:
    """Claims a session like a prompt does, so that it can be canceled like a turn and nothing
    else changes the session meanwhile."""

    def __init__(self, store: Store, runner: Runner) -> None:
        self._store = store
        self._runner = runner

    async def start(self, session_id: str, focus: str = "") -> None:
        """Begin to compact the session; *focus* is what the summary must keep.

        Its end is published like a turn's (``SessionIdle``), and no step follows.

        Raises ``SessionNotFound``, ``SessionBusy`` while a turn runs here or elsewhere, and
        ``NothingToDo``.
        """
        session = await self._store.session(session_id)
        if session.undone_at is not None:
            raise NothingToDo(UNDONE)
        new = _since_summary(await self._store.context_messages(session_id))
        if new is None or not new:
            raise NothingToDo(EMPTY if new is None else NOTHING_NEW)

        async def work(turn: Turn, _: str) -> TurnEnd:
            return await _compact(turn, focus)

        claimed = await self._runner.claim(session_id, work)
        if claimed is None:
            raise SessionBusy(BUSY)
        self._runner.launch(session_id, claimed)


async def _compact(turn: Turn, focus: str) -> TurnEnd:
    """Compact the session of *turn*, which does nothing else."""
    messages = (item.message for item in reversed(turn.conversation.all))
    newest = next((each for each in messages if isinstance(each, UserMessage)), None)
    if newest is None:
        return TurnEnd("completed")
    model = turn.session.model or newest.model
    newest = replace(newest, agent=turn.session.agent, model=model)
    turn.use_request(newest)
    settings = await turn.settings(newest)
    try:
        await turn.compactor.compact(settings, newest, auto=False, focus=focus)
    except ProviderError as error:
        return TurnEnd("failed", "error", ErrorInfo(error.kind, NO_SUMMARY + error.message))
    return TurnEnd("completed")


def _since_summary(messages: Sequence[MessageWithParts]) -> bool | None:
    """Return whether the model has responded since the last summary; None where it never has."""
    responded = None
    for item in messages:
        if marker_of(item) is not None:
            responded = False
        elif isinstance(item.message, AssistantMessage) or (
            is_request(item) and responded is False
        ):
            responded = True
    return responded
