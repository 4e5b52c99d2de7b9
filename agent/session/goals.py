"""Goals: turn after turn until a check passes, or the budget is used up.

A round is a turn and then the check, which is shown in the transcript and read by the model. The
agent can change what the check runs, so deny rules and the sandbox apply to it. Only exit code 0
of the check ends a goal as reached.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from agent.records.amounts import money, tokens
from agent.records.background import BackgroundTaskState
from agent.records.context_parts import GOAL_REPORT, ReportPart
from agent.records.errors import NothingToDo, OpencodePyError, SessionBusy, SessionNotFound
from agent.records.events import Event, SessionError, SessionIdle
from agent.records.frozen import frozen
from agent.records.goals import DEFAULT_ROUNDS, Goal, GoalState
from agent.records.ids import new_id
from agent.records.messages import Completed, ErrorInfo, ToolPart
from agent.records.reminders import reminder
from agent.session.api import PromptInput, Sessions
from agent.session.prompt.user_message import title_of
from agent.session.spending import parse_amount
from agent.session.turn.turn_services import TurnServices
from agent.store import queries, writes
from agent.store.background_reports import queued_report

CHECK_TIMEOUT = 600_000
"""Milliseconds after which a check that hangs is ended."""

USAGE = '/goal TEXT --check "pytest -q" --budget $2 --rounds 20'
NO_CHECK = (
    f"A goal needs a check: a command that exits with 0 once the goal is reached. For example: "
    f"{USAGE}"
)
NO_GOAL = f"This session has no goal. To set one: {USAGE}"
RUNNING = "This session is already working on a goal. Run /goal pause or /goal stop first."
IN_SUBAGENT = "A sub-agent cannot have a goal. Set it in the parent session."
NOT_RUNNING = "The goal is not running."
UNPRICED = (
    "The price of {model} is not known, so a budget in dollars cannot be enforced. Set one in "
    "tokens, such as --budget 2M, or set the model's `cost` in the settings."
)
FIRST = (
    "Work on this goal:\n\n{text}\n\nIt is reached once the command `{check}` exits with 0. The "
    "program runs that check after each of your turns, and you see its output; it {outcome} now. "
    "Do the work that the goal asks for: do not weaken the check, and do not only claim success."
)
AGAIN = (
    "The check `{check}` {outcome}; its output is above. Continue with the goal:\n\n{text}\n\nTry "
    "another way if the last one changed nothing. If the goal cannot be reached, say why."
)
STARTED = "Goal: {text}\nThe check `{check}` {outcome}."
ROUND = "Goal, round {round} of {most}: the check {outcome}.{used}"
REACHED = "The goal is reached: the check `{check}` passes."
UNREACHED = "The goal is not reached: {reason}"
PAUSED = "The goal is paused:"
INTERRUPTED = "It was interrupted. /goal resume continues."

_HINTS: dict[GoalState, str] = {
    "paused": " /goal resume continues.",
    "ended": " /goal resume sets new limits and continues.",
}
"""The advice in the report on a goal."""

NOT_STARTED = {126: " (it cannot be executed)", 127: " (a command was not found)"}
"""The reasons of exit codes with which a shell could not run a check at all."""

_OUTCOMES: dict[GoalState, BackgroundTaskState] = {
    "running": "running",
    "paused": "interrupted",
    "reached": "completed",
    "ended": "limit_reached",
}
"""The outcome in the report on a goal."""

_OPTION = re.compile(
    r"""\s--(?P<name>check|budget|rounds)(?:\s+|=)
    (?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<plain>.+?))
    (?=\s+--(?:check|budget|rounds)\b|\s*$)""",
    re.VERBOSE | re.DOTALL,
)

log = logging.getLogger(__name__)


def parse_goal(argument: str) -> Goal:
    """Parse ``TEXT --check CMD --budget AMOUNT --rounds N``.

    Raises ``NothingToDo`` with a sentence.
    """
    given: dict[str, str] = {}
    for match in _OPTION.finditer(f" {argument}"):
        double = match["double"]
        value = re.sub(r"\\(.)", r"\1", double) if double is not None else ""
        given[match["name"]] = (value or match["single"] or match["plain"] or "").strip()
    text = _OPTION.sub("", f" {argument}").strip()
    if not text:
        raise NothingToDo(f"State the goal: {USAGE}")
    if not given.get("check"):
        raise NothingToDo(NO_CHECK)
    rounds = given.get("rounds", str(DEFAULT_ROUNDS))
    if not rounds.isdecimal() or not int(rounds):
        raise NothingToDo(f"--rounds takes a number of at least 1, not {rounds}.")
    goal = Goal(text=text, check=given["check"], max_rounds=int(rounds))
    if "budget" in given:
        unit, amount = parse_amount(given["budget"])
        goal = replace(goal, unit=unit, budget=amount)
    return goal


class Goals:
    """The goals of all sessions of a runtime; those that run are worked on in tasks."""

    def __init__(self, services: TurnServices, sessions: Sessions) -> None:
        self._services = services
        self._store = services.store
        self._sessions = sessions
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def running(self, session_id: str) -> bool:
        return session_id in self._tasks

    async def goal(self, session_id: str) -> Goal | None:
        """Return the goal of a session; one that the program left running is paused."""
        found = await self._store.read(queries.goal, session_id)
        if found is not None and found.state == "running" and not self.running(session_id):
            return replace(found, state="paused", reason=INTERRUPTED)
        return found

    async def start(self, session_id: str, goal: Goal, model: str) -> None:
        """Begin with a goal for a session that uses *model*. Raises ``NothingToDo``."""
        if self.running(session_id):
            raise NothingToDo(RUNNING)
        if (await self._store.session(session_id)).parent_id is not None:
            raise NothingToDo(IN_SUBAGENT)
        if goal.budget is not None:
            if goal.unit == "cost" and self._services.catalog.model(model).price is None:
                raise NothingToDo(UNPRICED.format(model=model))
            used = await self._services.spending.used(session_id, goal.unit)
            goal = replace(goal, most=used + goal.budget)
        # Else the check, which runs first, would name the session.
        title = title_of(goal.text)
        await self._services.update(session_id, lambda s: replace(s, title=s.title or title))
        await self._begin(session_id, goal)

    async def resume(self, session_id: str) -> Goal:
        """Continue with a paused goal, or one that ended at its budget or rounds: it gets the
        budget again, and more rounds. Raises ``NothingToDo``."""
        goal = await self.goal(session_id)
        if goal is None or goal.state == "reached":
            raise NothingToDo(NO_GOAL)
        if goal.state == "running":
            raise NothingToDo(RUNNING)
        if goal.rounds >= goal.max_rounds:
            goal = replace(goal, max_rounds=goal.rounds + DEFAULT_ROUNDS)
        if goal.budget is not None and goal.most is not None:
            used = await self._services.spending.used(session_id, goal.unit)
            goal = replace(goal, most=goal.most if used < goal.most else used + goal.budget)
        goal = replace(goal, state="running", reason="")
        await self._begin(session_id, goal)
        return goal

    async def end(self, session_id: str, state: GoalState) -> None:
        """Pause or end the goal of a session with what runs for it. Raises ``NothingToDo``."""
        goal = await self.goal(session_id)
        if goal is None or goal.state in {"reached", "ended"}:
            raise NothingToDo(NO_GOAL)
        task = self._tasks.get(session_id)
        if task is None and state == "paused":
            raise NothingToDo(NOT_RUNNING)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            await self._sessions.cancel(session_id)
        await self._save(session_id, replace(goal, state=state, reason="You stopped it."))

    async def wait(self, session_id: str) -> None:
        """Wait until nothing is done for the goal of a session any more."""
        if (task := self._tasks.get(session_id)) is not None:
            await asyncio.wait([task])

    async def forget(self, session_id: str) -> None:
        """End the work on the goal of a session that is deleted."""
        if (task := self._tasks.get(session_id)) is not None:
            task.cancel()
            await asyncio.wait([task])

    async def check(self, session_id: str, command: str) -> tuple[bool | None, str]:
        """Run *command* as a check; return whether it passed, None if it gave no answer, and a
        phrase on its end."""
        worker = _GoalWorker(session_id, self._services, self._sessions, self._save)
        return await worker.check(command)

    async def close(self) -> None:
        """Leave every goal as it is: it can be resumed."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def _begin(self, session_id: str, goal: Goal) -> None:
        await self._save(session_id, goal)
        worker = _GoalWorker(session_id, self._services, self._sessions, self._save)
        task = asyncio.create_task(worker.work(goal), name=f"goal of {session_id}")
        self._tasks[session_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(session_id, None))

    async def _save(self, session_id: str, goal: Goal) -> None:
        budget = (goal.unit, goal.most) if goal.most is not None else None
        self._services.spending.set_budget(session_id, budget if goal.state == "running" else None)
        await self._store.write(writes.save_goal, session_id, goal)


SaveGoal = Callable[[str, Goal], Awaitable[None]]


@frozen
class _GoalWorker:
    """Works on the goal of one session."""

    session_id: str
    services: TurnServices
    sessions: Sessions
    save: SaveGoal

    async def work(self, goal: Goal) -> None:
        """Work on *goal* until it is reached, paused or ended. What cannot be stored, as on a full
        disk, is reported."""
        try:
            await self._work(goal)
        except OpencodePyError as error:
            try:
                await self._finish(goal, "paused", error.message)
            except SessionNotFound:  # it was deleted meanwhile
                return
            except OpencodePyError as failure:
                info = ErrorInfo("goal", f"{PAUSED} {failure.message}")
                self.services.bus.publish(SessionError(self.session_id, info))

    async def _work(self, goal: Goal) -> None:
        passed, outcome = await self.check(goal.check)
        while passed is False:
            if goal.rounds >= goal.max_rounds:
                await self._finish(
                    goal, "ended", f"The limit of {_rounds(goal.max_rounds)} was reached."
                )
                return
            if (
                sentence := await self.services.spending.budget_reached(self.session_id)
            ) is not None:
                await self._finish(goal, "ended", sentence)
                return
            goal = replace(goal, rounds=goal.rounds + 1)
            await self.save(self.session_id, goal)
            prompt = await self._prompt(goal, outcome)
            end = await self._until_over(partial(self.sessions.prompt, self.session_id, prompt))
            if end.outcome != "completed":
                used_up = await self.services.spending.budget_reached(self.session_id)
                reason = used_up or (end.error.message if end.error else "You interrupted it.")
                await self._finish(goal, "ended" if used_up else "paused", reason)
                return
            passed, outcome = await self.check(goal.check)
        if passed:
            await self._finish(goal, "reached", "")
        else:
            await self._finish(goal, "paused", f"The check {outcome}.")

    async def _prompt(self, goal: Goal, outcome: str) -> PromptInput:
        facts = {"text": goal.text, "check": goal.check, "outcome": outcome}
        if goal.rounds == 1:
            return PromptInput(text=FIRST.format(**facts), display_text=STARTED.format(**facts))
        shown = ROUND.format(
            round=goal.rounds, most=goal.max_rounds, outcome=outcome, used=await self._used(goal)
        )
        return PromptInput(text=AGAIN.format(**facts), display_text=shown)

    async def _used(self, goal: Goal) -> str:
        """The used part of the budget in a sentence, after a space; "" without a budget."""
        if goal.budget is None or goal.most is None:
            return ""
        total = await self.services.spending.used(self.session_id, goal.unit)
        used = max(0.0, total - (goal.most - goal.budget))
        if goal.unit == "cost":
            return f" {money(used)} of {money(goal.budget)} used."
        return f" {tokens(round(used))} of {tokens(round(goal.budget))} tokens used."

    async def check(self, command: str) -> tuple[bool | None, str]:
        """Run the check *command*; see ``Goals.check``."""
        message_id = ""

        async def start() -> str:
            nonlocal message_id
            run = self.sessions.run_check
            message_id = await run(self.session_id, command, CHECK_TIMEOUT)
            return message_id

        end = await self._until_over(start)
        stored = await self.services.store.message(message_id)
        parts = stored.parts if stored is not None else ()
        part = next((part for part in parts if isinstance(part, ToolPart)), None)
        if end.outcome != "completed" or part is None:
            return None, "was interrupted"
        return check_result(part)

    async def _until_over(self, start: Callable[[], Awaitable[str]]) -> SessionIdle:
        """Start the turn of a message, and wait for its end."""

        def ends(event: Event) -> bool:
            return isinstance(event, SessionIdle) and event.session_id == self.session_id

        with self.services.bus.subscribe(ends) as ended:
            while True:
                try:
                    message_id = await start()
                    break
                except SessionBusy:  # a message of the user's, or a report, is being worked on
                    await ended.wait()
                    ended.drain()
            async for event in ended:
                stored = await self.services.store.message(message_id)
                turn_id = stored.message.turn_id if stored is not None else None
                if isinstance(event, SessionIdle) and turn_id in {None, event.turn_id}:
                    return event
        raise NothingToDo(INTERRUPTED)

    async def _finish(self, goal: Goal, state: GoalState, reason: str) -> None:
        """Store the end of the work, and show it in the transcript."""
        used = await self._used(goal)
        await self.save(self.session_id, replace(goal, state=state, reason=reason))
        session = await self.services.store.session(self.session_id)
        reached = state == "reached"
        said = (REACHED if reached else UNREACHED).format(check=goal.check, reason=reason)
        report = ReportPart(
            id="",
            session_id="",
            message_id="",
            child_id=GOAL_REPORT,
            agent="goal",
            description=goal.text,
            outcome=_OUTCOMES[state],
            text=f"$ {goal.check}\nexit code 0" if reached else "",
            error=f"{reason}{_HINTS.get(state, '')}",
            facts=tuple(filter(None, (_rounds(goal.rounds), used.strip().rstrip(".")))),
        )
        now = self.services.clock()
        message, *parts = queued_report(session, report, now, reminder(said))
        await self.services.store.save(replace(message, turn_id=new_id("trn")), *parts)


def check_result(part: ToolPart) -> tuple[bool | None, str]:
    """Return whether the check of *part* passed, None if it gave no answer, and a phrase."""
    state = part.state
    if not isinstance(state, Completed):
        return None, "was not allowed to run"
    if state.exit_code is not None:
        why = NOT_STARTED.get(state.exit_code, "")
        passed = state.exit_code == 0
        return passed, "passes" if passed else f"fails with exit code {state.exit_code}{why}"
    if "background" in state.facts:
        return None, "was moved to the background"
    return False, " ".join(state.facts) or "did not end normally"


def _rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number} rounds"
