-- kind: macro
-- doc: A count of what only some sources can record: what was counted, else 0 where any of the runs could record it, else NULL.
CREATE OR REPLACE MACRO zero_if_observed(n, n_observing) AS coalesce(n, CASE WHEN n_observing > 0 THEN 0 END)
