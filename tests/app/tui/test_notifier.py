"""Repeated notices are shown once, and not remembered forever."""

from app.tui.notifier import Dedupe


def test_a_notice_is_shown_again_after_the_interval() -> None:
    now = [0.0]
    once = Dedupe(8.0, lambda: now[0])
    assert once.is_new("The disk is full.")
    now[0] = 7.9
    assert not once.is_new("The disk is full.")
    assert once.is_new("Another.")
    now[0] = 8.0
    assert once.is_new("The disk is full.")


def test_only_recent_notices_are_remembered() -> None:
    now = [0.0]
    once = Dedupe(8.0, lambda: now[0])
    for number in range(1000):
        now[0] += 1.0
        assert once.is_new(f"Attempt {number} failed.")
        assert len(once) <= 8
