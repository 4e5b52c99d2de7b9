"""Exports a session to a file; the form depends on the file's name."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from agent.records.errors import NothingToDo
from agent.records.messages import Session
from agent.store.store import Store
from agent.transfer.bundle import Bundle, collect_bundle, to_json, without_secrets

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
            from agent.transfer.html import as_html  # for this form only

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
    redact: bool = True,
    secrets: Sequence[str] = (),
    overwrite: bool = False,
) -> int:
    """Write a session to *path*, in the form that its name asks for; return the bytes.

    With *redact*, secrets are replaced. Raises ``SessionNotFound``, and ``NothingToDo`` when the
    file exists (unless *overwrite*) or cannot be written.
    """
    form = export_form(path.name)
    bundle = await collect_bundle(store, session_id)

    def work() -> int:
        left = without_secrets(bundle, secrets) if redact else bundle
        return write_bundle(left, path, form, overwrite=overwrite)

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
