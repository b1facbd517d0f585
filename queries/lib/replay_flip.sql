-- kind: macro
-- doc: How a cell of a replay went from one outcome to another; NULL before: the earlier replay has no such cell of the same bytes.
CREATE OR REPLACE MACRO replay_flip(earlier, later, class) AS CASE
    WHEN earlier IS NULL THEN 'new'
    WHEN earlier IN ('crashes', 'times_out') OR later IN ('crashes', 'times_out') THEN 'no_verdict'
    WHEN earlier = later THEN 'unchanged'
    WHEN class = 'control' AND earlier = 'catches' THEN 'no_longer_wrong'
    WHEN class = 'control' AND later IN ('catches', 'wrong_reason') THEN 'newly_wrong'
    WHEN class = 'control' THEN 'otherwise'
    WHEN earlier = 'catches' THEN 'newly_missed'
    WHEN later = 'catches' THEN 'newly_caught'
    ELSE 'otherwise' END
