//! Owns the hand-made lake whose answers are known: three runs, a few gates, calls and problems, small enough to check on paper.

use crate::model::decisions::Decision;
use crate::model::derived::{GateProblem, ModelCall, Problem, Run, RunMember};
use crate::model::gate_runs::{Finding, GateRun};
use crate::model::gates::{Gate, Rule};
use crate::model::sessions::{Context, ToolCall};
use crate::model::sources::{Quarantined, Source, Warning};
use crate::model::time::Ts;
use crate::model::traces::TraceSpan;
use crate::model::vocabulary::{
    About, CallKind, DecisionKind, Disposition, Encounter, ExposureBasis, FingerprintBasis, GateKind, LinkBasis, LoadMode, MissBasis, Mode,
    OrderBasis, Purpose, Quality, RunBasis, Severity, SourceState, StopBasis, Verdict, VerdictBasis,
};
use crate::sql::testing::World;

const MINUTE: i64 = 60_000_000;
/// Minutes of a week.
pub const WEEK: i64 = 7 * 24 * 60;

/// So many minutes after Monday 2026-11-02, midnight UTC.
pub fn at(minutes: i64) -> Ts {
    Ts(1_793_577_600_000_000 + minutes * MINUTE)
}

fn at_second(minutes: i64, seconds: i64) -> Ts {
    Ts(at(minutes).0 + seconds * 1_000_000)
}

pub fn source(id: &str, path: &str) -> Source {
    Source {
        source_id: id.into(),
        path: path.into(),
        format: Some("claude-code".into()),
        reader_digest: "r".into(),
        state: SourceState::Current,
        records: 1,
        quarantined: 0,
        n_warnings: 0,
        capabilities: vec!["tokens".into()],
        size_bytes: 10,
        head_hash: "h".into(),
        tail_hash: "t".into(),
        read_to: 10,
        mtime: None,
        inode: None,
        ingested_at: at(0),
    }
}

pub fn gate(id: &str, purpose: Purpose) -> Gate {
    Gate {
        gate_id: id.into(),
        harness: Some("adh".into()),
        purpose,
        kind: Some(GateKind::Deterministic),
        mode: Some(Mode::Block),
        gate_order: None,
        irreversible: None,
        pinned: None,
        pass_recorded: None,
        covers: None,
        aliases: None,
        declared_in: None,
        identity: None,
        source_id: "a".into(),
        source_line: 1,
    }
}

pub fn gate_run(id: &str, key: &str, gate: &str, verdict: Verdict) -> GateRun {
    GateRun {
        gate_run_id: id.into(),
        about: About::Product,
        gate_id: gate.into(),
        rule_id: None,
        native_run_key: key.into(),
        unit: None,
        context_id: None,
        tool_call_id: None,
        seq: 0,
        round: None,
        attempt: None,
        started_at: None,
        ended_at: None,
        duration_ms: None,
        observed_at: None,
        observed_via: None,
        verdict,
        raw_verdict: None,
        verdict_basis: VerdictBasis::Structured,
        stopped_work: None,
        enforcement: None,
        exit_status: None,
        substance: None,
        scope: None,
        head_sha: None,
        phase: None,
        subject: None,
        evidence: None,
        detector_id: None,
        exposure_basis: ExposureBasis::Recorded,
        reconstructed: false,
        injected_tokens_est: None,
        input_tokens: None,
        cache_read_tokens: None,
        cache_write_tokens: None,
        output_tokens: None,
        resolves: None,
        source_id: "a".into(),
        source_line: 1,
    }
}

/// The gate run ended then and took so many seconds.
fn timed(mut g: GateRun, ended: Ts, seconds: i64) -> GateRun {
    (g.ended_at, g.duration_ms) = (Some(ended), Some(seconds * 1_000));
    g
}

pub fn context(id: &str, parent: Option<&str>) -> Context {
    Context {
        context_id: id.into(),
        parent_context_id: parent.map(str::to_owned),
        native_run_key: "issue:101".into(),
        role: None,
        role_basis: None,
        agent_name: None,
        model: None,
        started_at: None,
        ended_at: None,
        token_basis: None,
        producer_total_tokens: None,
        tool_version: None,
        cwd: None,
        git_branch: None,
        repo: None,
        n_compactions: None,
        source_id: "a".into(),
        source_line: 1,
    }
}

pub fn tool_call(id: &str, context: &str, name: &str) -> ToolCall {
    ToolCall {
        tool_call_id: id.into(),
        context_id: context.into(),
        call_id: None,
        name: name.into(),
        started_at: None,
        ended_at: None,
        duration_ms: None,
        success: None,
        exit_status: None,
        denied_by: None,
        args_hash: None,
        command_name: None,
        writes: None,
        paths_hash: None,
        result_bytes: None,
        result_tokens_est: None,
        source_id: "a".into(),
        source_line: 1,
    }
}

/// A complete call: fresh input, cache read, 5-minute write, output.
fn call(id: &str, run: &str, context: &str, model: &str, ended: Ts, tokens: [i64; 4]) -> ModelCall {
    ModelCall {
        call_id: id.into(),
        run_id: Some(run.into()),
        call_kind: CallKind::Message,
        context_id: context.into(),
        ended_at: Some(ended),
        duration_ms: Some(60_000),
        model: Some(model.into()),
        input_tokens: Some(tokens[0]),
        cache_read_tokens: Some(tokens[1]),
        cache_write_5m_tokens: Some(tokens[2]),
        cache_write_1h_tokens: Some(0),
        output_tokens: Some(tokens[3]),
        reasoning_tokens: None,
        input_quality: Quality::Exact,
        cache_read_quality: Quality::Exact,
        cache_write_quality: Quality::Exact,
        output_quality: Quality::Exact,
        stop_reason: None,
        n_copies: 1,
        source_id: "a".into(),
        source_line: 1,
    }
}

pub fn run(id: &str, basis: RunBasis, version: Option<&str>, model: Option<&str>, start: i64, minutes: i64, observes: &[&str]) -> Run {
    Run {
        run_id: id.into(),
        run_basis: basis,
        link_basis: LinkBasis::Explicit,
        harness: version.map(|_| "adh".into()),
        harness_version: version.map(str::to_owned),
        harness_version_basis: None,
        harness_commit: None,
        repo: Some("acme/app".into()),
        task: None,
        branch: None,
        commit: None,
        started_at: Some(at(start)),
        ended_at: Some(at(start + minutes)),
        elapsed_ms: Some(minutes * 60_000),
        active_ms: Some(minutes * 60_000),
        outcome: None,
        model: model.map(str::to_owned),
        observes: observes.iter().map(|s| (*s).to_owned()).collect(),
    }
}

pub fn member(run: &str, kind: &str, id: &str) -> RunMember {
    RunMember { run_id: run.into(), member_kind: kind.into(), member_id: id.into(), link_basis: LinkBasis::Explicit, root: None }
}

fn problem(id: &str, run: &str, fingerprint: &str, opened: i64) -> Problem {
    Problem {
        problem_id: id.into(),
        run_id: run.into(),
        unit_id: None,
        fingerprint: fingerprint.into(),
        fingerprint_basis: "native".into(),
        severity: None,
        failure_class: None,
        about: About::Product,
        first_detection_gate_id: None,
        first_stop_gate_id: None,
        first_stop_rule_id: None,
        stop_basis: None,
        order_basis: OrderBasis::Time,
        co_first: vec![],
        unattributed: false,
        escaped: Some(false),
        link_basis: LinkBasis::Explicit,
        opened_at: Some(at(opened)),
        closed_at: None,
        recurs_of: None,
        disposition: Disposition::Unknown,
        label: None,
        human: false,
        n_flaky_passes: 0,
        n_findings: 1,
        introduced_after: None,
        rework_ms: None,
        rework_output_tokens: None,
        first_finding_id: format!("f-{id}"),
        source_id: "a".into(),
        source_line: 1,
    }
}

/// A run that began and ended at that time.
pub fn run_at(text: &str) -> Run {
    Run { started_at: Ts::parse(text), ended_at: Ts::parse(text), ..run("late", RunBasis::Issue, None, None, 0, 0, &[]) }
}

/// A problem that a person detected and stopped, with a person's later label of it.
pub fn rejected_by_a_person(label: Option<&str>) -> Problem {
    let mut p = stopped(problem("p-human", "r1", "H", 45), "permission:user", StopBasis::Enforced);
    (p.human, p.label) = (true, label.map(str::to_owned));
    p
}

/// The problem was reported and stopped first by that gate.
fn stopped(mut p: Problem, gate: &str, basis: StopBasis) -> Problem {
    (p.first_detection_gate_id, p.first_stop_gate_id, p.stop_basis) = (Some(gate.into()), Some(gate.into()), Some(basis));
    p
}

fn met(gate: &str, problem: &str, run: &str, encounter: Encounter, basis: Option<MissBasis>) -> GateProblem {
    GateProblem {
        gate_id: gate.into(),
        problem_id: problem.into(),
        run_id: run.into(),
        encounter,
        miss_basis: basis,
        gate_run_id: None,
        at: None,
    }
}

fn finding(id: &str, gate_run: &str, gate: &str, rule: Option<&str>, fingerprint: &str) -> Finding {
    Finding {
        finding_id: id.into(),
        gate_run_id: gate_run.into(),
        gate_id: gate.into(),
        rule_id: rule.map(str::to_owned),
        unit: None,
        observed_at: None,
        severity: None,
        raw_severity: None,
        failure_mode: None,
        failure_class: None,
        about: About::Product,
        fingerprint: fingerprint.into(),
        fingerprint_basis: FingerprintBasis::Native,
        repeat_of: None,
        baseline_state: None,
        location: None,
        actionable: None,
        count: None,
        source_id: "a".into(),
        source_line: 1,
    }
}

pub const HOOK: &str = "PreToolUse:x.mjs";
pub const OPUS: &str = "claude-opus-4-5-20251101";

/// Run r1 (issue 101, two hours on Monday), r2 (issue 102, an hour a week later, a trace alone), r3 (half an hour of a session after it).
pub fn world() -> World {
    let mut world = World::new();
    sources(&mut world);
    runs(&mut world);
    gates(&mut world);
    gate_runs(&mut world);
    sessions(&mut world);
    problems(&mut world);
    world
}

/// One run in which every number and time is this one.
pub fn hostile(n: i64) -> World {
    let mut world = World::new();
    world.put(1, &[source("a", "/a.jsonl")]);
    world.current("a", 1);
    let mut only = run("r", RunBasis::Issue, None, None, 0, 1, &[]);
    (only.started_at, only.ended_at, only.elapsed_ms, only.active_ms) = (Some(Ts(0)), Some(Ts(n)), Some(n), Some(n));
    let mut early = run("e", RunBasis::Issue, None, None, 0, 1, &[]);
    early.started_at = Some(Ts(n));
    world.put(0, &[only, early]);
    world.put(0, &[member("r", "native_run", "k"), member("e", "native_run", "l")]);
    world.put(1, &[gate("g", Purpose::Control)]);
    let twin = |id: &str, key: &str| {
        let mut g = gate_run(id, key, "g", Verdict::Crashed);
        (g.started_at, g.ended_at, g.duration_ms, g.context_id, g.tool_call_id) =
            (Some(Ts(n)), Some(Ts(n)), Some(n), Some("c".into()), Some("t".into()));
        (g.injected_tokens_est, g.input_tokens, g.output_tokens, g.stopped_work) = (Some(n), Some(n), Some(n), Some(true));
        g
    };
    let mut timeless = twin("2", "l");
    timeless.ended_at = Some(at(1));
    world.put(1, &[twin("1", "k"), timeless]);
    let mut c = context("c", None);
    c.native_run_key = "k".into();
    world.put(1, &[c]);
    let mut t = tool_call("t", "c", "x");
    (t.call_id, t.started_at, t.ended_at) = (Some("m".into()), Some(Ts(n)), Some(at(2)));
    world.put(1, &[t]);
    let many = |id: &str, ended: Ts| {
        let mut m = call(id, "r", "c", OPUS, ended, [n, n, n, n]);
        (m.duration_ms, m.cache_write_1h_tokens) = (Some(n), Some(n));
        m
    };
    world.put(0, &[many("m", Ts(n)), many("m2", at(3)), many("m3", at(4))]);
    let mut p = stopped(problem("p", "r", "F", 1), "g", StopBasis::Enforced);
    (p.rework_ms, p.opened_at, p.n_findings) = (Some(n), Some(Ts(n)), n);
    let mut q = p.clone();
    (q.problem_id, q.run_id) = ("q".into(), "e".into());
    world.put(0, &[p, q]);
    world
}

fn sources(world: &mut World) {
    let mut b = source("b", "/b.jsonl");
    (b.quarantined, b.records, b.n_warnings, b.capabilities) = (2, 9, 5, vec!["verdicts".into(), "gate_runs".into()]);
    let mut ignored = source("c", "/c.txt");
    (ignored.format, ignored.state, ignored.records, ignored.capabilities) = (None, SourceState::Ignored, 0, vec![]);
    world.put(1, &[source("a", "/a.jsonl"), b, ignored]);
    for id in ["a", "b", "c"] {
        world.current(id, 1);
    }
    let bad = |line: i64| Quarantined {
        source_id: "b".into(),
        source_line: line,
        byte_offset: 0,
        bytes: 100,
        reason: "malformed".into(),
        detail: None,
    };
    world.put(1, &[bad(7), bad(3)]);
    let odd = |source: &str, count: i64| Warning {
        source_id: source.into(),
        source_line: None,
        kind: "unknown_key".into(),
        detail: Some("k".into()),
        count,
    };
    world.put(1, &[odd("a", 4), odd("b", 1), Warning { kind: "salvaged".into(), detail: None, ..odd("b", 4) }]);
}

fn runs(world: &mut World) {
    let mut r1 = run("r1", RunBasis::Issue, Some("1.0"), Some(OPUS), 0, 120, &["gate_runs", "tokens", "verdicts"]);
    (r1.task, r1.outcome, r1.active_ms) = (Some("101".into()), Some("merged".into()), Some(90 * 60_000));
    let mut r2 = run("r2", RunBasis::Issue, Some("1.1"), None, WEEK, 60, &["gate_runs", "verdicts"]);
    (r2.task, r2.outcome) = (Some("102".into()), Some("merged".into()));
    let r3 = run("r3", RunBasis::Session, None, Some("mystery-1"), WEEK + 120, 30, &["tokens"]);
    world.put(0, &[r1, r2, r3]);
    world.put(
        0,
        &[
            member("r1", "native_run", "issue:101"),
            member("r2", "native_run", "issue:102"),
            member("r3", "native_run", "session:s"),
            member("r1", "context", "rev"),
        ],
    );
}

fn gates(world: &mut World) {
    let mut sensors = gate("sensors", Purpose::Control);
    (sensors.gate_order, sensors.declared_in) = (Some(1), Some("contract".into()));
    let mut review = gate("review", Purpose::Control);
    (review.gate_order, review.kind, review.declared_in) = (Some(2), Some(GateKind::Model), Some("contract".into()));
    let mut ci = gate("ci", Purpose::Control);
    (ci.gate_order, ci.kind, ci.declared_in) = (Some(3), Some(GateKind::External), Some("contract".into()));
    let hook = gate(HOOK, Purpose::Control);
    let mut user = gate("permission:user", Purpose::Control);
    user.kind = Some(GateKind::Human);
    world.put(1, &[sensors, review, ci, hook, user]);
    let rule = |id: &str| Rule {
        rule_id: id.into(),
        gate_id: Some("sensors".into()),
        clause: None,
        path: Some("rules.md".into()),
        lines: Some(3),
        tokens: Some(40),
        load: Some(LoadMode::Always),
        loaded_by: None,
        pinned: None,
        since: None,
        until: None,
        covers: None,
        source_id: "a".into(),
        source_line: 1,
    };
    world.put(1, &[rule("lint"), rule("never")]);
}

fn gate_runs(world: &mut World) {
    let (one, two) = ("issue:101", "issue:102");
    let with_rule = |mut g: GateRun| {
        g.rule_id = Some("lint".into());
        g
    };
    let in_context = |mut g: GateRun, context: &str| {
        g.context_id = Some(context.into());
        g
    };
    let mut g1 = with_rule(timed(gate_run("g1", one, "sensors", Verdict::Fail), at(10), 60));
    g1.stopped_work = Some(true);
    let g2 = with_rule(timed(gate_run("g2", one, "sensors", Verdict::Pass), at(20), 120));
    let g3 = in_context(timed(gate_run("g3", one, "review", Verdict::Fail), at(40), 600), "rev");
    let g4 = in_context(timed(gate_run("g4", one, "review", Verdict::Pass), at(60), 300), "rev");
    let mut g5 = gate_run("g5", two, "sensors", Verdict::Pass);
    g5.exposure_basis = ExposureBasis::ImpliedByStage;
    let mut g6 = in_context(timed(gate_run("g6", one, HOOK, Verdict::Crashed), at(30), 1), "main");
    (g6.stopped_work, g6.tool_call_id) = (Some(true), Some("t1".into()));
    let mut g7 = in_context(timed(gate_run("g7", one, HOOK, Verdict::Warn), at(31), 1), "main");
    g7.injected_tokens_est = Some(100);
    let g8 = timed(gate_run("g8", one, "sensors", Verdict::Vacuous), at(70), 120);
    let g9 = timed(gate_run("g9", one, HOOK, Verdict::Pass), at_second(69, 30), 30);
    let g10 = timed(gate_run("g10", one, "permission:user", Verdict::Pass), at(45), 120);
    let g11 = with_rule(timed(gate_run("g11", two, "sensors", Verdict::Fail), at(WEEK + 50), 600));
    world.put(1, &[g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11]);
    world.put(
        1,
        &[
            finding("f1", "g1", "sensors", Some("lint"), "F1"),
            finding("f2", "g3", "review", None, "F2"),
            finding("f3", "g11", "sensors", Some("lint"), "F1"),
            finding("f4", "g11", "sensors", Some("lint"), "F4"),
        ],
    );
}

fn sessions(world: &mut World) {
    let mut session = context("alone", None);
    session.native_run_key = "session:s".into();
    let mut reviewer = context("rev", Some("main"));
    reviewer.native_run_key = "unknown".into();
    world.put(1, &[context("main", None), reviewer, session]);
    let mut denied = tool_call("t1", "main", "task");
    (denied.call_id, denied.started_at, denied.ended_at, denied.denied_by) =
        (Some("m1".into()), Some(at(29)), Some(at(30)), Some("hook".into()));
    let mut let_through = tool_call("t2", "main", "task");
    (let_through.started_at, let_through.ended_at) = (Some(at(42)), Some(at(46)));
    world.put(1, &[denied, let_through]);
    let mut placeholder = call("m2", "r1", "main", OPUS, at(32), [10, 0, 0, 5]);
    (placeholder.output_quality, placeholder.duration_ms) = (Quality::LowerBound, None);
    let mut review = call("m3", "r1", "rev", OPUS, at(39), [200, 0, 0, 300]);
    review.duration_ms = Some(120_000);
    let mut unpriced = call("m5", "r3", "alone", "mystery-1", at(WEEK + 130), [7, 0, 0, 9]);
    unpriced.duration_ms = Some(300_000);
    world.put(
        0,
        &[
            call("m1", "r1", "main", OPUS, at(29), [1_000, 10_000, 2_000, 500]),
            placeholder,
            review,
            call("m4", "r1", "rev", OPUS, at(59), [100, 0, 0, 100]),
            unpriced,
        ],
    );
    let economics = |id: &str, line: i64, tokens: i64| TraceSpan {
        span_row_id: id.into(),
        native_run_key: "issue:101".into(),
        span: "lifecycle".into(),
        step: None,
        stage: None,
        agent_name: None,
        unit: None,
        outcome: None,
        task: None,
        harness_version: None,
        harness_commit: None,
        branch: None,
        repo: None,
        pr_number: None,
        merge_sha: None,
        model: None,
        session: None,
        reconstructed: false,
        ended_at: Some(at(line)),
        duration_ms: None,
        input_tokens: None,
        output_tokens: None,
        econ_wall_clock_ms: None,
        econ_active_ms: None,
        econ_review_rounds: None,
        econ_subagent_tokens: Some(tokens),
        econ_subagent_count: None,
        source_id: "a".into(),
        source_line: line,
    };
    world.put(1, &[economics("s1", 100, 111), economics("s2", 110, 222)]);
}

fn problems(world: &mut World) {
    let mut p1 = stopped(problem("p1", "r1", "F1", 10), "sensors", StopBasis::Enforced);
    (p1.first_stop_rule_id, p1.severity, p1.disposition, p1.rework_ms, p1.closed_at) =
        (Some("lint".into()), Some(Severity::Major), Disposition::Fixed, Some(600_000), Some(at(20)));
    let mut p2 = stopped(problem("p2", "r1", "F2", 40), "review", StopBasis::ActedOn);
    (p2.disposition, p2.rework_ms, p2.closed_at) = (Disposition::Disputed, Some(120_000), Some(at(60)));
    let mut p3 = problem("p3", "r2", "F3", WEEK + 55);
    (p3.severity, p3.unattributed, p3.escaped) = (Some(Severity::Critical), true, Some(true));
    let mut p4 = stopped(problem("p4", "r2", "F4", WEEK + 50), "sensors", StopBasis::Enforced);
    p4.about = About::Infrastructure;
    let mut p5 = stopped(problem("p5", "r2", "F1", WEEK + 50), "sensors", StopBasis::Enforced);
    (p5.severity, p5.recurs_of, p5.first_stop_rule_id) = (Some(Severity::Minor), Some("p1".into()), Some("lint".into()));
    world.put(0, &[p1, p2, p3, p4, p5]);
    let mut proven = met("sensors", "p3", "r2", Encounter::Missed, Some(MissBasis::Proven));
    (proven.gate_run_id, proven.at) = (Some("g5".into()), Some(at(WEEK + 30)));
    world.put(
        0,
        &[
            met("sensors", "p1", "r1", Encounter::StoppedFirst, None),
            met("review", "p2", "r1", Encounter::StoppedFirst, None),
            met("sensors", "p2", "r1", Encounter::Missed, Some(MissBasis::Possible)),
            proven,
            met("review", "p3", "r2", Encounter::Missed, Some(MissBasis::Possible)),
            met("review", "p5", "r2", Encounter::Detected, None),
            met("sensors", "p5", "r2", Encounter::StoppedFirst, None),
            met("sensors", "p4", "r2", Encounter::StoppedFirst, None),
        ],
    );
    let decision = |id: &str, kind: DecisionKind, key: Option<&str>, minute: i64, expires: Option<Ts>| Decision {
        decision_id: id.into(),
        native_run_key: key.map(str::to_owned),
        kind,
        who_hash: None,
        what: "reject-cap-release".into(),
        target: Some("review".into()),
        failure_mode: None,
        failure_class: None,
        why_hash: None,
        decided_at: Some(at(minute)),
        expires_at: expires,
        source_id: "a".into(),
        source_line: 1,
    };
    world.put(
        1,
        &[decision("d1", DecisionKind::Release, Some("issue:101"), 50, None), decision("d2", DecisionKind::Waiver, None, 20, Some(at(30)))],
    );
}
