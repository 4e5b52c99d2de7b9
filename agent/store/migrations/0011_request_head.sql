-- Version 11. Digests of what precedes the messages of a session's last request: they explain a miss
-- of the provider's cache after the program was started again.

CREATE TABLE request_head (
    session_id TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    data       TEXT NOT NULL
) WITHOUT ROWID;
