"""Editors whose keys work in the order in which they were typed.

Those of Textual take letters at once but have their other keys run when they have gone up to the
app: a letter that came in the same read would be there first."""

from textual import events
from textual.binding import BindingsMap
from textual.widget import Widget
from textual.widgets import Input


async def at_once(editor: Widget, bound: BindingsMap, event: events.Key) -> None:
    """Run what *editor* has *bound* the key to, if anything, before the next key comes."""
    for binding in bound.key_to_bindings.get(event.key, ()):
        if not binding.priority:
            event.stop()
            event.prevent_default()
            await editor.run_action(binding.action)
            return


class Field(Input):
    """A line to type in."""

    async def _on_key(self, event: events.Key) -> None:
        await at_once(self, self._bindings, event)
