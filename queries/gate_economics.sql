-- name: gate_economics
-- title: Cost and yield of every gate
-- doc: One row a gate that is declared or was seen. Yield columns count product problems; costs count everything the gate did in the window.
-- doc: Busy time sums overlapping runs, direct time gives each instant one owner, rent, rework and toll are views of their own: never add them up.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: gate_id The gate.
-- column: harness Harness or format it belongs to.
-- column: purpose control, context, recorder, notifier or unknown; only control gates have a yield.
-- column: kind deterministic, model, human or external.
-- column: mode block, warn or observe.
-- column: irreversible Whether the step behind it cannot be undone.
-- column: pinned Whether it is pinned.
-- column: pass_recorded Whether its passes are recorded; without them there are firings, but no rate.
-- column: n_gate_runs Gate runs in the window.
-- column: n_runs Runs with at least one gate run of it.
-- column: n_pass Gate runs with verdict pass, whatever they are about.
-- column: n_fail Gate runs with verdict fail.
-- column: n_warn Gate runs with verdict warn.
-- column: n_skipped Gate runs with verdict skipped.
-- column: n_skipped_required Gate runs with verdict skipped_required.
-- column: n_waived Gate runs with verdict waived.
-- column: n_could_not_run Gate runs with verdict could_not_run.
-- column: n_needs_review Gate runs with verdict needs_review.
-- column: n_inconclusive Gate runs with verdict inconclusive.
-- column: n_crashed Gate runs with verdict crashed.
-- column: n_timed_out Gate runs with verdict timed_out.
-- column: n_not_evaluated Gate runs with verdict not_evaluated.
-- column: n_vacuous Gate runs with verdict vacuous.
-- column: n_pending Gate runs with verdict pending.
-- column: n_expected_red Gate runs with verdict expected_red.
-- column: n_unobservable Gate runs with verdict unobservable.
-- column: n_counted Gate runs that are trials: verdict pass, fail or warn, about the product, exposure recorded or implied by stage.
-- column: n_runs_counted Runs with at least one trial: the denominator of rates.
-- column: rate_basis recorded, or implied_by_stage where only a composite script shows its passes. NULL: no rate.
-- column: n_first_stops_enforced Product problems it stopped first, by refusing the step. NULL, as every count of problems: it is no control, or was not seen in the window.
-- column: n_first_stops_acted_on Product problems it stopped first, by being followed.
-- column: n_first_stops_critical First stops of either basis, severity critical.
-- column: n_first_stops_major First stops of either basis, severity major.
-- column: n_first_stops_minor First stops of either basis, severity minor.
-- column: n_first_stops_info First stops of either basis, severity info.
-- column: n_first_stops_unrated First stops of either basis that no finding gives a severity.
-- column: n_runs_with_first_stop Runs with at least one first stop.
-- column: n_first_detections Product problems it reported first.
-- column: n_later_detections Product problems it reported after another gate.
-- column: n_misses_proven Product problems present while it passed, proven.
-- column: n_misses_possible Product problems that may have been present while it passed.
-- column: n_stops_not_product First stops of problems about the harness or the infrastructure.
-- column: n_unclassified First stops by a person that no label classifies yet: in no yield column.
-- column: zero_yield_upper95 Exact one-sided 95 % upper bound of first stops per run, where there were none; by run.
-- column: busy_ms Own time, overlaps counted each.
-- column: busy_median_ms Median own time of a gate run.
-- column: busy_p95_ms 95th percentile of it.
-- column: direct_ms Own time with one owner an instant.
-- column: n_timed Gate runs whose own time is known: the coverage of the busy columns.
-- column: n_with_direct Gate runs whose direct time is known.
-- column: input_tokens Fresh input tokens of its own calls.
-- column: cache_read_tokens Cache reads of its own calls.
-- column: cache_write_5m_tokens Writes to the 5-minute cache; where a producer tells no lifetime, all writes.
-- column: cache_write_1h_tokens Writes to the 1-hour cache.
-- column: output_tokens Output tokens of its own calls.
-- column: n_with_tokens Gate runs whose output tokens are known.
-- column: n_with_input_tokens Gate runs whose fresh input tokens are known.
-- column: nano_usd Price of own calls whose counters are complete, in nano-USD.
-- column: nano_usd_lower_bound What can be priced of own calls whose counters are not.
-- column: n_calls Own model calls. NULL: none is recorded.
-- column: n_calls_unpriced Own calls of a model without a price. NULL: none is recorded.
-- column: n_tolls Gate runs that crashed, timed out or could not run.
-- column: toll_ms Own time of those.
-- column: n_tolls_timed Those whose own time is known.
-- column: toll_blocked_ms Time from a tool call it refused by crashing to the next such call let through.
-- column: toll_output_tokens Output tokens of the calls whose tool it refused by crashing.
-- column: rent_tokens Tokens its results occupied times the later calls that carried them.
-- column: n_with_rent Gate runs whose rent is known.
-- column: rework_true_ms Time from first stop to the closing pass of problems not known as false alarms.
-- column: rework_false_ms The same of false alarms (labelled so, else suppressed, overridden or disputed).
-- column: n_with_rework First stops whose rework time is known.
-- column: n_disposed First stops of which a label or disposition tells whether they were right.
-- column: n_false_alarms First stops that were false alarms.
-- column: direct_ms_per_first_stop Direct time divided by first stops, rounded down; a lower bound where n_with_direct is less than n_gate_runs.
-- column: nano_usd_per_first_stop Complete price divided by first stops, rounded down; a lower bound where some own calls are not complete or not priced.
WITH w AS (
    SELECT run_id FROM runs_between($since, $until, $sessions)
), ran AS (
    SELECT gate_id, count(*) AS n_gate_runs, count(DISTINCT run_id) AS n_runs,
        count(*) FILTER (WHERE verdict = 'pass') AS n_pass, count(*) FILTER (WHERE verdict = 'fail') AS n_fail, count(*) FILTER (WHERE verdict = 'warn') AS n_warn,
        count(*) FILTER (WHERE verdict = 'skipped') AS n_skipped, count(*) FILTER (WHERE verdict = 'skipped_required') AS n_skipped_required,
        count(*) FILTER (WHERE verdict = 'waived') AS n_waived, count(*) FILTER (WHERE verdict = 'could_not_run') AS n_could_not_run,
        count(*) FILTER (WHERE verdict = 'needs_review') AS n_needs_review, count(*) FILTER (WHERE verdict = 'inconclusive') AS n_inconclusive,
        count(*) FILTER (WHERE verdict = 'crashed') AS n_crashed, count(*) FILTER (WHERE verdict = 'timed_out') AS n_timed_out,
        count(*) FILTER (WHERE verdict = 'not_evaluated') AS n_not_evaluated, count(*) FILTER (WHERE verdict = 'vacuous') AS n_vacuous,
        count(*) FILTER (WHERE verdict = 'pending') AS n_pending, count(*) FILTER (WHERE verdict = 'expected_red') AS n_expected_red,
        count(*) FILTER (WHERE verdict = 'unobservable') AS n_unobservable,
        count(*) FILTER (WHERE counted) AS n_counted, count(DISTINCT CASE WHEN counted THEN run_id END) AS n_runs_counted,
        count(*) FILTER (WHERE counted AND verdict = 'pass' AND exposure_basis = 'implied_by_stage') AS n_implied_pass
    FROM gate_run_facts SEMI JOIN w USING (run_id)
    GROUP BY gate_id
), cost AS (
    SELECT gate_id, sum(busy_ms) AS busy_ms, quantile_disc(busy_ms, 0.5) AS busy_median_ms, quantile_disc(busy_ms, 0.95) AS busy_p95_ms,
        sum(direct_us) // 1000 AS direct_ms, count(busy_ms) AS n_timed, count(direct_us) AS n_with_direct,
        sum(input_tokens) AS input_tokens, sum(cache_read_tokens) AS cache_read_tokens,
        sum(cache_write_5m_tokens) AS cache_write_5m_tokens, sum(cache_write_1h_tokens) AS cache_write_1h_tokens,
        sum(output_tokens) AS output_tokens, count(output_tokens) AS n_with_tokens, count(input_tokens) AS n_with_input_tokens,
        sum(nano_usd) AS nano_usd, sum(nano_usd_lower_bound) AS nano_usd_lower_bound, sum(n_calls) AS n_calls, sum(n_unpriced) AS n_calls_unpriced,
        count(*) FILTER (WHERE is_toll) AS n_tolls, sum(CASE WHEN is_toll THEN busy_ms END) AS toll_ms, count(CASE WHEN is_toll THEN busy_ms END) AS n_tolls_timed, sum(blocked_output_tokens) AS toll_output_tokens,
        sum(rent_tokens) AS rent_tokens, count(rent_tokens) AS n_with_rent
    FROM gate_run_costs SEMI JOIN w USING (run_id)
    GROUP BY gate_id
), blocked AS (
    SELECT gate_id, sum(until_us - from_us) // 1000 AS toll_blocked_ms FROM toll_episodes SEMI JOIN w USING (run_id) GROUP BY gate_id
), stopped AS (
    SELECT first_stop_gate_id AS gate_id,
        count(*) FILTER (WHERE product_problem(about, human, label) AND stop_basis = 'enforced') AS n_first_stops_enforced,
        count(*) FILTER (WHERE product_problem(about, human, label) AND stop_basis = 'acted_on') AS n_first_stops_acted_on,
        count(*) FILTER (WHERE product_problem(about, human, label)) AS n_first_stops,
        count(*) FILTER (WHERE product_problem(about, human, label) AND severity = 'critical') AS n_critical, count(*) FILTER (WHERE product_problem(about, human, label) AND severity = 'major') AS n_major,
        count(*) FILTER (WHERE product_problem(about, human, label) AND severity = 'minor') AS n_minor, count(*) FILTER (WHERE product_problem(about, human, label) AND severity = 'info') AS n_info,
        count(*) FILTER (WHERE product_problem(about, human, label) AND severity IS NULL) AS n_unrated,
        count(DISTINCT CASE WHEN product_problem(about, human, label) THEN run_id END) AS n_runs_with_first_stop,
        count(*) FILTER (WHERE about <> 'product') AS n_stops_not_product,
        count(*) FILTER (WHERE about = 'product' AND human AND label IS NULL) AS n_unclassified,
        sum(CASE WHEN product_problem(about, human, label) AND false_alarm(label, disposition) IS DISTINCT FROM true THEN rework_ms END) AS rework_true_ms,
        sum(CASE WHEN product_problem(about, human, label) AND false_alarm(label, disposition) THEN rework_ms END) AS rework_false_ms,
        count(*) FILTER (WHERE product_problem(about, human, label) AND rework_ms IS NOT NULL) AS n_with_rework,
        count(*) FILTER (WHERE product_problem(about, human, label) AND false_alarm(label, disposition) IS NOT NULL) AS n_disposed,
        count(*) FILTER (WHERE product_problem(about, human, label) AND false_alarm(label, disposition)) AS n_false_alarms
    FROM problems SEMI JOIN w USING (run_id)
    WHERE first_stop_gate_id IS NOT NULL
    GROUP BY first_stop_gate_id
), detected AS (
    SELECT first_detection_gate_id AS gate_id, count(*) AS n_first_detections
    FROM problems SEMI JOIN w USING (run_id)
    WHERE product_problem(about, human, label) AND first_detection_gate_id IS NOT NULL
    GROUP BY first_detection_gate_id
), met AS (
    SELECT g.gate_id,
        count(DISTINCT CASE WHEN g.encounter IN ('stopped', 'detected', 'stopped_first')
            AND g.gate_id IS DISTINCT FROM p.first_detection_gate_id THEN g.problem_id END) AS n_later_detections,
        count(DISTINCT CASE WHEN g.encounter = 'missed' AND g.miss_basis = 'proven' THEN g.problem_id END) AS n_misses_proven,
        count(DISTINCT CASE WHEN g.encounter = 'missed' AND g.miss_basis = 'possible' THEN g.problem_id END) AS n_misses_possible
    FROM gate_problem g JOIN problems p ON p.problem_id = g.problem_id SEMI JOIN w ON w.run_id = p.run_id
    WHERE product_problem(p.about, p.human, p.label)
    GROUP BY g.gate_id
), joined AS (
    SELECT *,
        -- A gate that was not seen in the window has no yield; one that is no control never has.
        purpose = 'control' AND n_gate_runs > 0 AS yields,
        rate_basis(purpose, pass_recorded, n_runs_counted, n_counted, n_implied_pass) AS rate_basis
    FROM gates
    LEFT JOIN ran USING (gate_id) LEFT JOIN cost USING (gate_id) LEFT JOIN blocked USING (gate_id) LEFT JOIN stopped USING (gate_id)
    LEFT JOIN detected USING (gate_id) LEFT JOIN met USING (gate_id)
)
SELECT gate_id, harness, purpose, kind, mode, irreversible, pinned, pass_recorded,
    coalesce(n_gate_runs, 0) AS n_gate_runs, coalesce(n_runs, 0) AS n_runs, coalesce(n_pass, 0) AS n_pass, coalesce(n_fail, 0) AS n_fail,
    coalesce(n_warn, 0) AS n_warn, coalesce(n_skipped, 0) AS n_skipped, coalesce(n_skipped_required, 0) AS n_skipped_required,
    coalesce(n_waived, 0) AS n_waived, coalesce(n_could_not_run, 0) AS n_could_not_run, coalesce(n_needs_review, 0) AS n_needs_review,
    coalesce(n_inconclusive, 0) AS n_inconclusive, coalesce(n_crashed, 0) AS n_crashed, coalesce(n_timed_out, 0) AS n_timed_out,
    coalesce(n_not_evaluated, 0) AS n_not_evaluated, coalesce(n_vacuous, 0) AS n_vacuous, coalesce(n_pending, 0) AS n_pending,
    coalesce(n_expected_red, 0) AS n_expected_red, coalesce(n_unobservable, 0) AS n_unobservable,
    coalesce(n_counted, 0) AS n_counted, coalesce(n_runs_counted, 0) AS n_runs_counted, rate_basis,
    CASE WHEN yields THEN coalesce(n_first_stops_enforced, 0) END AS n_first_stops_enforced,
    CASE WHEN yields THEN coalesce(n_first_stops_acted_on, 0) END AS n_first_stops_acted_on,
    CASE WHEN yields THEN coalesce(n_critical, 0) END AS n_first_stops_critical,
    CASE WHEN yields THEN coalesce(n_major, 0) END AS n_first_stops_major,
    CASE WHEN yields THEN coalesce(n_minor, 0) END AS n_first_stops_minor,
    CASE WHEN yields THEN coalesce(n_info, 0) END AS n_first_stops_info,
    CASE WHEN yields THEN coalesce(n_unrated, 0) END AS n_first_stops_unrated,
    CASE WHEN yields THEN coalesce(n_runs_with_first_stop, 0) END AS n_runs_with_first_stop,
    CASE WHEN yields THEN coalesce(n_first_detections, 0) END AS n_first_detections,
    CASE WHEN yields THEN coalesce(n_later_detections, 0) END AS n_later_detections,
    CASE WHEN yields THEN coalesce(n_misses_proven, 0) END AS n_misses_proven,
    CASE WHEN yields THEN coalesce(n_misses_possible, 0) END AS n_misses_possible,
    CASE WHEN yields THEN coalesce(n_stops_not_product, 0) END AS n_stops_not_product,
    CASE WHEN yields THEN coalesce(n_unclassified, 0) END AS n_unclassified,
    CASE WHEN rate_basis IS NOT NULL AND coalesce(n_first_stops, 0) = 0 AND coalesce(n_unclassified, 0) = 0 THEN upper95(n_runs_counted) END AS zero_yield_upper95,
    big(busy_ms) AS busy_ms, busy_median_ms, busy_p95_ms, big(direct_ms) AS direct_ms, coalesce(n_timed, 0) AS n_timed, coalesce(n_with_direct, 0) AS n_with_direct,
    big(input_tokens) AS input_tokens, big(cache_read_tokens) AS cache_read_tokens, big(cache_write_5m_tokens) AS cache_write_5m_tokens,
    big(cache_write_1h_tokens) AS cache_write_1h_tokens, big(output_tokens) AS output_tokens, coalesce(n_with_tokens, 0) AS n_with_tokens, coalesce(n_with_input_tokens, 0) AS n_with_input_tokens,
    big(nano_usd) AS nano_usd, big(nano_usd_lower_bound) AS nano_usd_lower_bound, big(n_calls) AS n_calls, big(n_calls_unpriced) AS n_calls_unpriced,
    coalesce(n_tolls, 0) AS n_tolls, big(toll_ms) AS toll_ms, coalesce(n_tolls_timed, 0) AS n_tolls_timed, big(toll_blocked_ms) AS toll_blocked_ms, big(toll_output_tokens) AS toll_output_tokens,
    big(rent_tokens) AS rent_tokens, coalesce(n_with_rent, 0) AS n_with_rent,
    big(rework_true_ms) AS rework_true_ms, big(rework_false_ms) AS rework_false_ms,
    CASE WHEN yields THEN coalesce(n_with_rework, 0) END AS n_with_rework,
    CASE WHEN yields THEN coalesce(n_disposed, 0) END AS n_disposed,
    CASE WHEN yields THEN coalesce(n_false_alarms, 0) END AS n_false_alarms,
    CASE WHEN purpose = 'control' AND n_first_stops > 0 THEN big(direct_ms // n_first_stops) END AS direct_ms_per_first_stop,
    CASE WHEN purpose = 'control' AND n_first_stops > 0 THEN big(nano_usd // n_first_stops) END AS nano_usd_per_first_stop
FROM joined
ORDER BY gate_order NULLS LAST, gate_id
