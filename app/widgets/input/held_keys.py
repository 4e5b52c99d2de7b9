"""Keys that the prompt holds back until it is known where they belong."""

from dataclasses import dataclass, field

from textual import events

TypedEvent = events.Key | events.Paste


@dataclass(slots=True, eq=False)
class HeldKeys:
    """The keys since a command was called, which may open a screen that they are for.

    Text is typed into the prompt, where the user sees it; Enter and all that follows it is kept.
    """

    before: str
    """The text of the prompt at that moment."""
    at: int
    """The offset of the cursor in it."""
    holders: set[object] = field(default_factory=set[object])
    """The calls that are not handled yet."""
    kept: list[TypedEvent] = field(default_factory=list[TypedEvent])
    covered: bool = False
    """True once another screen was shown."""

    def begin(self, before: str, at: int) -> None:
        """Begin anew: what is in the prompt now was not typed for a screen."""
        self.before, self.at = before, at

    def keep(self, event: TypedEvent) -> bool:
        """Keep *event* if it is Enter or follows it; return whether it was kept. Esc never is."""
        key = event.key if isinstance(event, events.Key) else ""
        if key == "escape" or not (self.kept or key == "enter"):
            return False
        self.kept.append(copy_of(event))
        return True

    def typed(self, text: str) -> str:
        """Return what was typed into the prompt, whose text is *text* now, "" if it was changed in
        another way."""
        head, tail = self.before[: self.at], self.before[self.at :]
        typed = text[self.at : len(text) - len(tail)]
        return typed if head + typed + tail == text else ""

    def take_kept(self, *, sends: bool) -> list[TypedEvent]:
        """Remove and return what is kept. Unless it *sends*, Enter begins a new line."""
        kept, self.kept = self.kept, []
        if sends:
            return kept
        while kept and _is_enter(kept[-1]):
            kept.pop()
        line = copy_of(events.Key("ctrl+j", None))
        return [line if _is_enter(event) else event for event in kept]


def copy_of(event: TypedEvent) -> TypedEvent:
    """Return *event* as it was typed, for one widget alone."""
    if isinstance(event, events.Paste):
        copied: TypedEvent = events.Paste(event.text)
    else:
        copied = events.Key(event.key, event.character)
    copied.stop()
    return copied


def _is_enter(event: TypedEvent) -> bool:
    return isinstance(event, events.Key) and event.key == "enter"
