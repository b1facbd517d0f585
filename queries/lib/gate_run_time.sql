-- kind: table
-- doc: Direct time of each gate run in microseconds: each instant of a run has one owning gate run, the innermost (latest start, then earliest end).
-- Gate runs that overlap no other own their whole interval; only inside an island of overlaps are elementary segments formed.
WITH spans AS (
    SELECT gate_run_id, run_id, from_us, to_us FROM gate_run_facts WHERE from_us < to_us AND run_id IS NOT NULL
), marked AS (
    SELECT *, CASE WHEN from_us < max(to_us) OVER before THEN 0 ELSE 1 END AS opens
    FROM spans
    WINDOW before AS (PARTITION BY run_id ORDER BY from_us, to_us, gate_run_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), islands AS (
    SELECT *, sum(opens) OVER (PARTITION BY run_id ORDER BY from_us, to_us, gate_run_id ROWS UNBOUNDED PRECEDING) AS island
    FROM marked
), sized AS (
    SELECT *, count(*) OVER (PARTITION BY run_id, island) AS members FROM islands
), bounds AS (
    SELECT run_id, island, from_us AS t FROM sized WHERE members > 1
    UNION
    SELECT run_id, island, to_us FROM sized WHERE members > 1
), segments AS (
    SELECT run_id, island, t, lead(t) OVER (PARTITION BY run_id, island ORDER BY t) AS next_t FROM bounds
), owned AS (
    SELECT s.gate_run_id, g.next_t - g.t AS us
    FROM segments g
    JOIN sized s ON s.run_id = g.run_id AND s.island = g.island AND s.members > 1 AND s.from_us <= g.t AND s.to_us >= g.next_t
    QUALIFY row_number() OVER (PARTITION BY g.run_id, g.island, g.t ORDER BY s.from_us DESC, s.to_us, s.gate_run_id) = 1
)
SELECT gate_run_id, to_us - from_us AS direct_us FROM sized WHERE members = 1
UNION ALL
SELECT s.gate_run_id, coalesce(sum(o.us), 0)::BIGINT AS direct_us
FROM sized s LEFT JOIN owned o ON o.gate_run_id = s.gate_run_id
WHERE s.members > 1
GROUP BY s.gate_run_id
