"""Ids that are unique across processes.

An id is ``<prefix>_<14 hex digits of time><12 random hex digits>``. The time part is milliseconds ×
4096 plus a counter, so ids made in one process within one millisecond keep their order; the random
part keeps processes apart. Ids of two processes do not compare, since their clocks can differ: the
order of messages is the number that the store gives them.
"""

import secrets
import threading
import time
from typing import Literal

IdPrefix = Literal["ses", "msg", "prt", "per", "que", "trn", "cal"]

_lock = threading.Lock()
_last = 0


def new_id(prefix: IdPrefix) -> str:
    """Return a new id, greater than every id that this process made before."""
    global _last
    with _lock:
        _last = max(_last + 1, int(time.time() * 1000) << 12)
        stamp = _last
    return f"{prefix}_{stamp:014x}{secrets.token_hex(6)}"
