-- name: quarantine_summary
-- title: Records that became no rows
-- doc: One row a format and reason.
-- column: format The format.
-- column: reason Why the records could not be read.
-- column: n_records Records.
-- column: n_files Files they are in.
-- column: bytes Bytes they take.
-- column: example_path File of the first one, by path and line.
-- column: example_line Its line.
SELECT s.format, q.reason, count(*) AS n_records, count(DISTINCT q.source_id) AS n_files, big(sum(q.bytes)) AS bytes,
    min_by(s.path, row(s.path, q.source_line)) AS example_path, min_by(q.source_line, row(s.path, q.source_line)) AS example_line
FROM quarantine q LEFT JOIN sources s ON s.source_id = q.source_id
GROUP BY s.format, q.reason
ORDER BY s.format NULLS LAST, q.reason
