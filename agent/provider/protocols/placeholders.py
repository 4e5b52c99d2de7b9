"""What is said in place of what cannot be sent: lost results, empty outputs, unseen files."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from agent.provider.client import MediaContent, ModelInfo
from agent.provider.protocols.refusals import IMAGES

LOST_RESULT = "The result of this call was lost; it may or may not have run."
NO_OUTPUT = "(no output)"
GO_ON = "Go on."
"""Said where a conversation would begin or end with the model's own words."""

PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class Sight:
    """Which attachments a model sees."""

    images: bool = False
    documents: bool = False

    @classmethod
    def of(cls, model: ModelInfo, without: Collection[str]) -> Self:
        """What *model* sees, or nothing once its server has refused an attachment."""
        if IMAGES in without:
            return cls()
        return cls(model.vision, model.documents)

    def sees(self, media: MediaContent) -> bool:
        if media.mime == PDF:
            return self.documents
        return self.images and media.mime.startswith("image/")


BLIND = Sight()


def unseen(media: MediaContent) -> str:
    """The text that stands for *media* where the model can't see it (spec 5, R4)."""
    name = f" {media.name}" if media.name else ""
    return f"[Attachment{name} ({media.mime}): this model cannot see it.]"
