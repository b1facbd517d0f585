-- kind: macro
-- doc: `runs_between` with `week`, the ISO week (2026-W48) in which the run ended in the zone of that name; runs without an end are left out. The
-- engine knows the offsets of a zone once a query with a parameter of type zone has named it; UTC always.
CREATE OR REPLACE MACRO runs_by_week(since_us, until_us, sessions, zone) AS TABLE
SELECT r.*, strftime(make_timestamp(us(r.ended_at) + z.offset_us), '%G-W%V') AS week
FROM runs_between(since_us, until_us, sessions) r
ASOF JOIN (SELECT from_us, offset_us FROM zone_offsets WHERE tz = zone) z ON us(r.ended_at) >= z.from_us
