"""What is said in place of what cannot be sent: lost results, empty outputs, unseen files."""

from agent.provider.client import MediaContent

LOST_RESULT = "The result of this call was lost; it may or may not have run."
NO_OUTPUT = "(no output)"


def unseen(media: MediaContent) -> str:
    """The text that stands for *media* where the model can't see it (spec 5, R4)."""
    name = f" {media.name}" if media.name else ""
    return f"[Attachment{name} ({media.mime}): this model cannot see it.]"
