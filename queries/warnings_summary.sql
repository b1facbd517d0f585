-- name: warnings_summary
-- title: What was odd but could be read
-- doc: One row a format, kind and detail.
-- param: limit integer 1000 Rows at most, the most frequent first.
-- column: format The format.
-- column: kind Name of the warning.
-- column: detail What it is about.
-- column: n_occurrences Occurrences.
-- column: n_files Files they are in.
SELECT s.format, w.kind, w.detail, big(sum(w.count)) AS n_occurrences, count(DISTINCT w.source_id) AS n_files
FROM warnings w LEFT JOIN sources s ON s.source_id = w.source_id
GROUP BY s.format, w.kind, w.detail
ORDER BY n_occurrences DESC, s.format NULLS LAST, w.kind, w.detail NULLS LAST
LIMIT $limit
