"""``python -m bench.peers [NAME …] [--rounds N]``: agents side by side, as they are installed.

``make bench-peers`` installs some with npm first. They are looked up on the PATH, after the folders
of ``BENCH_PEERS``. Each gets its own home and the scripted model; nothing reaches a provider.
``--look NAME`` prints the screen of one.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.peers.agents import AGENTS, Agent, ours
from bench.peers.measure import FAST, MANY, PACED, Figures, PeerEnvironment, measure, started_agent
from bench.peers.tmux import Tmux
from bench.table import calibration, table
from bench.testbed import open_testbed

ROWS = (
    ("to the first prompt, s of CPU", "start_cpu", 1.0, 2),
    ("  5 s later, in all", "later_cpu", 1.0, 2),
    ("first prompt to its answer, s of CPU", "first_cpu", 1.0, 2),
    ("  Enter to the model, ms", "first", 1000.0, 0),
    ("headless, one answer, s of CPU", "headless", 1.0, 2),
    (f"{FAST:,} deltas at full speed, s of CPU", "fast", 1.0, 2),
    (f"{PACED} deltas at 10 ms, s of CPU", "paced", 1.0, 2),
    ("  their lag, median, ms", "lag", 1000.0, 0),
    ("  worst, ms", "lag_most", 1000.0, 0),
    ("keys while streaming, median, ms", "key", 1000.0, 0),
    ("  p95, ms", "key_late", 1000.0, 0),
    ("Esc to the screen, ms", "cancel_shown", 1000.0, 0),
    ("  to the closed connection, ms", "cancel", 1000.0, 0),
    ("a step on the screen, ms of CPU", "step", 1000.0, 1),
    ("  headless", "step_alone", 1000.0, 1),
    (f"  headless, mean of {MANY:,} steps", "step_mean", 1000.0, 1),
    (f"open a session of {MANY:,} calls, s of CPU", "opened", 1.0, 2),
    ("idle, MiB", "memory", 1.0, 0),
    ("  % of a core", "idle", 1.0, 1),
)
"""Row title, name of the figure, factor, and decimals."""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peers")
    parser.add_argument("names", nargs="*", help="agents to measure; all that are installed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--look", metavar="NAME", help="show the screen of one, some seconds long")
    given = parser.parse_args(words)
    if shutil.which("tmux") is None:
        print("Peers are measured on the terminals of tmux, which is not installed.")
        return 0
    path = os.pathsep.join(filter(None, (os.environ.get("BENCH_PEERS"), os.environ["PATH"])))
    known = {agent.name: agent for agent in (ours(), *AGENTS)}
    wanted = [given.look] if given.look else given.names or list(known)
    if unknown := [name for name in wanted if name not in known]:
        print(f"There is no entry {unknown[0]}. The entries are: {', '.join(known)}.")
        return 2
    agents = [known[name] for name in wanted]
    for agent in agents:
        if agent.found(path) is None:
            print(f"{agent.name} is not measured: there is no {agent.command} on the path.")
    agents = [agent for agent in agents if agent.found(path) is not None]
    with _place(path) as testbed:
        if given.look:
            look(testbed, agents)
        else:
            compare(testbed, agents, given.rounds)
    return 0


def compare(testbed: PeerEnvironment, agents: Sequence[Agent], rounds: int) -> None:
    """Measure all agents in each round, so that a noisy minute affects each of them."""
    begun = calibration()
    figures = {agent.name: Figures() for agent in agents}
    for agent in agents:  # modules are compiled and files are read for the first time
        with started_agent(testbed, agent, -1) as session:
            session.settle()
    for number in range(rounds):
        for agent in agents:
            try:
                measure(testbed, agent, number, figures[agent.name])
            except TimeoutError as error:
                print(f"{agent.name} was given up in round {number + 1}; its screen:\n{error}")
    lines = [("figure", *figures)]
    for told, name, factor, decimals in ROWS:
        cells = [each.of(name) for each in figures.values()]
        lines.append((told, *(_cell(cell, factor, decimals) for cell in cells)))
    print(f"{time.strftime('%Y-%m-%d')}, median of {rounds} rounds")
    print(table(lines))
    for row in (begun, calibration()):
        print(f"{row.figure}: {row.measured}, {row.base}")


def look(testbed: PeerEnvironment, agents: Sequence[Agent]) -> None:
    """Print the screen after some seconds, for the author of an entry."""
    for agent in agents:
        with started_agent(testbed, agent, 0) as session:
            time.sleep(8)
            print(session.pane.screen())
            session.pane.type("paced 100")
            session.pane.press("Enter")
            time.sleep(4)
            print(session.pane.screen())


def _cell(value: float | None, factor: float, decimals: int) -> str:
    return "–" if value is None else f"{value * factor:.{decimals}f}"


@contextmanager
def _place(path: str) -> Iterator[PeerEnvironment]:
    with open_testbed(lenient=True) as testbed:
        git = (
            "git",
            "-C",
            str(testbed.project),
            "-c",
            "user.name=b",
            "-c",
            "user.email=b@localhost",
        )
        subprocess.run((*git, "init", "-q"), check=True)
        subprocess.run((*git, "add", "-A"), check=True)
        subprocess.run((*git, "commit", "-q", "-m", "begin"), check=True)
        tmux = Tmux()
        try:
            yield PeerEnvironment(
                tmux, testbed.home, testbed.project, testbed.url, path, testbed.events
            )
        finally:
            tmux.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
