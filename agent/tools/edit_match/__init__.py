"""Where an edit goes and what it writes (spec 3, E1 to E5).

Located loosely, proved to be unique, then merged: a line that the model did not change is
never written. ``apply`` goes from the strictest tier to the loosest:

    exact      old_string byte for byte; line endings and a byte order mark don't count
    block      whole lines, white space and typographic characters aside
    numbering  both again, with the line numbers of read output taken off
    spoiling   both again, with escapes or entities of old_string undone
    near       all lines but one, with rare ones among them and no rival place

All but the first end in ``merge``. ``placing`` puts the chunks of patches in place by the same
means. Every refusal names its rule and shows the nearest text.
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
