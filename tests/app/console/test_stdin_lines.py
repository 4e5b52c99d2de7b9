"""Lines of ``--plain``: what was typed before a question was put does not answer it (M6)."""

import pytest

from app.console.stdin_lines import Lines


def lines(*held: str | None, types: bool) -> Lines:
    made = Lines(types=types)
    for line in held:
        made.put(line)
    return made


async def test_m6_a_line_that_was_typed_early_is_the_next_prompt() -> None:
    """It would have allowed everything: a stands for always, and a word may follow."""
    typed = lines("a test is missing, too", "one more", types=True)
    typed.asks()
    typed.put("n")
    assert await typed.answer() == "n"
    typed.put("and this")
    typed.asks()
    typed.put("y")
    assert await typed.answer() == "y"
    prompts = [await typed.prompt() for _ in range(3)]
    assert prompts == ["a test is missing, too", "one more", "and this"]


async def test_a_pipe_answers_in_advance() -> None:
    piped = lines("y", types=False)
    piped.asks()
    assert await piped.answer() == "y"


@pytest.mark.parametrize("types", [False, True])
async def test_the_end_is_the_end_for_all(types: bool) -> None:
    ended = lines(None, types=types)
    ended.asks()
    assert [await ended.answer(), await ended.answer(), await ended.prompt()] == [None] * 3


async def test_what_was_typed_before_the_end_is_still_sent() -> None:
    typed = lines("one", None, types=True)
    typed.asks()
    assert [await typed.answer(), await typed.prompt(), await typed.prompt()] == [None, "one", None]
