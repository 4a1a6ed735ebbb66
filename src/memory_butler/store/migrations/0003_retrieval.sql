-- Retrieval: the neighbours of an episode, other names of a subject, and the posture of the vector index.

-- The episodes of a session in their order.
CREATE INDEX episodes_session ON {schema}.episodes (tenant_id, butler, session_id, observed_at, created_at, id)
    WHERE session_id IS NOT NULL;

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0003' THEN
        RAISE EXCEPTION 'the store is at revision 0003, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
