-- Constants of behaviour move from the schema to policy and settings. The schema keeps invariants only.

-- Until now this constraint tied each permanence class to one decay rate. The class stays a closed vocabulary, and a
-- rate is any finite number that is not negative. (NaN counts as greater than infinity.)
ALTER TABLE {schema}.facts
    DROP CONSTRAINT facts_check2,
    ADD CONSTRAINT facts_permanence_check
        CHECK (permanence IN ('permanent', 'stable', 'standard', 'volatile', 'ephemeral')),
    ADD CONSTRAINT facts_decay_rate_check CHECK (decay_rate >= 0 AND decay_rate < 'infinity');
ALTER TABLE {schema}.rules
    DROP CONSTRAINT rules_decay_rate_check,
    ADD CONSTRAINT rules_decay_rate_check CHECK (decay_rate >= 0 AND decay_rate < 'infinity');

-- The program decides how many recent questions it keeps for a tenant.
ALTER TABLE {schema}.recent_questions
    DROP CONSTRAINT recent_questions_slot_check,
    ADD CONSTRAINT recent_questions_slot_check CHECK (slot >= 0);

-- The part of a memory's state that an undo compares and restores. References stay as they are, and the decay rate
-- follows the settings, whatever it was when the event was written.
CREATE OR REPLACE FUNCTION {schema}.left_state(payload jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    ('{"pinned": false, "judged_from": null}' || (payload -> 'state'))
        - '{reference_count,last_referenced_at,decay_rate}'::text[];

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0008' THEN
        RAISE EXCEPTION 'the store is at revision 0008, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
