-- kind: macro
-- doc: An instant in microseconds; NULL outside the years 1 to 9999, so that differences of instants never overflow, whatever a log claims.
CREATE OR REPLACE MACRO us(t) AS CASE WHEN isfinite(t) AND epoch_us(t) BETWEEN -62135596800000000 AND 253402300799999999 THEN epoch_us(t) END
