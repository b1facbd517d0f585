//! Owns the derived tables of attribution: runs, their members, calls counted once, tree states, marks, problems and how each gate met them.

use super::gate_runs::{Finding, GateRun};
use super::gates::Gate;
use super::record::record;
use super::time::Ts;
use super::vocabulary::{
    About, CallKind, Disposition, Encounter, GateKind, LinkBasis, MissBasis, Mode, OrderBasis, Purpose, Quality, RunBasis, Severity,
    StopBasis, Verdict,
};

record! {
    /// One delivery: an issue, a task, or, where nothing says more, one root session.
    Run = "runs", Derived, key "run_id" {
        /// Stable hash of the run's key.
        run_id: String,
        /// issue, trailer or session.
        run_basis: RunBasis,
        /// How sources were joined; the weakest link of the run.
        link_basis: LinkBasis,
        /// Harness the run was made under. NULL: none recorded.
        harness: Option<String>,
        /// Harness version at the start of the run.
        harness_version: Option<String>,
        /// trace or git_time. NULL: no version.
        harness_version_basis: Option<String>,
        /// Harness commit at the start of the run.
        harness_commit: Option<String>,
        /// Repository.
        repo: Option<String>,
        /// The id as text.
        task: Option<String>,
        /// Branch.
        branch: Option<String>,
        /// Merge commit, else last judged commit.
        commit: Option<String>,
        /// First record.
        started_at: Option<Ts>,
        /// Last record.
        ended_at: Option<Ts>,
        /// Milliseconds from first to last record.
        elapsed_ms: Option<i64>,
        /// Milliseconds without gaps over 30 minutes.
        active_ms: Option<i64>,
        /// merged, abandoned, merge_unconfirmed, finished or open. NULL: the sources cannot say.
        outcome: Option<String>,
        /// Dominant model by output tokens.
        model: Option<String>,
        /// What the run's sources can observe, sorted (tokens, verdicts, findings …).
        observes: Vec<String>,
    }
}

record! {
    /// Which native run keys and contexts make up a run.
    RunMember = "run_members", Derived, key "" {
        /// The run.
        run_id: String,
        /// native_run, context or commit.
        member_kind: String,
        /// Native run key, context id or commit id.
        member_id: String,
        /// How it was joined.
        link_basis: LinkBasis,
        /// Folder below which files mean this run by that native run key. NULL: the key means this run wherever it stands.
        root: Option<String>,
    }
}

impl RunMember {
    /// How closely the row fits rows with this native run key in the file of that path: the greatest of several is the run's
    /// (`run_of_key` in `queries/lib` says the same). `None`: not at all.
    pub fn fits(&self, native_run_key: &str, path: &str) -> Option<usize> {
        if self.member_kind != "native_run" || self.member_id != native_run_key {
            return None;
        }
        match self.root.as_deref() {
            None => Some(usize::MAX),
            Some(root) if root.is_empty() || path.strip_prefix(root).is_some_and(|below| below.starts_with('/')) => Some(root.len()),
            Some(_) => None,
        }
    }
}

record! {
    /// One row an API call, whatever number of lines and files repeat it.
    ModelCall = "model_calls", Derived, key "" {
        /// Stable hash of format and native call id.
        call_id: String,
        /// The run. NULL: in no run.
        run_id: Option<String>,
        /// message, advisor, fallback or compaction.
        call_kind: CallKind,
        /// Context of the earliest copy.
        context_id: String,
        /// When the call ended.
        ended_at: Option<Ts>,
        /// Milliseconds, waits included.
        duration_ms: Option<i64>,
        /// Model id.
        model: Option<String>,
        /// Fresh input tokens.
        input_tokens: Option<i64>,
        /// Tokens read from cache.
        cache_read_tokens: Option<i64>,
        /// Tokens written to the 5-minute cache.
        cache_write_5m_tokens: Option<i64>,
        /// Tokens written to the 1-hour cache.
        cache_write_1h_tokens: Option<i64>,
        /// Output tokens, reasoning included.
        output_tokens: Option<i64>,
        /// Reasoning tokens, part of output.
        reasoning_tokens: Option<i64>,
        /// How far `input_tokens` can be trusted.
        input_quality: Quality,
        /// How far `cache_read_tokens` can be trusted.
        cache_read_quality: Quality,
        /// How far the cache writes can be trusted.
        cache_write_quality: Quality,
        /// How far `output_tokens` can be trusted.
        output_quality: Quality,
        /// Why the call ended.
        stop_reason: Option<String>,
        /// Copies of the call in all files.
        n_copies: i64,
        /// File of the copy the counters come from.
        source_id: String,
        /// Line of that copy.
        source_line: i64,
    }
}

record! {
    /// A state of the work tree in a run: it advances with every recorded write.
    TreeState = "tree_states", Derived, key "tree_state_id" {
        /// Stable hash of run and sequence.
        tree_state_id: String,
        /// The run.
        run_id: String,
        /// 0-based position in the run.
        seq: i64,
        /// When the state began. NULL: from the start of the run.
        began_at: Option<Ts>,
        /// What began it: run_start, write, commit or sha.
        basis: String,
        /// Commit of the state where one is known.
        head_sha: Option<String>,
    }
}

record! {
    /// What only later lines, other files or the user's profile tell of a gate run; the views `gate_runs` and `findings` show the result.
    GateRunMark = "gate_run_marks", Derived, key "gate_run_id" {
        /// The gate run.
        gate_run_id: String,
        /// Final `about`, of the gate run and of what it found. NULL: as recorded.
        about: Option<About>,
        /// Final `enforcement`. NULL: as recorded.
        enforcement: Option<Mode>,
        /// Whether `stopped_work` was concluded from a mode that no longer holds: it is unknown then. NULL: as recorded.
        stop_unknown: Option<bool>,
        /// Final verdict. NULL: as recorded.
        verdict: Option<Verdict>,
        /// Final gate: a sub-agent's own log does not say what kind of agent it is. NULL: as recorded.
        gate_id: Option<String>,
        /// Final start. NULL: as recorded.
        started_at: Option<Ts>,
        /// Final duration in milliseconds. NULL: as recorded.
        duration_ms: Option<i64>,
        /// The gate run that tells the same run better: the view leaves this one out. NULL: none.
        superseded_by: Option<String>,
        /// Why (`leaked_span`, `profile`, `reported_by_its_sub_agent`, `told_by_its_sub_agent`), several separated by commas.
        reason: String,
    }
}

impl GateRunMark {
    /// The gate run as it finally stands. `None`: another gate run tells it better.
    pub fn apply(&self, mut run: GateRun) -> Option<GateRun> {
        if self.superseded_by.is_some() {
            return None;
        }
        run.about = self.about.unwrap_or(run.about);
        run.enforcement = self.enforcement.or(run.enforcement);
        run.stopped_work = run.stopped_work.filter(|_| self.stop_unknown != Some(true));
        run.verdict = self.verdict.unwrap_or(run.verdict);
        run.gate_id = self.gate_id.clone().unwrap_or(run.gate_id);
        run.started_at = self.started_at.or(run.started_at);
        run.duration_ms = self.duration_ms.or(run.duration_ms);
        Some(run)
    }

    /// What the gate run found, as it finally stands. `None`: it is left out with the gate run.
    pub fn apply_to_finding(&self, mut finding: Finding) -> Option<Finding> {
        if self.superseded_by.is_some() {
            return None;
        }
        finding.about = self.about.unwrap_or(finding.about);
        finding.gate_id = self.gate_id.clone().unwrap_or(finding.gate_id);
        Some(finding)
    }
}

record! {
    /// What the user's profile says of a gate otherwise than the built-in one; the view `gates` shows the result.
    GateMark = "gate_marks", Derived, key "gate_id" {
        /// The gate.
        gate_id: String,
        /// Final purpose. NULL: as recorded.
        purpose: Option<Purpose>,
        /// Final kind. NULL: as recorded.
        kind: Option<GateKind>,
        /// Final mode. NULL: as recorded.
        mode: Option<Mode>,
        /// Final order. NULL: as recorded.
        gate_order: Option<i64>,
        /// Final `irreversible`. NULL: as recorded.
        irreversible: Option<bool>,
        /// Final `pinned`. NULL: as recorded.
        pinned: Option<bool>,
        /// Final `pass_recorded`, unless its own record shows a pass. NULL: as recorded.
        pass_recorded: Option<bool>,
        /// Final `covers`. NULL: as recorded.
        covers: Option<Vec<String>>,
        /// Final aliases. NULL: as recorded.
        aliases: Option<Vec<String>>,
    }
}

impl GateMark {
    /// A mark that changes nothing yet.
    pub fn of(gate_id: &str) -> GateMark {
        GateMark {
            gate_id: gate_id.to_owned(),
            purpose: None,
            kind: None,
            mode: None,
            gate_order: None,
            irreversible: None,
            pinned: None,
            pass_recorded: None,
            covers: None,
            aliases: None,
        }
    }

    /// Lays it over the gate.
    pub fn apply(&self, gate: &mut Gate) {
        gate.purpose = self.purpose.unwrap_or(gate.purpose);
        gate.kind = self.kind.or(gate.kind);
        gate.mode = self.mode.or(gate.mode);
        gate.gate_order = self.gate_order.or(gate.gate_order);
        gate.irreversible = self.irreversible.or(gate.irreversible);
        gate.pinned = self.pinned.or(gate.pinned);
        gate.pass_recorded = self.pass_recorded.or(gate.pass_recorded);
        gate.covers = self.covers.clone().or(gate.covers.take());
        gate.aliases = self.aliases.clone().or(gate.aliases.take());
    }
}

record! {
    /// An episode of one defect: from its first finding to the pass that closes it, or to the end of the run.
    Problem = "problems", Derived, key "problem_id" {
        /// Stable hash of run, unit, identity and opening.
        problem_id: String,
        /// The run.
        run_id: String,
        /// Native id of the unit. NULL: the whole run.
        unit_id: Option<String>,
        /// Identity of the defect.
        fingerprint: String,
        /// What the fingerprint was made from.
        fingerprint_basis: String,
        /// Greatest severity any finding gave it. NULL: none did.
        severity: Option<Severity>,
        /// Failure class the first finding that has one gave it.
        failure_class: Option<String>,
        /// product, harness or infrastructure.
        about: About,
        /// Gate of the earliest finding.
        first_detection_gate_id: Option<String>,
        /// Gate of the earliest stop. NULL: no record attributes it (`unattributed`).
        first_stop_gate_id: Option<String>,
        /// Rule of the earliest stop.
        first_stop_rule_id: Option<String>,
        /// enforced or acted_on. NULL: no stop.
        stop_basis: Option<StopBasis>,
        /// How the order is known.
        order_basis: OrderBasis,
        /// Gates whose reports overlap the first detection, or whose stops overlap the first stop, in time: they have no order.
        co_first: Vec<String>,
        /// Whether no record attributes it to a stop.
        unattributed: bool,
        /// Whether it was first seen after merge. NULL: one of the two times is unknown.
        escaped: Option<bool>,
        /// How the run's sources were joined.
        link_basis: LinkBasis,
        /// First finding.
        opened_at: Option<Ts>,
        /// The pass that closed it. NULL: open at the end of the run.
        closed_at: Option<Ts>,
        /// The earlier problem of the same defect.
        recurs_of: Option<String>,
        /// What became of it.
        disposition: Disposition,
        /// A person's latest label of any of its findings: true, false-alarm or duplicate. NULL: not labelled.
        label: Option<String>,
        /// Whether a person detected it first; unclassified until labelled.
        human: bool,
        /// Findings in the episode; one that stands for several of which only a number is known is one.
        n_findings: i64,
        /// Passes of a reporting gate on an unchanged state: flaky, they close nothing.
        n_flaky_passes: i64,
        /// Gate after whose last pass the defect appeared (it passed before the defect existed). NULL: unknown.
        introduced_after: Option<String>,
        /// Milliseconds from first stop to the closing pass.
        rework_ms: Option<i64>,
        /// Output tokens of the run's calls in that time. NULL: no calls of the run recorded, or none in that time with a counter.
        rework_output_tokens: Option<i64>,
        /// First finding's id.
        first_finding_id: String,
        /// Source of the first finding.
        source_id: String,
        /// Line of the first finding.
        source_line: i64,
    }
}

record! {
    /// How one gate met one problem.
    GateProblem = "gate_problem", Derived, key "" {
        /// The gate.
        gate_id: String,
        /// The problem.
        problem_id: String,
        /// The run.
        run_id: String,
        /// stopped_first, stopped, detected, missed, not_run, skipped or after_fix.
        encounter: Encounter,
        /// proven or possible, for misses.
        miss_basis: Option<MissBasis>,
        /// The gate run that shows it. NULL: not_run.
        gate_run_id: Option<String>,
        /// When.
        at: Option<Ts>,
    }
}
