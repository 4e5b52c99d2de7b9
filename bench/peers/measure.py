"""One session of one agent, as a user would run it."""

import contextlib
import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.peers import processes
from bench.peers.agents import Agent
from bench.peers.tmux import Pane, Tmux, pane

PACED = 400
FAST = 5_000
READS = 40
MANY = 1_000
LATER = 5.0
LETTERS = "zqjxkvwyzqxjkwvyqzjk"
REST = 0.5
"""Seconds in which an idle agent uses less than two ticks of CPU."""


@dataclass(frozen=True)
class PeerEnvironment:
    """The environment of an agent. *told* reads the times and words of an event in the server log
    since a moment."""

    tmux: Tmux
    home: Path
    project: Path
    url: str
    path: str
    told: Callable[[str, float], list[tuple[float, str]]]


@dataclass(frozen=True)
class Session:
    """A running agent. *mark* identifies those of its processes that detached."""

    testbed: PeerEnvironment
    agent: Agent
    pane: Pane
    mark: str

    def cpu(self) -> float:
        return processes.cpu(processes.family(self.pane.pid, self.mark))

    def clear(self) -> None:
        self.pane.press(*["BSpace"] * 20)

    def settle(self, most: float = 10.0) -> None:
        until, before = time.monotonic() + most, -1.0
        while time.monotonic() < until and (now := self.cpu()) - before > 2 / processes.TICK:
            before = now
            time.sleep(REST)

    def ask(self, text: str) -> tuple[float, float]:
        """Type *text* and, once it is shown, press Enter; return the time and the CPU used."""
        self.pane.type(text)
        last = "".join(text.split())[-12:]
        self.pane.when(lambda shown: last in "".join(shown.split()), 30)
        self.settle(3)
        used = self.cpu()
        return self.pane.press("Enter"), used


@dataclass
class Figures:
    """The measurements of each round, by the name of the figure."""

    taken: dict[str, list[float]] = field(default_factory=dict)

    def add(self, **measured: float) -> None:
        for name, value in measured.items():
            self.taken.setdefault(name, []).append(value)

    def of(self, name: str) -> float | None:
        """Return the median, None where nothing was measured."""
        return statistics.median(self.taken[name]) if self.taken.get(name) else None


@contextlib.contextmanager
def started_agent(
    testbed: PeerEnvironment, agent: Agent, number: int, *more: str
) -> Iterator[Session]:
    """Start *agent* in a home of its own, with *more* arguments; everything it started is ended
    afterwards."""
    mark = f"{agent.name}-{number}-{'-'.join(more)}".strip("-")
    argv, env = _command(testbed, agent, mark)
    with pane(
        testbed.tmux, re.sub(r"\W", "_", mark), [*argv, *more], env, testbed.project
    ) as opened:
        try:
            yield Session(testbed, agent, opened, mark)
        finally:
            processes.end(opened.pid, mark)


def _command(testbed: PeerEnvironment, agent: Agent, mark: str) -> tuple[list[str], dict[str, str]]:
    """Write the settings of *agent*; return its command and environment."""
    home = testbed.home / agent.name
    argv, env = agent.prepared(home, testbed.url, testbed.project, testbed.path)
    return argv, {**env, processes.MARK: mark}


def measure(testbed: PeerEnvironment, agent: Agent, number: int, figures: Figures) -> None:
    """Measure one session from start to end. A failure raises TimeoutError with the screen; earlier
    measurements count."""
    with started_agent(testbed, agent, number) as session:
        _start(session, figures)
        _first(session, figures)
        _paced(session, figures)
        if agent.types_at_work:
            _keys(session, figures)
        _cancel(session, figures)
        if agent.read is not None:
            _reads(session, figures)
        _fast(session, figures)
    if agent.headless and agent.read is not None:
        _headless(testbed, agent, number, figures)


def _headless(testbed: PeerEnvironment, agent: Agent, number: int, figures: Figures) -> None:
    """Measure runs without a screen, and how the long session that one leaves is opened."""
    alone = _used(testbed, agent, "hello there")
    figures.add(headless=alone)
    figures.add(step_alone=(_used(testbed, agent, f"loop {READS}") - alone) / READS)
    if number or not agent.resume:
        return  # a thousand steps, once
    figures.add(step_mean=(_used(testbed, agent, f"loop {MANY}") - alone) / MANY)
    with started_agent(testbed, agent, number, *agent.resume) as session:
        session.pane.shows(f"END{MANY}", 60)
        session.settle()
        figures.add(opened=session.cpu())


def _used(testbed: PeerEnvironment, agent: Agent, text: str) -> float:
    """Return the CPU seconds of *agent* for a prompt without a screen."""
    mark = f"{agent.name}-headless"
    argv, env = _command(testbed, agent, mark)
    process = subprocess.Popen(
        [*argv, *agent.headless, text],
        cwd=testbed.project,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    processes.end(process.pid, mark)
    return usage.ru_utime + usage.ru_stime


def _start(session: Session, figures: Figures) -> None:
    painted = session.pane.shows(session.agent.ready, 60)
    figures.add(start_cpu=session.cpu(), start=painted - session.pane.begun)
    for pattern, key in session.agent.dismiss:
        if re.search(pattern, session.pane.screen()):
            session.pane.press(key)
    time.sleep(max(0.0, painted + LATER - time.monotonic()))
    figures.add(later_cpu=session.cpu())
    session.settle()
    before, since = session.cpu(), time.monotonic()
    time.sleep(5)
    share = (session.cpu() - before) / (time.monotonic() - since)
    memory = processes.resident_memory(processes.family(session.pane.pid, session.mark))
    figures.add(idle=share * 100, memory=memory)


def _first(session: Session, figures: Figures) -> None:
    begun, before = session.ask("hello there")
    session.pane.shows("DONE")
    figures.add(first_cpu=session.cpu() - before)
    figures.add(first=session.testbed.told("request", begun)[0][0] - begun)
    session.settle()


def _paced(session: Session, figures: Figures) -> None:
    begun, before = session.ask(f"paced {PACED}")
    seen: dict[str, float] = {}

    def over(shown: str) -> bool:
        now = time.monotonic()
        for word in re.findall(r"mk\d{5}", shown):
            seen.setdefault(word, now)
        return f"END{PACED}" in shown

    session.pane.when(over, 60)
    time.sleep(REST)
    sent = session.testbed.told("mark", begun)
    late = [seen[word] - at for at, word in sent if word in seen]
    figures.add(paced=session.cpu() - before, lag=statistics.median(late), lag_most=max(late))
    session.settle()


def _keys(session: Session, figures: Figures) -> None:
    session.ask("paced 1000")
    session.pane.shows(r"mk\d{5}")
    typed, late = "", []
    for letter in LETTERS:
        typed += letter
        pressed = session.pane.type(letter)
        late.append(session.pane.when(re.compile(re.escape(typed)).search, 5) - pressed)
        time.sleep(0.12)
    figures.add(key=statistics.median(late), key_late=sorted(late)[-2])
    session.pane.shows("END1000", 60)
    session.clear()
    session.settle()


def _cancel(session: Session, figures: Figures) -> None:
    begun, _ = session.ask("paced 2000")
    session.pane.when(lambda _: len(session.testbed.told("mark", begun)) > 3, 30)
    first, *more = session.agent.cancel
    pressed = session.pane.press(first)
    for key in more:
        time.sleep(0.1)
        session.pane.press(key)
    shown = session.pane.shows(session.agent.cancelled)
    session.pane.when(lambda _: session.testbed.told("closed", pressed), 30)
    closed = session.testbed.told("closed", pressed)[0][0]
    figures.add(cancel=closed - pressed, cancel_shown=shown - pressed)
    session.settle()
    session.clear()


def _reads(session: Session, figures: Figures) -> None:
    _, before = session.ask(f"loop {READS}")
    session.pane.shows(f"END{READS}", 90)
    time.sleep(REST)
    figures.add(step=(session.cpu() - before) / READS)
    session.settle()


def _fast(session: Session, figures: Figures) -> None:
    _, before = session.ask(f"deltas {FAST}")
    session.pane.shows(f"END{FAST}", 60)
    time.sleep(REST)
    figures.add(fast=session.cpu() - before)
