-- Purge: erasure for good with a receipt, and a hash chain that shows if an event was changed or removed.

-- Receipts of purges, without words. `items` names what was purged by type, id and reference; `digest` is also in the
-- event of the purge. `residue` tells when the data files were rewritten; NULL: not yet.
CREATE TABLE {schema}.purge_receipts (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    -- Also the group of the events of the purge.
    id uuid NOT NULL,
    purged_at timestamptz NOT NULL,
    actor text NOT NULL,
    reason text,
    matched_by text NOT NULL CHECK (matched_by IN ('ref', 'subject', 'text', 'subject and text')),
    counts jsonb NOT NULL CHECK (jsonb_typeof(counts) = 'object'),
    items jsonb NOT NULL CHECK (jsonb_typeof(items) = 'array'),
    backups jsonb NOT NULL CHECK (jsonb_typeof(backups) = 'array'),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    residue jsonb,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX purge_receipts_time ON {schema}.purge_receipts (tenant_id, purged_at DESC, id);

-- The hash chain of a tenant's events; NULL for events that were written before there was a chain.
ALTER TABLE {schema}.memory_events ADD COLUMN chain bytea CHECK (octet_length(chain) = 32);
-- Purge events, to find a purged memory by its reference.
CREATE INDEX memory_events_purged ON {schema}.memory_events (tenant_id, seq)
    WHERE event_type IN ('fact.purged', 'rule.purged', 'episode.purged', 'alias.purged');

-- The chain at some events, written by the sweep. An empty chain: the events up to here have none.
CREATE TABLE {schema}.event_seals (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    seq bigint NOT NULL,
    chain bytea NOT NULL CHECK (octet_length(chain) IN (0, 32)),
    sealed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, seq)
);

DO $body$
DECLARE
    holder text;
BEGIN
    ALTER TABLE {schema}.tenants NO FORCE ROW LEVEL SECURITY;
    INSERT INTO {schema}.event_seals (tenant_id, seq, chain, sealed_at)
    SELECT tenant_id, last_seq, '', now() FROM {schema}.tenants WHERE last_seq > 0;
    ALTER TABLE {schema}.tenants FORCE ROW LEVEL SECURITY;
    FOREACH holder IN ARRAY ARRAY['purge_receipts', 'event_seals'] LOOP
        EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', holder);
        EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', holder);
        EXECUTE format('CREATE POLICY one_tenant ON {schema}.%I
            USING (tenant_id = current_setting(''memory_butler.tenant'', true))
            WITH CHECK (tenant_id = current_setting(''memory_butler.tenant'', true))', holder);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.%I TO {app_role}', holder);
    END LOOP;
END $body$;
REVOKE UPDATE, DELETE ON {schema}.event_seals FROM {app_role};
REVOKE UPDATE, DELETE ON {schema}.purge_receipts FROM {app_role};
GRANT UPDATE (residue) ON {schema}.purge_receipts TO {app_role};

-- The payload of an event without the words that a caller chose: names of sessions and requests, and error messages.
CREATE FUNCTION {schema}.wordless(payload jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
BEGIN
    payload := payload #- '{state,session_id}' #- '{state,request_id}' #- '{state,last_consolidation_error}'
        #- '{application,session_id}' #- '{application,request_id}';
    IF payload ? 'links' THEN
        payload := jsonb_set(payload, '{links}', (SELECT coalesce(jsonb_agg(l.link - 'request_id' ORDER BY l.n), '[]')
            FROM jsonb_array_elements(payload -> 'links') WITH ORDINALITY AS l (link, n)));
    END IF;
    RETURN payload;
END $body$;

-- The content of an event that its chain covers: everything that a purge leaves as it is, without the name of the
-- tenant, which an import may change. Does not depend on the session's settings.
CREATE FUNCTION {schema}.chained_content(e {schema}.memory_events) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
BEGIN
    RETURN convert_to(concat_ws(E'\n', e.seq, e.id, e.event_type, e.entity_type, coalesce(e.entity_id::text, '-'),
        extract(epoch FROM e.occurred_at), to_jsonb(e.actor), coalesce(e.group_id::text, '-'),
        coalesce(e.undoes::text, '-'), e.payload_version, coalesce(encode(e.text_hash, 'hex'), '-'),
        {schema}.wordless(e.payload) #- '{state,tenant_id}' #- '{tombstone,tenant_id}'), 'UTF8');
END $body$;

-- Seq numbers are assigned under the tenant's lock, and the rows of one statement come in their order: the
-- predecessor is always there.
CREATE FUNCTION {schema}.chain_event() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    NEW.chain := sha256(coalesce((SELECT p.chain FROM {schema}.memory_events p
        WHERE p.tenant_id = NEW.tenant_id AND p.seq = NEW.seq - 1), '') || {schema}.chained_content(NEW));
    RETURN NEW;
END $body$;
CREATE TRIGGER chain BEFORE INSERT ON {schema}.memory_events
    FOR EACH ROW EXECUTE FUNCTION {schema}.chain_event();

-- Append-only tables let a purge remove words. It runs in the functions below, which alone set `purging`; the program's
-- role has no right to update or delete these rows.
CREATE OR REPLACE FUNCTION {schema}.guard_append_only() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF TG_LEVEL = 'ROW' AND current_setting('memory_butler.purging', true) = 'on' THEN
        IF TG_OP = 'DELETE' AND TG_TABLE_NAME <> 'memory_events' THEN
            RETURN OLD;
        ELSIF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'rule_applications' THEN
            RETURN NEW;
        ELSIF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'memory_events' AND NEW.chain IS NOT DISTINCT FROM OLD.chain
            AND (OLD.chain IS NULL OR {schema}.chained_content(NEW) = {schema}.chained_content(OLD)) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'MB001';
END $body$;

CREATE OR REPLACE FUNCTION {schema}.guard_fact() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM {schema}.check_transition('fact', 'validity', OLD.validity, NEW.validity);
    IF (OLD.tenant_id, OLD.id, OLD.ref, OLD.scope, OLD.created_at, OLD.valid_at, OLD.source_butler,
        OLD.source_episode_id, OLD.request_id)
        IS DISTINCT FROM (NEW.tenant_id, NEW.id, NEW.ref, NEW.scope, NEW.created_at, NEW.valid_at,
        NEW.source_butler, NEW.source_episode_id, NEW.request_id)
        -- A purge removes the fact that this one replaced.
        OR (OLD.supersedes_id IS DISTINCT FROM NEW.supersedes_id AND NOT (NEW.supersedes_id IS NULL
            AND current_setting('memory_butler.purging', true) = 'on')) THEN
        RAISE EXCEPTION 'the identity and provenance of a fact never change' USING ERRCODE = 'MB001';
    END IF;
    RETURN NEW;
END $body$;

-- Remove the words of some memories from their events. An event from before the chain has a plain hash of its text,
-- which could be guessed: it is replaced by one with a key that is kept nowhere. Names of sessions that only purged
-- episodes carried are removed from all events.
CREATE FUNCTION {schema}.scrub_events(ids uuid[], sessions text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
DECLARE
    tenant text := current_setting('memory_butler.tenant');
    scrubbed bigint;
BEGIN
    PERFORM set_config('memory_butler.purging', 'on', true);
    UPDATE {schema}.memory_events e
    SET request_id = NULL, subrequest_id = NULL, segment_id = NULL, session_id = NULL,
        payload = CASE WHEN e.chain IS NOT NULL THEN {schema}.wordless(e.payload)
            ELSE {schema}.wordless(e.payload - 'reason_hash' #- '{application,reason_hash}'
                #- '{correction,reason_hash}') END,
        text_hash = CASE WHEN e.chain IS NOT NULL THEN e.text_hash
            ELSE sha256(uuid_send(gen_random_uuid()) || e.text_hash) END
    WHERE e.tenant_id = tenant AND e.entity_id = ANY(ids);
    GET DIAGNOSTICS scrubbed = ROW_COUNT;
    -- Reads that returned nothing else.
    UPDATE {schema}.memory_events e
    SET request_id = NULL, subrequest_id = NULL, segment_id = NULL, session_id = NULL
    WHERE e.tenant_id = tenant AND e.entity_type = 'reference' AND e.payload -> 'ids' <@ to_jsonb(ids)
        AND e.seq = ANY (ARRAY(SELECT DISTINCT r.seq FROM {schema}.memory_references r
            WHERE r.tenant_id = tenant AND r.memory_id = ANY(ids)));
    IF cardinality(sessions) > 0 THEN
        UPDATE {schema}.memory_events e
        SET session_id = NULL, payload = e.payload #- '{state,session_id}' #- '{application,session_id}'
        WHERE e.tenant_id = tenant AND e.session_id = ANY(sessions);
        UPDATE {schema}.rule_applications SET session_id = NULL
        WHERE tenant_id = tenant AND session_id = ANY(sessions);
    END IF;
    PERFORM set_config('memory_butler.purging', '', true);
    RETURN scrubbed;
END $body$;

-- Delete the links and the feedback of purged facts and rules.
CREATE FUNCTION {schema}.drop_provenance(ids uuid[]) RETURNS TABLE (links bigint, applications bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
DECLARE
    tenant text := current_setting('memory_butler.tenant');
BEGIN
    PERFORM set_config('memory_butler.purging', 'on', true);
    DELETE FROM {schema}.memory_links
    WHERE tenant_id = tenant AND (source_id = ANY(ids) OR target_id = ANY(ids));
    GET DIAGNOSTICS links = ROW_COUNT;
    DELETE FROM {schema}.rule_applications WHERE tenant_id = tenant AND rule_id = ANY(ids);
    GET DIAGNOSTICS applications = ROW_COUNT;
    PERFORM set_config('memory_butler.purging', '', true);
    RETURN NEXT;
END $body$;

-- Delete the reasons of some reports on rules.
CREATE FUNCTION {schema}.drop_reasons(ids uuid[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
DECLARE
    dropped bigint;
BEGIN
    PERFORM set_config('memory_butler.purging', 'on', true);
    UPDATE {schema}.rule_applications SET reason = NULL
    WHERE tenant_id = current_setting('memory_butler.tenant') AND id = ANY(ids) AND reason IS NOT NULL;
    GET DIAGNOSTICS dropped = ROW_COUNT;
    PERFORM set_config('memory_butler.purging', '', true);
    RETURN dropped;
END $body$;

-- Cut facts off from the purged facts that they replaced; returns the facts.
CREATE FUNCTION {schema}.cut_off(ids uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $body$
BEGIN
    PERFORM set_config('memory_butler.purging', 'on', true);
    RETURN QUERY UPDATE {schema}.facts SET supersedes_id = NULL
    WHERE tenant_id = current_setting('memory_butler.tenant') AND supersedes_id = ANY(ids) AND id <> ALL(ids)
    RETURNING id;
    PERFORM set_config('memory_butler.purging', '', true);
END $body$;

DO $body$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['scrub_events(uuid[], text[])', 'drop_provenance(uuid[])', 'drop_reasons(uuid[])',
        'cut_off(uuid[])']
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION {schema}.%s FROM PUBLIC', one);
        EXECUTE format('GRANT EXECUTE ON FUNCTION {schema}.%s TO {app_role}', one);
    END LOOP;
END $body$;

-- Texts of one memory have a random salt in common, which makes their hashes keyed. Events from before the salt have
-- plain hashes of the same text.
CREATE FUNCTION {schema}.same_text(tenant text, memory uuid, one bytea, other bytea) RETURNS boolean
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    RETURN one = other OR (
        SELECT count(DISTINCT t.body::jsonb - 'salt') = 1 AND count(*) = 2 FROM {schema}.texts t
        WHERE t.tenant_id = tenant AND t.memory_id = memory AND t.hash IN (one, other));
END $body$;

-- The part of a memory's state that an undo compares and restores. A purge may have removed the fact that it replaced.
CREATE OR REPLACE FUNCTION {schema}.left_state(payload jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    ('{"pinned": false, "judged_from": null, "origin": "agent", "quarantine_reason": null}' || (payload -> 'state'))
        - '{reference_count,last_referenced_at,decay_rate,supersedes_id}'::text[];

CREATE OR REPLACE FUNCTION {schema}.require_revision(program_revision text) RETURNS void
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0011' THEN
        RAISE EXCEPTION 'the store is at revision 0011, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
