-- The core: every table that holds a memory, its provenance, its history and its search index.
-- {schema} and {app_role} are put in, quoted, by the migration runner.

CREATE TABLE {schema}.tenants (
    tenant_id text PRIMARY KEY CHECK (tenant_id ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    created_at timestamptz NOT NULL,
    -- Both counters move under this row's lock, which is what makes seq follow the order of commits.
    last_seq bigint NOT NULL DEFAULT 0 CHECK (last_seq >= 0),
    last_ref bigint NOT NULL DEFAULT 0 CHECK (last_ref >= 0),
    -- How much there is to search by words, and how long it is: derived from the postings.
    documents bigint NOT NULL DEFAULT 0 CHECK (documents >= 0),
    document_words bigint NOT NULL DEFAULT 0 CHECK (document_words >= 0)
) WITH (fillfactor = 50);

CREATE TABLE {schema}.butlers (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    butler text NOT NULL CHECK (length(butler) BETWEEN 1 AND 64),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, butler)
);

CREATE TABLE {schema}.embedding_versions (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    dimensions int NOT NULL CHECK (dimensions > 0),
    digest text NOT NULL,
    passage_policy int NOT NULL CHECK (passage_policy > 0),
    created_at timestamptz NOT NULL,
    UNIQUE (name, digest, passage_policy)
);

CREATE TABLE {schema}.episodes (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id uuid NOT NULL,
    ref text NOT NULL CHECK (ref ~ '^[0-9a-z]{4,13}$'),
    butler text NOT NULL CHECK (length(butler) BETWEEN 1 AND 64),
    session_id text,
    content text NOT NULL CHECK (content <> ''),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    importance smallint NOT NULL CHECK (importance BETWEEN 1 AND 10),
    tags text[] NOT NULL,
    validity text NOT NULL CHECK (validity IN ('active', 'retracted')),
    consolidation_status text NOT NULL
        CHECK (consolidation_status IN ('pending', 'consolidated', 'failed', 'dead_letter')),
    consolidated boolean GENERATED ALWAYS AS (consolidation_status = 'consolidated') STORED,
    consolidation_attempts int NOT NULL CHECK (consolidation_attempts >= 0),
    last_consolidation_error text,
    next_consolidation_retry_at timestamptz,
    observed_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at >= created_at),
    last_referenced_at timestamptz,
    reference_count int NOT NULL CHECK (reference_count >= 0),
    metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object'),
    request_id text,
    PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 90);
CREATE INDEX episodes_ref ON {schema}.episodes (tenant_id, ref);
CREATE INDEX episodes_butler ON {schema}.episodes (tenant_id, butler, created_at DESC) WHERE validity = 'active';
CREATE INDEX episodes_backlog ON {schema}.episodes (tenant_id, butler, created_at)
    WHERE consolidation_status = 'pending' AND validity = 'active';

CREATE TABLE {schema}.episode_tombstones (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    episode_id uuid NOT NULL,
    ref text NOT NULL,
    butler text NOT NULL,
    observed_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    deleted_at timestamptz NOT NULL,
    reason text NOT NULL CHECK (reason IN ('expired', 'capacity', 'purged')),
    PRIMARY KEY (tenant_id, episode_id)
);
CREATE INDEX episode_tombstones_ref ON {schema}.episode_tombstones (tenant_id, ref);

CREATE TABLE {schema}.facts (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id uuid NOT NULL,
    ref text NOT NULL CHECK (ref ~ '^[0-9a-z]{4,13}$'),
    subject text NOT NULL CHECK (subject <> ''),
    subject_label text NOT NULL,
    predicate text NOT NULL CHECK (predicate <> ''),
    predicate_label text NOT NULL,
    content text NOT NULL CHECK (content <> ''),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    scope text NOT NULL CHECK (length(scope) BETWEEN 1 AND 64),
    importance smallint NOT NULL CHECK (importance BETWEEN 1 AND 10),
    tags text[] NOT NULL,
    validity text NOT NULL CHECK (validity IN ('active', 'fading', 'superseded', 'expired', 'retracted')),
    confidence double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    permanence text NOT NULL,
    decay_rate double precision NOT NULL,
    valid_at timestamptz,
    source_butler text NOT NULL,
    source_episode_id uuid,
    supersedes_id uuid CHECK (supersedes_id <> id),
    created_at timestamptz NOT NULL,
    last_confirmed_at timestamptz CHECK (last_confirmed_at >= created_at),
    last_referenced_at timestamptz,
    reference_count int NOT NULL CHECK (reference_count >= 0),
    metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object'),
    request_id text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, ref),
    FOREIGN KEY (tenant_id, supersedes_id) REFERENCES {schema}.facts (tenant_id, id),
    CHECK ((permanence, decay_rate) IN
        (('permanent', 0), ('stable', 0.002), ('standard', 0.008), ('volatile', 0.03), ('ephemeral', 0.1)))
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX facts_one_live_property ON {schema}.facts (tenant_id, scope, subject, predicate)
    WHERE valid_at IS NULL AND validity IN ('active', 'fading');
CREATE INDEX facts_live ON {schema}.facts (tenant_id, scope) WHERE validity IN ('active', 'fading');
CREATE INDEX facts_subject ON {schema}.facts (tenant_id, subject, predicate);
CREATE INDEX facts_superseded_by ON {schema}.facts (tenant_id, supersedes_id) WHERE supersedes_id IS NOT NULL;

CREATE TABLE {schema}.rules (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id uuid NOT NULL,
    ref text NOT NULL CHECK (ref ~ '^[0-9a-z]{4,13}$'),
    content text NOT NULL CHECK (content <> ''),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    scope text NOT NULL CHECK (length(scope) BETWEEN 1 AND 64),
    tags text[] NOT NULL,
    validity text NOT NULL CHECK (validity IN ('active', 'fading', 'expired', 'retracted')),
    maturity text NOT NULL CHECK (maturity IN ('candidate', 'established', 'proven', 'anti_pattern')),
    confidence double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    decay_rate double precision NOT NULL CHECK (decay_rate >= 0),
    effectiveness_score double precision CHECK (effectiveness_score BETWEEN 0 AND 1),
    applied_count int NOT NULL,
    success_count int NOT NULL CHECK (success_count >= 0),
    harmful_count int NOT NULL CHECK (harmful_count >= 0),
    harmful_reasons text[] NOT NULL,
    source_butler text NOT NULL,
    source_episode_id uuid,
    created_at timestamptz NOT NULL,
    last_applied_at timestamptz,
    last_evaluated_at timestamptz,
    last_confirmed_at timestamptz CHECK (last_confirmed_at >= created_at),
    last_referenced_at timestamptz,
    reference_count int NOT NULL CHECK (reference_count >= 0),
    metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object'),
    request_id text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, ref),
    CHECK (applied_count = success_count + harmful_count),
    CHECK ((effectiveness_score IS NULL) = (applied_count = 0))
) WITH (fillfactor = 90);
CREATE INDEX rules_live ON {schema}.rules (tenant_id, scope) WHERE validity IN ('active', 'fading');
CREATE INDEX rules_content ON {schema}.rules (tenant_id, content_hash);

CREATE TABLE {schema}.rule_applications (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id uuid NOT NULL,
    rule_id uuid NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('helpful', 'harmful')),
    reason text,
    butler text NOT NULL,
    session_id text,
    created_at timestamptz NOT NULL,
    request_id text,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, rule_id) REFERENCES {schema}.rules (tenant_id, id)
);
CREATE INDEX rule_applications_rule ON {schema}.rule_applications (tenant_id, rule_id, created_at);

CREATE TABLE {schema}.memory_links (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    source_type text NOT NULL CHECK (source_type IN ('episode', 'fact', 'rule')),
    source_id uuid NOT NULL,
    target_type text NOT NULL CHECK (target_type IN ('episode', 'fact', 'rule')),
    target_id uuid NOT NULL CHECK (target_id <> source_id),
    relation text NOT NULL
        CHECK (relation IN ('derived_from', 'supports', 'contradicts', 'supersedes', 'related_to')),
    created_at timestamptz NOT NULL,
    request_id text,
    PRIMARY KEY (tenant_id, source_id, relation, target_id)
);
CREATE INDEX memory_links_inbound ON {schema}.memory_links (tenant_id, target_id, relation);

CREATE TABLE {schema}.aliases (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id uuid NOT NULL,
    subject text NOT NULL CHECK (subject <> ''),
    alias text NOT NULL CHECK (alias <> ''),
    alias_label text NOT NULL,
    created_at timestamptz NOT NULL,
    request_id text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, alias, subject)
);

-- Texts live apart from the events that speak of them, so that removing a text never changes an event.
-- The owner is part of the key: two memories that say the same never share, and so never lose, a text.
CREATE TABLE {schema}.texts (
    tenant_id text NOT NULL,
    memory_id uuid NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    body text NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, hash)
);

CREATE TABLE {schema}.memory_events (
    tenant_id text NOT NULL,
    id uuid NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    event_type text NOT NULL CHECK (event_type ~ '^[a-z_]+\.[a-z_]+$'),
    entity_type text NOT NULL CHECK (entity_type IN ('episode', 'fact', 'rule', 'alias', 'reference')),
    entity_id uuid CHECK ((entity_id IS NULL) = (entity_type = 'reference')),
    occurred_at timestamptz NOT NULL,
    actor text NOT NULL,
    request_id text,
    subrequest_id text,
    segment_id text,
    session_id text,
    group_id uuid,
    payload_version smallint NOT NULL CHECK (payload_version > 0),
    payload jsonb NOT NULL CHECK (jsonb_typeof(payload) = 'object'),
    text_hash bytea,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX memory_events_seq ON {schema}.memory_events (tenant_id, seq);
CREATE INDEX memory_events_entity ON {schema}.memory_events (tenant_id, entity_id, seq);

CREATE TABLE {schema}.idempotency_keys (
    tenant_id text NOT NULL,
    butler text NOT NULL,
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    response jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, butler, key)
);

CREATE TABLE {schema}.job_runs (
    tenant_id text NOT NULL REFERENCES {schema}.tenants,
    id uuid NOT NULL,
    job text NOT NULL CHECK (job <> ''),
    butler text,
    started_at timestamptz NOT NULL,
    finished_at timestamptz CHECK (finished_at >= started_at),
    outcome text CHECK (outcome IN ('succeeded', 'failed')),
    report jsonb NOT NULL CHECK (jsonb_typeof(report) = 'object'),
    PRIMARY KEY (tenant_id, id),
    CHECK ((finished_at IS NULL) = (outcome IS NULL))
);
CREATE INDEX job_runs_latest ON {schema}.job_runs (tenant_id, job, started_at DESC);

-- The search index: one or more passages and a list of postings per memory. Derived; rebuilt at will.
CREATE TABLE {schema}.passages (
    tenant_id text NOT NULL,
    memory_type text NOT NULL CHECK (memory_type IN ('episode', 'fact', 'rule')),
    memory_id uuid NOT NULL,
    ordinal smallint NOT NULL CHECK (ordinal >= 0),
    embedding_version smallint NOT NULL REFERENCES {schema}.embedding_versions,
    embedding {vector}.vector(384) NOT NULL,
    PRIMARY KEY (tenant_id, memory_type, memory_id, ordinal)
);
ALTER TABLE {schema}.passages ALTER COLUMN embedding SET STORAGE PLAIN;

CREATE TABLE {schema}.postings (
    tenant_id text NOT NULL,
    memory_type text NOT NULL CHECK (memory_type IN ('episode', 'fact', 'rule')),
    memory_id uuid NOT NULL,
    lexeme text NOT NULL,
    frequency smallint NOT NULL CHECK (frequency > 0),
    words int NOT NULL CHECK (words > 0)
);
CREATE UNIQUE INDEX postings_lexeme ON {schema}.postings (tenant_id, lexeme, memory_id)
    INCLUDE (memory_type, frequency, words);
CREATE INDEX postings_memory ON {schema}.postings (tenant_id, memory_id);

-- One formula, mirrored from policy/confidence.py; a test holds the two equal.
CREATE FUNCTION {schema}.effective_confidence(
    confidence double precision, decay_rate double precision, anchor timestamptz, now timestamptz
) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    -- exp() raises an error on underflow, where it should be as good as zero: hence the bound.
    confidence * exp(-least(600, decay_rate * greatest(0, date_part('epoch', now - anchor) / 86400)));

-- Whether a reader of these scopes gets to see a fact or a rule that is worth this much now.
CREATE FUNCTION {schema}.readable(
    validity text, scope text, effective double precision, scopes text[], min_confidence double precision
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    validity IN ('active', 'fading') AND (scopes IS NULL OR scope = ANY(scopes)) AND effective >= min_confidence;

-- Lifecycles --------------------------------------------------------------------------------------

CREATE TABLE {schema}.lifecycle_transitions (
    memory_type text NOT NULL,
    axis text NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    PRIMARY KEY (memory_type, axis, from_state, to_state)
);
INSERT INTO {schema}.lifecycle_transitions (memory_type, axis, from_state, to_state) VALUES
    ('fact', 'validity', 'active', 'fading'),
    ('fact', 'validity', 'fading', 'active'),
    ('fact', 'validity', 'active', 'superseded'),
    ('fact', 'validity', 'fading', 'superseded'),
    ('fact', 'validity', 'active', 'expired'),
    ('fact', 'validity', 'fading', 'expired'),
    ('fact', 'validity', 'active', 'retracted'),
    ('fact', 'validity', 'fading', 'retracted'),
    ('fact', 'validity', 'superseded', 'active'),
    ('fact', 'validity', 'expired', 'active'),
    ('fact', 'validity', 'retracted', 'active'),
    ('rule', 'validity', 'active', 'fading'),
    ('rule', 'validity', 'fading', 'active'),
    ('rule', 'validity', 'active', 'expired'),
    ('rule', 'validity', 'fading', 'expired'),
    ('rule', 'validity', 'active', 'retracted'),
    ('rule', 'validity', 'fading', 'retracted'),
    ('rule', 'validity', 'expired', 'active'),
    ('rule', 'validity', 'retracted', 'active'),
    ('rule', 'maturity', 'candidate', 'established'),
    ('rule', 'maturity', 'established', 'proven'),
    ('rule', 'maturity', 'proven', 'established'),
    ('rule', 'maturity', 'proven', 'candidate'),
    ('rule', 'maturity', 'established', 'candidate'),
    ('rule', 'maturity', 'candidate', 'anti_pattern'),
    ('rule', 'maturity', 'established', 'anti_pattern'),
    ('rule', 'maturity', 'proven', 'anti_pattern'),
    ('rule', 'maturity', 'anti_pattern', 'candidate'),
    ('episode', 'validity', 'active', 'retracted'),
    ('episode', 'validity', 'retracted', 'active'),
    ('episode', 'consolidation', 'pending', 'consolidated'),
    ('episode', 'consolidation', 'pending', 'failed'),
    ('episode', 'consolidation', 'pending', 'dead_letter'),
    ('episode', 'consolidation', 'failed', 'pending'),
    ('episode', 'consolidation', 'dead_letter', 'pending'),
    ('episode', 'consolidation', 'consolidated', 'pending');

CREATE FUNCTION {schema}.check_transition(memory_type text, axis text, from_state text, to_state text)
RETURNS void LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF from_state <> to_state AND NOT EXISTS (
        SELECT FROM {schema}.lifecycle_transitions t
        WHERE t.memory_type = check_transition.memory_type AND t.axis = check_transition.axis
            AND t.from_state = check_transition.from_state AND t.to_state = check_transition.to_state
    ) THEN
        RAISE EXCEPTION 'a %''s % cannot go from % to %', memory_type, axis, from_state, to_state
            USING ERRCODE = 'MB001';
    END IF;
END $body$;

CREATE FUNCTION {schema}.guard_fact() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM {schema}.check_transition('fact', 'validity', OLD.validity, NEW.validity);
    IF (OLD.tenant_id, OLD.id, OLD.ref, OLD.scope, OLD.created_at, OLD.valid_at, OLD.source_butler,
        OLD.source_episode_id, OLD.supersedes_id, OLD.request_id)
        IS DISTINCT FROM (NEW.tenant_id, NEW.id, NEW.ref, NEW.scope, NEW.created_at, NEW.valid_at,
        NEW.source_butler, NEW.source_episode_id, NEW.supersedes_id, NEW.request_id) THEN
        RAISE EXCEPTION 'the identity and provenance of a fact never change' USING ERRCODE = 'MB001';
    END IF;
    RETURN NEW;
END $body$;
CREATE TRIGGER guard BEFORE UPDATE ON {schema}.facts
    FOR EACH ROW WHEN ((OLD.validity, OLD.tenant_id, OLD.id, OLD.ref, OLD.scope, OLD.created_at, OLD.valid_at,
        OLD.source_butler, OLD.source_episode_id, OLD.supersedes_id, OLD.request_id)
        IS DISTINCT FROM (NEW.validity, NEW.tenant_id, NEW.id, NEW.ref, NEW.scope, NEW.created_at, NEW.valid_at,
        NEW.source_butler, NEW.source_episode_id, NEW.supersedes_id, NEW.request_id))
    EXECUTE FUNCTION {schema}.guard_fact();

CREATE FUNCTION {schema}.guard_rule() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM {schema}.check_transition('rule', 'validity', OLD.validity, NEW.validity);
    PERFORM {schema}.check_transition('rule', 'maturity', OLD.maturity, NEW.maturity);
    IF (OLD.tenant_id, OLD.id, OLD.ref, OLD.scope, OLD.created_at, OLD.source_butler, OLD.source_episode_id,
        OLD.request_id)
        IS DISTINCT FROM (NEW.tenant_id, NEW.id, NEW.ref, NEW.scope, NEW.created_at, NEW.source_butler,
        NEW.source_episode_id, NEW.request_id) THEN
        RAISE EXCEPTION 'the identity and provenance of a rule never change' USING ERRCODE = 'MB001';
    END IF;
    RETURN NEW;
END $body$;
CREATE TRIGGER guard BEFORE UPDATE ON {schema}.rules
    FOR EACH ROW WHEN ((OLD.validity, OLD.maturity, OLD.tenant_id, OLD.id, OLD.ref, OLD.scope, OLD.created_at,
        OLD.source_butler, OLD.source_episode_id, OLD.request_id)
        IS DISTINCT FROM (NEW.validity, NEW.maturity, NEW.tenant_id, NEW.id, NEW.ref, NEW.scope, NEW.created_at,
        NEW.source_butler, NEW.source_episode_id, NEW.request_id))
    EXECUTE FUNCTION {schema}.guard_rule();

CREATE FUNCTION {schema}.guard_episode() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM {schema}.check_transition('episode', 'validity', OLD.validity, NEW.validity);
    PERFORM {schema}.check_transition('episode', 'consolidation', OLD.consolidation_status,
        NEW.consolidation_status);
    IF (OLD.tenant_id, OLD.id, OLD.ref, OLD.butler, OLD.session_id, OLD.observed_at, OLD.created_at,
        OLD.request_id)
        IS DISTINCT FROM (NEW.tenant_id, NEW.id, NEW.ref, NEW.butler, NEW.session_id, NEW.observed_at,
        NEW.created_at, NEW.request_id) THEN
        RAISE EXCEPTION 'the identity and provenance of an episode never change' USING ERRCODE = 'MB001';
    END IF;
    RETURN NEW;
END $body$;
CREATE TRIGGER guard BEFORE UPDATE ON {schema}.episodes
    FOR EACH ROW WHEN ((OLD.validity, OLD.consolidation_status, OLD.tenant_id, OLD.id, OLD.ref, OLD.butler,
        OLD.session_id, OLD.observed_at, OLD.created_at, OLD.request_id)
        IS DISTINCT FROM (NEW.validity, NEW.consolidation_status, NEW.tenant_id, NEW.id, NEW.ref, NEW.butler,
        NEW.session_id, NEW.observed_at, NEW.created_at, NEW.request_id))
    EXECUTE FUNCTION {schema}.guard_episode();

-- A memory's words are what was said: they are never rewritten.
CREATE FUNCTION {schema}.guard_content() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'the content of a stored memory is never rewritten' USING ERRCODE = 'MB001';
END $body$;
CREATE TRIGGER guard_content BEFORE UPDATE ON {schema}.facts
    FOR EACH ROW WHEN (OLD.content <> NEW.content OR OLD.content_hash <> NEW.content_hash
        OR OLD.subject <> NEW.subject OR OLD.predicate <> NEW.predicate
        OR OLD.subject_label <> NEW.subject_label OR OLD.predicate_label <> NEW.predicate_label)
    EXECUTE FUNCTION {schema}.guard_content();
CREATE TRIGGER guard_content BEFORE UPDATE ON {schema}.rules
    FOR EACH ROW WHEN (OLD.content <> NEW.content OR OLD.content_hash <> NEW.content_hash)
    EXECUTE FUNCTION {schema}.guard_content();
CREATE TRIGGER guard_content BEFORE UPDATE ON {schema}.episodes
    FOR EACH ROW WHEN (OLD.content <> NEW.content OR OLD.content_hash <> NEW.content_hash)
    EXECUTE FUNCTION {schema}.guard_content();

CREATE FUNCTION {schema}.guard_append_only() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'MB001';
END $body$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {schema}.memory_events
    FOR EACH ROW EXECUTE FUNCTION {schema}.guard_append_only();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON {schema}.memory_events
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.guard_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {schema}.rule_applications
    FOR EACH ROW EXECUTE FUNCTION {schema}.guard_append_only();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON {schema}.rule_applications
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.guard_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {schema}.memory_links
    FOR EACH ROW EXECUTE FUNCTION {schema}.guard_append_only();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON {schema}.memory_links
    FOR EACH STATEMENT EXECUTE FUNCTION {schema}.guard_append_only();

-- Episodes come and go with time, so no foreign key can hold a link's ends: this does, inside the tenant.
CREATE FUNCTION {schema}.memory_exists(tenant text, memory_type text, memory_id uuid)
RETURNS boolean LANGUAGE sql STABLE AS $body$
    SELECT CASE memory_type
        WHEN 'fact' THEN EXISTS (SELECT FROM {schema}.facts WHERE tenant_id = tenant AND id = memory_id)
        WHEN 'rule' THEN EXISTS (SELECT FROM {schema}.rules WHERE tenant_id = tenant AND id = memory_id)
        WHEN 'episode' THEN EXISTS (SELECT FROM {schema}.episodes WHERE tenant_id = tenant AND id = memory_id)
            OR EXISTS (SELECT FROM {schema}.episode_tombstones
                WHERE tenant_id = tenant AND episode_id = memory_id)
    END
$body$;

CREATE FUNCTION {schema}.guard_link() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF NOT {schema}.memory_exists(NEW.tenant_id, NEW.source_type, NEW.source_id)
        OR NOT {schema}.memory_exists(NEW.tenant_id, NEW.target_type, NEW.target_id) THEN
        RAISE EXCEPTION 'a link joins two memories of one tenant, and one of these does not exist there'
            USING ERRCODE = 'MB001';
    END IF;
    RETURN NEW;
END $body$;
CREATE TRIGGER guard BEFORE INSERT ON {schema}.memory_links
    FOR EACH ROW EXECUTE FUNCTION {schema}.guard_link();

-- Tenants -----------------------------------------------------------------------------------------

DO $body$
DECLARE
    holder text;
BEGIN
    FOREACH holder IN ARRAY ARRAY['tenants', 'butlers', 'episodes', 'episode_tombstones', 'facts', 'rules',
        'rule_applications', 'memory_links', 'aliases', 'texts', 'memory_events', 'idempotency_keys',
        'job_runs', 'passages', 'postings']
    LOOP
        EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', holder);
        EXECUTE format('ALTER TABLE {schema}.%I FORCE ROW LEVEL SECURITY', holder);
        EXECUTE format('CREATE POLICY one_tenant ON {schema}.%I
            USING (tenant_id = current_setting(''memory_butler.tenant'', true))
            WITH CHECK (tenant_id = current_setting(''memory_butler.tenant'', true))', holder);
    END LOOP;
END $body$;

GRANT USAGE ON SCHEMA {schema} TO {app_role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {app_role};
REVOKE UPDATE, DELETE ON {schema}.memory_events, {schema}.memory_links, {schema}.rule_applications FROM {app_role};
REVOKE INSERT, UPDATE, DELETE ON {schema}.lifecycle_transitions, {schema}.alembic_version FROM {app_role};
REVOKE UPDATE, DELETE ON {schema}.embedding_versions FROM {app_role};

-- Which revisions of the program may work with this schema. Every transaction asks; a newer migration replaces it.
CREATE FUNCTION {schema}.require_revision(program_revision text) RETURNS void LANGUAGE plpgsql STABLE AS $body$
BEGIN
    IF program_revision <> '0001' THEN
        RAISE EXCEPTION 'the store is at revision 0001, this program works with %', program_revision
            USING ERRCODE = 'MB002';
    END IF;
END $body$;
