//! Owns hand-made answers for the tests of the report.

use super::answers::{Answers, QUESTIONS, Span};
use super::audit::Frame;
use super::table::{Table, Value};
use super::window::{before, evidence, named_week};
use jiff::tz::TimeZone;

/// A table from text: one header line, cells between bars. Numbers, `true`, `false`, `-` (NULL) and `[a b]` (a list) are read as such.
pub fn table(text: &str) -> Table {
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    // A broken bar stands for a bar inside a cell.
    let split = |line: &str| line.split('|').map(|c| c.trim().replace('¦', "|")).collect::<Vec<_>>();
    let columns = lines.next().map(split).unwrap_or_default();
    let rows: Vec<Vec<Value>> = lines.map(|l| split(l).iter().map(|c| value(c)).collect()).collect();
    assert!(rows.iter().all(|r: &Vec<Value>| r.len() == columns.len()), "{text}");
    Table { name: String::new(), columns, rows }
}

fn value(text: &str) -> Value {
    match text {
        "-" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        t if t.starts_with('[') && t.ends_with(']') => {
            Value::List(t[1..t.len() - 1].split(' ').filter(|i| !i.is_empty()).map(str::to_owned).collect())
        }
        t => t.parse().map(Value::Int).or_else(|_| t.parse().map(Value::Float)).unwrap_or_else(|_| Value::Text(t.to_owned())),
    }
}

/// Answers where every question has an empty table.
pub fn empty() -> Answers {
    let mut out = Answers::default();
    for q in QUESTIONS {
        out.insert(
            q.query,
            q.span,
            Table { name: q.query.to_owned(), columns: q.columns.iter().map(|c| (*c).to_owned()).collect(), rows: Vec::new() },
        );
    }
    out
}

const GATES: &str = "
gate_id | purpose | kind | mode | irreversible | pass_recorded | n_gate_runs | n_runs | n_pass | n_fail | n_warn | n_skipped_required | n_crashed | n_vacuous | n_runs_counted | rate_basis | n_first_stops_enforced | n_first_stops_acted_on | n_first_stops_critical | n_first_stops_major | n_first_stops_minor | n_first_stops_info | n_first_stops_unrated | n_unclassified | n_later_detections | n_misses_proven | n_misses_possible | zero_yield_upper95 | busy_ms | busy_median_ms | busy_p95_ms | direct_ms | n_timed | output_tokens | n_with_tokens | nano_usd | nano_usd_lower_bound | n_calls | n_calls_unpriced | n_tolls | toll_ms | toll_blocked_ms | toll_output_tokens | n_disposed | n_false_alarms
gate_start | control | deterministic | block | false | true | 50 | 48 | 48 | 2 | 0 | 0 | 0 | 0 | 48 | recorded | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0.0605 | 90000 | 1500 | 4000 | 90000 | 50 | - | 0 | - | - | 0 | 0 | 0 | - | - | - | 0 | 0
gate_sensors | control | deterministic | block | false | true | 130 | 48 | 96 | 30 | 4 | 0 | 0 | 3 | 48 | recorded | 14 | 2 | 1 | 9 | 4 | 0 | 2 | 0 | 3 | 2 | 4 | - | 5400000 | 38000 | 120000 | 5400000 | 120 | - | 0 | - | - | 0 | 0 | 0 | - | - | - | 12 | 1
gate_review | control | model | block | false | true | 61 | 40 | 40 | 21 | 0 | 0 | 0 | 0 | 40 | recorded | 6 | 9 | 2 | 8 | 5 | 0 | 0 | 0 | 1 | 0 | 1 | - | 9000000 | 140000 | 400000 | 9000000 | 61 | 812000 | 61 | 12400000000 | 900000000 | 240 | 12 | 0 | - | - | - | 15 | 4
gate_merge_closeout | control | deterministic | block | true | true | 47 | 46 | 46 | 1 | 0 | 0 | 0 | 0 | 46 | implied_by_stage | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0.0630 | - | - | - | - | 0 | - | 0 | - | - | 0 | 0 | 0 | - | - | - | 0 | 0
PreToolUse:pre-tool-use.mjs | control | deterministic | block | - | false | 20 | 4 | 0 | 5 | 0 | 0 | 6 | 0 | 3 | - | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | - | 4000 | 200 | 900 | 4000 | 20 | - | 0 | - | - | 0 | 0 | 6 | 1200 | 1812900 | 16099 | 1 | 1
SessionStart:banner.sh | context | deterministic | observe | - | - | 12 | 12 | 12 | 0 | 0 | 0 | 0 | 0 | 0 | - | - | - | 0 | 0 | 0 | 0 | 0 | 0 | - | - | - | - | 2400 | 200 | 300 | 2400 | 12 | - | 0 | - | - | 0 | 0 | 0 | - | - | - | - | -
Stop:<b>`evil`.sh | unknown | - | - | - | - | 3 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | - | - | - | 0 | 0 | 0 | 0 | 0 | 0 | - | - | - | - | - | - | - | - | 0 | - | 0 | - | - | 0 | 0 | 0 | - | - | - | - | -
";

const TREND: &str = "
week | n_runs | n_runs_observing | n_merged | elapsed_median_ms | active_median_ms | n_timed | n_gate_runs | gate_busy_ms | n_problems | n_first_stops_enforced | n_first_stops_acted_on | n_unattributed | n_escaped | n_tolls | output_tokens | nano_usd | nano_usd_lower_bound | n_with_tokens
2026-W44 | 5 | 5 | 5 | 5400000 | 3600000 | 5 | 30 | 1200000 | 4 | 3 | 1 | 0 | 0 | 0 | - | - | - | 0
2026-W46 | 6 | 6 | 5 | 5400000 | 3600000 | 6 | 44 | 1900000 | 7 | 5 | 2 | 0 | 1 | 6 | 91000 | 1400000000 | - | 2
2026-W47 | 9 | 9 | 8 | 7200000 | 3600000 | 9 | 61 | 2400000 | 8 | 4 | 3 | 1 | 0 | 0 | 120000 | 2400000000 | 100000000 | 3
2026-W48 | 7 | 7 | 6 | 5400000 | 3000000 | 7 | 52 | 2000000 | 6 | 3 | 1 | 1 | 1 | 2 | 88000 | 1900000000 | - | 3
";

/// A week in which runs ended and no source records verdicts or gate runs.
pub fn unobserved_week() -> Table {
    let unknown = |column: &str| match column {
        "week" => "2026-W48",
        "n_runs" => "7",
        "n_runs_observing" | "n_with_tokens" => "0",
        _ => "-",
    };
    let header = TREND.lines().find(|line| !line.is_empty()).unwrap_or_default();
    let row: Vec<&str> = header.split(" | ").map(unknown).collect();
    table(&format!("{header}\n{}\n", row.join(" | ")))
}

/// A week in a shop: escapes, a blind spot, a broken hook, a hostile name.
pub fn shop() -> Answers {
    let mut a = empty();
    let gates = table(GATES);
    let mut news = gates.clone();
    news.rows.truncate(5);
    let mut past = gates.clone();
    past.rows.truncate(3);
    a.insert("gate_economics", Span::Evidence, gates);
    a.insert("gate_economics", Span::News, news);
    a.insert("gate_economics", Span::Before, past);
    let trend = table(TREND);
    let week = |n: usize| Table { rows: vec![trend.rows[n].clone()], ..trend.clone() };
    a.insert("weekly_trend", Span::News, week(3));
    a.insert("weekly_trend", Span::Before, week(2));
    a.insert("weekly_trend", Span::Evidence, trend.clone());
    a.insert(
        "first_stops",
        Span::Evidence,
        table(
            "gate_id | severity | stop_basis | n_problems
             gate_review | critical | enforced | 2
             gate_review | major | enforced | 4
             gate_review | major | acted_on | 4
             gate_review | minor | acted_on | 5
             gate_sensors | critical | enforced | 1
             gate_sensors | major | enforced | 9
             gate_sensors | minor | enforced | 4
             gate_sensors | - | acted_on | 2
             PreToolUse:pre-tool-use.mjs | minor | enforced | 1",
        ),
    );
    let problems = table(
        "problem_id | run_id | severity | about | fingerprint | first_detection_gate_id | first_stop_gate_id | stop_basis | order_basis | unattributed | escaped | disposition | label | human | opened_at
         aa01 | r1 | critical | product | cart/price:rounding | ci_checks | - | - | time | true | true | fixed | - | false | -
         aa02 | r1 | major | product | gate_sensors/sensor_gate/lint | gate_sensors | gate_sensors | enforced | time | false | false | fixed | - | false | -
         aa03 | r2 | minor | product | gate_review/dup | gate_review | gate_review | acted_on | concurrent | false | false | disputed | false-alarm | false | -
         aa04 | r3 | - | product | permission:user/Bash | permission:user | permission:user | enforced | time | false | false | unknown | - | true | -
         aa05 | r3 | major | infrastructure | push/timeout | gate_review | gate_review | enforced | time | false | false | unknown | - | false | -
         aa06 | r4 | minor | product | shop¦<i>x</i> | gate_sensors | - | - | time | true | false | unknown | - | false | -",
    );
    a.insert("problems", Span::News, problems.clone());
    a.insert("problems", Span::Evidence, problems);
    let escapes = table(
        "problem_id | run_id | task | severity | fingerprint | first_detection_gate_id | first_stop_gate_id | missed_proven | missed_possible
         aa01 | r1 | 41 | critical | cart/price:rounding | ci_checks | - | [gate_sensors] | []
         ab09 | r9 | 33 | major | ship/label | permission:user | - | [] | [gate_review]",
    );
    let mut escapes_news = escapes.clone();
    escapes_news.rows.truncate(1);
    a.insert("escapes", Span::Evidence, escapes);
    a.insert("escapes", Span::News, escapes_news);
    a.insert(
        "misses",
        Span::Evidence,
        table(
            "gate_id | miss_basis | problem_id | run_id | severity | fingerprint | caught_by | at | gate_run_id
             gate_sensors | proven | aa01 | r1 | critical | cart/price:rounding | ci_checks | - | g1
             gate_sensors | proven | ab02 | r7 | major | x | gate_review | - | g2
             gate_sensors | possible | ab03 | r8 | major | y | gate_review | - | g3",
        ),
    );
    a.insert(
        "runs",
        Span::News,
        table(
            "run_id | run_basis | task | outcome | n_gate_runs | n_problems | n_first_stops
             r1 | issue | 41 | merged | 9 | 2 | 1
             r2 | issue | 42 | merged | 7 | 1 | 1
             r3 | session | - | - | 4 | - | -",
        ),
    );
    a.insert(
        "run_costs",
        Span::News,
        table(
            "run_id | task | elapsed_ms | active_ms | gate_ms | output_tokens | nano_usd
             r1 | 41 | 7200000 | 3600000 | 420000 | 41000 | 900000000
             r2 | 42 | 5400000 | 3000000 | 300000 | - | -",
        ),
    );
    a.insert(
        "time_shares",
        Span::Evidence,
        table(
            "week | n_runs | elapsed_ms | gate_ms | human_ms | tool_ms | model_ms | idle_ms | unrecorded_ms | n_with_model
             2026-W46 | 6 | 32400000 | 1900000 | 4000000 | 2000000 | 6000000 | 9000000 | 9500000 | 2
             2026-W47 | 9 | 64800000 | 2400000 | 6000000 | 4000000 | 9000000 | 20000000 | 23400000 | 3
             2026-W48 | 7 | 37800000 | 2000000 | - | - | - | 12000000 | 23800000 | 0",
        ),
    );
    a.insert(
        "toll",
        Span::Evidence,
        table("gate_id | n_stopped_work | n_blockages | n_blockages_open\nPreToolUse:pre-tool-use.mjs | 4 | 1 | 0"),
    );
    a.insert(
        "delivery_costs",
        Span::Evidence,
        table(
            "harness | harness_version | model | n_runs | n_merged | elapsed_median_ms | active_median_ms | output_median_tokens | n_with_tokens | nano_usd_median | n_fully_priced
             agent-delivery-harness | 0.21.1 | claude-sonnet-4-5 | 30 | 28 | 5400000 | 3600000 | 41000 | 12 | 900000000 | 9",
        ),
    );
    a.insert(
        "tokens_by_model",
        Span::Evidence,
        table(
            "model | call_kind | output_quality | n_calls | input_tokens | cache_read_tokens | cache_write_5m_tokens | cache_write_1h_tokens | output_tokens | nano_usd | nano_usd_lower_bound | n_calls_unpriced
             claude-sonnet-4-5 | message | exact | 900 | 120000 | 31000000 | 900000 | - | 700000 | 5700000000 | - | 0
             claude-sonnet-4-5 | message | lower_bound | 40 | 9000 | 100000 | - | - | 40 | - | 100000000 | 0
             house-model | message | exact | 12 | 4000 | - | - | - | 900 | - | - | 12",
        ),
    );
    a.insert(
        "coverage",
        Span::Lake,
        table(
            "format | n_files | n_gone | n_failed | n_records | n_quarantined | n_warnings | n_with_tokens | n_with_verdicts | n_with_finding_identity | n_with_durations | n_with_gate_costs
             agent-delivery-harness | 48 | 0 | 0 | 2100 | 2 | 9 | 0 | 48 | 48 | 0 | 40
             claude-code | 12 | 1 | 0 | 9400 | 1 | 40 | 12 | 4 | 0 | 12 | 2
             - | 3 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0",
        ),
    );
    a.insert(
        "quarantine_summary",
        Span::Lake,
        table(
            "format | reason | n_records | n_files | bytes | example_path | example_line
             agent-delivery-harness | malformed | 2 | 1 | 90 | traces/issue-12.jsonl | 7
             claude-code | truncated_tail | 1 | 1 | 40 | sessions/a.jsonl | 90",
        ),
    );
    a.insert("unpriced_models", Span::Lake, table("model | n_calls | output_tokens\nhouse-model | 12 | 900"));
    a.insert(
        "declared_not_seen",
        Span::Lake,
        table("what | id | gate_id | purpose | pass_recorded | declared_in\ngate | Stop:notify.sh | Stop:notify.sh | notifier | false | .claude/settings.json"),
    );
    replayed(&mut a);
    a
}

/// Three failures and a control through three validators: one catches, one reads nothing, one fails everything.
fn replayed(a: &mut Answers) {
    a.insert(
        "replay_matrix",
        Span::Lake,
        table(
            "replay_id | replayed_at | part | fixture_id | fixture_class | severity | failure_mode | gate_id | validator_id | outcome | expected_outcome | as_expected | believed | n_catchers | issues | waived
             p | - | - | blind-sensor | normative | critical | vacuous_pass | gate_sensors | cry-wolf | catches | - | - | false | 1 | [] | -
             p | - | - | blind-sensor | normative | critical | vacuous_pass | gate_sensors | empty¦<i> | vacuous | - | - | true | 1 | [] | -
             p | - | - | blind-sensor | normative | critical | vacuous_pass | gate_sensors | look | catches | catches | true | true | 1 | [] | -
             p | - | - | stale-approval | normative | major | stale_approval | gate_sensors | cry-wolf | catches | - | - | false | 0 | [] | -
             p | - | - | stale-approval | normative | major | stale_approval | gate_sensors | empty¦<i> | times_out | - | - | true | 0 | [no_verdict] | -
             p | - | - | stale-approval | normative | major | stale_approval | gate_sensors | look | misses | catches | false | true | 0 | [missed] | false
             p | - | - | shared-marker | known_defect | minor | - | gate_sensors | look | unsupported | - | - | true | 0 | [] | -
             p | - | - | good-tree | control | info | - | gate_sensors | cry-wolf | catches | misses | false | false | 0 | [false_alarm] | false
             p | - | - | good-tree | control | info | - | gate_sensors | look | misses | misses | true | true | 0 | [] | -",
        ),
    );
    a.insert(
        "replay_validators",
        Span::Lake,
        table(
            "gate_id | validator_id | believed | n_failures | n_read | n_catches | n_misses | n_wrong_reason | n_vacuous | n_skipped | n_stale | n_flaky | n_crashes | n_times_out | n_controls | n_controls_failed | emptied_outcome | n_caught | n_alone | worst_alone | share | dominated_by | dead | vacuous | wall_median_ms | n_timed
             gate_sensors | cry-wolf | false | 2 | 2 | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 1 | catches | 0 | 0 | - | 0.0 | [] | false | false | 4.25 | 3
             gate_sensors | empty¦<i> | true | 2 | 2 | 0 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 | - | 0 | 0 | - | 0.0 | [] | false | true | - | 0
             gate_sensors | look | true | 3 | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 | - | 1 | 1 | critical | 1.0 | [] | false | false | 8.5 | 3",
        ),
    );
    a.insert(
        "replay_coverage",
        Span::Lake,
        table(
            "gate_id | failure_mode | n_failures | n_caught | n_alone | n_missed | n_no_verdict | n_not_read | n_expected | worst_missed | missed
             - | stale_approval | 1 | 0 | - | 0 | 1 | 0 | 1 | - | []
             - | vacuous_pass | 1 | 1 | - | 0 | 0 | 0 | 1 | - | []
             - | - | 1 | 0 | - | 0 | 0 | 1 | 0 | - | []
             gate_sensors | vacuous_pass | 1 | 1 | 1 | 0 | 0 | 0 | 1 | - | []",
        ),
    );
    a.insert(
        "replay_flips",
        Span::Lake,
        table(
            "against | earlier | earlier_at | replay_id | replayed_at | flip | fixture_id | fixture_class | severity | failure_mode | gate_id | validator_id | outcome_before | outcome | gone | waived
             baseline | origin/main | - | p | - | newly_missed | stale-approval | normative | major | stale_approval | gate_sensors | look | catches | misses | false | false",
        ),
    );
}

/// The frame of the shop's report.
pub fn frame() -> Frame {
    let news = named_week("2026-W48", &TimeZone::UTC).unwrap();
    Frame {
        tool: "mechanic 0.1.0".into(),
        now: "2026-11-30T00:00:00Z".into(),
        tz: "UTC".into(),
        before: before(&news, &TimeZone::UTC).unwrap(),
        evidence: evidence(&news, &TimeZone::UTC).unwrap(),
        news,
        lake_digest: "0123abcd".into(),
        config_digest: "4567ef".into(),
    }
}
