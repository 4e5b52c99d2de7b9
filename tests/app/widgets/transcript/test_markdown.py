"""Markdown as lines: appended to, and within any width."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from app.theme.themes import DARK_PALETTE
from app.widgets.transcript.highlight import _LOADERS, has_grammar
from app.widgets.transcript.lines import Line, Page, segments
from app.widgets.transcript.markdown import MarkdownView

WIDE_TABLE = (
    "| name | 説明 | code | link |\n|:--|:-:|--:|---|\n"
    "| "
    + "word " * 24
    + "| 表の幅を測る | `a\\|b` | https://x.org/"
    + "p" * 280
    + " |\n| b | 短い | `c` | d |\n"
)

SAMPLE = f"""# Heading

A paragraph with **bold**, *italic*, ~~gone~~, `code` and [a link](https://example.org/x).
A second line.

- one
- two
  - nested 表
  - [x] done
  1. deep

3. third
4. fourth

   with a paragraph

> quoted
> - list in it

```python
def f(x):
    return "x" * {"9" * 200}
```

{WIDE_TABLE}
---

Setext
======

    indented code

The end ![picture](https://example.org/p.png) <b>not html</b>
"""


def page(width: int) -> Page:
    return Page(width, DARK_PALETTE)


def render(source: str, width: int = 80) -> list[Line]:
    view = MarkdownView(page(width))
    view.update(source, final=True)
    return view.lines


def texts(source: str, width: int = 80) -> list[str]:
    return [line.strip.text.rstrip() for line in render(source, width)]


def copied(lines: list[Line]) -> str:
    pieces: list[str] = []
    for line in lines:
        if pieces:
            pieces.append(line.join)
        pieces.append(line.copied)
    return "".join(pieces)


@pytest.mark.parametrize("width", [1, 3, 8, 12, 20, 26, 40, 80, 140])
def test_no_line_exceeds_the_page(width: int) -> None:
    """At every width, with CJK cells, long addresses and deep lists."""
    limit = page(width).right
    for line in render(SAMPLE, width):
        if width >= 12:
            assert line.strip.cell_length <= limit
        assert line.strip.cell_length == cell_len(line.strip.text)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_every_cell_of_a_wide_table_can_be_read(width: int) -> None:
    shown = "".join("".join(texts(WIDE_TABLE, width)).split())
    for letters in ("p" * 3, "短い", "a|b", "word"):
        assert letters in shown
    assert sum(shown.count(letter) for letter in "p") >= 280


def test_table_columns_are_aligned_in_cells() -> None:
    rows = texts("| a | b |\n|---|--:|\n| 表の幅 | 1 |\n| x | 22 |\n")
    assert rows == ["  a        b", "  ──────────", "  表の幅   1", "  x       22"]


def test_very_narrow_table_becomes_records() -> None:
    source = "| a | b | c | d |\n|-|-|-|-|\n| one one | two two | three three | four four |\n"
    rows = [row.strip() for row in texts(source, 20)]
    assert rows == ["a: one one", "b: two two", "c: three three", "d: four four"]


def test_how_blocks_are_drawn() -> None:
    assert texts("# T\n\ntext\n\n- a\n  - b\n- c\n\n1. x\n2. y\n\n> q\n\n```\ncode\n```\n") == [
        "  T",
        "",
        "  text",
        "",
        "  • a",
        "    ◦ b",
        "  • c",
        "",
        "  1. x",
        "  2. y",
        "",
        "  ▎ q",
        "",
        "   code",
    ]


def test_task_list_has_boxes() -> None:
    assert texts("- [ ] open\n- [x] done\n") == ["  ☐ open", "  ☑ done"]


def test_line_feeds_of_the_model_are_kept() -> None:
    assert texts("one\ntwo") == ["  one", "  two"]


def test_links_show_their_target_and_pictures_and_html_are_text() -> None:
    """There is no hidden target, no image, no HTML."""
    assert texts("[here](https://evil.example/x) <https://a.b> ![p](http://c/d) <b>x</b>") == [
        "  here (https://evil.example/x) https://a.b p (http://c/d) <b>x</b>"
    ]


def test_markup_is_literal() -> None:
    assert texts("[/] [bold [red]x[/blue] [[/doc]]") == ["  [/] [bold [red]x[/blue] [[/doc]]"]


@pytest.mark.parametrize(
    "source", ["a\x1b[2Jb", "a&#x1b;b", "`a\x1bb`", "```\na\x1b]52;c;x\x07\n```"]
)
def test_nothing_that_controls_the_terminal_gets_through(source: str) -> None:
    assert "\x1b" not in "".join(texts(source))


def test_entities_cannot_bring_in_hidden_characters() -> None:
    assert texts("a&#x202e;b") == ["  a\\u{202e}b"]


def test_text_is_at_most_110_columns_wide_but_code_can_be_wider() -> None:
    assert max(len(row) for row in texts("word " * 80, 200)) <= 112
    assert len(texts("```\n" + "x" * 150 + "\n```", 200)[0]) == 153


def test_copied_code_equals_the_source() -> None:
    """Also for a line that was folded, and without the margins."""
    code = "def f():\n    return '" + "x" * 500 + "'"
    assert copied(render(f"```python\n{code}\n```", 40)) == code


def test_copied_paragraph_has_no_line_feeds_of_the_screen() -> None:
    text = "The reader yields nothing for an empty file, so the header is never bound at all."
    assert copied(render(text, 30)) == text


def test_code_is_highlighted() -> None:
    code, plain = render("```python\nreturn 1\n```")[0], render("```\nreturn 1\n```")[0]
    assert len({s.style for s in code.strip}) > len({s.style for s in plain.strip})


@settings(max_examples=60)
@given(cuts=st.lists(st.integers(0, len(SAMPLE)), max_size=40), width=st.sampled_from([30, 90]))
def test_text_in_pieces_gives_the_same_lines_as_at_once(cuts: list[int], width: int) -> None:
    """The result does not depend on how the text arrived."""
    view = MarkdownView(page(width))
    for cut in sorted(cuts):
        view.update(SAMPLE[:cut], final=False)
    view.update(SAMPLE, final=True)
    assert [line.strip for line in view.lines] == [line.strip for line in render(SAMPLE, width)]


PIECES = ["a", "1", ". ", "- ", "\n", "\n\n", "    ", "> ", "```", "|", "-|-", "# ", "=", "*", "["]


@settings(max_examples=300)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_text_in_pieces_gives_the_same_lines(pieces: list[str]) -> None:
    view = MarkdownView(page(40))
    text = ""
    for piece in pieces:
        text += piece
        view.update(text, final=False)
    view.update(text, final=True)
    assert [line.strip for line in view.lines] == [line.strip for line in render(text, 40)]


@settings(max_examples=40)
@given(
    cuts=st.lists(st.integers(0, 2600), max_size=30),
    fence=st.sampled_from(["```python\n", "~~~~\n", "````py\n"]),
    rest=st.sampled_from(["", "~~~~\n", "````\n\nafter\n\n- a", "```\nmore `x`", "\r\n"]),
)
def test_long_code_in_pieces_gives_the_same_lines(cuts: list[int], fence: str, rest: str) -> None:
    body = "".join(f'x = """{n}\n' if n % 50 == 7 else f"line {n}\n" for n in range(220))
    text = f"before\n\n{fence}{body}{rest}"
    view = MarkdownView(page(60))
    for cut in sorted(cuts):
        view.update(text[:cut], final=False)
        assert [row.strip.text for row in view.lines][:1] != [""]
    view.update(text, final=True)
    assert [line.strip for line in view.lines] == [line.strip for line in render(text, 60)]


def test_first_lines_of_long_open_code_are_frozen() -> None:
    """The cost of a frame does not grow with the code block."""
    view = MarkdownView(page(60))
    body = "\n".join(f"line {n}" for n in range(500))
    view.update(f"```python\n{body}", final=False)
    shown = [line.strip.text.strip() for line in view.lines]
    assert shown == [f"line {n}" for n in range(500)]
    held = list(view.lines)
    first = view.update(f"```python\n{body} and", final=False)
    assert first > 400
    assert all(a is b for a, b in zip(held[:first], view.lines, strict=False))


LONG_BLOCKS = {
    "list": "".join(f"- point {n} with *words*\n" for n in range(300)),
    "spaced list": "".join(f"- point {n}\n\n" for n in range(150)),
    "nested list": "".join(f"{n}. point\n   - below\n     more\n" for n in range(1, 100)),
    "table": "| n | words |\n|--:|---|\n"
    + "".join(f"| {n} | {'w' * (n % 9)} |\n" for n in range(260)),
    "paragraph": "".join(f"line {n} of *it*\n1{n}. and\n" for n in range(150)),
    "heading": "".join(f"line {n}\n" for n in range(150)) + "===\n",
}


@settings(max_examples=60)
@given(
    kind=st.sampled_from(sorted(LONG_BLOCKS)),
    cuts=st.lists(st.integers(0, 8000), max_size=30),
    rest=st.sampled_from(["", "\nafter\n", "```\ncode\n", "  lazy\n\n# head\n", "\n[a]: b\n"]),
)
def test_a_long_block_in_pieces_gives_the_same_lines(kind: str, cuts: list[int], rest: str) -> None:
    text = f"before\n\n{LONG_BLOCKS[kind]}{rest}"
    view = MarkdownView(page(60))
    for cut in sorted(cuts):
        view.update(text[:cut], final=False)
    view.update(text, final=True)
    assert [line.strip for line in view.lines] == [line.strip for line in render(text, 60)]


@pytest.mark.parametrize("kind", ["list", "nested list", "table", "paragraph"])
def test_first_lines_of_a_long_open_block_are_frozen(kind: str) -> None:
    """The cost of a frame does not grow with the block, whose last lines are all drawn again."""
    view = MarkdownView(page(60))
    view.update(LONG_BLOCKS[kind], final=False)
    first = view.update(f"{LONG_BLOCKS[kind]}more", final=False)
    assert 0 < len(view.lines) - first < 250
    assert first > 40


def test_pieces_of_a_long_list_are_joined_without_a_gap() -> None:
    shown = [line.strip.text.strip() for line in render(LONG_BLOCKS["list"], 60)]
    assert shown == [f"• point {n} with words" for n in range(300)]
    spaced = [line.strip.text.strip() for line in render(LONG_BLOCKS["spaced list"], 60)]
    assert spaced[::2] == [f"• point {n}" for n in range(150)]
    assert not any(spaced[1::2])


def test_finished_paragraphs_are_frozen() -> None:
    """Only the last block is laid out again."""
    view = MarkdownView(page(80))
    view.update("one\n\ntwo\n\nthree", final=False)
    view.update("one\n\ntwo\n\nthree\n\nfour", final=False)
    held = list(view.lines)
    first = view.update("one\n\ntwo\n\nthree\n\nfour and more", final=False)
    assert first == 6
    assert all(a is b for a, b in zip(held[:first], view.lines, strict=False))


def test_an_ambiguous_last_line_is_held_back() -> None:
    """No flicker: a dash after a paragraph is not shown as a heading for a moment."""
    view = MarkdownView(page(80))
    for last in ("-", "--", "```", "==", "1.", "|"):
        view.update(f"para\n{last}", final=False)
        assert [line.strip.text for line in view.lines] == ["  para"]


def test_a_late_link_definition_is_used_once_the_text_is_complete() -> None:
    view = MarkdownView(page(80))
    view.update("[x][y]\n\nmore\n\n", final=False)
    view.update("[x][y]\n\nmore\n\n[y]: https://a.b\n", final=True)
    assert view.lines[0].strip.text == "  x (https://a.b)"


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=5), st.booleans())
def test_segments_are_those_of_rich(spans: list[tuple[int, int]], links: bool) -> None:
    text = Text("twelve chars", style=Style(color="red"))
    for number, (start, length) in enumerate(spans):
        text.stylize(Style(bold=number % 2 == 0, italic=number > 2), start, start + length)
    if links:
        text.stylize("bold", 3, 5)
    rendered = text.render(Console(), end="")
    wanted = [(part.text, part.style or text.style) for part in rendered if part.text]
    assert [(part.text, part.style) for part in segments(text)] == wanted


def test_open_code_is_colored_once_its_grammar_is_loaded() -> None:
    """A thread loads it; until then the text goes on without colors."""
    view, whole = MarkdownView(page(80)), MarkdownView(page(80))
    text = "see\n\n```zig\nconst a = 1;\nconst b = 2;\n"
    view.update(text, final=False)
    assert [line.strip.text.strip() for line in view.lines][2:] == ["const a = 1;", "const b = 2;"]
    _LOADERS["zig"].join()
    more = text + "const c = 3;\n"
    assert view.update(more, final=False) <= 4
    whole.update(more, final=False)
    assert view.lines == whole.lines
    assert len({segment.style for segment in view.lines[2].strip}) > 2


def test_complete_code_has_its_colors_at_once() -> None:
    view = MarkdownView(page(80))
    view.update("```nim\nlet a = 1\n", final=False)
    view.update("```nim\nlet a = 1\n```\n\nend", final=True)
    assert len({segment.style for segment in view.lines[0].strip}) > 2


def test_code_that_ends_is_drawn_again_in_slices() -> None:
    """The colors of lines that were frozen in pieces can depend on earlier ones."""
    body = "".join(f'text = """{n}\n' if n == 3 else f"line {n}\n" for n in range(100))
    text = f"before\n\n```python\n{body}```\n\nafter\n\n- a"
    view, whole = MarkdownView(page(60)), MarkdownView(page(60))
    has_grammar("python")
    _LOADERS["python"].join()
    for end in range(0, len(text) + 200, 200):
        view.update(text[:end], final=False)
    whole.update(text, final=False)
    slices = 0
    while view.unfinished:
        changed = view.update(text, final=False)
        slices += 1
        assert changed <= len(view.lines)
    assert slices > 3
    assert [line.strip for line in view.lines] == [line.strip for line in whole.lines]
