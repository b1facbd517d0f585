-- kind: table
-- doc: Blockages by a gate that crashed closed: from the request of the first refused tool call to the request of the next call of the same tool in
-- the same context that no gate refused. `until_us` is NULL where that never came.
WITH refused AS (
    SELECT f.gate_id, f.run_id, f.gate_run_id, t.context_id, t.name, us(t.started_at) AS at_us
    FROM gate_run_facts f JOIN tool_calls t ON t.tool_call_id = f.tool_call_id
    WHERE f.verdict IN ('crashed', 'timed_out', 'could_not_run') AND f.stopped_work AND t.started_at IS NOT NULL
), let_through AS (
    SELECT t.context_id, t.name, us(t.started_at) AS at_us FROM tool_calls t
    WHERE t.started_at IS NOT NULL AND t.denied_by IS NULL AND t.tool_call_id NOT IN (
        SELECT tool_call_id FROM gate_run_facts
        WHERE verdict IN ('crashed', 'timed_out', 'could_not_run') AND stopped_work AND tool_call_id IS NOT NULL)
        AND (t.context_id, t.name) IN (SELECT context_id, name FROM refused)
), paired AS (
    SELECT r.gate_id, r.run_id, r.context_id, r.name, r.gate_run_id, r.at_us, min(l.at_us) AS until_us
    FROM refused r LEFT JOIN let_through l ON l.context_id = r.context_id AND l.name = r.name AND l.at_us > r.at_us
    GROUP BY r.gate_id, r.run_id, r.context_id, r.name, r.gate_run_id, r.at_us
)
SELECT gate_id, run_id, context_id, name AS tool, min(at_us) AS from_us, until_us, count(*) AS n_refusals
FROM paired
GROUP BY gate_id, run_id, context_id, name, until_us
