"""Settings of all tests, wherever they are started from."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# No test asserts wall time, and a loaded machine is slow at generating examples too.
settings.register_profile(
    "timeless", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("timeless")


@pytest.fixture(scope="session", autouse=True)
def usual_signals() -> None:
    """Restore the signals of a terminal's shell: a job of a script, or under ``nohup``, starts with
    some ignored, and so would each program that the tests start."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)
