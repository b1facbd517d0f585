-- name: warnings_summary
-- title: What was odd but could be read
-- doc: One row a format, kind and detail.
-- param: limit integer 1000 Rows at most, the most frequent first.
-- column: format The format.
-- column: kind Name of the warning.
-- column: detail What it is about.
-- column: n_occurrences Occurrences.
-- column: n_files Files they are in.
WITH odd AS (
    SELECT source_id, kind, detail, count AS n FROM warnings
    UNION ALL
    -- One call id with contradicting copies: both stay.
    SELECT min(source_id), 'id_collision', NULL, 1 FROM model_calls GROUP BY call_id HAVING count(*) > 1
)
SELECT s.format, o.kind, o.detail, big(sum(o.n)) AS n_occurrences, count(DISTINCT coalesce(s.path, o.source_id)) AS n_files
FROM odd o LEFT JOIN sources s ON s.source_id = o.source_id
GROUP BY s.format, o.kind, o.detail
ORDER BY n_occurrences DESC, s.format NULLS LAST, o.kind, o.detail NULLS LAST
LIMIT $limit
