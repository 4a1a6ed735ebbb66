-- The service: tokens that say who is calling, reads by operators on record, and news of what was written.

CREATE TABLE {schema}.tokens (
    tenant_id text NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 64),
    id uuid NOT NULL,
    -- The token itself is kept nowhere.
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    label text NOT NULL CHECK (length(label) BETWEEN 1 AND 200),
    butler text NOT NULL CHECK (length(butler) BETWEEN 1 AND 64),
    role text NOT NULL CHECK (role IN ('reader', 'agent', 'admin', 'operator')),
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    expires_at timestamptz CHECK (expires_at > created_at),
    revoked_at timestamptz CHECK (revoked_at >= created_at),
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX tokens_hash ON {schema}.tokens (hash);

ALTER TABLE {schema}.tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.tokens
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
-- Whoever shows a token is not of any tenant yet: it opens the one row that is its own.
CREATE POLICY shown ON {schema}.tokens FOR SELECT
    USING (hash = decode(nullif(current_setting('memory_butler.token_hash', true), ''), 'hex'));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.tokens TO {app_role};

-- A look by somebody of another tenant is an event like any change.
ALTER TABLE {schema}.memory_events DROP CONSTRAINT memory_events_entity_type_check, DROP CONSTRAINT memory_events_check;
ALTER TABLE {schema}.memory_events
    ADD CONSTRAINT memory_events_entity_type_check
        CHECK (entity_type IN ('episode', 'fact', 'rule', 'alias', 'reference', 'access')),
    ADD CONSTRAINT memory_events_check CHECK ((entity_id IS NULL) = (entity_type IN ('reference', 'access')));

-- Those who follow a tenant's events hear that there are some: of the tenant its digest, of the events nothing.
CREATE FUNCTION {schema}.tell_of_events() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_notify(left('memory_events_' || TG_TABLE_SCHEMA, 63), t.digest)
    FROM (SELECT DISTINCT left(encode(sha256(convert_to(tenant_id, 'UTF8')), 'hex'), 24) AS digest FROM written) t;
    RETURN NULL;
END $body$;
CREATE TRIGGER tell AFTER INSERT ON {schema}.memory_events
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {schema}.tell_of_events();

-- Lists for people, from the newest or the oldest, and what consolidation gave up.
CREATE INDEX facts_created ON {schema}.facts (tenant_id, created_at, id);
CREATE INDEX episodes_created ON {schema}.episodes (tenant_id, created_at, id);
CREATE INDEX episodes_stuck ON {schema}.episodes (tenant_id, created_at, id)
    WHERE validity = 'active' AND consolidation_status IN ('failed', 'dead_letter');

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0005' THEN
        RAISE EXCEPTION 'the store is at revision 0005, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
