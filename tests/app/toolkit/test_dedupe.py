"""What may come many times at once is told once, and not kept for good."""

from app.toolkit.dedupe import Dedupe


def test_a_sentence_is_told_again_when_the_last_one_is_gone() -> None:
    now = [0.0]
    once = Dedupe(8.0, lambda: now[0])
    assert once.is_new("The disk is full.")
    now[0] = 7.9
    assert not once.is_new("The disk is full.")
    assert once.is_new("Another.")
    now[0] = 8.0
    assert once.is_new("The disk is full.")


def test_a_session_of_a_week_holds_those_of_the_last_seconds() -> None:
    now = [0.0]
    once = Dedupe(8.0, lambda: now[0])
    for number in range(1000):
        now[0] += 1.0
        assert once.is_new(f"Attempt {number} failed.")
        assert len(once) <= 8
