//! Owns `View`: a table as a reader sees it: chosen columns, spelled figures, a sort key a cell. The full tables are the CSV and Parquet files.

use super::answers::{Answers, Span};
use super::figures::{UNKNOWN, count, known, millis, percent, tokens, usd};
use super::gate::Gate;
use super::table::Row;

/// A table for a page.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Anchor on the page.
    pub id: &'static str,
    pub title: &'static str,
    /// How to read it.
    pub note: &'static str,
    /// The file in `tables/` that has all of it, without ending.
    pub file: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

impl View {
    /// Leaves out figures of which no row knows any; the file still has the column.
    fn drop_unknown_columns(&mut self) {
        let unknown = |i: usize| self.rows.iter().all(|row| row.get(i).is_none_or(|cell| cell.text == UNKNOWN));
        let kept: Vec<bool> = self.columns.iter().enumerate().map(|(i, column)| !column.numeric || !unknown(i)).collect();
        let mut keep = kept.iter();
        self.columns.retain(|_| keep.next() != Some(&false));
        for row in &mut self.rows {
            let mut keep = kept.iter();
            row.retain(|_| keep.next() != Some(&false));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub label: &'static str,
    /// What it counts, for a tooltip.
    pub doc: &'static str,
    pub numeric: bool,
}

/// A cell: how it reads, how it sorts (NULL last), whether it is a name from a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub text: String,
    pub sort: Option<f64>,
    pub name: bool,
    /// Draws the eye: something is wrong there.
    pub alarm: bool,
}

impl Cell {
    pub(super) fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), sort: None, name: false, alarm: false }
    }

    pub(super) fn name(text: Option<&str>) -> Cell {
        match text {
            Some(text) => Cell { text: text.to_owned(), sort: None, name: true, alarm: false },
            None => Cell::plain(UNKNOWN),
        }
    }

    pub(super) fn figure(value: Option<i64>, spell: impl FnOnce(i64) -> String) -> Cell {
        Cell { text: known(value, spell), sort: value.map(|n| n as f64), name: false, alarm: false }
    }

    /// A count of something that should not happen.
    pub(super) fn trouble(value: Option<i64>) -> Cell {
        Cell { alarm: value.is_some_and(|n| n > 0), ..Cell::figure(value, count) }
    }

    fn share(value: Option<f64>) -> Cell {
        Cell { text: known(value, percent), sort: value, name: false, alarm: false }
    }
}

pub(super) const fn num(label: &'static str, doc: &'static str) -> Column {
    Column { label, doc, numeric: true }
}

pub(super) const fn word(label: &'static str, doc: &'static str) -> Column {
    Column { label, doc, numeric: false }
}

/// Runs and problems a page lists; the files have all.
const MOST: usize = 60;

/// The tables of the page, in order.
pub fn views(answers: &Answers) -> Vec<View> {
    let mut out = vec![
        gates(answers),
        verdicts(answers),
        costs(answers),
        problems(answers),
        runs(answers),
        weeks(answers),
        deliveries(answers),
        models(answers),
        sources(answers),
    ];
    out.retain(|v| !v.rows.is_empty());
    out.iter_mut().for_each(View::drop_unknown_columns);
    out
}

/// Gates that ran: controls first, each part in the harness's own order.
fn seen(answers: &Answers) -> Vec<&Gate> {
    let mut seen: Vec<&Gate> = answers.gates.iter().filter(|g| g.n_gate_runs > 0).collect();
    seen.sort_by_key(|g| !g.is_control());
    seen
}

fn gates(answers: &Answers) -> View {
    let rows = seen(answers).into_iter().map(|g| {
        vec![
            Cell::name(Some(&g.gate_id)),
            Cell::plain(kind(g)),
            Cell::figure(Some(g.n_gate_runs), count),
            Cell::figure(g.is_control().then_some(g.n_runs_counted), count),
            Cell::figure(Some(g.n_fail + g.n_warn), count),
            stops(g),
            Cell::figure(g.is_control().then_some(g.by_severity[0]), count),
            Cell::figure(g.is_control().then_some(g.by_severity[1]), count),
            Cell::figure(g.n_later_detections, count),
            Cell::trouble(g.n_misses_proven),
            Cell::share(g.upper95),
            Cell::trouble(Some(g.n_tolls)),
        ]
    });
    View {
        id: "gates",
        title: "Gates: what they stopped",
        note: "Over the evidence; controls first, in the harness's own order. n is the number of runs in which the gate gave a verdict that counts; a first stop is credit under one order, not proof \
               that nothing else would have stopped it. Zero first stops prove nothing: the bound says how many of 100 runs could still have one (exact, one-sided, 95 %). \
               What is no control has no yield, only a cost.",
        file: "gate_economics".to_owned(),
        columns: vec![
            word("Gate", "Name of the gate"),
            word("Kind", "deterministic, model, human or external; block, warn or observe; ⚠ the step behind it cannot be undone"),
            num("Gate runs", "Executions, and declared non-executions"),
            num("n", "Runs with at least one verdict that counts: the denominator"),
            num("Fails", "Gate runs with verdict fail or warn, whatever they are about"),
            num(
                "First stops",
                "Product problems it stopped first: enforced + acted on; (n?): stops by a person that nobody has labelled, in no yield",
            ),
            num("Critical", "First stops of severity critical"),
            num("Major", "First stops of severity major"),
            num("Later", "Product problems it reported after another gate"),
            num("Missed", "Product problems that were provably there when it passed"),
            num("Bound", "Exact 95 % upper bound of first stops per run, where there were none"),
            num("Toll", "Gate runs that crashed, timed out or could not run"),
        ],
        rows: rows.collect(),
    }
}

fn kind(g: &Gate) -> String {
    let mut parts = Vec::new();
    if !g.is_control() {
        parts.push(g.purpose.as_str());
    }
    parts.extend(g.kind.as_deref());
    parts.extend(g.mode.as_deref());
    let mut text = if parts.is_empty() { UNKNOWN.to_owned() } else { parts.join(", ") };
    if g.irreversible == Some(true) {
        text.push_str(" ⚠");
    }
    text
}

fn stops(g: &Gate) -> Cell {
    match g.stops_text() {
        Some(text) => Cell { text, sort: g.first_stops().map(|n| n as f64), name: false, alarm: false },
        None => Cell::plain(UNKNOWN),
    }
}

fn verdicts(answers: &Answers) -> View {
    /// Column, label, whether its thing should not happen.
    const VERDICTS: [(&str, &str, bool); 16] = [
        ("n_pass", "Pass", false),
        ("n_fail", "Fail", false),
        ("n_warn", "Warn", false),
        ("n_skipped", "Skipped", false),
        ("n_waived", "Waived", false),
        ("n_inconclusive", "Inconclusive", false),
        ("n_expected_red", "Expected red", false),
        ("n_pending", "Pending", false),
        ("n_needs_review", "Needs review", false),
        ("n_not_evaluated", "Not evaluated", false),
        ("n_unobservable", "Unobservable", false),
        ("n_skipped_required", "Skipped, required", true),
        ("n_vacuous", "Vacuous", true),
        ("n_crashed", "Crashed", true),
        ("n_timed_out", "Timed out", true),
        ("n_could_not_run", "Could not run", true),
    ];
    let gates: Vec<Row> = answers.rows("gate_economics", Span::Evidence).filter(|r| r.n("n_gate_runs") > 0).collect();
    let given: Vec<_> = VERDICTS.iter().filter(|(column, ..)| gates.iter().any(|r| r.n(column) > 0)).collect();
    let rows = gates.iter().map(|r| {
        let mut cells = vec![Cell::name(r.text("gate_id")), Cell::figure(r.int("n_gate_runs"), count)];
        cells.extend(given.iter().map(|(column, _, bad)| Cell { alarm: *bad && r.n(column) > 0, ..quiet(r.int(column)) }));
        cells
    });
    let mut columns = vec![word("Gate", "Name of the gate"), num("Gate runs", "Executions, and declared non-executions")];
    columns.extend(given.iter().map(|(_, label, _)| num(label, "")));
    View {
        id: "verdicts",
        title: "Gates: every verdict",
        note: "Only pass, fail and warn about the product enter a rate; all others stand beside it. A skip is never a pass, and a pass that checked nothing is vacuous. Verdicts that \
               no gate gave are left out.",
        file: "gate_economics".to_owned(),
        columns,
        rows: rows.collect(),
    }
}

/// A count whose zero is said with a dot, so that the others stand out.
fn quiet(value: Option<i64>) -> Cell {
    match value {
        Some(0) => Cell { text: "·".to_owned(), sort: Some(0.0), name: false, alarm: false },
        value => Cell::figure(value, count),
    }
}

fn costs(answers: &Answers) -> View {
    let rows = seen(answers).into_iter().map(|g| {
        let each = match (g.own_ms(), g.first_stops()) {
            (Some(ms), Some(n)) if n > 0 => Some(ms / n),
            _ => None,
        };
        vec![
            Cell::name(Some(&g.gate_id)),
            Cell::figure(g.direct_ms, millis),
            Cell::figure(g.busy_ms, millis),
            Cell::figure(g.busy_median_ms, millis),
            Cell::figure(g.busy_p95_ms, millis),
            coverage(g.n_timed, g.n_gate_runs),
            Cell::figure(each, millis),
            Cell::figure(g.output_tokens, tokens),
            coverage(g.n_with_tokens, g.n_gate_runs),
            Cell::figure(g.nano_usd, usd),
            Cell::figure(g.nano_usd_lower_bound, |n| format!("≥ {}", usd(n))),
            Cell::figure(g.toll_blocked_ms.or(g.toll_ms), millis),
        ]
    });
    View {
        id: "costs",
        title: "Gates: what they cost",
        note: "Direct time gives each instant one owner and can be added up; busy time counts overlaps each. Price is of the gate's own model calls whose counters are complete; \
               ≥ is what can be priced of the others. – is not known, which is not zero; figures known of no gate are left out.",
        file: "gate_economics".to_owned(),
        columns: vec![
            word("Gate", "Name of the gate"),
            num("Direct", "Own time, one owner an instant"),
            num("Busy", "Own time, overlaps counted each"),
            num("Median", "Median own time of a gate run"),
            num("p95", "95th percentile of it"),
            num("Timed", "Gate runs whose time is known"),
            num("Per first stop", "Direct time divided by first stops"),
            num("Output tokens", "Of its own model calls"),
            num("With tokens", "Gate runs whose tokens are known"),
            num("USD", "Own calls with complete counters"),
            num("USD, at least", "What can be priced of the other own calls"),
            num("Toll", "Time blocked by its crashes, else own time of them"),
        ],
        rows: rows.collect(),
    }
}

fn coverage(n: i64, of: i64) -> Cell {
    Cell { text: format!("{} of {}", count(n), count(of)), sort: (of > 0).then(|| n as f64 / of as f64), name: false, alarm: false }
}

fn problems(answers: &Answers) -> View {
    let product: Vec<Row> = answers.rows("problems", Span::News).filter(|r| r.text("about") == Some("product")).collect();
    let task_of = |run: Option<&str>| answers.rows("runs", Span::News).find(|r| r.text("run_id") == run).and_then(|r| r.text("task"));
    let rows = product.iter().take(MOST).map(|r| {
        vec![
            Cell::name(r.text("fingerprint")),
            Cell::name(task_of(r.text("run_id"))),
            severity(r.text("severity")),
            Cell::name(r.text("first_detection_gate_id")),
            Cell::name(r.text("first_stop_gate_id")),
            Cell { alarm: r.flag("escaped") == Some(true), ..Cell::plain(how(r)) },
            Cell::plain(r.text("label").or(r.text("disposition")).unwrap_or(UNKNOWN).replace('_', " ")),
        ]
    });
    View {
        id: "problems",
        title: "Problems of this span",
        note: "Every product problem of the runs that ended in it, by time. A problem is one episode of one defect, however many firings it took.",
        file: "news_problems".to_owned(),
        columns: vec![
            word("Problem", "Identity of the defect"),
            word("Task", "The run's issue"),
            word("Severity", "The greatest a finding gave it"),
            word("First reported by", "The earliest gate run that reported it"),
            word("First stopped by", "The earliest stop; – where no record attributes it"),
            word("How", "enforced: a blocking gate refused; acted on: it was followed"),
            word("What became of it", "A person's label, else the recorded disposition"),
        ],
        rows: rows.collect(),
    }
}

fn severity(text: Option<&str>) -> Cell {
    let place = ["critical", "major", "minor", "info"].iter().position(|s| text == Some(s));
    Cell {
        text: text.unwrap_or("unrated").to_owned(),
        sort: Some(place.map_or(4.0, |p| p as f64)),
        name: false,
        alarm: text == Some("critical"),
    }
}

fn how(r: &Row) -> String {
    let mut parts = Vec::new();
    match r.text("stop_basis") {
        Some(basis) => parts.push(basis.replace('_', " ")),
        None => parts.push("not attributed".to_owned()),
    }
    if r.text("order_basis") == Some("concurrent") {
        parts.push("at the same time as others".to_owned());
    }
    if r.flag("escaped") == Some(true) {
        parts.push("after merge".to_owned());
    }
    parts.join(", ")
}

fn runs(answers: &Answers) -> View {
    let cost_of = |run: Option<&str>| answers.rows("run_costs", Span::News).find(|r| r.text("run_id") == run);
    let rows = answers.rows("runs", Span::News).take(MOST).map(|r| {
        let cost = cost_of(r.text("run_id"));
        let of = |column: &str| cost.as_ref().and_then(|c| c.int(column));
        vec![
            Cell::name(r.text("task").or(r.text("run_id"))),
            Cell::plain(r.text("run_basis").unwrap_or(UNKNOWN)),
            Cell::plain(r.text("outcome").unwrap_or(UNKNOWN).replace('_', " ")),
            Cell::figure(r.int("n_gate_runs"), count),
            Cell::figure(r.int("n_problems"), count),
            Cell::figure(r.int("n_first_stops"), count),
            Cell::figure(of("elapsed_ms"), millis),
            Cell::figure(of("active_ms"), millis),
            Cell::figure(of("gate_ms"), millis),
            Cell::figure(of("output_tokens"), tokens),
            Cell::figure(of("nano_usd"), usd),
        ]
    });
    View {
        id: "runs",
        title: "Runs of this span",
        note: "A run is one delivery: an issue, or, where nothing says more, one session.",
        file: "news_run_costs".to_owned(),
        columns: vec![
            word("Run", "The issue's id, else the run's"),
            word("Basis", "What makes it one run"),
            word("Outcome", "What became of it"),
            num("Gate runs", ""),
            num("Problems", "Product problems in it"),
            num("First stops", "Product problems some gate stopped"),
            num("Elapsed", "From first to last record"),
            num("Active", "Without gaps over 30 minutes"),
            num("Gates", "Time whose innermost owner is a gate"),
            num("Output tokens", "Of its model calls"),
            num("USD", "Calls with complete counters"),
        ],
        rows: rows.collect(),
    }
}

fn weeks(answers: &Answers) -> View {
    let mut rows: Vec<Vec<Cell>> = answers
        .rows("weekly_trend", Span::Evidence)
        .map(|r| {
            let n = |c: &str| Cell::figure(r.int(c), count);
            vec![
                Cell::plain(r.text("week").unwrap_or(UNKNOWN)),
                n("n_runs"),
                n("n_merged"),
                n("n_problems"),
                n("n_first_stops_enforced"),
                n("n_first_stops_acted_on"),
                n("n_unattributed"),
                Cell::trouble(r.int("n_escaped")),
                Cell::trouble(r.int("n_tolls")),
                Cell::figure(r.int("active_median_ms"), millis),
                Cell::figure(r.int("gate_busy_ms"), millis),
                Cell::figure(r.int("output_tokens"), tokens),
                Cell::figure(r.int("nano_usd"), usd),
            ]
        })
        .collect();
    rows.reverse();
    View {
        id: "weeks",
        title: "Week by week",
        note: "ISO weeks (UTC) in which runs ended, the newest first. Weeks differ in what was built; a difference between two of them is no effect of the harness.",
        file: "weekly_trend".to_owned(),
        columns: vec![
            word("Week", "ISO week"),
            num("Runs", "Runs that ended in it"),
            num("Merged", ""),
            num("Problems", "Product problems"),
            num("Enforced", "First stops by a refusal"),
            num("Acted on", "First stops by being followed"),
            num("Unattributed", "Problems no record attributes"),
            num("Escaped", "First seen after merge"),
            num("Toll", "Gate runs that failed to run"),
            num("Median active", "Median active time of its runs"),
            num("Gate time", "Own time of gate runs, overlaps counted each"),
            num("Output tokens", ""),
            num("USD", "Calls with complete counters"),
        ],
        rows,
    }
}

fn deliveries(answers: &Answers) -> View {
    let rows = answers.rows("delivery_costs", Span::Evidence).map(|r| {
        vec![
            Cell::name(r.text("harness")),
            Cell::name(r.text("harness_version")),
            Cell::name(r.text("model")),
            Cell::figure(r.int("n_runs"), count),
            Cell::figure(r.int("n_merged"), count),
            Cell::figure(r.int("elapsed_median_ms"), millis),
            Cell::figure(r.int("active_median_ms"), millis),
            Cell::figure(r.int("output_median_tokens"), tokens),
            coverage(r.n("n_with_tokens"), r.n("n_runs")),
            Cell::figure(r.int("nano_usd_median"), usd),
            coverage(r.n("n_fully_priced"), r.n("n_runs")),
        ]
    });
    View {
        id: "deliveries",
        title: "What a delivery cost",
        note: "By harness version and dominant model, as they came: nothing here separates the version from the model or from what was built. Runs that are only a session are left out.",
        file: "delivery_costs".to_owned(),
        columns: vec![
            word("Harness", ""),
            word("Version", "At the start of the runs"),
            word("Model", "The dominant one"),
            num("Runs", ""),
            num("Merged", ""),
            num("Median elapsed", ""),
            num("Median active", "Without gaps over 30 minutes"),
            num("Median output tokens", ""),
            num("With tokens", "Runs whose tokens are known"),
            num("Median USD", "Of runs whose calls are all complete and priced"),
            num("Fully priced", "Those runs"),
        ],
        rows: rows.collect(),
    }
}

fn models(answers: &Answers) -> View {
    let rows = answers.rows("tokens_by_model", Span::Evidence).map(|r| {
        let t = |c: &str| Cell::figure(r.int(c), tokens);
        vec![
            Cell::name(r.text("model")),
            Cell::plain(r.text("call_kind").unwrap_or(UNKNOWN)),
            Cell::plain(r.text("output_quality").unwrap_or(UNKNOWN).replace('_', " ")),
            Cell::figure(r.int("n_calls"), count),
            t("input_tokens"),
            t("cache_read_tokens"),
            t("cache_write_5m_tokens"),
            t("cache_write_1h_tokens"),
            t("output_tokens"),
            Cell::figure(r.int("nano_usd"), usd),
            Cell::figure(r.int("nano_usd_lower_bound"), |n| format!("≥ {}", usd(n))),
            Cell::figure(r.int("n_calls_unpriced"), count),
        ]
    });
    View {
        id: "models",
        title: "Tokens by model",
        note: "Each call counted once, however many lines and files repeat it. A counter that is only a placeholder is a lower bound and never priced as exact. Sums are a lower bound of the bill: logs leave out requests the agent program makes on its own.",
        file: "tokens_by_model".to_owned(),
        columns: vec![
            word("Model", ""),
            word("Calls of", "message, advisor, fallback or compaction"),
            word("Output is", "How far the output counter can be trusted"),
            num("Calls", ""),
            num("Input", "Fresh input tokens"),
            num("Cache read", ""),
            num("Cache write 5 m", ""),
            num("Cache write 1 h", ""),
            num("Output", "Reasoning included"),
            num("USD", "Calls with complete counters"),
            num("USD, at least", "What can be priced of the others"),
            num("Unpriced", "Calls of a model without a price"),
        ],
        rows: rows.collect(),
    }
}

fn sources(answers: &Answers) -> View {
    let rows = answers.rows("coverage", Span::Lake).map(|r| {
        let of = |c: &str| coverage(r.n(c), r.n("n_files"));
        vec![
            match r.text("format") {
                Some(format) => Cell::name(Some(format)),
                None => Cell::plain("no source reads them"),
            },
            Cell::figure(r.int("n_files"), count),
            Cell::figure(r.int("n_records"), count),
            Cell::trouble(r.int("n_quarantined")),
            Cell::figure(r.int("n_warnings"), count),
            of("n_with_verdicts"),
            of("n_with_finding_identity"),
            of("n_with_tokens"),
            of("n_with_durations"),
            of("n_with_gate_costs"),
        ]
    });
    View {
        id: "sources",
        title: "What the sources delivered",
        note: "Earned from what was read, never declared. What no file delivers is unknown here, not zero.",
        file: "coverage".to_owned(),
        columns: vec![
            word("Format", ""),
            num("Files", ""),
            num("Records", "Input records"),
            num("Quarantined", "Records that could not be read"),
            num("Warnings", "Odd, but read"),
            num("Verdicts", "Files that delivered them"),
            num("Finding identity", "Files that delivered it"),
            num("Tokens", "Files that delivered counters"),
            num("Durations", "Files that delivered tool durations"),
            num("Gate costs", "Files that delivered a gate's own cost"),
        ],
        rows: rows.collect(),
    }
}
