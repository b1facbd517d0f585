-- kind: macro
-- doc: A sum as BIGINT; NULL where it does not fit (only hostile counters come near).
CREATE OR REPLACE MACRO big(x) AS TRY_CAST(x AS BIGINT)
