-- kind: view
-- doc: The run each context belongs to: as a member itself, else by its native run key. One row a context.
SELECT c.context_id, c.parent_context_id, coalesce(m.run_id, k.run_id) AS run_id
FROM contexts c
LEFT JOIN (SELECT member_id, min(run_id) AS run_id FROM run_members WHERE member_kind = 'context' GROUP BY member_id) m
    ON m.member_id = c.context_id
LEFT JOIN run_of_key k ON k.native_run_key = c.native_run_key AND (k.source_id IS NULL OR k.source_id = c.source_id)
