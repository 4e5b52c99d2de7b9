"""Sample diffs of permission requests."""

from agent.records.blocks import DiffBlock, DiffLine, Hunk


def three_changes() -> DiffBlock:
    hunks = tuple(
        Hunk(
            n,
            (
                DiffLine("context", 10 * n + 1, 10 * n + 1, "def part():"),
                DiffLine("remove", 10 * n + 2, None, f"    return old_{n}"),
                DiffLine("add", None, 10 * n + 2, f"    return new_{n}"),
            ),
        )
        for n in range(3)
    )
    return DiffBlock("src/parts.py", hunks, 3, 3)


def price_changes() -> DiffBlock:
    """Return the change that the pictures show: amounts in cents instead of floats."""
    changes = (
        (12, "def total(items: Sequence[Item]) -> int:",
         "    return sum(item.price * item.count for item in items)",
         "    return sum(item.cents * item.count for item in items)"),
        (27, "def discount(cents: int, percent: int) -> int:",
         "    return cents * (1 - percent / 100)",
         "    return cents * (100 - percent) // 100"),
        (41, "def shown(cents: int) -> str:",
         '    return f"${cents:.2f}"',
         '    return f"${cents // 100}.{cents % 100:02}"'),
    )  # fmt: skip
    hunks = tuple(
        Hunk(
            number,
            (
                DiffLine("context", first, first, head),
                DiffLine("remove", first + 1, None, old),
                DiffLine("add", None, first + 1, new),
            ),
        )
        for number, (first, head, old, new) in enumerate(changes)
    )
    return DiffBlock("src/shop/prices.py", hunks, 3, 3)
