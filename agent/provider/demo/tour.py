"""The guided tour: which stage comes next, and when the tour is the answer.

Stages whose tools are not offered are left out.
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


def tour_reply(situation: Conversation) -> Reply:
    """The next stage of the tour that the newest text began or goes on with, or the farewell."""
    progress = _progress(situation)
    stage = _next(progress)
    reply = stage.build(progress) if stage is not None else _farewell(progress)
    if progress.completed_calls:
        return reply
    parts = [texts.INTRODUCTION] if situation.is_first or not progress.understood else []
    if not progress.understood:
        parts.append("What you typed is none of these requests, so here is a tour instead.")
    return replace(reply, text="\n\n".join((*parts, reply.text)), reasoning=_REASONING)


def is_due(situation: Conversation) -> bool:
    """Whether the tour answers the newest text.

    It does if it was asked for, if it was stopped and is to go on, or if nothing else was
    understood, unless the whole tour was seen in this session already.
    """
    match parse_request(situation.text):
        case Tour(requested=True):
            return True
        case Tour():
            return bool(situation.steps) or not _seen(situation)
        case Continue():
            return _started(situation) is not None
        case _:
            return False


def is_unfinished(situation: Conversation) -> bool:
    """Whether a tour was begun before the newest text and has stages left."""
    begun = any(
        one.steps and isinstance(parse_request(one.text), Tour) for one in situation.exchanges
    )
    return begun and _next(_progress(situation)) is not None


def _started(situation: Conversation) -> int | None:
    """Where in ``situation.asked`` the newest tour began."""
    places = [
        i for i, one in enumerate(situation.exchanges) if isinstance(parse_request(one.text), Tour)
    ]
    return places[-1] if places else None


def _seen(situation: Conversation) -> bool:
    """Whether an earlier tour came to its end (or to all that can still be offered)."""
    earlier = replace(situation, exchanges=situation.exchanges[:-1])
    begun = _started(earlier)
    return begun is not None and bool(earlier.exchanges[begun].steps) and not is_unfinished(earlier)


def _progress(situation: Conversation) -> TourProgress:
    start = _started(situation) or 0
    asked = [
        one
        for one in situation.exchanges[start:]
        if isinstance(parse_request(one.text), Tour | Continue)
    ]
    steps = [step for one in asked for step in one.steps]
    request = parse_request(asked[0].text) if asked else Tour()
    return TourProgress(
        situation,
        completed_calls=tuple(call for step in steps for call in step),
        previous_calls=steps[-1] if steps else (),
        understood=isinstance(request, Tour) and request.requested,
    )


def _next(progress: TourProgress) -> Stage | None:
    return next(
        (
            stage
            for stage in STAGES
            if progress.situation.has_tools(*stage.tools)
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
