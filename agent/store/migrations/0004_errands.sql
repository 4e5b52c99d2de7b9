-- Version 4. Sub-agents that work in the background: what a program that died left unfinished is
-- looked up by this when the next one starts. A record that is no JSON is none of them.
CREATE INDEX session_errand ON session (id)
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.errand.state') END = 'running';
