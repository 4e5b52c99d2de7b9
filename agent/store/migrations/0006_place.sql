-- Version 6. Where sessions were opened: a folder that was moved, or is another work tree of the same
-- repository, is known by the repository's first commit and the place of the folder in it.

CREATE TABLE place (
    directory TEXT PRIMARY KEY,
    origin    TEXT NOT NULL,
    folder    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX place_origin ON place (origin, folder);
