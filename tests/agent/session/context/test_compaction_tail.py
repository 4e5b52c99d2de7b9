"""The messages that a compaction keeps as they are."""

import pytest

from agent.records.messages import AssistantMessage, MessageWithParts, TextPart, UserMessage
from agent.session.context.budget import Budget
from agent.session.context.compaction_markers import tail_start


def history(shape: str) -> list[MessageWithParts]:
    """Return a history from letters: ``u`` is a request, ``a`` a step that answers it."""
    made: list[MessageWithParts] = []
    for number, letter in enumerate(shape):
        name = f"msg_{number:03}"
        if letter == "u":
            message = UserMessage(
                id=name, session_id="s", created=0, agent="build", model="m/m", turn_id="t"
            )
        else:
            message = AssistantMessage(
                id=name, session_id="s", created=0, parent_id="p", turn_id="t", step=number,
                agent="build", model="m/m", completed=1.0, finish="stop",
            )  # fmt: skip
        text = TextPart(
            id=f"prt_{number}", session_id="s", message_id=name, text="words", ended=1.0
        )
        made.append(MessageWithParts(message, (text,)))
    return made


@pytest.mark.parametrize(
    ("shape", "most", "begins"),
    [
        ("uauaua", 4, 2),  # two whole turns of two messages fit
        ("uauaua", 5, 2),  # a turn is not begun in its middle
        ("uaaaaa", 3, 3),  # the newest turn alone is too long: cut at a step
        ("uauaua", 0, 4),  # at least two messages
        ("uauau", 1, 3),  # the unanswered request stays, and one more
        ("uaua", 100, 2),  # all would fit, but something has to go
    ],
)
def test_the_tail_has_whole_turns_and_at_least_two_messages(
    shape: str, most: int, begins: int
) -> None:
    assert tail_start(history(shape), most, lambda _: 1.0) == begins


@pytest.mark.parametrize(
    ("usable", "tail"), [(4_000, 2_000), (8_000, 2_000), (20_000, 5_000), (200_000, 8_000)]
)
def test_the_tail_takes_a_quarter_of_the_window_between_2000_and_8000_tokens(
    usable: int, tail: int
) -> None:
    assert Budget(usable + 1_000, 1_000).tail_tokens == tail
