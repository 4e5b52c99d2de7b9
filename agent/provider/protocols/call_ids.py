"""Call ids as a provider takes them: its alphabet, and none twice in a conversation."""

import hashlib
import re

LONGEST = 64


class CallIds:
    """Maps stored call ids, in the order in which they are sent.

    The mapping depends on what came before alone, so a longer history maps its beginning to
    the same ids (the provider's cache stays good). Servers that count calls per answer
    (``call_0`` in every step) are told apart by a number.
    """

    def __init__(self) -> None:
        self._sent: set[str] = set()

    def take(self, call_id: str) -> str:
        """The id to send for the next call, which is stored as *call_id*."""
        wanted = re.sub(r"[^A-Za-z0-9_-]", "_", call_id) or "call"
        if len(wanted) > LONGEST - 8:
            digest = hashlib.sha256(call_id.encode(errors="replace")).hexdigest()
            wanted = f"call_{digest[:32]}"
        sent, number = wanted, 1
        while sent in self._sent:
            number += 1
            sent = f"{wanted}_{number}"
        self._sent.add(sent)
        return sent
