"""A terminal that is gone: writing to it does not block."""

import os
import pty
import threading

from textual.drivers._writer_thread import WriterThread

from app.terminal.driver import TerminalOutput

GUARD = 20.0
"""Seconds after which a write is taken to hang: no figure."""


def test_writes_to_a_terminal_that_is_gone_are_dropped() -> None:
    master, slave = pty.openpty()
    file = os.fdopen(slave, "w", closefd=False)
    writer = WriterThread(TerminalOutput(file, lambda: None))
    writer.start()
    os.close(master)

    def work() -> None:
        for _ in range(200):
            writer.write("x" * 1_000)
        writer.stop()

    working = threading.Thread(target=work, daemon=True)
    working.start()
    working.join(GUARD)
    assert not working.is_alive()
    assert TerminalOutput(file, lambda: None).fileno() == slave
    os.close(slave)
