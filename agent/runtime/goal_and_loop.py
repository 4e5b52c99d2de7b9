"""The commands ``/goal`` and ``/loop`` for every front end: their effect, and a sentence on it."""

from agent.records.amounts import duration
from agent.records.errors import NothingToDo
from agent.records.goals import Goal
from agent.records.messages import Session
from agent.runtime.folder_controls import NewSession
from agent.runtime.runtime import Runtime
from agent.session.goals import NO_GOAL, parse_goal
from agent.session.repeated_prompts import NO_LOOP, parse_loop

STATES = {
    "running": "running",
    "paused": "paused",
    "reached": "reached",
    "ended": "not reached",
}
RESUMED = "Work on the goal continues."
WITH_NEW_LIMITS = "Work on the goal continues, with new limits for its rounds and budget."
STOPPED = "The goal is stopped."
PAUSED = "The goal is paused. /goal resume continues."
REPEATED = (
    "The prompt is sent every {interval} while opencode-py is running. /loop stop ends the loop."
)
NOT_REPEATED = "The loop is stopped."


async def goal_command(
    runtime: Runtime, session: Session | None, argument: str, new: NewSession, model: str
) -> str:
    """Begin with a goal, or pause, resume, stop or show that of *session*; return a sentence, "" if
    the transcript shows what was done. Raises ``NothingToDo``."""
    goals, word = runtime.sessions.goals, argument.strip().lower()
    if word not in {"", "pause", "resume", "stop"}:
        given = parse_goal(argument)
        session = await new()
        await goals.start(session.id, given, session.model or model)
        return ""
    found = await goals.goal(session.id) if session is not None else None
    if session is None or found is None:
        raise NothingToDo(NO_GOAL)
    if word == "resume":
        goal = await goals.resume(session.id)
        again = goal.most != found.most or goal.max_rounds != found.max_rounds
        return WITH_NEW_LIMITS if again else RESUMED
    if word:
        await goals.end(session.id, "paused" if word == "pause" else "ended")
        return PAUSED if word == "pause" else STOPPED
    return goal_sentence(found)


def goal_sentence(goal: Goal) -> str:
    """Return a sentence on the state of a goal."""
    reason = f" {goal.reason}" if goal.reason else ""
    return (
        f"The goal “{goal.text}” is {STATES[goal.state]} (round {goal.rounds} of "
        f"{goal.max_rounds}). Check: {goal.check}.{reason}"
    )


async def loop_command(
    runtime: Runtime, session: Session | None, argument: str, new: NewSession
) -> str:
    """Repeat a prompt, or stop or show that of *session*; return a sentence. Raises
    ``NothingToDo``."""
    repeated, word = runtime.sessions.repeated_prompts, argument.strip().lower()
    if word not in {"", "stop"}:
        given = parse_loop(argument)
        session = await new()
        repeated.start(session.id, given)
        return REPEATED.format(interval=duration(given.seconds))
    found = repeated.find(session.id) if session is not None else None
    if session is None or found is None:
        raise NothingToDo(NO_LOOP)
    if word:
        repeated.stop(session.id)
        return NOT_REPEATED
    return f"Every {duration(found.seconds)}: {found.text}"
