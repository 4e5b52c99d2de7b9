"""The guided tour: which stage comes next, and when the tour is the answer.

Stages whose tools are not offered are left out.
"""

from dataclasses import replace

from agent.provider.demo import texts
from agent.provider.demo.conversation import Reply, Situation
from agent.provider.demo.tour_stages import STAGES, Progress, Stage
from agent.provider.demo.user_requests import GoOn, Tour, parse

_REASONING = (
    "**Planning a tour**\n\nThis is no plain request that I know, or a tour was asked for. I start "
    "with what is harmless: looking around. Then a search, a todo list, a change with a question, "
    "a command with a question, and cleaning up."
)


def tour(situation: Situation) -> Reply:
    """The next stage of the tour that the newest text began or goes on with, or the farewell."""
    progress = _progress(situation)
    stage = _next(progress)
    reply = stage.make(progress) if stage is not None else _farewell(progress)
    if progress.done:
        return reply
    parts = [texts.INTRODUCTION] if situation.first or not progress.understood else []
    if not progress.understood:
        parts.append("What you typed is none of these requests, so here is a tour instead.")
    return replace(reply, text="\n\n".join((*parts, reply.text)), reasoning=_REASONING)


def is_due(situation: Situation) -> bool:
    """Whether the tour answers the newest text.

    It does if it was asked for, if it was stopped and is to go on, or if nothing else was
    understood, unless the whole tour was seen in this session already.
    """
    match parse(situation.text):
        case Tour(asked=True):
            return True
        case Tour():
            return bool(situation.steps) or not _seen(situation)
        case GoOn():
            return _started(situation) is not None
        case _:
            return False


def waits(situation: Situation) -> bool:
    """Whether a tour was begun before the newest text and has stages left."""
    begun = any(one.steps and isinstance(parse(one.text), Tour) for one in situation.asked)
    return begun and _next(_progress(situation)) is not None


def _started(situation: Situation) -> int | None:
    """Where in ``situation.asked`` the newest tour began."""
    places = [i for i, one in enumerate(situation.asked) if isinstance(parse(one.text), Tour)]
    return places[-1] if places else None


def _seen(situation: Situation) -> bool:
    """Whether an earlier tour came to its end (or to all that can still be offered)."""
    earlier = replace(situation, asked=situation.asked[:-1])
    begun = _started(earlier)
    return begun is not None and bool(earlier.asked[begun].steps) and not waits(earlier)


def _progress(situation: Situation) -> Progress:
    start = _started(situation) or 0
    asked = [one for one in situation.asked[start:] if isinstance(parse(one.text), Tour | GoOn)]
    steps = [step for one in asked for step in one.steps]
    request = parse(asked[0].text) if asked else Tour()
    return Progress(
        situation,
        done=tuple(call for step in steps for call in step),
        before=steps[-1] if steps else (),
        understood=isinstance(request, Tour) and request.asked,
    )


def _next(progress: Progress) -> Stage | None:
    return next(
        (
            stage
            for stage in STAGES
            if progress.situation.offers(*stage.tools)
            and progress.last(stage.name) is None
            and stage.possible(progress)
        ),
        None,
    )


def _farewell(progress: Progress) -> Reply:
    start = "That was the tour." if progress.done else "No tools are offered to me here."
    return Reply(
        f"{start} Three things to know:\n\n{texts.CONNECT}\n\n`help` lists what else I follow."
    )
