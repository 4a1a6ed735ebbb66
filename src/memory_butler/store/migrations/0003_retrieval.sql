-- Retrieval: the neighbours of an episode, other names of a subject, and the posture of the vector index.

-- The episodes of a session in their order.
CREATE INDEX episodes_session ON {schema}.episodes (tenant_id, butler, session_id, observed_at, created_at, id)
    WHERE session_id IS NOT NULL;

-- Names: another name of a subject can be withdrawn, is never reworded, and is found from the subject, too.
ALTER TABLE {schema}.aliases
    ADD COLUMN validity text NOT NULL DEFAULT 'active' CHECK (validity IN ('active', 'retracted'));
CREATE INDEX aliases_subject ON {schema}.aliases (tenant_id, subject, alias);
CREATE TRIGGER guard_content BEFORE UPDATE ON {schema}.aliases
    FOR EACH ROW WHEN ((OLD.tenant_id, OLD.id, OLD.subject, OLD.alias, OLD.alias_label, OLD.created_at, OLD.request_id)
        IS DISTINCT FROM
        (NEW.tenant_id, NEW.id, NEW.subject, NEW.alias, NEW.alias_label, NEW.created_at, NEW.request_id))
    EXECUTE FUNCTION {schema}.guard_content();

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0003' THEN
        RAISE EXCEPTION 'the store is at revision 0003, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
