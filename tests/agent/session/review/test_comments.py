"""Comments on lines, written into a message and read again."""

from hypothesis import given
from hypothesis import strategies as st

from agent.session.review.comments import (
    MAX_QUOTED,
    ReviewComment,
    comments_in,
    comments_message,
    replies_in,
)

TWO = (
    ReviewComment("src/a b.py", 3, 3, ("def f():",), "Rename this."),
    ReviewComment("src/c.py", 7, 9, ("x", "", "> y"), "Why?", removed=True),
)


def test_the_message_has_places_quotes_and_texts() -> None:
    assert comments_message("the working tree", TWO) == (
        "Please address these 2 review comments on the working tree. Begin your final response "
        "with one line for each, starting with its number: what you did, or the answer.\n\n"
        "1. src/a b.py:3\n> def f():\nRename this.\n\n"
        "2. src/c.py:7-9 (removed)\n> x\n>\n> > y\nWhy?"
    )


def test_comments_are_read_again() -> None:
    assert comments_in(comments_message("pull request 3", TWO)) == TWO


def test_a_long_range_is_quoted_in_part() -> None:
    lines = tuple(f"line {n}" for n in range(40))
    (read,) = comments_in(comments_message("x", (ReviewComment("a", 1, 40, lines, "Long"),)))
    assert (read.first, read.last, read.text) == (1, 40, "Long")
    assert read.quoted == (*lines[:MAX_QUOTED], "…")


def test_other_messages_have_none() -> None:
    assert comments_in("1. a.py:3\n> x\ny") == ()


def test_a_comment_may_look_like_another_place() -> None:
    odd = ReviewComment("a.py", 1, 1, (), "See\n\n7. b.py:3\nfor more")
    assert comments_in(comments_message("x", (odd, TWO[0])))[1:] == TWO[:1]


_WORDS = st.text("abc :.-()12", min_size=1).map(str.strip).filter(bool)


@given(st.lists(st.tuples(_WORDS, st.integers(1, 99), st.integers(0, 5), _WORDS), min_size=1))
def test_round_trip(given_: list[tuple[str, int, int, str]]) -> None:
    comments = tuple(
        ReviewComment(path, first, first + more, ("a",) * (more + 1), text)
        for path, first, more, text in given_
    )
    assert comments_in(comments_message("the working tree", comments)) == comments


def test_replies_by_number() -> None:
    response = "1. Renamed it.\n**2.** Because *of* this:\n- more\n\nAll tests pass. 3. no"
    assert replies_in(response, 2) == {1: "Renamed it.", 2: "Because *of* this:\n- more"}
    assert replies_in("Done.", 2) == {}
    assert replies_in("- Comment 1: fixed\n9. other", 1) == {1: "fixed"}
