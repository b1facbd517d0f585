//! Owns the known answers: what each named query says of the sample lake, worked out by hand from its records.

use std::collections::BTreeMap;

use super::sample::{WEEK, at, world};
use super::{Window, measure};
use crate::sql::params::Param;
use crate::sql::testing::lines;

/// The rows of a query over everything, with these columns.
fn all(query: &str, columns: &[&str]) -> Vec<String> {
    let world = world();
    lines(&measure(&world.engine(), query, Window::ALL, "UTC").unwrap(), columns)
}

fn first_week() -> Window {
    Window { until: Some(at(WEEK)), ..Window::ALL }
}

#[test]
fn gate_economics_counts_gate_runs_by_verdict_and_trials_by_run() {
    assert_eq!(
        all(
            "gate_economics",
            &[
                "gate_id",
                "n_gate_runs",
                "n_runs",
                "n_pass",
                "n_fail",
                "n_warn",
                "n_crashed",
                "n_vacuous",
                "n_counted",
                "n_runs_counted",
                "rate_basis"
            ]
        ),
        [
            "sensors|5|2|2|2|0|0|1|4|2|recorded",
            "review|2|1|1|1|0|0|0|2|1|recorded",
            "ci|0|0|0|0|0|0|0|0|0|",
            "PreToolUse:x.mjs|3|1|1|0|1|1|0|2|1|recorded",
            "permission:user|1|1|1|0|0|0|0|1|1|recorded",
        ]
    );
}

#[test]
fn gate_economics_gives_yield_to_first_stops_of_product_problems_alone() {
    assert_eq!(
        all(
            "gate_economics",
            &[
                "gate_id",
                "n_first_stops_enforced",
                "n_first_stops_acted_on",
                "n_first_stops_major",
                "n_first_stops_minor",
                "n_first_stops_unrated",
                "n_runs_with_first_stop",
                "n_first_detections",
                "n_later_detections",
                "n_misses_proven",
                "n_misses_possible",
                "n_stops_not_product",
                "zero_yield_upper95"
            ]
        ),
        [
            "sensors|2|0|1|1|0|2|2|0|1|1|1|",
            "review|0|1|0|0|1|1|1|1|0|1|0|",
            // Declared and never seen: no yield.
            "ci||||||||||||",
            "PreToolUse:x.mjs|0|0|0|0|0|0|0|0|0|0|0|0.95",
            "permission:user|0|0|0|0|0|0|0|0|0|0|0|0.95",
        ]
    );
}

#[test]
fn gate_economics_gives_each_instant_one_owner_and_prices_own_calls() {
    assert_eq!(
        all(
            "gate_economics",
            &[
                "gate_id",
                "busy_ms",
                "busy_median_ms",
                "busy_p95_ms",
                "direct_ms",
                "n_timed",
                "input_tokens",
                "output_tokens",
                "n_with_tokens",
                "nano_usd",
                "nano_usd_lower_bound",
                "n_calls",
                "direct_ms_per_first_stop",
                "nano_usd_per_first_stop"
            ]
        ),
        [
            // 30 s of the vacuous sensor run belong to the hook inside it.
            "sensors|900000|120000|600000|870000|4|||0||||435000|",
            // 200 and 100 fresh at 5000, 300 and 100 output at 25000; a second of the first review is the hook's.
            "review|900000|300000|600000|899000|2|300|400|2|11500000||2|899000|11500000",
            "ci|||||0|||0|||||",
            "PreToolUse:x.mjs|32000|1000|30000|32000|3|||0|||||",
            "permission:user|120000|120000|120000|120000|1|||0|||||",
        ]
    );
}

#[test]
fn gate_economics_keeps_toll_rent_and_rework_apart() {
    assert_eq!(
        all(
            "gate_economics",
            &[
                "gate_id",
                "n_tolls",
                "toll_ms",
                "toll_blocked_ms",
                "toll_output_tokens",
                "rent_tokens",
                "n_with_rent",
                "rework_true_ms",
                "rework_false_ms",
                "n_with_rework",
                "n_disposed",
                "n_false_alarms"
            ]
        ),
        [
            "sensors|0|||||0|600000||1|1|0",
            "review|0|||||0||120000|1|1|1",
            "ci|0|||||0|||||",
            // Refused at minute 29, let through at minute 42; 100 tokens carried by one later call.
            "PreToolUse:x.mjs|1|1000|780000|500|100|1|||0|0|0",
            "permission:user|0|||||0|||0|0|0",
        ]
    );
}

#[test]
fn a_window_takes_runs_by_their_end() {
    let world = world();
    let engine = world.engine();
    let answer = measure(&engine, "gate_economics", first_week(), "UTC").unwrap();
    assert_eq!(lines(&answer, &["gate_id", "n_gate_runs", "n_first_stops_enforced"])[..2], ["sensors|3|1", "review|2|0"]);
    let later = Window { since: Some(at(WEEK)), ..Window::ALL };
    assert_eq!(lines(&measure(&engine, "runs", later, "UTC").unwrap(), &["run_id"]), ["r2", "r3"]);
}

#[test]
fn rule_economics_counts_by_rule() {
    assert_eq!(
        all(
            "rule_economics",
            &[
                "gate_id",
                "rule_id",
                "load",
                "tokens",
                "n_gate_runs",
                "n_runs",
                "n_pass",
                "n_fail",
                "n_runs_counted",
                "n_first_stops_enforced",
                "n_findings",
                "busy_ms",
                "direct_ms",
                "n_timed"
            ]
        ),
        ["sensors|lint|always|40|3|2|1|2|2|2|3|780000|780000|3", "sensors|never|always|40|0|0|0|0|0||0|||0"]
    );
}

#[test]
fn runs_show_zero_only_where_the_sources_can_observe() {
    assert_eq!(
        all(
            "runs",
            &[
                "run_id",
                "run_basis",
                "task",
                "elapsed_ms",
                "n_gate_runs",
                "n_problems",
                "n_first_stops",
                "n_unattributed",
                "n_escaped",
                "observes"
            ]
        ),
        [
            "r1|issue|101|7200000|9|2|2|0|0|[\"gate_runs\",\"tokens\",\"verdicts\"]",
            "r2|issue|102|3600000|2|2|1|1|1|[\"gate_runs\",\"verdicts\"]",
            "r3|session||1800000||||||[\"tokens\"]",
        ]
    );
}

#[test]
fn the_parts_of_a_runs_time_add_up_to_its_elapsed_time() {
    let columns = ["run_id", "elapsed_ms", "gate_ms", "human_ms", "tool_ms", "model_ms", "idle_ms", "unrecorded_ms"];
    let rows = all("run_costs", &columns);
    assert_eq!(
        rows,
        [
            // Gates 20 min 1 s; a permission of 2 min and 44 min of waits; tools 2 min 59 s; one call outside gates; 50 min idle.
            "r1|7200000|1201000|2760000|179000|60000|3000000|0",
            "r2|3600000|600000||||2400000|600000",
            "r3|1800000||1500000||300000|0|0",
        ]
    );
    for row in rows {
        let numbers: Vec<i64> = row.split('|').skip(1).map(|n| n.parse().unwrap_or(0)).collect();
        assert_eq!(numbers[0], numbers[1..].iter().sum::<i64>(), "{row}");
    }
}

#[test]
fn run_costs_never_price_a_placeholder_as_exact_nor_an_unknown_model_at_all() {
    assert_eq!(
        all(
            "run_costs",
            &[
                "run_id",
                "n_contexts",
                "n_subagents",
                "n_calls",
                "input_tokens",
                "cache_read_tokens",
                "cache_write_5m_tokens",
                "output_tokens",
                "n_output_exact",
                "producer_subagent_tokens",
                "nano_usd",
                "nano_usd_lower_bound",
                "n_calls_unpriced"
            ]
        ),
        [
            // 35,000,000 + 8,500,000 + 3,000,000 exact; 10 x 5000 + 5 x 25000 at least.
            "r1|2|1|4|1310|10000|2000|905|3|222|46500000|175000|0",
            "r2||||||||||||",
            "r3|1|0|1|7|0|0|9|1||||1",
        ]
    );
}

#[test]
fn a_session_is_no_delivery_unless_asked() {
    let columns = [
        "harness_version",
        "model",
        "n_runs",
        "n_merged",
        "elapsed_median_ms",
        "output_tokens",
        "nano_usd",
        "nano_usd_lower_bound",
        "n_fully_priced",
    ];
    let issue = ["1.0|claude-opus-4-5-20251101|1|1|7200000|905|46500000|175000|0", "1.1||1|1|3600000||||0"];
    assert_eq!(all("delivery_costs", &columns), issue);
    let world = world();
    let asked = measure(&world.engine(), "delivery_costs", Window { sessions: Some(true), ..Window::ALL }, "UTC").unwrap();
    assert_eq!(lines(&asked, &columns), [issue[0], issue[1], "|mystery-1|1|0|1800000|9|||0"]);
}

#[test]
fn problems_can_be_narrowed_by_subject_and_gate() {
    let columns = ["problem_id", "first_detection_gate_id", "first_stop_gate_id", "stop_basis", "disposition"];
    assert_eq!(
        all("problems", &columns),
        [
            "p1|sensors|sensors|enforced|fixed",
            "p2|review|review|acted_on|disputed",
            "p4|sensors|sensors|enforced|unknown",
            "p5|sensors|sensors|enforced|unknown",
            "p3||||unknown",
        ]
    );
    let world = world();
    let engine = world.engine();
    let ask = |key: &str, value: &str| {
        let given = BTreeMap::from([(key.to_owned(), Param::Text(value.to_owned()))]);
        lines(&engine.query("problems", &given).unwrap(), &["problem_id"])
    };
    assert_eq!(ask("about", "infrastructure"), ["p4"]);
    assert_eq!(ask("gate", "review"), ["p2"]);
}

#[test]
fn escapes_name_the_gates_that_passed() {
    assert_eq!(
        all("escapes", &["problem_id", "task", "severity", "first_stop_gate_id", "missed_proven", "missed_possible"]),
        ["p3|102|critical||[\"sensors\"]|[\"review\"]"]
    );
}

#[test]
fn weekly_trend_has_a_row_a_week_in_which_runs_ended() {
    assert_eq!(
        all(
            "weekly_trend",
            &[
                "week",
                "n_runs",
                "n_merged",
                "elapsed_median_ms",
                "n_runs_observing",
                "n_gate_runs",
                "gate_busy_ms",
                "n_problems",
                "n_first_stops_enforced",
                "n_first_stops_acted_on",
                "n_unattributed",
                "n_escaped",
                "n_tolls",
                "output_tokens",
                "nano_usd",
                "nano_usd_lower_bound",
                "n_with_tokens"
            ]
        ),
        ["2026-W45|1|1|7200000|1|9|1352000|2|1|1|0|0|1|905|46500000|175000|1", "2026-W46|2|1|1800000|1|2|600000|2|1|0|1|1|0|9|||1",]
    );
}

#[test]
fn every_sum_and_median_of_weeks_and_cohorts_carries_how_many_rows_it_rests_on() {
    // r1: 9 gate runs; 4 calls, of which one has a placeholder for its output. r2: two gate runs, one of unknown duration, and no call. r3: no
    // gate run, no outcome, and one call without a price.
    assert_eq!(
        all(
            "weekly_trend",
            &[
                "week",
                "n_runs",
                "n_outcome_known",
                "n_timed",
                "n_active_known",
                "n_runs_recording_gates",
                "n_gate_runs_timed",
                "n_calls",
                "n_output_known",
                "n_in_nano_usd",
                "n_in_nano_usd_lower_bound"
            ]
        ),
        ["2026-W45|1|1|1|1|1|9|4|4|3|1", "2026-W46|2|1|2|2|1|1|1|1|0|0"]
    );
    assert_eq!(
        all("cohorts", &["harness_version", "n_ended", "n_timed", "n_runs_recording_gates", "n_calls", "n_output_known"]),
        ["1.0|1|1|1|4|4", "1.1|1|1|1||", "|1|1|0|1|1"]
    );
    assert_eq!(all("models", &["model", "n_timed", "n_active_known"]), ["claude-opus-4-5-20251101|1|1", "mystery-1|1|1", "|1|1"]);
    assert_eq!(
        all("time_shares", &["week", "n_runs", "n_with_gate", "n_with_human", "n_with_tool", "n_with_model"]),
        ["2026-W45|1|1|1|1|1", "2026-W46|2|1|1|0|1"]
    );
}

#[test]
fn first_stops_keep_enforced_and_acted_on_apart() {
    assert_eq!(
        all("first_stops", &["gate_id", "severity", "stop_basis", "n_problems", "n_runs"]),
        ["review||acted_on|1|1", "sensors|major|enforced|1|1", "sensors|minor|enforced|1|1"]
    );
}

#[test]
fn verdicts_tell_how_the_exposure_is_known() {
    let rows = all("verdicts", &["gate_id", "verdict", "exposure_basis", "n_gate_runs", "n_runs", "n_stopped_work", "n_stopped_known"]);
    assert_eq!(rows.len(), 10);
    assert!(rows.contains(&"sensors|pass|implied_by_stage|1|1|0|0".to_owned()));
    assert!(rows.contains(&"sensors|fail|recorded|2|2|1|1".to_owned()));
}

#[test]
fn models_and_cohorts_count_runs_and_problems_and_zero_only_what_their_sources_can_record() {
    assert_eq!(
        all(
            "models",
            &["model", "n_runs", "n_problems", "n_first_stops_enforced", "n_first_stops_acted_on", "n_escaped", "n_runs_observing"]
        ),
        ["claude-opus-4-5-20251101|1|2|1|1|0|1", "mystery-1|1|||||0", "|1|2|1|0|1|1"]
    );
    assert_eq!(
        all(
            "cohorts",
            &["harness_version", "n_runs", "active_median_ms", "n_gate_runs", "n_problems", "n_runs_with_problem", "output_tokens"]
        ),
        ["1.0|1|5400000|9|2|1|905", "1.1|1|3600000|2|2|1|", "|1|1800000||||9"]
    );
}

#[test]
fn tokens_by_model_keep_qualities_apart() {
    assert_eq!(
        all(
            "tokens_by_model",
            &[
                "model",
                "output_quality",
                "n_calls",
                "input_tokens",
                "output_tokens",
                "nano_usd",
                "nano_usd_lower_bound",
                "n_calls_unpriced"
            ]
        ),
        [
            "claude-opus-4-5-20251101|exact|3|1300|900|46500000||0",
            "claude-opus-4-5-20251101|lower_bound|1|10|5||175000|0",
            "mystery-1|exact|1|7|9|||1",
        ]
    );
    assert_eq!(
        all("gate_tokens", &["gate_id", "model", "cost_basis", "n_calls", "input_tokens", "output_tokens", "nano_usd"]),
        ["review|claude-opus-4-5-20251101|context|2|300|400|11500000"]
    );
    assert_eq!(all("unpriced_models", &["model", "n_calls", "output_tokens"]), ["mystery-1|1|9"]);
}

#[test]
fn toll_is_what_failing_to_run_cost() {
    assert_eq!(
        all(
            "toll",
            &[
                "gate_id",
                "n_crashed",
                "n_stopped_work",
                "toll_ms",
                "n_blockages",
                "n_blockages_open",
                "toll_blocked_ms",
                "toll_output_tokens"
            ]
        ),
        ["PreToolUse:x.mjs|1|1|1000|1|0|780000|500"]
    );
}

#[test]
fn unattributed_problems_and_misses_stand_by_themselves() {
    assert_eq!(all("unattributed", &["problem_id", "task", "severity", "n_findings"]), ["p3|102|critical|1"]);
    assert_eq!(
        all("misses", &["gate_id", "miss_basis", "problem_id", "gate_run_id"]),
        ["review|possible|p3|", "sensors|proven|p3|g5", "sensors|possible|p2|"]
    );
}

#[test]
fn hooks_show_what_they_injected_and_whether_passes_are_recorded() {
    assert_eq!(
        all(
            "hooks",
            &[
                "gate_id",
                "event",
                "pass_recorded",
                "n_gate_runs",
                "n_pass",
                "n_spoke",
                "n_failed_to_run",
                "n_stopped_work",
                "busy_ms",
                "injected_tokens_est",
                "n_injected"
            ]
        ),
        ["PreToolUse:x.mjs|PreToolUse|true|3|1|1|1|1|32000|100|1"]
    );
}

#[test]
fn declared_and_never_seen_gates_and_rules_are_listed() {
    assert_eq!(all("declared_not_seen", &["what", "id", "gate_id"]), ["gate|ci|ci", "rule|never|sensors"]);
}

#[test]
fn reviewers_show_findings_cost_and_false_alarms() {
    assert_eq!(
        all(
            "reviewers",
            &[
                "gate_id",
                "n_gate_runs",
                "n_pass",
                "n_fail",
                "n_findings",
                "n_first_stops_acted_on",
                "n_false_alarms",
                "busy_ms",
                "output_tokens",
                "nano_usd"
            ]
        ),
        ["review|2|1|1|1|1|1|900000|400|11500000"]
    );
}

#[test]
fn recurrences_link_both_episodes() {
    assert_eq!(
        all("recurrences", &["problem_id", "recurs_of", "run_id", "earlier_run_id", "same_run", "earlier_first_stop_gate_id"]),
        ["p5|p1|r2|r1|false|sensors"]
    );
}

#[test]
fn decisions_expire_by_the_given_time_alone() {
    assert_eq!(all("decisions", &["decision_id", "kind", "run_id", "expired"]), ["d2|waiver||", "d1|release|r1|"]);
    let world = world();
    let engine = world.engine();
    let now =
        |minute: i64| BTreeMap::from([("now".to_owned(), Param::Int(at(minute).0)), ("kind".to_owned(), Param::Text("waiver".into()))]);
    assert_eq!(lines(&engine.query("decisions", &now(29)).unwrap(), &["expired"]), ["false"]);
    assert_eq!(lines(&engine.query("decisions", &now(31)).unwrap(), &["expired"]), ["true"]);
}

#[test]
fn coverage_quarantine_and_warnings_add_up_by_format() {
    assert_eq!(
        all("coverage", &["format", "n_files", "n_records", "n_quarantined", "n_warnings", "n_with_tokens", "n_with_verdicts"]),
        ["claude-code|2|10|2|5|1|1", "|1|0|0|0|0|0"]
    );
    assert_eq!(
        all("quarantine_summary", &["format", "reason", "n_records", "n_files", "bytes", "example_path", "example_line"]),
        ["claude-code|malformed|2|1|200|/b.jsonl|3"]
    );
    assert_eq!(all("warnings_summary", &["kind", "detail", "n_occurrences", "n_files"]), ["unknown_key|k|5|2", "salvaged||4|1"]);
}

#[test]
fn stage_failures_count_trials_of_the_same_stage() {
    assert_eq!(
        all(
            "stage_failures",
            &["gate_id", "rule_id", "n_failed", "n_counted", "n_runs_failed", "n_runs_counted", "n_findings", "n_problems"]
        ),
        ["sensors|lint|2|3|2|2|3|3", "review||1|2|1|1|1|1"]
    );
}

#[test]
fn time_shares_sum_the_runs_of_a_week() {
    assert_eq!(
        all(
            "time_shares",
            &["week", "n_runs", "elapsed_ms", "gate_ms", "human_ms", "tool_ms", "model_ms", "idle_ms", "unrecorded_ms", "n_with_model"]
        ),
        ["2026-W45|1|7200000|1201000|2760000|179000|60000|3000000|0|1", "2026-W46|2|5400000|600000|1500000||300000|2400000|600000|1"]
    );
}

#[test]
fn answers_are_the_same_bytes_each_time_and_in_any_order_of_files() {
    let mut turned = world();
    turned.tables.files.values_mut().for_each(|files| files.reverse());
    turned.tables.current.reverse();
    let straight = world();
    let (engine, other) = (straight.engine(), turned.engine());
    for query in crate::sql::queries() {
        let columns: Vec<&str> = query.columns.iter().map(|c| c.name).collect();
        let answer = |e: &crate::sql::Engine| lines(&measure(e, query.name, Window::ALL, "UTC").unwrap(), &columns);
        assert_eq!(answer(&engine), answer(&other), "{}", query.name);
        assert_eq!(answer(&engine), answer(&engine), "{}", query.name);
    }
}

#[test]
fn figures_no_honest_log_states_break_no_query() {
    for extreme in [i64::MAX, i64::MIN, i64::MAX - 1, -1] {
        let world = super::sample::hostile(extreme);
        let engine = world.engine();
        for name in crate::sql::queries().iter().map(|q| q.name) {
            let answer = measure(&engine, name, Window::ALL, "UTC");
            assert!(answer.is_ok(), "{name} with {extreme}: {:?}", answer.err());
        }
    }
}

#[test]
fn what_a_person_rejected_has_no_yield_until_it_is_labelled() {
    let yields = |label: Option<&str>| {
        let mut world = world();
        world.put(0, &[super::sample::rejected_by_a_person(label)]);
        let columns = ["gate_id", "n_first_stops_enforced", "n_first_detections", "n_unclassified"];
        let told = lines(&measure(&world.engine(), "gate_economics", Window::ALL, "UTC").unwrap(), &columns);
        told.into_iter().find(|line| line.starts_with("permission:user")).unwrap()
    };
    assert_eq!(yields(None), "permission:user|0|0|1");
    assert_eq!(yields(Some("true")), "permission:user|1|1|0");
    assert_eq!(yields(Some("false-alarm")), "permission:user|1|1|0", "a false alarm is one of its first stops, as of any gate");
}

#[test]
fn a_week_begins_at_midnight_of_the_zone_asked_for_whatever_its_clocks_do() {
    // Sunday 2026-03-29: clocks go forward in Vienna and not in New York, where they have gone three weeks before.
    let ended = |at: &str, tz: &str| {
        let mut world = world();
        world.put(0, &[super::sample::run_at(at)]);
        let answer = measure(&world.engine(), "weekly_trend", Window::ALL, tz).unwrap();
        let weeks = lines(&answer, &["week", "n_runs"]);
        let others = lines(&measure(&super::sample::world().engine(), "weekly_trend", Window::ALL, tz).unwrap(), &["week", "n_runs"]);
        weeks.iter().filter(|week| !others.contains(week)).map(|week| week.trim_end_matches("|1").to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ended("2026-03-29T22:30:00Z", "UTC"), "2026-W13");
    assert_eq!(ended("2026-03-29T22:30:00Z", "Europe/Vienna"), "2026-W14", "half past midnight on Monday, after the change");
    assert_eq!(ended("2026-03-29T21:59:59Z", "Europe/Vienna"), "2026-W13");
    assert_eq!(ended("2026-03-22T22:30:00Z", "Europe/Vienna"), "2026-W12", "before the change midnight is at 23:00 UTC");
    assert_eq!(ended("2026-03-30T03:30:00Z", "America/New_York"), "2026-W13");
    assert_eq!(ended("2026-03-30T04:00:00Z", "America/New_York"), "2026-W14");
}
