"""A title is one clean, short line."""

import pytest

from agent.session.prompt.user_message import MAX_TITLE, title_of


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Fix the import", "Fix the import"),
        ("# Fix\n\nthe `import`\tof *x*", "Fix the import of x"),
        ("", "New session"),
        ("\x1b[31mred", "[31mred"),
        ("a [/] b", "a [/] b"),
    ],
)
def test_titles(prompt: str, title: str) -> None:
    assert title_of(prompt) == title


def test_long_prompts_are_cut_at_a_word() -> None:
    title = title_of("word " * 100)
    assert len(title) <= MAX_TITLE
    assert title.endswith("word…")


def test_one_endless_word_is_cut_hard() -> None:
    assert len(title_of("x" * 500)) == MAX_TITLE
