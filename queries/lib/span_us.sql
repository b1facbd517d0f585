-- kind: macro
-- doc: A duration in milliseconds as microseconds; NULL where it is negative or longer than 100 years.
CREATE OR REPLACE MACRO span_us(ms) AS CASE WHEN ms BETWEEN 0 AND 3155760000000 THEN ms * 1000 END
