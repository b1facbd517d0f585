-- kind: macro
-- doc: The runs that ended in the half-open span from since_us to until_us (microseconds; NULL: unbounded); a run without an end is in unbounded spans
-- only. Without `sessions`, runs that are no more than one root session are left out.
CREATE OR REPLACE MACRO runs_between(since_us, until_us, sessions) AS TABLE
SELECT * FROM runs
WHERE (since_us IS NULL OR us(ended_at) >= since_us) AND (until_us IS NULL OR us(ended_at) < until_us)
    AND (sessions OR run_basis <> 'session')
