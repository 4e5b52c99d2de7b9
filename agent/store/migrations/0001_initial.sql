-- Version 1. Every record is kept whole as JSON in "data"; the other columns repeat what
-- is queried. Ids sort by time, so ORDER BY id is the order of making (spec 7, D2).

CREATE TABLE session (
    id        TEXT PRIMARY KEY,
    directory TEXT NOT NULL,
    parent_id TEXT,
    title     TEXT NOT NULL,
    updated   REAL NOT NULL,
    archived  INTEGER NOT NULL,
    pinned    INTEGER NOT NULL,
    data      TEXT NOT NULL
);
CREATE INDEX session_updated ON session (updated);
CREATE INDEX session_directory ON session (directory, updated);
CREATE INDEX session_parent ON session (parent_id);

-- "open" marks an assistant message that has not completed.
CREATE TABLE message (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL
               REFERENCES session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    created    REAL NOT NULL,
    role       TEXT NOT NULL,
    turn_id    TEXT,
    open       INTEGER NOT NULL,
    data       TEXT NOT NULL
);
CREATE INDEX message_session ON message (session_id, id);
CREATE INDEX message_open ON message (session_id) WHERE open = 1;

-- "number" is the stable row number that the search tables point to; "open" marks a part
-- that deltas may still come for; "indexed" one whose text is in the search tables.
CREATE TABLE part (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    message_id TEXT NOT NULL
               REFERENCES message (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    type       TEXT NOT NULL,
    tool       TEXT,
    status     TEXT,
    open       INTEGER NOT NULL,
    indexed    INTEGER NOT NULL,
    data       TEXT NOT NULL
);
CREATE INDEX part_message ON part (message_id, id);
CREATE INDEX part_session ON part (session_id, message_id, id);
CREATE INDEX part_open ON part (session_id) WHERE open = 1;

CREATE TABLE todo (
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    content    TEXT NOT NULL,
    status     TEXT NOT NULL,
    priority   TEXT NOT NULL,
    PRIMARY KEY (session_id, position)
) WITHOUT ROWID;

CREATE TABLE session_rule (
    number     INTEGER PRIMARY KEY,
    root_id    TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    permission TEXT NOT NULL,
    pattern    TEXT NOT NULL,
    UNIQUE (root_id, permission, pattern)
);

CREATE TABLE prompt_history (
    number    INTEGER PRIMARY KEY,
    text      TEXT NOT NULL,
    directory TEXT NOT NULL,
    created   REAL NOT NULL
);

-- Who runs a turn in a session (spec 7, D1a). No reference to session: a lease may be
-- taken before the session is first written.
CREATE TABLE lease (
    session_id TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    started    TEXT NOT NULL,
    machine    TEXT NOT NULL,
    heartbeat  REAL NOT NULL
) WITHOUT ROWID;

-- Search over finished texts. The tables hold only the index; the text is read through the
-- view. Only the first 100,000 characters of a part are indexed, so that a pasted log does
-- not hold the write lock for seconds.
CREATE VIEW part_text (number, text) AS
    SELECT number, substr(json_extract(data, '$.text'), 1, 100000) FROM part WHERE indexed = 1;

CREATE VIRTUAL TABLE part_words USING fts5 (
    text, content = 'part_text', content_rowid = 'number',
    tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE part_trigrams USING fts5 (
    text, content = 'part_text', content_rowid = 'number', tokenize = 'trigram'
);

CREATE TRIGGER part_inserted AFTER INSERT ON part WHEN new.indexed = 1 BEGIN
    INSERT INTO part_words (rowid, text)
        VALUES (new.number, substr(json_extract(new.data, '$.text'), 1, 100000));
    INSERT INTO part_trigrams (rowid, text)
        VALUES (new.number, substr(json_extract(new.data, '$.text'), 1, 100000));
END;

CREATE TRIGGER part_finished AFTER UPDATE ON part
    WHEN old.indexed = 0 AND new.indexed = 1 BEGIN
    INSERT INTO part_words (rowid, text)
        VALUES (new.number, substr(json_extract(new.data, '$.text'), 1, 100000));
    INSERT INTO part_trigrams (rowid, text)
        VALUES (new.number, substr(json_extract(new.data, '$.text'), 1, 100000));
END;

CREATE TRIGGER part_changed AFTER UPDATE ON part
    WHEN old.indexed = 1 AND (
        new.indexed = 0
        OR json_extract(old.data, '$.text') IS NOT json_extract(new.data, '$.text')
    ) BEGIN
    INSERT INTO part_words (part_words, rowid, text)
        VALUES ('delete', old.number, substr(json_extract(old.data, '$.text'), 1, 100000));
    INSERT INTO part_trigrams (part_trigrams, rowid, text)
        VALUES ('delete', old.number, substr(json_extract(old.data, '$.text'), 1, 100000));
    INSERT INTO part_words (rowid, text)
        SELECT new.number, substr(json_extract(new.data, '$.text'), 1, 100000)
        WHERE new.indexed = 1;
    INSERT INTO part_trigrams (rowid, text)
        SELECT new.number, substr(json_extract(new.data, '$.text'), 1, 100000)
        WHERE new.indexed = 1;
END;

CREATE TRIGGER part_deleted AFTER DELETE ON part WHEN old.indexed = 1 BEGIN
    INSERT INTO part_words (part_words, rowid, text)
        VALUES ('delete', old.number, substr(json_extract(old.data, '$.text'), 1, 100000));
    INSERT INTO part_trigrams (part_trigrams, rowid, text)
        VALUES ('delete', old.number, substr(json_extract(old.data, '$.text'), 1, 100000));
END;
