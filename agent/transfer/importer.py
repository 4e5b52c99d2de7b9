"""Imports a session from a file: an export of this program's, or one of opencode's."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

from agent.records.errors import NothingToDo
from agent.records.ids import IdPrefix, new_id
from agent.records.json import Json, JsonObject
from agent.records.messages import MessageWithParts, Session
from agent.store.recovery import close_part
from agent.store.store import Store
from agent.transfer.bundle import FORMAT, VERSION, Bundle, from_json, with_ids
from agent.transfer.opencode import from_opencode, is_opencode

MAX_FILE_SIZE = 512 * 1024 * 1024
"""Bytes of a file that can be imported."""


async def import_file(store: Store, path: Path, *, directory: str, project: str) -> Session:
    """Store the session in *path* under new ids, as one of the folder *directory*.

    Raises ``NothingToDo`` when the file cannot be read or has no session.
    """
    data = await asyncio.to_thread(read_export, path)
    return await import_value(store, data, str(path), directory=directory, project=project)


async def import_value(
    store: Store, data: Json, name: str, *, directory: str, project: str
) -> Session:
    """Store the session in the JSON value of the file *name*, as ``import_file`` does."""
    parsed = await asyncio.to_thread(parse_export, data, name)
    bundle = _moved_to(parsed, directory, project, None)
    for one in _all(bundle):
        await store.save(one.session)
        for item in one.messages:
            await store.save(item.message, *item.parts)
        if one.todos:
            await store.save_todos(one.session.id, one.todos)
    return bundle.session


def _all(bundle: Bundle) -> Iterator[Bundle]:
    yield bundle
    for child in bundle.children:
        yield from _all(child)


def read_export(path: Path) -> Json:
    """Return the JSON value in a file. Raises ``NothingToDo`` for one that cannot be read."""
    try:
        if path.stat().st_size > MAX_FILE_SIZE:
            raise NothingToDo(f"{path} is too large to be an exported session.")
        return cast("Json", json.loads(path.read_text("utf-8")))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NothingToDo(f"{path} cannot be read: {reason}.") from error
    except (ValueError, RecursionError) as error:
        raise NothingToDo(f"{path} is not a JSON file. Export a session as .json first.") from error


def parse_export(data: Json, name: str) -> Bundle:
    """Return the session in the JSON value of the file *name*. Raises ``NothingToDo``."""
    if isinstance(data, dict) and data.get("format") == FORMAT:
        return _from_own_export(data, name)
    if isinstance(data, dict) and is_opencode(data):
        return _with_new_ids(from_opencode(data))
    raise NothingToDo(f"{name} contains no opencode-py or opencode session.")


def _from_own_export(data: JsonObject, name: str) -> Bundle:
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise NothingToDo(f"{name} was written by a newer version of opencode-py.")
    try:
        return _with_new_ids(from_json(data))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NothingToDo(f"{name} is damaged: a part of it is missing or unknown.") from error


def _with_new_ids(bundle: Bundle) -> Bundle:
    """Return *bundle* under new ids, in the order of the old ones: it can be imported twice."""
    kinds: dict[str, IdPrefix] = {}
    for one in _all(bundle):
        kinds[one.session.id] = "ses"
        for item in one.messages:
            message = item.message
            kinds[message.id] = "msg"
            if message.turn_id is not None:
                kinds.setdefault(message.turn_id, "trn")
            kinds |= dict.fromkeys((part.id for part in item.parts), cast("IdPrefix", "prt"))
    return with_ids(bundle, {old: new_id(kind) for old, kind in kinds.items()})


def _moved_to(bundle: Bundle, directory: str, project: str, parent: str | None) -> Bundle:
    """Return *bundle* as one of another folder, with nothing in it running or pending."""
    session = replace(
        bundle.session,
        directory=directory,
        project=project,
        parent_id=parent,
        forked_from=None,
        undone_at=None,
        undone_tree=None,
        pinned=False,
        archived=False,
    )
    return Bundle(
        session=session,
        messages=tuple(_closed(item) for item in bundle.messages if item.message.turn_id),
        todos=bundle.todos,
        children=tuple(
            _moved_to(child, directory, project, session.id) for child in bundle.children
        ),
    )


def _closed(item: MessageWithParts) -> MessageWithParts:
    message = item.message
    if message.role == "user":
        return item
    parts = tuple(close_part(part, message.created) for part in item.parts)
    if message.completed is None:
        message = replace(message, completed=message.created, interrupted=True)
    return MessageWithParts(message, parts)
