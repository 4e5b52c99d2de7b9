"""Notebooks are readable as cells, and as they are stored."""

import json
from pathlib import Path

import pytest

from agent.records.errors import ToolError
from agent.tools.edit import EditTool
from agent.tools.files.notebook import render
from agent.tools.read import ReadTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import run

PICTURE = "iVBORw0KGgo" * 900


def notebook() -> dict[str, object]:
    return {
        "nbformat": 4,
        "metadata": {"kernelspec": {"display_name": "Python 3"}, "language_info": {"name": "r"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "execution_count": 7,
                "source": "plot(x)\n",
                "outputs": [
                    {
                        "output_type": "stream",
                        "name": "stdout",
                        "text": ["a\n", "\x1b[31mb\x1b[0m"],
                    },
                    {
                        "output_type": "display_data",
                        "data": {"text/plain": "<Figure>", "image/png": PICTURE},
                    },
                    {
                        "output_type": "error",
                        "ename": "ValueError",
                        "evalue": "no",
                        "traceback": ["\x1b[0;31mTraceback", "line 2"],
                    },
                ],
            },
        ],
    }


RENDERED = """\
Notebook, 2 cells, Python 3, r

[cell 1: markdown]
# Title
text

[cell 2: code, run 7]
plot(x)
[stdout]
a
b
[output]
<Figure>
[output: image/png, 9,900 characters, not shown]
[error: ValueError: no]
Traceback
line 2"""


async def test_cells_are_shown_and_the_stored_form_on_request(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook(), indent=1))
    ctx = make_context()
    result = await run(ReadTool(), ctx, file_path="a.ipynb")
    lines = RENDERED.split("\n")
    assert result.output.startswith("\n".join(f"{n}: {line}" for n, line in enumerate(lines, 1)))
    assert "read it with raw set to true" in result.output
    part = await run(ReadTool(), ctx, file_path="a.ipynb", offset=7, limit=2)
    assert part.output.startswith("7: [cell 2: code, run 7]\n8: plot(x)\n")
    stored = await run(ReadTool(), ctx, file_path="a.ipynb", raw=True)
    assert '"source": "plot(x)\\n"' in stored.output
    edited = {"old_string": "plot(x)", "new_string": "plot(y)"}
    await run(EditTool(), ctx, file_path="a.ipynb", **edited)
    assert "plot(y)" in (tmp_path / "a.ipynb").read_text()


def test_long_outputs_are_cut_and_counted() -> None:
    book = notebook()
    printed = {"output_type": "stream", "name": "stdout", "text": "line\n" * 500}
    book["cells"] = [{"cell_type": "code", "source": "x", "outputs": [printed]}]
    text = render(json.dumps(book).encode())
    assert text is not None
    assert text.count("line\n") == 40
    assert text.endswith("… (460 more lines of output)")


def test_the_third_format_is_read_too() -> None:
    cell = {
        "cell_type": "code",
        "prompt_number": 2,
        "input": ["a = 1\n", "a"],
        "outputs": [{"output_type": "pyout", "text": ["1"]}],
    }
    text = render(json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]}).encode())
    assert text == "Notebook, 1 cell\n\n[cell 1: code, run 2]\na = 1\na\n[output]\n1"


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"cells": 3}', b"\xff\xfe", b"[" * 100_000, b'{"a": 1}']
)
async def test_an_invalid_notebook_is_read_as_text(
    make_context: MakeContext, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "a.ipynb").write_bytes(data)
    result = await run(ReadTool(), make_context(), file_path="a.ipynb")
    assert "cells" not in result.output or data == b'{"cells": 3}'


@pytest.mark.parametrize("cell", [3, None, {}, {"source": 4}, {"outputs": [3, {"data": []}]}])
def test_odd_cells_do_no_harm(cell: object) -> None:
    assert render(json.dumps({"cells": [cell]}).encode()) is not None


async def test_an_offset_beyond_the_cells_is_reported(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook()))
    with pytest.raises(ToolError, match="has 17 lines"):
        await run(ReadTool(), make_context(), file_path="a.ipynb", offset=90)
