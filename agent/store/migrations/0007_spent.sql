-- Version 7. What all sessions spend, for the daily caps. Nothing is taken off when a session is
-- deleted, and an imported session counts for nothing. Caps that the user set for a session or a
-- day are kept, NULL for none.

CREATE TABLE spent (
    quarter INTEGER PRIMARY KEY,
    tokens  INTEGER NOT NULL,
    cost    REAL NOT NULL
);

INSERT INTO spent (quarter, tokens, cost)
    SELECT quarter, sum(input + output), sum(cost) FROM used GROUP BY quarter;

CREATE TABLE spending_cap (
    scope  TEXT NOT NULL,
    unit   TEXT NOT NULL,
    amount REAL,
    PRIMARY KEY (scope, unit)
) WITHOUT ROWID;

CREATE TRIGGER session_spent AFTER UPDATE ON session
    WHEN CASE WHEN json_valid(old.data) AND json_valid(new.data) THEN
        json_extract(old.data, '$.usage') IS NOT json_extract(new.data, '$.usage')
        OR json_extract(old.data, '$.cost') IS NOT json_extract(new.data, '$.cost') END
BEGIN
    INSERT INTO spent (quarter, tokens, cost) VALUES (
        CAST(new.updated / 900 AS INTEGER),
        max(0, coalesce(json_extract(new.data, '$.usage.input'), 0)
            + coalesce(json_extract(new.data, '$.usage.output'), 0)
            - coalesce(json_extract(old.data, '$.usage.input'), 0)
            - coalesce(json_extract(old.data, '$.usage.output'), 0)),
        max(0, coalesce(json_extract(new.data, '$.cost'), 0)
            - coalesce(json_extract(old.data, '$.cost'), 0)))
        ON CONFLICT (quarter) DO UPDATE SET
            tokens = tokens + excluded.tokens, cost = cost + excluded.cost;
END;
