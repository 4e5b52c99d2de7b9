"""What a permission is about, whole: the command as it would run, the diff as it would be."""

from collections.abc import Iterator

from textual.content import Content

from agent.display import (
    Block,
    CodeBlock,
    DiffBlock,
    ImageBlock,
    ListingBlock,
    ShellBlock,
    SubtaskBlock,
    TableBlock,
    TextBlock,
    TodoBlock,
)
from app.clean import clean

SIGNS = {"add": ("+", "$tone-ok"), "remove": ("−", "$tone-err"), "context": (" ", "$tone-muted")}


def subject(blocks: tuple[Block, ...]) -> Content:
    """All *blocks* under each other, nothing cut and nothing read as markup."""
    return Content("\n\n").join([Content("\n").join(list(_lines(block))) for block in blocks])


def _lines(block: Block) -> Iterator[Content]:
    match block:
        case ShellBlock():
            yield Content(clean(block.command))
        case DiffBlock():
            yield from _diff(block)
        case CodeBlock():
            yield Content.styled(clean(block.path), "bold")
            yield Content(clean(block.text))
        case ListingBlock():
            yield from (Content(clean(item)) for item in block.items)
            if block.total > len(block.items):
                yield Content.styled(f"and {block.total - len(block.items)} more", "$tone-muted")
        case TodoBlock():
            for item in block.items:
                yield Content(f"{'x' if item.status == 'completed' else ' '} {clean(item.content)}")
        case TableBlock():
            for row in (block.columns, *block.rows):
                yield Content("  ".join(clean(cell) for cell in row))
        case ImageBlock():
            yield Content(f"{clean(block.path)}  {clean(block.mime)}")
        case SubtaskBlock():
            yield Content.styled(clean(block.agent), "bold")
            yield Content(clean(block.prompt))
        case TextBlock():
            yield Content(clean(block.text))


def _diff(block: DiffBlock) -> Iterator[Content]:
    moved = f"{clean(block.moved_from)} → " if block.moved_from else ""
    what = {"modify": "", "create": "  new file", "delete": "  deleted", "move": "  moved"}
    yield Content.assemble(
        (f"{moved}{clean(block.path)}", "bold"),
        (f"{what[block.change]}  +{block.added} −{block.removed}", "$tone-muted"),
    )
    for number, hunk in enumerate(block.hunks):
        if number:
            yield Content.styled("   ⋯", "$tone-muted")
        for line in hunk.lines:
            sign, tone = SIGNS[line.kind]
            shown = line.new if line.new is not None else line.old
            yield Content.assemble(
                (f"{shown or '':>5} ", "$tone-muted"),
                (f"{sign} {clean(line.text)}", "" if line.kind == "context" else tone),
            )
    if block.omitted:
        yield Content.styled(f"{block.omitted} more lines are not shown here", "$tone-warn")
