-- Version 2. What models used is kept summed up, so that statistics read a row for each quarter
-- of an hour in which something was used and not every message. Quarters (of UTC) fall within
-- one day everywhere. Triggers keep the sums, whoever writes.

CREATE TABLE used (
    quarter     INTEGER NOT NULL,
    model       TEXT NOT NULL,
    project     TEXT NOT NULL,
    steps       INTEGER NOT NULL,
    turns       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    priced      INTEGER NOT NULL,
    cost        REAL NOT NULL,
    PRIMARY KEY (quarter, model, project)
) WITHOUT ROWID;

-- What each step adds. A turn counts with its first step, "priced" the steps whose cost is known.
CREATE VIEW message_used AS
    SELECT message.id AS id, message.session_id AS session_id,
           CAST(message.created / 900 AS INTEGER) AS quarter,
           json_extract(message.data, '$.model') AS model,
           json_extract(session.data, '$.project') AS project,
           1 AS steps,
           json_extract(message.data, '$.step') = 1 AS turns,
           coalesce(json_extract(message.data, '$.usage.input'), 0) AS input,
           coalesce(json_extract(message.data, '$.usage.output'), 0) AS output,
           coalesce(json_extract(message.data, '$.usage.reasoning'), 0) AS reasoning,
           coalesce(json_extract(message.data, '$.usage.cache_read'), 0) AS cache_read,
           coalesce(json_extract(message.data, '$.usage.cache_write'), 0) AS cache_write,
           json_extract(message.data, '$.cost') IS NOT NULL AS priced,
           coalesce(json_extract(message.data, '$.cost'), 0) AS cost
    FROM message JOIN session ON session.id = message.session_id
    WHERE message.role = 'assistant';

    INSERT INTO used (quarter, model, project, steps, turns, input, output, reasoning, cache_read,
    cache_write, priced, cost)
        SELECT quarter, model, project,
               sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
               output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
               sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
        FROM message_used WHERE id IS NOT NULL GROUP BY quarter, model, project
        ON CONFLICT (quarter, model, project) DO UPDATE SET
            steps = steps + excluded.steps, turns = turns + excluded.turns, input = input +
            excluded.input, output = output + excluded.output, reasoning = reasoning +
            excluded.reasoning, cache_read = cache_read + excluded.cache_read, cache_write =
            cache_write + excluded.cache_write, priced = priced + excluded.priced, cost = cost +
            excluded.cost;

CREATE TRIGGER message_counted AFTER INSERT ON message WHEN new.role = 'assistant' BEGIN
    INSERT INTO used (quarter, model, project, steps, turns, input, output, reasoning, cache_read,
    cache_write, priced, cost)
        SELECT quarter, model, project,
               sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
               output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
               sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
        FROM message_used WHERE id = new.id GROUP BY quarter, model, project
        ON CONFLICT (quarter, model, project) DO UPDATE SET
            steps = steps + excluded.steps, turns = turns + excluded.turns, input = input +
            excluded.input, output = output + excluded.output, reasoning = reasoning +
            excluded.reasoning, cache_read = cache_read + excluded.cache_read, cache_write =
            cache_write + excluded.cache_write, priced = priced + excluded.priced, cost = cost +
            excluded.cost;
END;

CREATE TRIGGER message_recounting BEFORE UPDATE ON message
    WHEN old.role = 'assistant' AND old.data IS NOT new.data BEGIN
    UPDATE used SET
            steps = used.steps - gone.steps, turns = used.turns - gone.turns, input = used.input -
            gone.input, output = used.output - gone.output, reasoning = used.reasoning -
            gone.reasoning, cache_read = used.cache_read - gone.cache_read, cache_write =
            used.cache_write - gone.cache_write, priced = used.priced - gone.priced, cost =
            used.cost - gone.cost
        FROM (
            SELECT quarter, model, project,
                   sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
                   output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
                   sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
            FROM message_used WHERE id = old.id GROUP BY quarter, model, project
        ) AS gone
        WHERE used.quarter = gone.quarter AND used.model = gone.model
              AND used.project = gone.project;
END;

CREATE TRIGGER message_recounted AFTER UPDATE ON message
    WHEN new.role = 'assistant' AND old.data IS NOT new.data BEGIN
    INSERT INTO used (quarter, model, project, steps, turns, input, output, reasoning, cache_read,
    cache_write, priced, cost)
        SELECT quarter, model, project,
               sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
               output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
               sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
        FROM message_used WHERE id = new.id GROUP BY quarter, model, project
        ON CONFLICT (quarter, model, project) DO UPDATE SET
            steps = steps + excluded.steps, turns = turns + excluded.turns, input = input +
            excluded.input, output = output + excluded.output, reasoning = reasoning +
            excluded.reasoning, cache_read = cache_read + excluded.cache_read, cache_write =
            cache_write + excluded.cache_write, priced = priced + excluded.priced, cost = cost +
            excluded.cost;
END;

-- With its session gone, as when that is deleted, a message has been taken off already.
CREATE TRIGGER message_uncounted BEFORE DELETE ON message WHEN old.role = 'assistant' BEGIN
    UPDATE used SET
            steps = used.steps - gone.steps, turns = used.turns - gone.turns, input = used.input -
            gone.input, output = used.output - gone.output, reasoning = used.reasoning -
            gone.reasoning, cache_read = used.cache_read - gone.cache_read, cache_write =
            used.cache_write - gone.cache_write, priced = used.priced - gone.priced, cost =
            used.cost - gone.cost
        FROM (
            SELECT quarter, model, project,
                   sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
                   output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
                   sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
            FROM message_used WHERE id = old.id GROUP BY quarter, model, project
        ) AS gone
        WHERE used.quarter = gone.quarter AND used.model = gone.model
              AND used.project = gone.project;
END;

CREATE TRIGGER session_uncounted BEFORE DELETE ON session BEGIN
    UPDATE used SET
            steps = used.steps - gone.steps, turns = used.turns - gone.turns, input = used.input -
            gone.input, output = used.output - gone.output, reasoning = used.reasoning -
            gone.reasoning, cache_read = used.cache_read - gone.cache_read, cache_write =
            used.cache_write - gone.cache_write, priced = used.priced - gone.priced, cost =
            used.cost - gone.cost
        FROM (
            SELECT quarter, model, project,
                   sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
                   output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
                   sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
            FROM message_used WHERE session_id = old.id GROUP BY quarter, model, project
        ) AS gone
        WHERE used.quarter = gone.quarter AND used.model = gone.model
              AND used.project = gone.project;
END;

CREATE TRIGGER session_moving BEFORE UPDATE ON session
    WHEN json_extract(old.data, '$.project') IS NOT json_extract(new.data, '$.project') BEGIN
    UPDATE used SET
            steps = used.steps - gone.steps, turns = used.turns - gone.turns, input = used.input -
            gone.input, output = used.output - gone.output, reasoning = used.reasoning -
            gone.reasoning, cache_read = used.cache_read - gone.cache_read, cache_write =
            used.cache_write - gone.cache_write, priced = used.priced - gone.priced, cost =
            used.cost - gone.cost
        FROM (
            SELECT quarter, model, project,
                   sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
                   output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
                   sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
            FROM message_used WHERE session_id = old.id GROUP BY quarter, model, project
        ) AS gone
        WHERE used.quarter = gone.quarter AND used.model = gone.model
              AND used.project = gone.project;
END;

CREATE TRIGGER session_moved AFTER UPDATE ON session
    WHEN json_extract(old.data, '$.project') IS NOT json_extract(new.data, '$.project') BEGIN
    INSERT INTO used (quarter, model, project, steps, turns, input, output, reasoning, cache_read,
    cache_write, priced, cost)
        SELECT quarter, model, project,
               sum(steps) AS steps, sum(turns) AS turns, sum(input) AS input, sum(output) AS
               output, sum(reasoning) AS reasoning, sum(cache_read) AS cache_read,
               sum(cache_write) AS cache_write, sum(priced) AS priced, sum(cost) AS cost
        FROM message_used WHERE session_id = new.id GROUP BY quarter, model, project
        ON CONFLICT (quarter, model, project) DO UPDATE SET
            steps = steps + excluded.steps, turns = turns + excluded.turns, input = input +
            excluded.input, output = output + excluded.output, reasoning = reasoning +
            excluded.reasoning, cache_read = cache_read + excluded.cache_read, cache_write =
            cache_write + excluded.cache_write, priced = priced + excluded.priced, cost = cost +
            excluded.cost;
END;
