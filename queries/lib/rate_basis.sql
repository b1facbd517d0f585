-- kind: macro
-- doc: On what the trials of a control rest: recorded, or implied_by_stage where only a composite script shows its passes. NULL: it has no rate.
CREATE OR REPLACE MACRO rate_basis(purpose, pass_recorded, n_runs_counted, n_counted, n_implied_pass) AS CASE
    WHEN purpose <> 'control' OR coalesce(n_runs_counted, 0) = 0 THEN NULL
    WHEN pass_recorded AND n_counted > n_implied_pass THEN 'recorded' WHEN n_implied_pass > 0 THEN 'implied_by_stage' END
