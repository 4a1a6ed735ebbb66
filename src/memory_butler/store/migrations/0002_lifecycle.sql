-- The lifecycle: pins, references by session, evidence that is withdrawn or begun anew, and what an event undoes.

ALTER TABLE {schema}.episodes ADD COLUMN pinned boolean NOT NULL DEFAULT false;
ALTER TABLE {schema}.facts ADD COLUMN pinned boolean NOT NULL DEFAULT false;
ALTER TABLE {schema}.rules ADD COLUMN pinned boolean NOT NULL DEFAULT false;
-- Only what was reported after this moment counts: set when an administrator takes back that a rule is a warning.
ALTER TABLE {schema}.rules ADD COLUMN judged_from timestamptz;

-- A report is never deleted: another one withdraws it.
ALTER TABLE {schema}.rule_applications ADD COLUMN withdraws uuid;
ALTER TABLE {schema}.rule_applications DROP CONSTRAINT rule_applications_outcome_check;
ALTER TABLE {schema}.rule_applications
    ADD CONSTRAINT rule_applications_outcome_check CHECK (outcome IN ('helpful', 'harmful', 'withdrawn')),
    ADD CONSTRAINT rule_applications_withdraws_check CHECK ((outcome = 'withdrawn') = (withdraws IS NOT NULL)),
    ADD CONSTRAINT rule_applications_withdraws_fkey FOREIGN KEY (tenant_id, withdraws)
        REFERENCES {schema}.rule_applications (tenant_id, id);

ALTER TABLE {schema}.memory_events ADD COLUMN undoes uuid;
CREATE INDEX memory_events_undoes ON {schema}.memory_events (tenant_id, undoes) WHERE undoes IS NOT NULL;
CREATE INDEX memory_events_group ON {schema}.memory_events (tenant_id, group_id, seq) WHERE group_id IS NOT NULL;

-- Each time a memory was returned by a read. Derived from the log, which names them call by call.
CREATE TABLE {schema}.memory_references (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    seq bigint NOT NULL,
    referenced_at timestamptz NOT NULL,
    session_id text,
    PRIMARY KEY (tenant_id, memory_id, seq)
);

-- What the sweep looks for.
CREATE INDEX episodes_expiry ON {schema}.episodes (tenant_id, butler, expires_at);
CREATE INDEX facts_butler ON {schema}.facts (tenant_id, source_butler, id) WHERE validity IN ('active', 'fading');
CREATE INDEX rules_butler ON {schema}.rules (tenant_id, source_butler, id) WHERE validity IN ('active', 'fading');
CREATE INDEX idempotency_keys_expiry ON {schema}.idempotency_keys (tenant_id, expires_at);
CREATE INDEX job_runs_shard ON {schema}.job_runs (tenant_id, butler, job, started_at DESC);
-- The jobs of a shard never run together.
CREATE UNIQUE INDEX job_runs_open ON {schema}.job_runs (tenant_id, butler) WHERE finished_at IS NULL;

-- What came before is brought along. The owner is bound by row-level security like anybody else, except here.
DO $body$
DECLARE
    holder text;
BEGIN
    FOREACH holder IN ARRAY ARRAY['memory_events', 'butlers', 'facts', 'rules'] LOOP
        EXECUTE format('ALTER TABLE {schema}.%I NO FORCE ROW LEVEL SECURITY', holder);
    END LOOP;
    INSERT INTO {schema}.memory_references (tenant_id, memory_id, seq, referenced_at, session_id)
    SELECT DISTINCT e.tenant_id, b.id::uuid, e.seq, e.occurred_at, e.session_id
    FROM {schema}.memory_events e
    CROSS JOIN LATERAL jsonb_array_elements_text(e.payload -> 'ids') AS b (id)
    WHERE e.entity_type = 'reference';
    INSERT INTO {schema}.butlers (tenant_id, butler, created_at)
    SELECT tenant_id, source_butler, min(created_at)
    FROM (SELECT tenant_id, source_butler, created_at FROM {schema}.facts
        UNION ALL SELECT tenant_id, source_butler, created_at FROM {schema}.rules) m
    GROUP BY tenant_id, source_butler
    ON CONFLICT DO NOTHING;
    FOREACH holder IN ARRAY ARRAY['memory_events', 'butlers', 'facts', 'rules'] LOOP
        EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', holder);
    END LOOP;
END $body$;

-- What a memory is worth now. What is exempt (pinned, or a warning) does not decay.
CREATE FUNCTION {schema}.worth(
    exempt boolean, confidence double precision, decay_rate double precision, last_confirmed_at timestamptz,
    created_at timestamptz, now timestamptz
) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    {schema}.effective_confidence(confidence, CASE WHEN exempt THEN 0 ELSE decay_rate END,
        coalesce(last_confirmed_at, created_at), now);

-- What an event left of a memory, apart from its references, which nothing takes back.
CREATE FUNCTION {schema}.left_state(payload jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    ('{"pinned": false, "judged_from": null}' || (payload -> 'state')) - '{reference_count,last_referenced_at}'::text[];

-- A change is undone while something undoes it that is not undone itself.
CREATE FUNCTION {schema}.is_undone(tenant text, event uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $body$
BEGIN
    RETURN EXISTS (SELECT FROM {schema}.memory_events e
        WHERE e.tenant_id = tenant AND e.undoes = event AND NOT {schema}.is_undone(tenant, e.id));
END $body$;

ALTER TABLE {schema}.memory_references ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.memory_references FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.memory_references
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.memory_references TO {app_role};

-- Upkeep has to know whose stores there are: the names of the tenants, and nothing else of them.
CREATE POLICY names_for_upkeep ON {schema}.tenants FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION {schema}.tenant_names() RETURNS SETOF text LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog AS $body$
    SELECT tenant_id FROM {schema}.tenants ORDER BY tenant_id
$body$;
REVOKE EXECUTE ON FUNCTION {schema}.tenant_names() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION {schema}.tenant_names() TO {app_role};

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0002' THEN
        RAISE EXCEPTION 'the store is at revision 0002, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
