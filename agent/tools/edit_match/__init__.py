"""Match an edit with the text of a file, and apply it.

A place is found loosely, proved to be unique, and then merged: a line that the model did not
change is never written. ``apply`` goes from the strictest tier to the loosest:

1. exact: old_string byte for byte, except for line endings and a byte order mark;
2. block: whole lines, compared without whitespace and typographic characters;
3. malformed: both again, without the line numbers of the read tool, or with escapes or entities
   of old_string undone;
4. near: all lines except one, with rare lines among them and no similar place elsewhere.

All tiers except the first end in ``merge``. ``patch_chunk`` applies the chunks of patches in the
same way. Every refusal names its reason and shows the nearest text.
"""

from agent.tools.edit_match.apply import apply_edit
from agent.tools.edit_match.document import Edit, EditRefused, Replacement
from agent.tools.edit_match.patch_chunk import AppliedChunk, ChunkEdit, apply_chunk

__all__ = [
    "AppliedChunk",
    "ChunkEdit",
    "Edit",
    "EditRefused",
    "Replacement",
    "apply_chunk",
    "apply_edit",
]
