-- name: ask_for_room
-- May temporary tables be made here?
SELECT has_database_privilege(current_user, current_database(), 'TEMPORARY') AS granted,
    current_database() AS database, current_user AS role;

-- name: make_tenants
-- Where the tenant's counters go, as they were.
CREATE TEMPORARY TABLE tenants (LIKE {schema}.tenants);

-- name: make_facts
-- Where facts go as they were.
CREATE TEMPORARY TABLE facts (LIKE {schema}.facts, PRIMARY KEY (tenant_id, id));

-- name: make_rules
-- Where rules go as they were.
CREATE TEMPORARY TABLE rules (LIKE {schema}.rules, PRIMARY KEY (tenant_id, id));

-- name: make_episodes
-- Where episodes go as they were.
CREATE TEMPORARY TABLE episodes (LIKE {schema}.episodes, PRIMARY KEY (tenant_id, id));

-- name: index_sessions
-- The episodes of a session in their order.
CREATE INDEX ON {tables}.episodes (tenant_id, butler, session_id, observed_at, created_at, id);

-- name: make_aliases
-- Where other names of subjects go.
CREATE TEMPORARY TABLE aliases (LIKE {schema}.aliases);

-- name: make_references
-- Where the references go that had been counted.
CREATE TEMPORARY TABLE memory_references (LIKE {schema}.memory_references, PRIMARY KEY (tenant_id, memory_id, seq));

-- name: make_wordless
-- Where it is noted whose words are no longer kept.
CREATE TEMPORARY TABLE wordless (entity_type text NOT NULL, id uuid NOT NULL);

-- name: make_known
-- Where the ids of all memories go that were there.
CREATE TEMPORARY TABLE known (id uuid PRIMARY KEY);

-- name: make_passages
-- The vectors of what was there.
CREATE TEMPORARY VIEW passages AS
SELECT p.* FROM {schema}.passages p WHERE EXISTS (SELECT FROM {tables}.known k WHERE k.id = p.memory_id);

-- name: make_postings
-- The words of what was there.
CREATE TEMPORARY VIEW postings AS
SELECT p.* FROM {schema}.postings p WHERE EXISTS (SELECT FROM {tables}.known k WHERE k.id = p.memory_id);

-- name: fill_known
-- Everything that was there, in use or not: a word weighs by all of it.
INSERT INTO {tables}.known (id)
SELECT id FROM {tables}.facts
UNION ALL SELECT id FROM {tables}.rules
UNION ALL SELECT id FROM {tables}.episodes;

-- name: fill_tenants
-- How much there was to search by words, and how long it was.
INSERT INTO {tables}.tenants (tenant_id, created_at, last_seq, last_ref, documents, document_words)
SELECT %(tenant)s, %(now)s, 0, 0, count(*), coalesce(sum(words), 0)
FROM (SELECT DISTINCT memory_id, words FROM {tables}.postings WHERE tenant_id = %(tenant)s) m;

-- name: measure
-- Let the planner know how much there is.
ANALYZE {tables}.facts, {tables}.rules, {tables}.episodes, {tables}.known;

-- name: wordless
-- How many of the memories of that time have lost their words since, by type.
SELECT entity_type, count(*) AS count FROM {tables}.wordless GROUP BY entity_type ORDER BY entity_type;
