-- Sub-agents that work in the background: what a program that died left unfinished is looked up
-- by this when the next one starts.
CREATE INDEX session_errand ON session (id)
    WHERE json_extract(data, '$.errand.state') = 'running';
