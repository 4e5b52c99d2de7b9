"""The text of patches."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.records.errors import ToolError
from agent.tools.files.patch_text import AddFile, Chunk, DeleteFile, UpdateFile, parse_patch

PATCH = """\
*** Begin Patch
*** Add File: docs/a b.txt
+one
+
+*** two
*** Update File: src/x.py
*** Move to: src/y.py
@@ class A:
@@ def run(self):
 keep
-old
+new

 end
@@
+last
*** End of File
*** Delete File: z
*** End Patch
"""


def test_all_kinds_of_sections_are_read() -> None:
    assert parse_patch(PATCH) == (
        AddFile("docs/a b.txt", "one\n\n*** two\n"),
        UpdateFile(
            "src/x.py",
            (
                Chunk(
                    ("class A:", "def run(self):"),
                    ((" ", "keep"), ("-", "old"), ("+", "new"), (" ", ""), (" ", "end")),
                    at_end=False,
                    number=8,
                ),
                Chunk((), (("+", "last"),), at_end=True, number=15),
            ),
            "src/y.py",
        ),
        DeleteFile("z"),
    )


@pytest.mark.parametrize(
    "wrap",
    [
        "```\n{}\n```",
        "```diff\n{}```\n",
        "<<'EOF'\n{}EOF\n",
        "apply_patch <<EOF\n{}EOF",
        'cat <<"PATCH"\n{}PATCH\n',
        "\n\n{}\n\n",
    ],
)
def test_wrappers_that_models_put_around_a_patch_are_removed(wrap: str) -> None:
    assert parse_patch(wrap.format(PATCH)) == parse_patch(PATCH)
    assert parse_patch(PATCH.replace("\n", "\r\n")) == parse_patch(PATCH)


@pytest.mark.parametrize("header", ["@@ -1,3 +1,4 @@", "@@ -1 +1 @@", "@@", "@@ @@", "@@  "])
def test_numbers_after_the_signs_are_no_line_of_the_file(header: str) -> None:
    patch = f"*** Begin Patch\n*** Update File: a\n{header}\n-x\n+y\n*** End Patch"
    (section,) = parse_patch(patch)
    assert isinstance(section, UpdateFile)
    assert section.chunks[0].anchors == ()
    (section,) = parse_patch(patch.replace(header, "@@ -1,3 +1,4 @@ def f():"))
    assert isinstance(section, UpdateFile)
    assert section.chunks[0].anchors == ("def f():",)


def test_a_blank_line_between_sections_is_no_line_of_the_file() -> None:
    (first, _) = parse_patch(
        "*** Begin Patch\n*** Update File: a\n x\n-y\n\n\n*** Delete File: b\n\n*** End Patch"
    )
    assert isinstance(first, UpdateFile)
    assert first.chunks[0].old == ("x", "y")


def test_several_patches_in_one_text_are_one() -> None:
    twice = parse_patch(PATCH + "\n" + PATCH)
    assert [section.path for section in twice] == [s.path for s in parse_patch(PATCH)] * 2
    with pytest.raises(ToolError, match="starts with the line"):
        parse_patch(PATCH + "and then some")


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("", "starts with the line '*** Begin Patch'"),
        ("diff --git a b", "starts with the line '*** Begin Patch'"),
        ("*** Begin Patch\n*** End Patch", "is empty"),
        ("*** Begin Patch\n*** Add File: a\n+x", "may have been cut off"),
        ("*** Begin Patch\n*** Update File: a\n-x\n+y", "may have been cut off"),
        ("*** Begin Patch\n*** Frobnicate File: a\n*** End Patch", "Line 2 of the patch"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "starts with '+'"),
        ("*** Begin Patch\n*** Add File:\n+x\n*** End Patch", "names no file"),
        ("*** Begin Patch\n*** Update File: a\nx\n*** End Patch", "Line 3 of the patch: 'x'"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch", "has no lines"),
    ],
)
def test_a_broken_patch_is_refused_with_its_line(patch: str, words: str) -> None:
    with pytest.raises(ToolError) as raised:
        parse_patch(patch)
    assert words in str(raised.value)


@given(st.lists(st.sampled_from(PATCH.splitlines()), max_size=12))
def test_any_input_is_read_or_refused(lines: list[str]) -> None:
    with contextlib.suppress(ToolError):
        assert parse_patch("\n".join(["*** Begin Patch", *lines, "*** End Patch"]))
