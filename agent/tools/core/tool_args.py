"""The base class of the arguments of tools. It loads pydantic."""

from pydantic import BaseModel, ConfigDict


class ToolArgs(BaseModel):
    """Base class of every tool's arguments. Unknown keys are errors that the model reads."""

    model_config = ConfigDict(extra="forbid")
