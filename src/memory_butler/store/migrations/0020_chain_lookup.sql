-- The predecessor of an event is looked up by an index that has the order of the log. Before the database has counted
-- its tables, another index costs the planner as much, and reads the whole log of the tenant at each event.
CREATE OR REPLACE FUNCTION {schema}.chain_event() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    NEW.chain := sha256(coalesce((
        SELECT p.chain FROM (
            SELECT e.seq, e.chain FROM {schema}.memory_events e
            WHERE e.tenant_id = NEW.tenant_id AND e.seq = ANY(ARRAY[NEW.seq - 1]) ORDER BY e.seq OFFSET 0
        ) p LIMIT 1), '') || {schema}.chained_content(NEW));
    RETURN NEW;
END $body$;

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    -- A program that knows of keys in the store says so.
    IF program_revision = '0020+keys' THEN
        RETURN;
    END IF;
    IF program_revision <> '0020' THEN
        RAISE EXCEPTION 'the store is at revision 0020, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
    -- A program without keys would show ciphertext, and store plain text beside it.
    IF EXISTS (
        SELECT FROM {schema}.tenant_keys WHERE tenant_id = current_setting('memory_butler.tenant', true)
    ) THEN
        RAISE EXCEPTION 'encryption was switched on after this program started' USING ERRCODE = 'MB003';
    END IF;
END $body$;
