"""What the scripted model says: Markdown as models write it, in deltas of five characters."""

from collections.abc import Iterator
from itertools import cycle, islice

SIZE = 5
MARK_EVERY = 20
"""Deltas between two marks: words that the screen is watched for."""

SECTION = """\
## How the shop adds up a bill

Each line of the bill is *checked* first: its number must be known, and its **amount** above
nothing. What fails is put aside with the reason, so that `second_look()` finds it later. The
rest is added up in cents, since fractions of a currency are no business of floating numbers.

- the parser splits the lines
- then every field gets its type
- at last the sum is kept, with the time and the till

```python
def total(lines, rate=19):
    \"\"\"The sum of a bill in cents, with tax.\"\"\"
    cents = 0
    for line in lines:
        if line.amount <= 0:
            continue
        cents += line.amount * line.price
    return cents * (100 + rate) // 100
```

There are two cases to look at: a bill without lines, and one that was cut by a timeout.

"""


def pieces(count: int) -> Iterator[tuple[str, str]]:
    """*count* deltas; each with the mark that it ends with, or an empty string."""
    text = cycle(SECTION)
    since = 0
    for number in range(count):
        piece, mark = "".join(islice(text, SIZE)), ""
        since += 1
        if since >= MARK_EVERY and " " in piece and "\n" not in piece:
            mark = f"mk{number:05}"
            head, _, tail = piece.partition(" ")
            piece = f"{head} {mark} {tail}"
            since = 0
        yield piece, mark
