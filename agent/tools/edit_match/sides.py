"""The three sides of an edit: the file's block, ``old_string`` and ``new_string`` in lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.tools.edit_match.block import Block, Tie
from agent.tools.edit_match.document import Document
from agent.tools.edit_match.keys import indentation


@dataclass(frozen=True)
class Sides:
    """*block* links lines of *old* with lines of the *document*."""

    document: Document
    block: Block
    old: Sequence[str]
    new: Sequence[str]

    @cached_property
    def line_of(self) -> dict[int, int]:
        """The number of the file's line for each line of old that has one."""
        return {
            link.old: link.line
            for link in self.block
            if link.old is not None and link.line is not None
        }

    @cached_property
    def tie_of(self) -> dict[int, Tie]:
        """How those belong together."""
        return {link.old: link.tie for link in self.block if link.old is not None}

    @cached_property
    def first(self) -> int:
        """The first line of the file in the block."""
        return min(self.line_of.values())

    @cached_property
    def stop(self) -> int:
        """The line after the last one in the block."""
        return max(self.line_of.values()) + 1

    @cached_property
    def text_of(self) -> dict[int, str]:
        """The file's text for each line of old that is linked."""
        return {old: self.document.lines[line] for old, line in self.line_of.items()}

    @cached_property
    def indents(self) -> list[tuple[int, str, str]]:
        """Of each filled line that both have: its number in old, the indentation of both."""
        return [
            (old, indentation(self.old[old]), indentation(text))
            for old, text in self.text_of.items()
            if self.tie_of[old] is not Tie.OTHER and self.old[old].strip() and text.strip()
        ]
