"""Ids sort by time and never repeat."""

import subprocess
import sys
import time

from agent.records.ids import new_id


def test_ids_of_one_process_sort_in_the_order_made() -> None:
    made = [new_id("msg") for _ in range(5_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_of_two_processes_differ() -> None:
    program = "from agent.records.ids import new_id\nprint(*[new_id('msg') for _ in range(500)])"
    runs = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    made = [name for run in runs for name in run.communicate()[0].split()]
    assert len(made) == 1_000
    assert len(set(made)) == 1_000


def test_an_id_contains_its_time() -> None:
    before = time.time()
    stamp = new_id("ses").removeprefix("ses_")[:14]
    assert before - 1 <= (int(stamp, 16) >> 12) / 1000 <= time.time() + 1
