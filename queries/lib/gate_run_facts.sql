-- kind: table
-- doc: One row a gate run with its run, its gate's purpose and kind, whether it counts as a trial, and its own interval.
-- `counted` is the one definition of the yield denominator (DESIGN 3.2, 3.4, 3.7): a verdict pass, fail or warn, about the product, whose
-- exposure is recorded or implied by stage: what is inferred, or comes from a source that keeps passes only, stands beside. The interval is
-- NULL where the time is unknown, belongs to another gate run, or passed elsewhere.
SELECT
    g.gate_run_id, k.run_id, g.gate_id, g.rule_id, g.unit, g.context_id, g.tool_call_id, g.detector_id,
    coalesce(ga.purpose, 'unknown') AS purpose, ga.kind AS gate_kind, g.about, g.verdict, g.exposure_basis, g.stopped_work, g.seq,
    g.verdict IN ('pass', 'fail', 'warn') AND g.about = 'product' AND g.exposure_basis IN ('recorded', 'implied_by_stage') AS counted,
    span_us(g.duration_ms) // 1000 AS busy_ms,
    CASE WHEN span_us(g.duration_ms) IS NOT NULL AND g.observed_at IS NULL
        THEN coalesce(us(g.ended_at) - span_us(g.duration_ms), us(g.started_at)) END AS from_us,
    CASE WHEN span_us(g.duration_ms) IS NOT NULL AND g.observed_at IS NULL
        THEN coalesce(us(g.ended_at), us(g.started_at) + span_us(g.duration_ms)) END AS to_us,
    coalesce(us(g.ended_at), us(g.started_at)) AS at_us,
    g.injected_tokens_est, g.input_tokens, g.cache_read_tokens, g.cache_write_tokens, g.output_tokens,
    g.source_id, g.source_line
FROM gate_runs g
LEFT JOIN run_of_key k ON k.native_run_key = g.native_run_key AND (k.source_id IS NULL OR k.source_id = g.source_id)
LEFT JOIN gates ga ON ga.gate_id = g.gate_id
