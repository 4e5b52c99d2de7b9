"""Markdown with YAML frontmatter, repaired where the intention is obvious."""

import time

import pytest

from agent.config.markdown_files import FrontmatterError, parse_document

READ = {
    "none": ("Just text.\n", {}, "Just text."),
    "a rule is no frontmatter": ("Text\n---\na: b\n---\n", {}, "Text\n---\na: b\n---"),
    "never closed": ("---\na: b\n", {}, "---\na: b"),
    "empty": ("---\n---\nbody", {}, "body"),
    "plain": (
        "---\nname: x\nsteps: 5\nhidden: true\nt: 0.5\n---\n\nbody\n",
        {"name": "x", "steps": 5, "hidden": True, "t": 0.5},
        "body",
    ),
    "BOM and CRLF": ("\ufeff---\r\nname: x\r\n---\r\nbody\r\n", {"name": "x"}, "body"),
    "nested": (
        "---\npermission:\n  bash:\n    'git *': allow\ntools: [a, b]\n---\n",
        {"permission": {"bash": {"git *": "allow"}}, "tools": ["a", "b"]},
        "",
    ),
    "blocks": ("---\nd: |\n  one\n  two: x\n---\n", {"d": "one\ntwo: x\n"}, ""),
    "a date": ("---\nd: 2026-07-21\n---\n", {"d": "2026-07-21"}, ""),
    "a colon": ("---\nname: x\ndescription: A: b\n---\n", {"name": "x", "description": "A: b"}, ""),
    "several colons, and types kept": (
        '---\ndescription: Use when: a, b: c\nsteps: 5\nd: "q": z\n---\n',
        {"description": "Use when: a, b: c", "steps": 5, "d": '"q": z'},
        "",
    ),
    "a mention": (
        "---\nd: @file and `x`\ne: *all*\n---\n",
        {"d": "@file and `x`", "e": "*all*"},
        "",
    ),
    "tabs": ("---\na:\n\tb: c\n\td: e: f\n---\n", {"a": {"b": "c", "d": "e: f"}}, ""),
    "a list that is never closed": ("---\na: [b\nc: 5\n---\n", {"a": "[b", "c": 5}, ""),
    "rule in the body": ("---\na: b\n---\nx\n---\ny", {"a": "b"}, "x\n---\ny"),
}


@pytest.mark.parametrize(("text", "fields", "body"), READ.values(), ids=READ)
def test_frontmatter_is_read(text: str, fields: dict, body: str) -> None:
    document = parse_document(text)
    assert dict(document.fields) == fields
    assert document.body == body


@pytest.mark.parametrize(
    "head",
    ["- a\n- b", "just words", "a: b\n  c: d\n e: f", "? [a\n: b", "a: |\nb\n c", "x" * 70_000],
)
def test_unreadable_frontmatter_is_an_error(head: str) -> None:
    with pytest.raises(FrontmatterError):
        parse_document(f"---\n{head}\n---\nbody")


def test_aliases_do_not_expand() -> None:
    rows = [
        "a0: &a0 [x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
    before = time.process_time()
    document = parse_document("---\n" + "\n".join(rows) + "\n---\n")
    assert document.text("a11").startswith("&a11 [*a10")
    assert time.process_time() - before < 20  # a guard against gigabytes, not a benchmark


def test_the_text_of_a_field() -> None:
    document = parse_document("---\na: 5\nb: [x]\nc: true\nd: ' x '\n---\n")
    assert [document.text(name) for name in "abcde"] == ["5", "", "true", "x", ""]
