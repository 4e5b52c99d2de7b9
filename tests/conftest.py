"""What holds for all tests, wherever they are started from."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def usual_signals() -> None:
    """Signals as a terminal's shell has them: a job of a script, or under ``nohup``, starts with
    some ignored, and so would each program that the tests start."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)
