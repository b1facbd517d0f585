-- kind: table
-- doc: How the elapsed time of each run splits: every instant has one owner, in the order gate, human, tool, model; what is left is a wait
-- (`human` where a session log covers the run, else `unrecorded`) or, in gaps over 30 minutes, idle. The parts add up to elapsed_us.
-- A part is NULL where the run's records hold no interval of that kind.
WITH bounded AS (
    SELECT run_id, us(started_at) AS run_from, us(ended_at) AS run_to
    FROM runs WHERE us(ended_at) >= us(started_at)
), raw AS (
    SELECT run_id, CASE WHEN gate_kind = 'human' THEN 2 ELSE 1 END AS layer, from_us, to_us
    FROM gate_run_facts WHERE from_us IS NOT NULL AND to_us IS NOT NULL
    UNION ALL
    SELECT c.run_id, 3, us(t.started_at), us(t.ended_at)
    FROM tool_calls t JOIN run_of_context c ON c.context_id = t.context_id
    WHERE us(t.started_at) IS NOT NULL AND us(t.ended_at) IS NOT NULL
    UNION ALL
    SELECT run_id, 4, us(ended_at) - span_us(duration_ms), us(ended_at)
    FROM model_calls WHERE us(ended_at) IS NOT NULL AND span_us(duration_ms) IS NOT NULL
), spans AS (
    SELECT b.run_id, b.run_from, b.run_to, r.layer,
        least(greatest(r.from_us, b.run_from), b.run_to) AS s, greatest(least(r.to_us, b.run_to), b.run_from) AS e
    FROM bounded b JOIN raw r ON r.run_id = b.run_id
), ends AS (
    -- An empty span at each end of the run makes the gaps at its edges count.
    SELECT run_id, layer, s, greatest(s, e) AS e FROM spans
    UNION ALL SELECT run_id, 5, run_from, run_from FROM bounded
    UNION ALL SELECT run_id, 5, run_to, run_to FROM bounded
), swept AS (
    SELECT run_id, layer, s, e,
        max(CASE WHEN layer <= 1 THEN e END) OVER before AS m1, max(CASE WHEN layer <= 2 THEN e END) OVER before AS m2,
        max(CASE WHEN layer <= 3 THEN e END) OVER before AS m3, max(e) OVER before AS m4
    FROM ends
    WINDOW before AS (PARTITION BY run_id ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), unions AS (
    -- Time covered by layers 1..k is the sum of what each span adds to the spans before it.
    SELECT run_id,
        sum(CASE WHEN layer <= 1 THEN greatest(0, e - greatest(s, coalesce(m1, s))) END) AS u1,
        sum(CASE WHEN layer <= 2 THEN greatest(0, e - greatest(s, coalesce(m2, s))) END) AS u2,
        sum(CASE WHEN layer <= 3 THEN greatest(0, e - greatest(s, coalesce(m3, s))) END) AS u3,
        sum(greatest(0, e - greatest(s, coalesce(m4, s)))) AS u4,
        sum(CASE WHEN s - m4 > 1800000000 THEN s - m4 ELSE 0 END) AS idle,
        sum(CASE WHEN s - m4 BETWEEN 1 AND 1800000000 THEN s - m4 ELSE 0 END) AS gap,
        count(*) FILTER (WHERE layer = 1) AS n1, count(*) FILTER (WHERE layer = 2) AS n2, count(*) FILTER (WHERE layer = 3) AS n3, count(*) FILTER (WHERE layer = 4) AS n4
    FROM swept GROUP BY run_id
)
SELECT b.run_id, b.run_to - b.run_from AS elapsed_us,
    CASE WHEN n1 > 0 THEN u1 END::BIGINT AS gate_us,
    CASE WHEN n2 > 0 OR n3 + n4 > 0 THEN coalesce(u2, 0) - coalesce(u1, 0) + CASE WHEN n3 + n4 > 0 THEN gap ELSE 0 END END::BIGINT AS human_us,
    CASE WHEN n3 > 0 THEN u3 - coalesce(u2, 0) END::BIGINT AS tool_us,
    CASE WHEN n4 > 0 THEN u4 - coalesce(u3, 0) END::BIGINT AS model_us,
    idle::BIGINT AS idle_us,
    CASE WHEN n3 + n4 > 0 THEN 0 ELSE gap END::BIGINT AS unrecorded_us
FROM bounded b JOIN unions u ON u.run_id = b.run_id
