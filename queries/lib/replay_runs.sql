-- kind: table
-- doc: Replays, one row a different result: of replays that found the same, the newest stands for all. Place 1 is the newest of a whole corpus, and
-- where there is none, the newest of a part.
WITH replays AS (
    SELECT replay_id, results_digest, max(replayed_at) AS replayed_at, max(corpus_digest) AS corpus_digest, max(part) AS part, max(baseline) AS baseline,
        max(exit_code) AS exit_code, max(mechanic_version) AS mechanic_version, max(isolation_level) AS isolation_level, count(*) AS n_cells
    FROM replay_results GROUP BY replay_id, results_digest
), different AS (
    SELECT *, count(*) OVER (PARTITION BY results_digest) AS n_replays
    FROM replays
    QUALIFY row_number() OVER (PARTITION BY results_digest ORDER BY us(replayed_at) DESC NULLS LAST, replay_id) = 1
)
SELECT *, row_number() OVER (ORDER BY part IS NOT NULL, us(replayed_at) DESC NULLS LAST, replay_id) AS place
FROM different
