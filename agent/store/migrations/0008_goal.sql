-- Version 8. The goal of a session, which outlives the program.

CREATE TABLE goal (
    session_id TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    data       TEXT NOT NULL
) WITHOUT ROWID;
