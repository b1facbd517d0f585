-- kind: macro
-- doc: Whether a problem was a false alarm: a person's label decides, else what became of it. NULL: unknown.
CREATE OR REPLACE MACRO false_alarm(label, disposition) AS CASE
    WHEN label = 'false-alarm' THEN true WHEN label = 'true' THEN false
    WHEN disposition IN ('suppressed', 'overridden', 'disputed') THEN true WHEN disposition = 'unknown' THEN NULL ELSE false END
