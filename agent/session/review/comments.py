"""Comments on lines of a diff: written into one message, and read from it again with the replies.

The message is ordinary text, so every front end shows it, every export has it, and the model reads
what the user reads.
"""

import re
from collections.abc import Sequence
from itertools import takewhile

from agent.records.review_comment import ReviewComment

MAX_QUOTED = 12
"""Lines of a comment's range that are quoted; of a longer range the first ones."""

_INTRODUCTION = re.compile(
    r"Please address (?:this review comment|these \d+ review comments) on (?P<title>.+)\. "
    r"Begin your final response with "
)
_PLACE = re.compile(r"(?<=\n\n)(\d+)\. (.+):(\d+)(?:-(\d+))?( \(removed\))?$", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*(?:[-*#]+ )?\**(?:Comment )?(\d+)[.):]", re.MULTILINE)


def comments_message(title: str, comments: Sequence[ReviewComment]) -> str:
    """Return the message that sends *comments* on *title* to the agent."""
    several = (
        f"these {len(comments)} review comments" if len(comments) > 1 else "this review comment"
    )
    introduction = (
        f"Please address {several} on {title}. Begin your final response with one line for each, "
        "starting with its number: what you did, or the answer."
    )
    return "\n\n".join(
        [introduction, *(_entry(number, each) for number, each in enumerate(comments, 1))]
    )


def _entry(number: int, comment: ReviewComment) -> str:
    head = f"{number}. {comment.place}"
    quoted = [f"> {line}".rstrip() for line in comment.quoted[:MAX_QUOTED]]
    if len(comment.quoted) > MAX_QUOTED:
        quoted.append("> …")
    return "\n".join([head, *quoted, comment.text])


def comments_in(message: str) -> tuple[ReviewComment, ...]:
    """Return the comments of a message that ``comments_message`` made, none for another one."""
    if _INTRODUCTION.match(message) is None:
        return ()
    places: list[re.Match[str]] = []
    for place in _PLACE.finditer(message):
        # A comment can contain what looks like the place of another, but not with its number.
        if int(place[1]) == len(places) + 1:
            places.append(place)
    ends = [place.start() for place in places[1:]] + [len(message)]
    return tuple(
        _parse(place, message[place.end() : end]) for place, end in zip(places, ends, strict=True)
    )


def _parse(place: re.Match[str], body: str) -> ReviewComment:
    lines = body.strip("\n").split("\n")
    quoted = list(takewhile(lambda line: line.startswith(">"), lines))
    return ReviewComment(
        path=place[2],
        first=int(place[3]),
        last=int(place[4] or place[3]),
        quoted=tuple(line[2:] for line in quoted),
        text="\n".join(lines[len(quoted) :]),
        removed=bool(place[5]),
    )


def replies_in(response: str, number_of_comments: int) -> dict[int, str]:
    """Return the agent's reply by the number of its comment, from its final response."""
    answers = list(_ANSWER.finditer(response))
    ends = [*(answer.start() for answer in answers[1:]), len(response)]
    found: dict[int, str] = {}
    for answer, end in zip(answers, ends, strict=False):
        number = int(answer[1])
        if 1 <= number <= number_of_comments:
            text = response[answer.end() : end].partition("\n\n")[0]
            found.setdefault(number, text.strip().removeprefix("**").strip())
    return found
