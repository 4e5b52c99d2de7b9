"""Lines of ``--plain``: what was typed before a question was shown does not answer it."""

import pytest

from app.plain.console import StdinLines


def lines(*texts: str | None, types: bool) -> StdinLines:
    made = StdinLines(interactive=types)
    for line in texts:
        made.put(line)
    return made


async def test_a_line_typed_early_is_the_next_prompt() -> None:
    """As an answer it would allow everything: "a" means always, and more words can follow."""
    typed = lines("a test is missing, too", "one more", types=True)
    typed.begin_question()
    typed.put("n")
    assert await typed.next_answer() == "n"
    typed.put("and this")
    typed.begin_question()
    typed.put("y")
    assert await typed.next_answer() == "y"
    prompts = [await typed.next_prompt() for _ in range(3)]
    assert prompts == ["a test is missing, too", "one more", "and this"]


async def test_a_pipe_answers_in_advance() -> None:
    piped = lines("y", types=False)
    piped.begin_question()
    assert await piped.next_answer() == "y"


@pytest.mark.parametrize("types", [False, True])
async def test_the_end_of_input_ends_every_reader(types: bool) -> None:
    ended = lines(None, types=types)
    ended.begin_question()
    assert [await ended.next_answer(), await ended.next_answer(), await ended.next_prompt()] == [
        None
    ] * 3


async def test_text_typed_before_the_end_is_still_sent() -> None:
    typed = lines("one", None, types=True)
    typed.begin_question()
    assert [await typed.next_answer(), await typed.next_prompt(), await typed.next_prompt()] == [
        None,
        "one",
        None,
    ]
