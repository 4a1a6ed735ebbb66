-- name: one
-- The match of one memory with a question, regardless of visibility: similarity, word score, and the matching words and
-- names.
WITH query AS MATERIALIZED (
    {search.query}
), earlier AS MATERIALIZED (
    {search.earlier}
), named AS MATERIALIZED (
    {aliases.names_asked}
), query_lexemes AS MATERIALIZED (
    {search.query_lexemes}
), bm25_terms AS MATERIALIZED (
    {search.bm25_terms}
)
SELECT p.passages, m.similarity, b.keyword_score, b.words, b.names
FROM (
    SELECT count(*) AS passages
    FROM {tables}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = %(memory_type)s AND p.memory_id = %(memory_id)s
        AND p.embedding_version IN (SELECT %(embedding_version)s UNION ALL SELECT version FROM earlier)
) p
CROSS JOIN (
    SELECT {search.best_similarity_full} AS similarity
    FROM (SELECT %(memory_type)s::text AS memory_type, %(memory_id)s::uuid AS id) m
) m
CROSS JOIN (
    SELECT round(1e6 * sum(w.gain * {search.saturation})) / 1e6 AS keyword_score,
        coalesce(array_agg(w.lexeme ORDER BY w.lexeme) FILTER (WHERE w.kind IN ('word', 'mention')), '{}') AS words,
        coalesce(array_agg(DISTINCT substr(w.lexeme, 2)) FILTER (WHERE w.kind = 'name'), '{}') AS names
    FROM bm25_terms w
    JOIN {tables}.postings p ON p.tenant_id = %(tenant)s AND p.lexeme = w.lexeme AND p.memory_id = %(memory_id)s
) b;
