-- Version 5. The order of messages and of sessions is the row number that the database gives: ids
-- and times of two computers, or of one whose clock was set back, do not compare. A message that
-- leaves the queue and a session that is used get a new number. Indexes end in the row number, so
-- reading in order needs no column for it. Messages were always inserted in their order; sessions
-- are numbered by their last use as far as it is known. (Triggers cannot read a damaged record.)

UPDATE session SET rowid = ranked.number FROM (
    SELECT id, (SELECT max(rowid) FROM session) + row_number() OVER (ORDER BY updated, id) AS number
    FROM session WHERE json_valid(data)
) AS ranked WHERE session.id = ranked.id;

DROP INDEX session_updated;
DROP INDEX session_directory;
CREATE INDEX session_directory ON session (directory);

DROP INDEX message_session;
CREATE INDEX message_session ON message (session_id);
DROP INDEX message_waiting;
CREATE INDEX message_waiting ON message (session_id) WHERE role = 'user' AND turn_id IS NULL;
DROP INDEX message_pinned;
CREATE INDEX message_pinned ON message (session_id)
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.pinned') END = 1;
