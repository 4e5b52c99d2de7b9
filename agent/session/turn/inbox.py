"""The inbox of a running turn: the queued messages and background reports that it picks up."""

from agent.records.messages import MessageWithParts, Session, UserMessage
from agent.session.context.conversation import Conversation
from agent.session.services import SessionServices
from agent.session.subagents.background import BackgroundTasks, reported_usage
from agent.session.turn.calls import TurnCalls


class TurnInbox:
    """Moves messages from the session's queue into the conversation of one turn."""

    def __init__(
        self,
        services: SessionServices,
        session: Session,
        turn_id: str,
        conversation: Conversation,
        background_tasks: BackgroundTasks,
        calls: TurnCalls,
    ) -> None:
        self._services = services
        self._session = session
        self._turn_id = turn_id
        self._conversation = conversation
        self._background_tasks = background_tasks
        self._calls = calls
        self.newest: UserMessage | None = None
        """The newest user message that the turn responds to."""
        self.steering = False
        """True if a step has begun: messages that come now were sent during the turn."""

    async def dequeue(self, *, everything: bool) -> list[UserMessage]:
        """Take messages from the queue, oldest first: those that steer, or *everything* at the
        beginning and at the end of a turn. Return the user messages among them."""
        history = self._conversation.all
        taken: list[MessageWithParts] = await self._services.queues.dequeue(
            self._session.id,
            turn_id=self._turn_id,
            after=history[-1].message.id if history else "",
            steered=self.steering,
            everything=everything,
        )
        self._conversation.add(*taken)
        for usage, cost in reported_usage(taken):
            self._calls.add_extra_usage(usage, cost)
        users = [item.message for item in taken if isinstance(item.message, UserMessage)]
        self.newest = users[-1] if users else self.newest
        return users

    async def wait_for_reports(self, *, wait: bool) -> list[UserMessage]:
        """Wait for the session's background tasks; return the dequeued messages, none if no task
        runs or the turn does not *wait* for them."""
        while wait and self._background_tasks.running(self._session.id):
            await self._background_tasks.wait_for_message(self._session.id)
            if taken := await self.dequeue(everything=True):
                return taken
        return []

    async def take_overtaken(self) -> None:
        """Pick up a prompt that was sent before the cancel but not dequeued yet."""
        if not await self.dequeue(everything=True):
            await self._services.queues.wait_until_moved()  # the cancel came during the move
            stored = await self._services.store.context_messages(self._session.id)
            messages = (item.message for item in stored)
            own = [m for m in messages if isinstance(m, UserMessage) and m.turn_id == self._turn_id]
            self.newest = own[-1] if own else None
