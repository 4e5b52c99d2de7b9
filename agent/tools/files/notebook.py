"""Jupyter notebooks as text: cells with their sources and outputs."""

import json
from collections.abc import Iterator
from typing import cast

from agent.process import strip_terminal_codes
from agent.records.json import Json, JsonObject

OUTPUT_LINES = 40
OUTPUT_CHARS = 4_000
"""The limits of one output; images are only named."""


def is_notebook(path: str) -> bool:
    return path.lower().endswith(".ipynb")


def render(data: bytes) -> str | None:
    """Return the notebook in *data* as text, None if it cannot be read."""
    try:
        notebook: Json = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        cells = _worksheet_cells(notebook)
    if cells is None:
        return None
    pieces = [_head(notebook, len(cells))]
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict):
            pieces.append("\n".join(_cell(number, cell)))
    return "\n\n".join(pieces)


def _worksheet_cells(notebook: JsonObject) -> list[Json] | None:
    """Return the cells of format 3, which has them in worksheets."""
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    cells: list[Json] = []
    for sheet in sheets:
        if isinstance(sheet, dict) and isinstance(found := sheet.get("cells"), list):
            cells += found
    return cells


def _head(notebook: JsonObject, count: int) -> str:
    metadata = _object(notebook.get("metadata"))
    kernel = _object(metadata.get("kernelspec")).get("display_name")
    language = _object(metadata.get("language_info")).get("name")
    facts = [word for word in (kernel, language) if isinstance(word, str) and word]
    cells = f"{count} {'cell' if count == 1 else 'cells'}"
    return f"Notebook, {', '.join([cells, *dict.fromkeys(facts)])}"


def _cell(number: int, cell: JsonObject) -> Iterator[str]:
    kind = cell.get("cell_type")
    run = cell.get("execution_count", cell.get("prompt_number"))
    ran = f", run {run}" if isinstance(run, int) else ""
    yield f"[cell {number}: {kind}{ran}]"
    yield _text(cell.get("source", cell.get("input"))).rstrip("\n")
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield from _output(output)


def _output(output: JsonObject) -> Iterator[str]:
    kind = output.get("output_type")
    if kind in {"error", "pyerr"}:
        yield f"[error: {output.get('ename')}: {output.get('evalue')}]"
        yield _shorten_output("\n".join(_strings(output.get("traceback"))))
        return
    if kind == "stream":
        yield f"[{output.get('name', output.get('stream', 'output'))}]"
        yield _shorten_output(_text(output.get("text")))
        return
    data = _object(output.get("data")) or output
    text = data.get("text/plain", data.get("text"))
    if text is not None:
        yield "[output]"
        yield _shorten_output(_text(text))
    for mime, value in data.items():
        if "/" in mime and mime != "text/plain":
            yield f"[output: {mime}, {len(_text(value)):,} characters, not shown]"


def _shorten_output(text: str) -> str:
    lines = strip_terminal_codes(text).rstrip("\n").split("\n")
    shown: list[str] = []
    room = OUTPUT_CHARS
    for line in lines[:OUTPUT_LINES]:
        if len(line) > room:
            break
        shown.append(line)
        room -= len(line) + 1
    left = len(lines) - len(shown)
    if left:
        shown.append(f"… ({left:,} more {'line' if left == 1 else 'lines'} of output)")
    return "\n".join(shown)


def _text(value: Json) -> str:
    """Return a text of a notebook, which is a string or a list of pieces."""
    return value if isinstance(value, str) else "".join(_strings(value))


def _strings(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _object(value: Json) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}
