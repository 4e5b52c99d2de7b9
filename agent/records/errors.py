"""The exceptions of the agent package, each with a sentence for the user.

    OpencodePyError
    ├── ConfigError          a config file or value that cannot be used
    ├── StoreError           the session database
    │   ├── StoreTooNew      written by a newer version of this program
    │   └── StoreUnavailable cannot be opened or written (permissions, full disk)
    ├── SessionNotFound
    ├── SessionBusy          a turn already runs and the call cannot be queued
    ├── WorktreeError        a worktree cannot be made, merged or removed
    ├── NothingToDo          the requested action has nothing to work on
    ├── ModelNotFound        no such provider or model
    ├── AgentNotFound        no agent of that name
    ├── CommandError         a custom slash command cannot be sent
    ├── PromptRefused        a hook refuses a prompt or a compaction
    ├── MissingKey           a provider's API key is not set
    ├── NoModelConnected     a prompt for a model, and none is connected
    ├── ProviderError        a model call failed; carries a ProviderErrorKind
    ├── ToolError            a tool cannot do what was requested; the text goes to the model
    │   ├── InvalidArguments the arguments do not fit the tool's schema
    │   └── ToolStopped      the user stopped the tool's work
    └── PermissionRejected   the user or a rule rejected a tool call

``str(error)`` is the sentence: what happened and what to do. Nothing else is shown.
"""

from enum import StrEnum

from agent.records.frozen import frozen


class OpencodePyError(Exception):
    """Base of all errors that this program raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConfigError(OpencodePyError):
    pass


class StoreError(OpencodePyError):
    pass


class StoreTooNew(StoreError):
    pass


class StoreUnavailable(StoreError):
    pass


class SessionNotFound(OpencodePyError):
    pass


class SessionBusy(OpencodePyError):
    pass


class WorktreeError(OpencodePyError):
    pass


class NothingToDo(OpencodePyError):
    pass


class ModelNotFound(OpencodePyError):
    pass


class AgentNotFound(OpencodePyError):
    pass


class CommandError(OpencodePyError):
    pass


class PromptRefused(OpencodePyError):
    pass


class MissingKey(OpencodePyError):
    pass


class NoModelConnected(OpencodePyError):
    pass


class ProviderErrorKind(StrEnum):
    """The kinds of failed model calls that the turn loop distinguishes."""

    OVERFLOW = "overflow"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    AUTH = "auth"
    QUOTA = "quota"
    CONTENT_FILTER = "content_filter"
    INVALID_REQUEST = "invalid_request"
    NETWORK = "network"
    ABORTED = "aborted"


@frozen
class FileLimit:
    """The limit on images and documents that a refused request exceeded. A field is None where the
    refusal does not name it."""

    count: int | None = None
    """Files per request."""
    size: int | None = None
    """Bytes of one file, encoded as base64."""
    pixels: int | None = None
    """Width or height of one image."""
    images_only: bool = False
    """True if documents do not count."""
    whole_request: bool = False
    """True if the size of the whole request was refused, to which text contributes too."""


class ProviderError(OpencodePyError):
    """A failed model call.

    *retry_after* is in seconds, None where the server named none. *retry_once* marks a refusal that
    one more try can cure although its kind is not retried: the provider could not parse its own
    model's tool call. *file_limit* marks a refusal that fewer or smaller attached files can cure.
    """

    def __init__(
        self,
        kind: ProviderErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retry_once: bool = False,
        file_limit: FileLimit | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.file_limit = file_limit
        self.status = status
        self.retry_after = retry_after
        self.retry_once = retry_once


class ToolError(OpencodePyError):
    """A tool failed in a way that the model should read and act on."""


class InvalidArguments(ToolError):
    pass


class ToolStopped(ToolError):
    pass


REJECTED = "The user rejected this call."
REJECTED_SAYING = "The user rejected this call and said: "
QUESTION_CLOSED = "The user closed the question without an answer."
"""What the model reads of a call that the user did not want."""


class PermissionRejected(OpencodePyError):
    """A rejected tool call.

    *feedback* is the user's message to the model, None without one. *by_rule* is true when a rule
    denied the call without a request, *withdrawn* when the request was withdrawn before it was
    answered.
    """

    def __init__(
        self,
        message: str,
        *,
        feedback: str | None = None,
        by_rule: bool = False,
        withdrawn: bool = False,
    ) -> None:
        super().__init__(message)
        self.feedback = feedback
        self.by_rule = by_rule
        self.withdrawn = withdrawn
