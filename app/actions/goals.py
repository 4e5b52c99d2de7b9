"""Actions on work that goes on by itself: goals and repeated prompts."""

from app.action_registry.context import ActionContext
from app.action_registry.registry import action


@action(
    "session.goal",
    "Work until a check passes",
    "Session",
    slash=("goal",),
    argument="[goal --check command, pause, resume or stop]",
    sends_prompt=True,
)
async def goal(context: ActionContext, argument: str) -> None:
    """Begin with a goal, or pause, resume, stop or show that of the session."""
    live = context.live
    given = (live.session, argument, live.ensure_session, live.model)
    if sentence := await context.controls.goal(*given):
        context.notify(sentence)


@action(
    "session.loop",
    "Repeat a prompt at an interval",
    "Session",
    slash=("loop",),
    argument="[10m prompt, or stop]",
    sends_prompt=True,
)
async def loop(context: ActionContext, argument: str) -> None:
    """Send a prompt at once and then at an interval, or stop or show that of the session."""
    live = context.live
    context.notify(await context.controls.loop(live.session, argument, live.ensure_session))
