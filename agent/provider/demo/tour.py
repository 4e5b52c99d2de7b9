"""The guided tour: its next stage, and the conditions for starting it.

Stages whose tools are not offered are skipped.
"""

from dataclasses import replace

from agent.provider.demo import texts
from agent.provider.demo.conversation import Conversation, Reply
from agent.provider.demo.tour_stages import STAGES, Stage, TourProgress
from agent.provider.demo.user_requests import Continue, Tour, parse_request

_REASONING = (
    "**Planning a tour**\n\nThis is no plain request that I know, or a tour was asked for. I start "
    "with what is harmless: looking around. Then a search, a todo list, a change with a question, "
    "a command with a question, and cleaning up."
)


def tour_reply(conversation: Conversation) -> Reply:
    """Return the next stage of the tour that the newest message starts or continues.

    After the last stage that is the farewell.
    """
    progress = _progress(conversation)
    stage = _next_stage(progress)
    reply = stage.build(progress) if stage is not None else _farewell(progress)
    if progress.completed_calls:
        return reply
    parts = [texts.INTRODUCTION] if conversation.is_first or not progress.requested else []
    if not progress.requested:
        parts.append("What you typed is none of these requests, so here is a tour instead.")
    return replace(reply, text="\n\n".join((*parts, reply.text)), reasoning=_REASONING)


def is_due(conversation: Conversation) -> bool:
    """Return whether the tour is the response to the newest message.

    It is if it was requested, if a stopped tour is continued, or if the request is unknown, unless
    the whole tour was already shown in this session.
    """
    match parse_request(conversation.text):
        case Tour(requested=True):
            return True
        case Tour():
            return bool(conversation.steps) or not _was_completed(conversation)
        case Continue():
            return _tour_start(conversation) is not None
        case _:
            return False


def is_unfinished(conversation: Conversation) -> bool:
    """Return whether a tour was started before the newest message and has stages left."""
    begun = any(
        one.steps and isinstance(parse_request(one.text), Tour) for one in conversation.exchanges
    )
    return begun and _next_stage(_progress(conversation)) is not None


def _tour_start(conversation: Conversation) -> int | None:
    """Return the index of the exchange that started the newest tour."""
    places = [
        i
        for i, one in enumerate(conversation.exchanges)
        if isinstance(parse_request(one.text), Tour)
    ]
    return places[-1] if places else None


def _was_completed(conversation: Conversation) -> bool:
    """Return whether an earlier tour was completed, as far as tools are offered."""
    earlier = replace(conversation, exchanges=conversation.exchanges[:-1])
    begun = _tour_start(earlier)
    return begun is not None and bool(earlier.exchanges[begun].steps) and not is_unfinished(earlier)


def _progress(conversation: Conversation) -> TourProgress:
    start = _tour_start(conversation) or 0
    exchanges = [
        one
        for one in conversation.exchanges[start:]
        if isinstance(parse_request(one.text), Tour | Continue)
    ]
    steps = [step for one in exchanges for step in one.steps]
    request = parse_request(exchanges[0].text) if exchanges else Tour()
    return TourProgress(
        conversation,
        completed_calls=tuple(call for step in steps for call in step),
        previous_calls=steps[-1] if steps else (),
        requested=isinstance(request, Tour) and request.requested,
    )


def _next_stage(progress: TourProgress) -> Stage | None:
    return next(
        (
            stage
            for stage in STAGES
            if progress.conversation.has_tools(*stage.tools)
            and progress.last_call(stage.name) is None
            and stage.is_possible(progress)
        ),
        None,
    )


def _farewell(progress: TourProgress) -> Reply:
    start = "That was the tour." if progress.completed_calls else "No tools are offered to me here."
    return Reply(
        f"{start} Three things to know:\n\n{texts.CONNECT}\n\n`help` lists what else I follow."
    )
