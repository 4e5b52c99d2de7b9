-- Version 3. A turn goes on from the newest summary: that, and what waits, is pinned or loaded a
-- skill before it, is found without looking through the session. Pinned is what the JSON of a
-- message says, and one that is no JSON (damaged, or written by hand) is not.

CREATE INDEX message_waiting ON message (session_id, id) WHERE role = 'user' AND turn_id IS NULL;
CREATE INDEX message_pinned ON message (session_id, id)
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.pinned') END = 1;
CREATE INDEX part_summary ON part (session_id, message_id) WHERE type = 'compaction';
CREATE INDEX part_skill ON part (session_id, message_id) WHERE tool = 'skill';
