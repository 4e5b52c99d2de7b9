"""The processes of a call, as they are found on a system without /proc."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import os, signal, subprocess, sys, time
import psutil  # for the system that this really is
sys.platform = "darwin"
from agent.process.tree import LINUX, MARKER, ProcessTree
assert not LINUX
left = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(1000)"
line = f'sleep 1000 & {sys.executable} -c "{left}" & wait'
env = {**os.environ, MARKER: "cal_1"}
shell = subprocess.Popen(["sh", "-c", line], env=env, start_new_session=True, stdout=-1)
other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
away = int(shell.stdout.readline())
tree = ProcessTree("cal_1", shell.pid)
found = {info.pid for info in tree.scan()}
assert {shell.pid, away} <= found, found
assert len(found) == 3 and other.pid not in found, found
shell.kill()
shell.wait()
tree.shell_reaped = True
assert away in {info.pid for info in tree.scan()}, "the orphan"
while tree.signal_all(signal.SIGKILL):
    pass
assert not tree.scan() and other.poll() is None
other.kill()
other.wait()
"""


def test_descendants_and_orphans_are_found_with_psutil() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, check=True, timeout=60)
