"""The pending questions of the ``question`` tool.

The record of a question is public; the future that waits for its answer is private here. The
first answer wins. When the call that asks ends for another reason, its question is withdrawn.
"""

import asyncio
from collections.abc import Callable

from agent.bus import Bus
from agent.records.errors import OpencodePyError, PermissionRejected, ToolError
from agent.records.events import QuestionAsked, QuestionReplied
from agent.records.frozen import frozen
from agent.records.requests import Question, QuestionReply


@frozen
class _PendingQuestion:
    """A question and its future. An exception is set as the *result*: an exception that is
    never retrieved would be logged."""

    question: Question
    future: asyncio.Future[QuestionReply | OpencodePyError]


class QuestionService:
    """All pending questions. Used from one event loop."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._waiting: dict[str, _PendingQuestion] = {}

    async def ask(
        self, question: Question, on_asked: Callable[[str | None], None]
    ) -> QuestionReply:
        """Ask, and wait for the answer. *on_asked* gets the question's id, then None.

        Raises ``ToolError`` if it was declined because no user is there, and
        ``PermissionRejected`` if it was withdrawn.
        """
        waiting = _PendingQuestion(question, asyncio.get_running_loop().create_future())
        self._waiting[question.id] = waiting
        try:
            self._bus.publish(QuestionAsked(question))
            on_asked(question.id)
            answer = await waiting.future
        finally:
            if self._waiting.pop(question.id, None) is not None:
                self._bus.publish(QuestionReplied(question.id, question.session_id, None))
            on_asked(None)
        if isinstance(answer, OpencodePyError):
            raise answer
        return answer

    def reply(self, question_id: str, reply: QuestionReply) -> bool:
        """Answer a question. Return False if it is no longer pending."""
        return self._resolve(question_id, reply, reply)

    def decline(self, question_id: str, why: str) -> bool:
        """End a question that no user can answer; the model reads *why* and continues."""
        return self._resolve(question_id, None, ToolError(why))

    def pending(self, root_id: str | None = None) -> tuple[Question, ...]:
        """Return the pending questions, oldest first, of one session tree or of all."""
        return tuple(
            waiting.question
            for waiting in self._waiting.values()
            if root_id is None or waiting.question.root_id == root_id
        )

    def cancel_session(self, session_id: str) -> None:
        """Withdraw every question of one session."""
        gone = PermissionRejected(
            "Canceled by the user before the question was answered.", withdrawn=True
        )
        for waiting in list(self._waiting.values()):
            if waiting.question.session_id == session_id:
                self._resolve(waiting.question.id, None, gone)

    def _resolve(
        self, question_id: str, reply: QuestionReply | None, answer: QuestionReply | OpencodePyError
    ) -> bool:
        waiting = self._waiting.pop(question_id, None)
        if waiting is None:
            return False
        if not waiting.future.done():
            waiting.future.set_result(answer)
        self._bus.publish(QuestionReplied(question_id, waiting.question.session_id, reply))
        return True
