"""The cost of a sandbox: the same short command plain and in each sandbox of this machine."""

import asyncio
import os
import statistics
import time
from pathlib import Path

from agent.process import Capture, Command, SpillStore, child_environment, run
from agent.process.sandbox import SandboxPolicy
from agent.process.sandbox.find import backends
from bench.table import Row, median_and_p95, ms
from bench.testbed import Testbed

COMMANDS = 60
LIMITS = {"bubblewrap": 5.2, "bubblewrap-user": 5.2, "landlock": 1.9}
"""Ratios to the plain command."""


def sandbox(testbed: Testbed) -> list[Row]:
    """Measure the start to the end of ``true``, interleaved, so that noise hits all alike."""
    return asyncio.run(_measure(Path(testbed.project)))


async def _measure(project: Path) -> list[Row]:
    found = backends()
    home = Path.home()
    policy = SandboxPolicy(
        "workspace-write",
        writable=(str(project),),
        protected=(str(project / ".git" / "config"),),
        hidden=(str(home / ".ssh"), str(home / ".aws"), str(home / ".config" / "gh")),
    )
    argv = ("/bin/sh", "-c", "true")
    wrapped = {name: found[name] for name in found}
    took: dict[str, list[float]] = {name: [] for name in ("plain", *wrapped)}
    spills = SpillStore(project.parent / "spill")
    env = child_environment(os.environ, ())
    for _ in range(COMMANDS + 1):
        for name, seconds in took.items():
            start = time.perf_counter()
            run_argv = argv if name == "plain" else wrapped[name].wrap(argv, policy, str(project))
            command = Command(argv=run_argv, directory=str(project), env=env, timeout=60.0)
            await run(command, Capture(spills, max_lines=10, max_bytes=1000))
            seconds.append(time.perf_counter() - start)
    plain = took.pop("plain")[1:]  # the first starts the resident launcher
    rows = [Row("sandbox per command: none", median_and_p95(plain))]
    base = statistics.median(plain)
    for name, seconds in took.items():
        median = statistics.median(seconds[1:])
        rows.append(
            Row(
                f"sandbox per command: {name}",
                f"{median_and_p95(seconds[1:])}, {ms(median - base)} more",
                f"without {ms(base)}",
                median / base,
                LIMITS[name],
            )
        )
    return rows
