-- Where a memory comes from, and the memories that wait for a person's decision.

-- What was stored before had no origin: an agent stored it.
ALTER TABLE {schema}.episodes
    ADD COLUMN origin text NOT NULL DEFAULT 'agent',
    ADD COLUMN quarantine_reason text,
    ADD CONSTRAINT episodes_origin_check CHECK (origin IN ('user', 'agent', 'import', 'tool', 'external')),
    -- What is quarantined is not in use, whatever a statement forgets to ask.
    ADD CONSTRAINT episodes_quarantine_check CHECK (quarantine_reason IS NULL OR validity = 'retracted');
ALTER TABLE {schema}.facts
    ADD COLUMN origin text NOT NULL DEFAULT 'agent',
    ADD COLUMN quarantine_reason text,
    ADD CONSTRAINT facts_origin_check CHECK (origin IN ('user', 'agent', 'import', 'tool', 'external')),
    ADD CONSTRAINT facts_quarantine_check CHECK (quarantine_reason IS NULL OR validity = 'retracted');
ALTER TABLE {schema}.rules
    ADD COLUMN origin text NOT NULL DEFAULT 'agent',
    ADD COLUMN quarantine_reason text,
    ADD CONSTRAINT rules_origin_check CHECK (origin IN ('user', 'agent', 'import', 'tool', 'external')),
    ADD CONSTRAINT rules_quarantine_check CHECK (quarantine_reason IS NULL OR validity = 'retracted');

-- The review inbox.
CREATE INDEX episodes_quarantined ON {schema}.episodes (tenant_id, created_at, id) WHERE quarantine_reason IS NOT NULL;
CREATE INDEX facts_quarantined ON {schema}.facts (tenant_id, created_at, id) WHERE quarantine_reason IS NOT NULL;
CREATE INDEX rules_quarantined ON {schema}.rules (tenant_id, created_at, id) WHERE quarantine_reason IS NOT NULL;

-- The part of a memory's state that an undo compares and restores. An event of an earlier version has no origin.
CREATE OR REPLACE FUNCTION {schema}.left_state(payload jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    ('{"pinned": false, "judged_from": null, "origin": "agent", "quarantine_reason": null}' || (payload -> 'state'))
        - '{reference_count,last_referenced_at,decay_rate}'::text[];

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0010' THEN
        RAISE EXCEPTION 'the store is at revision 0010, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
