"""A tool's description: the ``x.txt`` beside its module, with its ``{{slots}}`` filled (T1)."""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.tools.core.base import Tool

_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def fill(template: str, variables: Mapping[str, str], *, name: str = "a description") -> str:
    """*template* with its slots filled. Raises ``ValueError`` for a slot without a value."""
    unknown = sorted({slot for slot in _SLOT.findall(template) if slot not in variables})
    if unknown:
        raise ValueError(f"{name} uses unknown variables: {', '.join(unknown)}")
    filled = _SLOT.sub(lambda match: variables[match[1]], template)
    if "{{" in filled or "}}" in filled:
        raise ValueError(f"{name} has a slot that could not be filled")
    return filled.strip()


def describe(tool: Tool[Any, Any], common: Mapping[str, str]) -> str:
    """The description of *tool*: ``<name>.txt`` beside its module.

    *common* holds the variables that every tool may use; the tool's own come first, and each
    of them must be used (``ValueError`` else).
    """
    path = Path(inspect.getfile(type(tool))).with_name(f"{tool.spec.name}.txt")
    template = path.read_text(encoding="utf-8")
    unused = sorted(set(tool.spec.variables).difference(_SLOT.findall(template)))
    if unused:
        raise ValueError(f"{path.name} does not use the variables {', '.join(unused)}")
    return fill(template, {**common, **tool.spec.variables}, name=path.name)
