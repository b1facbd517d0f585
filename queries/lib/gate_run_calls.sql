-- kind: table
-- doc: The model calls that gate runs own: at most one owner a call, or, where the call asked for k tools, one k-th for each gate run among them.
-- A gate run of a model gate that *is* a sub-agent's context owns its calls (`cost_basis = context`; several gate runs in one context: the first that
-- ends at or after the call, else the last). A gate run recognised in a tool call owns its share of the call that asked for it (`split`).
WITH reviewers AS (
    SELECT g.gate_run_id, g.gate_id, g.run_id, g.context_id, g.at_us, g.seq
    FROM gate_run_facts g JOIN contexts c ON c.context_id = g.context_id
    WHERE g.gate_kind = 'model' AND c.parent_context_id IS NOT NULL
), by_context AS (
    SELECT r.gate_run_id, r.gate_id, r.run_id, c.call_id, c.context_id, c.source_id, 1 AS parts
    FROM reviewers r JOIN call_costs c ON c.context_id = r.context_id
    QUALIFY row_number() OVER (PARTITION BY c.call_id, c.context_id, c.source_id ORDER BY (r.at_us >= c.at_us) DESC NULLS LAST,
        CASE WHEN r.at_us >= c.at_us THEN r.at_us ELSE -r.at_us END, r.seq, r.gate_run_id) = 1
), asked AS (
    SELECT g.gate_run_id, g.gate_id, g.run_id, t.call_id, t.tool_call_id
    FROM gate_run_facts g JOIN tool_calls t ON t.tool_call_id = g.tool_call_id
    WHERE g.detector_id IS NOT NULL AND t.call_id IS NOT NULL AND g.gate_kind IS DISTINCT FROM 'human'
), per_tool AS (
    SELECT *, count(*) OVER (PARTITION BY tool_call_id) AS runs_here FROM asked
), per_call AS (
    SELECT call_id, count(*) AS tools FROM tool_calls WHERE call_id IN (SELECT call_id FROM asked) GROUP BY call_id
), by_tool AS (
    SELECT p.gate_run_id, p.gate_id, p.run_id, c.call_id, c.context_id, c.source_id, p.runs_here * k.tools AS parts
    FROM per_tool p JOIN per_call k ON k.call_id = p.call_id JOIN call_costs c ON c.call_id = p.call_id
    WHERE NOT EXISTS (SELECT 1 FROM by_context b WHERE b.call_id = c.call_id AND b.context_id = c.context_id)
), owned AS (
    SELECT *, 'context' AS cost_basis FROM by_context UNION ALL SELECT *, 'split' FROM by_tool
)
SELECT o.gate_run_id, o.gate_id, o.run_id, o.cost_basis, o.parts, c.call_id, c.model, c.output_quality, c.priced, c.complete,
    c.input_tokens // o.parts AS input_tokens, c.cache_read_tokens // o.parts AS cache_read_tokens,
    c.cache_write_5m_tokens // o.parts AS cache_write_5m_tokens, c.cache_write_1h_tokens // o.parts AS cache_write_1h_tokens,
    c.output_tokens // o.parts AS output_tokens, c.nano_usd // o.parts AS nano_usd, c.nano_usd_lower_bound // o.parts AS nano_usd_lower_bound
FROM owned o JOIN call_costs c ON c.call_id = o.call_id AND c.context_id = o.context_id AND c.source_id = o.source_id
