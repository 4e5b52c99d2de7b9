"""Actions on work that goes on by itself: goals and repeated prompts."""

from typing import TYPE_CHECKING

from app.commands.context import ActionContext
from app.commands.registry import action
from app.text.units import duration

if TYPE_CHECKING:  # imports the agent
    from agent.records.goals import Goal

STATES = {
    "running": "running",
    "paused": "paused",
    "reached": "reached",
    "ended": "not reached",
}
RESUMED = "Work on the goal continues."
STOPPED = "The goal is stopped."
PAUSED = "The goal is paused. /goal resume continues."
REPEATED = (
    "The prompt is sent every {interval} while opencode-py is running. /loop stop ends the loop."
)
NOT_REPEATED = "The loop is stopped."


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
    from agent.session.goals import NO_GOAL, parse_goal  # loads the agent package

    goals, session = context.live.runtime.sessions.goals, context.live.session
    word = argument.strip().lower()
    if word in {"", "pause", "resume", "stop"}:
        found = await goals.goal(session.id) if session is not None else None
        if session is None or found is None:
            context.notify(NO_GOAL)
        elif word == "resume":
            await goals.resume(session.id)
            context.notify(RESUMED)
        elif word:
            await goals.end(session.id, "paused" if word == "pause" else "ended")
            context.notify(PAUSED if word == "pause" else STOPPED)
        else:
            context.notify(goal_sentence(found))
        return
    given = parse_goal(argument)
    session = await context.live.ensure_session()
    await goals.start(session.id, given, session.model or context.live.model)


def goal_sentence(goal: "Goal") -> str:
    """Return a sentence on the state of a goal."""
    reason = f" {goal.reason}" if goal.reason else ""
    return (
        f"The goal “{goal.text}” is {STATES[goal.state]} (round {goal.rounds} of "
        f"{goal.max_rounds}). Check: {goal.check}.{reason}"
    )


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
    from agent.session.loops import NO_LOOP, parse_loop  # loads the agent package

    loops, session = context.live.runtime.sessions.loops, context.live.session
    word = argument.strip().lower()
    if word in {"", "stop"}:
        found = loops.find(session.id) if session is not None else None
        if session is None or found is None:
            context.notify(NO_LOOP)
        elif word:
            loops.stop(session.id)
            context.notify(NOT_REPEATED)
        else:
            context.notify(f"Every {duration(found.seconds)}: {found.text}")
        return
    given = parse_loop(argument)
    session = await context.live.ensure_session()
    loops.start(session.id, given)
    context.notify(REPEATED.format(interval=duration(given.seconds)))
