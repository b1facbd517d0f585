-- kind: macro
-- doc: Place of a severity, the worst first; NULL where it is not known.
CREATE OR REPLACE MACRO severity_rank(severity) AS list_position(['critical', 'major', 'minor', 'info'], severity)
