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
