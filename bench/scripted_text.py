"""The text of the scripted model: Markdown as models write it, in deltas of five characters."""

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

RICH = SECTION + (
    """\
### What each till took

| till | place | bills | taken | remarks |
| --- | :---: | ---: | ---: | --- |
"""
    + "".join(
        f"| {n} | hall {n % 3} | {n * 37} | {n * 411}.20 | *counted* twice, `ok` |\n"
        for n in range(12)
    )
    + """
1. first the **night** shift
   - with its own drawer
     - and a key that [is kept](https://example.org/keys/of/the/night) elsewhere
   - and a second one
2. then the day

> What was not counted by noon is counted by the one who comes next.

这一天的账目在晚上核对,每一笔都要写清楚。金额以分为单位保存,不使用浮点数。店员在交班时签字。

```sql
"""
    + "".join(f"SELECT till, sum(amount) AS taken FROM bill WHERE day = {n};\n" for n in range(60))
    + "```\n\n"
)


def pieces(count: int, section: str = SECTION) -> Iterator[tuple[str, str]]:
    """Return *count* deltas, each with the mark that it ends with, or an empty string."""
    text = cycle(section)
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
