-- Version 9. Where the lines of memory files come from. The files themselves hold no more than
-- their lines; a line that is changed by hand has no origin any more.

CREATE TABLE memory_line (
    file       TEXT NOT NULL,
    line       TEXT NOT NULL,
    source     TEXT NOT NULL,
    created    REAL NOT NULL,
    session_id TEXT NOT NULL,
    edited     INTEGER NOT NULL,
    PRIMARY KEY (file, line)
) WITHOUT ROWID;
