"""Exports a session to a file, as HTML for example; the form depends on the file's name."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from agent.records.amounts import money
from agent.records.blocks import Block, DiffBlock, ShellBlock, SubtaskBlock, TodoBlock
from agent.records.decisions import explain_decision
from agent.records.errors import NothingToDo
from agent.records.labels import label_of
from agent.records.messages import Completed, Failed, Pending, Session, ToolPart
from agent.session.review.timeline import (
    TimelineTurn,
    is_failed,
    synthetic_line,
    timeline,
    user_text,
)
from agent.store.store import Store
from agent.transfer.bundle import (
    Bundle,
    collect_bundle,
    date_time,
    full_output,
    shell_text,
    to_json,
    turn_entries,
    without_secrets,
)

if TYPE_CHECKING:
    from markupsafe import Markup

ExportForm = Literal["json", "md", "html"]
FORMS: tuple[ExportForm, ...] = get_args(ExportForm)


def export_text(bundle: Bundle, form: ExportForm) -> str:
    """Return *bundle* as the text of a file."""
    match form:
        case "json":
            return json.dumps(to_json(bundle), ensure_ascii=False, indent=1) + "\n"
        case "md":
            from agent.transfer.markdown import as_markdown  # for this form only

            return as_markdown(bundle)
        case "html":
            return as_html(bundle)


def export_form(name: str) -> ExportForm:
    """Return the form for a file name. Raises ``NothingToDo`` for another extension."""
    ending = Path(name).suffix.lower().removeprefix(".")
    for form in FORMS:
        if ending in {form, {"md": "markdown", "html": "htm"}.get(form, "")}:
            return form
    raise NothingToDo("The name of an export ends in .html, .md or .json.")


def default_name(session: Session, form: ExportForm) -> str:
    """Return a file name made of the title."""
    slug = re.sub(r"[^\w]+", "-", session.title.lower()).strip("-")[:50].strip("-")
    return f"{slug or session.id}.{form}"


async def export(
    store: Store,
    session_id: str,
    path: Path,
    *,
    secrets: Sequence[str] = (),
) -> int:
    """Write a session without secrets to *path*, in the form that its name asks for; return the
    bytes.

    Raises ``SessionNotFound``, and ``NothingToDo`` when the file exists or cannot be written.
    """
    form = export_form(path.name)
    bundle = await collect_bundle(store, session_id)

    def work() -> int:
        return write_bundle(without_secrets(bundle, secrets), path, form)

    return await asyncio.to_thread(work)


def write_bundle(
    bundle: Bundle, path: Path, form: ExportForm | None = None, *, overwrite: bool = False
) -> int:
    """Write *bundle* to *path*, in *form* or the one for its name; return the bytes.

    Raises ``NothingToDo`` as ``export`` does.
    """
    return write_text(
        export_text(bundle, form or export_form(path.name)), path, overwrite=overwrite
    )


def write_text(text: str, path: Path, *, overwrite: bool = False) -> int:
    """Write *text* to *path* and return the bytes. Raises ``NothingToDo`` as ``export`` does."""
    data = text.encode("utf-8", "replace")
    try:
        with path.open("wb" if overwrite else "xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise NothingToDo(f"{path} already exists. Choose another name.") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NothingToDo(f"{path} cannot be written: {reason}.") from error
    return len(data)


# A session as one HTML file without scripts, fonts or links to other files.
#
# ``export.html.jinja`` escapes all text, Markdown is rendered without raw HTML, and a content
# security policy forbids whatever a browser could load.

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def as_html(bundle: Bundle) -> str:
    """Return the page."""
    from markupsafe import Markup  # as in _macros

    style = Markup(_text("export.css"))  # noqa: S704 - our own file
    return str(_macros().page(bundle, style)).lstrip()


@cache
def _macros() -> Any:
    """Return the macros of the template."""
    from jinja2 import Environment, StrictUndefined  # only this form needs it
    from markupsafe import Markup  # as above

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    functions: tuple[Callable[..., object], ...] = (
        date_time, explain_decision, full_output, is_failed, label_of, shell_text, synthetic_line,
        timeline, turn_entries, user_text,
    )  # fmt: skip
    known: dict[str, object] = {each.__name__: each for each in functions}
    known |= {
        "call_facts": _call_facts,
        "first_line": _first_line,
        "image_types": IMAGE_TYPES,
        "kind_of": _kind_of,
        "markdown": render_markdown,
        "policy": Markup(POLICY),  # noqa: S704 - a constant
        "session_facts": _session_facts,
        "shown_blocks": _shown_blocks,
        "turn_facts": _turn_facts,
    }
    cast("dict[str, object]", environment.globals).update(known)
    return environment.from_string(_text("export.html.jinja")).module


def _text(name: str) -> str:
    return files("agent.transfer").joinpath(name).read_text(encoding="utf-8")


def _kind_of(value: object) -> str:
    return type(value).__name__


def _shown_blocks(part: ToolPart) -> list[Block]:
    blocks = () if isinstance(part.state, Pending) else part.state.blocks
    return [
        block
        for block in blocks
        if isinstance(block, DiffBlock | ShellBlock | TodoBlock)
        or (isinstance(block, SubtaskBlock) and block.text.strip())
    ]


def _call_facts(part: ToolPart) -> str:
    match part.state:
        case Completed(facts=facts):
            return " ".join(facts)
        case Failed(kind=kind):
            return kind
        case _:
            return ""


def _session_facts(session: Session, turns: Sequence[TimelineTurn]) -> str:
    count = f"{len(turns)} turn{'' if len(turns) == 1 else 's'}"
    cost = "" if session.cost is None else money(session.cost)
    return _facts(date_time(session.created), session.model or "", session.directory, count, cost)


def _turn_facts(turn: TimelineTurn) -> str:
    steps = f"{len(turn.steps)} step{'' if len(turn.steps) == 1 else 's'}" if turn.steps else ""
    seconds = "" if turn.seconds is None else f"{turn.seconds:.0f} s"
    return _facts(steps, seconds, "" if turn.cost is None else money(turn.cost))


def _facts(*facts: str) -> str:
    return " · ".join(filter(None, facts))


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["Untitled"])[0][:120]


def render_markdown(text: str) -> "Markup":
    """Return Markdown as HTML; images become links, as the page loads nothing."""
    from markdown_it import MarkdownIt  # only this form needs it
    from markupsafe import Markup  # as above

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return Markup(parser.render(text))  # noqa: S704 - it escapes what is no Markdown
