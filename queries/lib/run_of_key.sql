-- kind: view
-- doc: The run each native run key belongs to, one row a key.
SELECT member_id AS native_run_key, min(run_id) AS run_id
FROM run_members
WHERE member_kind = 'native_run'
GROUP BY member_id
