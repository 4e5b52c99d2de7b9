"""Quick questions during the work: answered from the session, never stored.

The request begins with the bytes of the session's own, so the provider's cache serves it, and
it runs in parallel to a turn: nothing is claimed, and only its cost is stored.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from agent.provider.client import (
    ModelRequest,
    StepFinish,
    StreamError,
    TextContent,
    TextDelta,
    UserTurn,
)
from agent.provider.usage_parsing import cost as cost_of
from agent.records.errors import NothingToDo, ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
from agent.records.messages import SessionStatus, UserMessage
from agent.records.reminders import escape_reminders, reminder
from agent.session.spending import record_usage
from agent.session.subagents.subagents import Subagents, lineage_of
from agent.session.turn.turn import Turn
from agent.session.turn.turn_services import TurnServices

NOTHING = "Nothing was said in this session yet: just ask."
CUT = "The response ended too early."
MAX_OUTPUT = 8_192
"""Maximum tokens of a response."""

QUESTION = reminder(
    "The user asks a side question. Answer it in a few sentences from what you know of this "
    "session. Call no tools and change no plans: you will not see the question or the answer again."
)


@frozen
class QuickQuestions:
    """Answers quick questions from the conversation of a session."""

    services: TurnServices
    subagents: Subagents

    async def ask(self, session_id: str, question: str) -> AsyncGenerator[str, None]:
        """Yield the response as it arrives, in pieces.

        Raises ``SessionNotFound``, ``NothingToDo`` for a session without messages,
        ``MissingKey`` and ``ProviderError``.
        """
        request = await self._request(session_id, question)
        model = request.model
        end: StepFinish | None = None
        async with aclosing(self.services.clients.client_for(model).stream(request)) as stream:
            async for event in stream:
                match event:
                    case StreamError():
                        raise event.error
                    case TextDelta():
                        yield event.text
                    case StepFinish():
                        end = event
                    case _:
                        pass
        if end is None:
            raise ProviderError(ProviderErrorKind.NETWORK, CUT)
        cost = cost_of(end.usage, model.price)
        now = self.services.clock()
        await record_usage(
            self.services.update, session_id, end.usage, cost, now, extra_model=model.full_name
        )

    async def _request(self, session_id: str, question: str) -> ModelRequest:
        store = self.services.store
        session = await store.session(session_id)
        lineage = await lineage_of(store, session)
        turn = Turn(self.services, session, lineage, _ignore_status, self.subagents)
        stored = await store.context_messages(session_id, before=session.undone_at)
        turn.load(stored)
        users = [i.message for i in stored if isinstance(i.message, UserMessage)]
        sent = [message for message in users if message.turn_id is not None]
        if not sent:
            raise NothingToDo(NOTHING)
        newest = replace(sent[-1], agent=session.agent, model=session.model or sent[-1].model)
        turn.use_request(newest)
        setting = await turn.settings(newest)
        question_turn = UserTurn((TextContent(f"{QUESTION}\n{escape_reminders(question)}"),))
        return ModelRequest(
            model=setting.model,
            system=setting.system,
            turns=(*turn.conversation.turns(), question_turn),
            tools=setting.tools,
            max_output=min(MAX_OUTPUT, setting.model.output_limit or MAX_OUTPUT),
            temperature=setting.temperature,
            effort=setting.effort,
            session_id=session_id,
        )


def _ignore_status(status: SessionStatus) -> None:
    """A quick question does not make its session busy."""
