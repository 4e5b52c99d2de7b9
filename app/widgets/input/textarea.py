"""Textual's editor, without the tree-sitter that it loads where it finds it: nothing is
highlighted in one here, and the first frame must not wait for it (spec 0, A1). To be imported
from here alone."""

import sys
from typing import cast

_modules = cast("dict[str, object]", sys.modules)
_hidden = "tree_sitter" not in _modules
if _hidden:
    _modules["tree_sitter"] = None

from textual.widgets import TextArea  # noqa: E402 - after the line above
from textual.widgets.text_area import Location  # noqa: E402 - after the line above

if _hidden:
    del _modules["tree_sitter"]

__all__ = ["Location", "TextArea"]
