-- name: coverage
-- title: What every format delivered
-- doc: One row a format: files, records, and of how many files each kind of datum was earned. What no file delivers is unknowable from this lake.
-- column: format The format. NULL: no source claims the files.
-- column: n_files Files.
-- column: n_gone Files that vanished; their rows stay.
-- column: n_failed Files that could not be read.
-- column: n_records Input records; of a session log that was rewritten also those it no longer holds.
-- column: n_quarantined Records in quarantine.
-- column: n_warnings Warnings.
-- column: n_with_tokens Files that delivered token counters.
-- column: n_with_output_tokens Files that delivered output counters one can trust.
-- column: n_with_durations Files that delivered tool durations.
-- column: n_with_gate_runs Files that delivered gate runs.
-- column: n_with_verdicts Files that delivered verdicts.
-- column: n_with_findings Files that delivered findings.
-- column: n_with_finding_identity Files that delivered findings with an identity of their own.
-- column: n_with_gate_costs Files that delivered a gate's own cost.
-- column: size_bytes Bytes together.
SELECT format, count(DISTINCT path) AS n_files, count(DISTINCT path) FILTER (WHERE state = 'gone') AS n_gone, count(DISTINCT path) FILTER (WHERE state = 'failed') AS n_failed,
    big(sum(records)) AS n_records, big(sum(quarantined)) AS n_quarantined, big(sum(n_warnings)) AS n_warnings,
    count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'tokens')) AS n_with_tokens, count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'output_tokens')) AS n_with_output_tokens,
    count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'durations')) AS n_with_durations, count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'gate_runs')) AS n_with_gate_runs,
    count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'verdicts')) AS n_with_verdicts, count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'findings')) AS n_with_findings,
    count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'finding_identity')) AS n_with_finding_identity,
    count(DISTINCT path) FILTER (WHERE list_contains(capabilities, 'gate_costs')) AS n_with_gate_costs, big(sum(size_bytes)) AS size_bytes
FROM sources
GROUP BY format
ORDER BY format NULLS LAST
