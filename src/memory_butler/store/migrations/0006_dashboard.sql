-- The dashboard: who is logged in, and until when.

CREATE TABLE {schema}.sessions (
    tenant_id text NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 64),
    -- The key is in the person's browser and kept nowhere else.
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    butler text NOT NULL CHECK (length(butler) BETWEEN 1 AND 64),
    role text NOT NULL CHECK (role IN ('reader', 'agent', 'admin', 'operator')),
    name text CHECK (length(name) BETWEEN 1 AND 200),
    -- Set if somebody logged in with a token: the login is worth no more than the token is.
    token_id uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, hash)
);
CREATE UNIQUE INDEX sessions_hash ON {schema}.sessions (hash);

ALTER TABLE {schema}.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON {schema}.sessions
    USING (tenant_id = current_setting('memory_butler.tenant', true))
    WITH CHECK (tenant_id = current_setting('memory_butler.tenant', true));
-- Whoever shows the key of a session is not of any tenant yet: it opens the one row that is its own.
CREATE POLICY shown ON {schema}.sessions FOR SELECT
    USING (hash = decode(nullif(current_setting('memory_butler.token_hash', true), ''), 'hex'));
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.sessions TO {app_role};

-- How much happened on each day, for charts and for a look back: counted from the log and from nothing else, and
-- counted anew at any time. `owner` is the scope of a fact or rule and the butler of an episode, `before` and `after`
-- the state that an event found and left its memory in, empty where there was none.
CREATE TABLE {schema}.daily_counts (
    tenant_id text NOT NULL,
    day date NOT NULL,
    entity_type text NOT NULL,
    owner text NOT NULL,
    event_type text NOT NULL,
    before text NOT NULL,
    after text NOT NULL,
    events bigint NOT NULL CHECK (events > 0),
    PRIMARY KEY (tenant_id, day, entity_type, owner, event_type, before, after)
);
-- Up to which event they go. Whoever counts on holds the row.
CREATE TABLE {schema}.counted_upto (
    tenant_id text PRIMARY KEY,
    seq bigint NOT NULL CHECK (seq >= 0)
);

DO $body$
DECLARE
    holder text;
BEGIN
    FOREACH holder IN ARRAY ARRAY['daily_counts', 'counted_upto'] LOOP
        EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', holder);
        EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', holder);
        EXECUTE format('CREATE POLICY one_tenant ON {schema}.%I
            USING (tenant_id = current_setting(''memory_butler.tenant'', true))
            WITH CHECK (tenant_id = current_setting(''memory_butler.tenant'', true))', holder);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.%I TO {app_role}', holder);
    END LOOP;
END $body$;

-- Does an event still stand at a moment? What undid it up to then, and what undid that, take turns.
CREATE FUNCTION {schema}.stood(tenant text, event uuid, moment timestamptz)
    RETURNS boolean LANGUAGE plpgsql STABLE AS $body$
BEGIN
    RETURN NOT EXISTS (SELECT FROM {schema}.memory_events u WHERE u.tenant_id = tenant AND u.undoes = event
        AND u.occurred_at <= moment AND {schema}.stood(tenant, u.id, moment));
END $body$;

-- Was another name of a subject given, by a moment, together with a fact in one of these scopes? A name that was
-- withdrawn and given again counts by that giving alone. Nothing, if no giving of it is in the log. A function and not
-- a part of the statements that ask: few questions meet such a name, and setting up what looks into the log would slow
-- down all.
CREATE FUNCTION {schema}.was_given(tenant text, name uuid, scopes text[], moment timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    RETURN (SELECT bool_or(g.payload #>> '{state,scope}' = ANY(scopes) AND n.occurred_at <= moment
            AND {schema}.stood(tenant, n.id, moment)
            AND NOT EXISTS (SELECT FROM {schema}.memory_events l
                WHERE l.tenant_id = tenant AND l.entity_id = name AND l.seq > n.seq AND l.event_type = 'alias.restored'
                    AND l.occurred_at <= moment AND {schema}.stood(tenant, l.id, moment)))
        FROM {schema}.memory_events n
        JOIN {schema}.memory_events g ON g.tenant_id = tenant AND g.group_id = n.group_id AND g.entity_type = 'fact'
        WHERE n.tenant_id = tenant AND n.entity_id = name
            AND n.event_type IN ('alias.created', 'alias.restored', 'alias.named'));
END $body$;

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0006' THEN
        RAISE EXCEPTION 'the store is at revision 0006, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
