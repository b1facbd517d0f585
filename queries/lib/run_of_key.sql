-- kind: table
-- doc: The run each native run key belongs to. One row a key where it means one run wherever it stands (`source_id` is NULL), else one row a key and
-- file: two repositories may each have an issue 12. Join on the key and `source_id IS NULL OR source_id = …`.
SELECT member_id AS native_run_key, NULL::VARCHAR AS source_id, min(run_id) AS run_id
FROM run_members
WHERE member_kind = 'native_run' AND root IS NULL
GROUP BY member_id
UNION ALL
SELECT m.member_id, s.source_id, m.run_id
FROM run_members m JOIN source_paths s ON m.root = '' OR starts_with(s.path, m.root || '/')
WHERE m.member_kind = 'native_run' AND m.root IS NOT NULL
-- Of folders in each other the innermost.
QUALIFY row_number() OVER (PARTITION BY m.member_id, s.source_id ORDER BY length(m.root) DESC, m.run_id) = 1
