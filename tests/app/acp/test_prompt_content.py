"""The text of a prompt whose mentions editors send inside the text or after it."""

from pathlib import Path

import pytest
from acp.schema import ResourceContentBlock, TextContentBlock

from app.acp.prompt_content import prompt_of


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("explain @", ""), "explain @calc.py"),
        (("explain@", ""), "explain @calc.py"),
        (("(@", ")"), "(@calc.py)"),
        (("explain @", ", then test"), "explain @calc.py, then test"),
        (("explain @", "and test"), "explain @calc.py and test"),
        (("@", "@"), "@calc.py @calc.py"),
    ],
)
def test_a_mention_does_not_run_into_a_word(
    tmp_path: Path, words: tuple[str, str], expected: str
) -> None:
    """Each @ is the mention of a file."""
    file = tmp_path / "calc.py"
    file.touch()
    link = ResourceContentBlock(type="resource_link", name="calc.py", uri=file.as_uri())
    blocks: list[TextContentBlock | ResourceContentBlock] = []
    for part in words:
        before, at, after = part.partition("@")
        for text in (before, after):
            if text:
                blocks.append(TextContentBlock(type="text", text=text))
            if at and text is before:
                blocks.append(link)
                at = ""
    prompt = prompt_of(blocks, tmp_path)
    assert prompt.text == expected
    assert [mention.path for mention in prompt.mentions] == ["calc.py"]
