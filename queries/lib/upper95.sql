-- kind: macro
-- doc: The exact one-sided 95 % upper bound of a rate after zero events in n trials.
CREATE OR REPLACE MACRO upper95(n) AS CASE WHEN n > 0 THEN 1 - pow(0.05, 1.0 / n) END
