-- name: one
-- How one memory matches a question, whoever may see it and whatever else does: its nearness in meaning, its score by
-- words, and which of the words and names that are looked for it has.
WITH asked AS MATERIALIZED (
    SELECT %(embedding)s::{vector}.vector AS embedding
), named AS MATERIALIZED (
    {aliases.names_asked}
), sought AS MATERIALIZED (
    {search_index.sought}
), weighed AS MATERIALIZED (
    {search_index.weighed}
)
SELECT m.passages, m.similarity, b.keyword_score, b.words, b.names
FROM (
    SELECT count(*) AS passages, max({search_index.nearness}) AS similarity
    FROM {tables}.passages p
    WHERE p.tenant_id = %(tenant)s AND p.memory_type = %(memory_type)s AND p.memory_id = %(memory_id)s
        AND p.embedding_version = %(embedding_version)s
) m
CROSS JOIN (
    SELECT round(1e6 * sum(w.gain * {search_index.saturation})) / 1e6 AS keyword_score,
        coalesce(array_agg(w.lexeme ORDER BY w.lexeme) FILTER (WHERE w.kind <> 'name'), '{}') AS words,
        coalesce(array_agg(DISTINCT substr(w.lexeme, 2)) FILTER (WHERE w.kind = 'name'), '{}') AS names
    FROM weighed w
    JOIN {tables}.postings p ON p.tenant_id = %(tenant)s AND p.lexeme = w.lexeme AND p.memory_id = %(memory_id)s
) b;
