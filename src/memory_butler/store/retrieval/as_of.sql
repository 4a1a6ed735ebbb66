-- name: ask_for_room
-- True if temporary tables can be created.
SELECT has_database_privilege(current_user, current_database(), 'TEMPORARY') AS granted,
    current_database() AS database, current_user AS role;

-- name: make_tenants
-- Create the table of the tenant's past counters.
CREATE TEMPORARY TABLE tenants (LIKE {schema}.tenants);

-- name: make_facts
-- Create the table of past facts.
CREATE TEMPORARY TABLE facts (LIKE {schema}.facts, PRIMARY KEY (tenant_id, id));

-- name: make_rules
-- Create the table of past rules.
CREATE TEMPORARY TABLE rules (LIKE {schema}.rules, PRIMARY KEY (tenant_id, id));

-- name: make_episodes
-- Create the table of past episodes.
CREATE TEMPORARY TABLE episodes (LIKE {schema}.episodes, PRIMARY KEY (tenant_id, id));

-- name: index_sessions
-- Index the episodes of an agent session in order.
CREATE INDEX ON {tables}.episodes (tenant_id, butler, session_id, observed_at, created_at, id);

-- name: make_aliases
-- Create the table of past aliases.
CREATE TEMPORARY TABLE aliases (LIKE {schema}.aliases);

-- name: make_references
-- Create the table of past references.
CREATE TEMPORARY TABLE memory_references (LIKE {schema}.memory_references, PRIMARY KEY (tenant_id, memory_id, seq));

-- name: make_wordless
-- Create the table of memories whose texts no longer exist.
CREATE TEMPORARY TABLE wordless (entity_type text NOT NULL, id uuid NOT NULL);

-- name: make_known
-- Create the table of the ids of all past memories.
CREATE TEMPORARY TABLE known (id uuid PRIMARY KEY);

-- name: make_passages
-- View of the vectors of past memories.
CREATE TEMPORARY VIEW passages AS
SELECT p.* FROM {schema}.passages p WHERE EXISTS (SELECT FROM {tables}.known k WHERE k.id = p.memory_id);

-- name: make_profiles
-- View of the domain profiles of past memories.
CREATE TEMPORARY VIEW profiles AS
SELECT p.* FROM {schema}.profiles p WHERE EXISTS (SELECT FROM {tables}.known k WHERE k.id = p.memory_id);

-- name: make_postings
-- View of the postings of past memories.
CREATE TEMPORARY VIEW postings AS
SELECT p.* FROM {schema}.postings p WHERE EXISTS (SELECT FROM {tables}.known k WHERE k.id = p.memory_id);

-- name: fill_known
-- Insert the ids of all past memories, live or not: the weight of a word depends on all of them.
INSERT INTO {tables}.known (id)
SELECT id FROM {tables}.facts
UNION ALL SELECT id FROM {tables}.rules
UNION ALL SELECT id FROM {tables}.episodes;

-- name: fill_tenants
-- Insert the number and total length of the past memories with postings.
INSERT INTO {tables}.tenants (tenant_id, created_at, last_seq, last_ref, documents, document_words)
SELECT %(tenant)s, %(now)s, 0, 0, count(*), coalesce(sum(words), 0)
FROM (SELECT DISTINCT memory_id, words FROM {tables}.postings WHERE tenant_id = %(tenant)s) m;

-- name: measure
-- Update the planner's statistics.
ANALYZE {tables}.facts, {tables}.rules, {tables}.episodes, {tables}.known;

-- name: wordless
-- The number of past memories whose text was removed since, by type; purged ones apart.
SELECT CASE WHEN EXISTS (SELECT FROM {schema}.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.entity_id = w.id AND e.payload ? 'purged') THEN 'purged ' ELSE '' END
    || w.entity_type AS entity_type, count(*) AS count
FROM {tables}.wordless w GROUP BY 1 ORDER BY 1;
