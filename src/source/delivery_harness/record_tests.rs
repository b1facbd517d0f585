//! Tests of the per-issue files on self-made content.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{ApprovalMarker, Contract, FeatureList, Progress, SensorEvidence};
use crate::model::vocabulary::{DecisionKind, ExposureBasis, Mode, Scope, Verdict};
use crate::source::emit::{Collect, Facts, Summary};
use crate::source::{Input, Probe, Source, claim, head_of, read_file};

fn write(folder: &Path, place: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(place);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

fn read_as(source: &dyn Source, place: &str, bytes: &[u8]) -> (Facts, Summary) {
    let folder = tempfile::tempdir().unwrap();
    let input = Input::new(&write(folder.path(), place, bytes)).unwrap();
    let mut sink = Collect::default();
    let summary = read_file(source, &input, &mut sink).unwrap();
    (sink.0, summary)
}

fn claimed(place: &str, text: &str) -> Option<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let input = Input::new(&write(folder.path(), place, text.as_bytes())).unwrap();
    claim(&input, &head_of(&input).unwrap()).map(|s| s.format())
}

const LIST: &str = r#"{"issue":9,"title":"t","branch":"feature/issue-09-x","features":[
    {"id":"cart","title":"Sum the cart","passes":true,"verification":"done","type":"feature"},
    {"id":"fix","title":"Repair","passes":false,"blocked_on":"review","type":"repair","finding_fingerprint":"cart-total"},
    {"id":"open","title":"Later","passes":false,"verification":null},
    {"id":"odd","passes":"perhaps"},
    {"title":"nameless"}, 17]}"#;

#[test]
fn a_feature_list_gives_its_units_as_they_were_last_written() {
    let (f, summary) = read_as(&FeatureList, "issue-09/feature_list.json", LIST.as_bytes());
    let got: Vec<_> = f.units.iter().map(|u| (u.native_id.as_str(), u.passes, u.outcome.as_deref(), u.verification)).collect();
    assert_eq!(
        got,
        [
            ("cart", Some(true), Some("passing"), Some(true)),
            ("fix", Some(false), Some("blocked"), Some(false)),
            ("open", Some(false), Some("open"), Some(false)),
            ("odd", None, None, Some(false)),
        ]
    );
    assert_eq!((f.units[1].unit_type.as_deref(), f.units[1].finding_fingerprint.as_deref()), (Some("repair"), Some("cart-total")));
    assert!(f.units.iter().all(|u| u.native_run_key == "record:9"));
    assert_eq!((summary.records, summary.quarantined), (6, 2));
    assert!(!format!("{f:?}").contains("Sum the cart"));
}

#[test]
fn a_copied_feature_list_gives_the_same_ids() {
    let ids = |place| read_as(&FeatureList, place, LIST.as_bytes()).0.units.into_iter().map(|u| u.unit_id).collect::<Vec<_>>();
    assert_eq!(ids("issue-09/feature_list.json"), ids("elsewhere/feature_list.json"));
}

#[test]
fn sensor_evidence_is_green_only_and_says_what_ran_where() {
    let row = |ran: i64, sum: &str| {
        format!(
            "{{\"schema_version\":1,\"timestamp\":\"2026-08-01T10:00:00Z\",\"mode\":\"pre-pr\",\"head\":\"{}\",\"scope\":\"full\",\"ran\":{ran},\"failed\":0,\"checksum\":\"sha256:{sum}\"}}\n",
            "a".repeat(40)
        )
    };
    let text = format!("{}{}{{\"schema_version\":2,\"ran\":1}}\n{{\"checksum\":1}}\n", row(12, "1"), row(0, "2"));
    let (f, summary) = read_as(&SensorEvidence, "issue-07/sensor-evidence.jsonl", text.as_bytes());
    assert_eq!((summary.records, summary.quarantined), (4, 2));
    let run = &f.gate_runs[0];
    assert_eq!((run.gate_id.as_str(), run.rule_id.as_deref()), ("gate_sensors", Some("scoped-green")));
    assert_eq!(
        (run.verdict, run.substance, run.scope, run.evidence.as_deref()),
        (Verdict::Pass, Some(12), Some(Scope::Full), Some("green_only"))
    );
    assert_eq!((run.native_run_key.as_str(), run.raw_verdict.as_deref()), ("record:7", Some("pre-pr")));
    assert_eq!(run.head_sha.as_deref().map(str::len), Some(40));
    assert!(f.gate_runs.iter().all(|r| r.exposure_basis == ExposureBasis::PassesOnly), "no rate may count them");
    assert_eq!(f.gate_runs[1].verdict, Verdict::Vacuous);
    assert!(f.findings.is_empty());
}

#[test]
fn a_row_of_sensor_evidence_changed_after_it_was_written_is_named_by_line_and_stays_a_row() {
    // The second row says 99 of what the first one's checksum says 41; the third lacks a field of the checksum, the fourth has none.
    let text = r#"{"schema_version":1,"timestamp":"2026-09-23T10:12:36Z","mode":"pre-review","head":"f0e1dff210a1378ac0e4028c4b0f4e38d98ab747","scope":"full","ran":41,"failed":0,"checksum":"sha256:5b9abc92380a453a4cf5c0d3d252d96d163a720bed91b9ec4f8218dd4a39c128"}
{"schema_version":1,"timestamp":"2026-09-23T10:12:36Z","mode":"pre-review","head":"f0e1dff210a1378ac0e4028c4b0f4e38d98ab747","scope":"full","ran":99,"failed":0,"checksum":"sha256:5b9abc92380a453a4cf5c0d3d252d96d163a720bed91b9ec4f8218dd4a39c128"}
{"schema_version":1,"timestamp":"2026-09-23T10:12:36Z","head":"f0e1dff210a1378ac0e4028c4b0f4e38d98ab747","scope":"full","ran":41,"failed":0,"checksum":"sha256:00"}
{"schema_version":1,"timestamp":"2026-09-23T10:12:36Z","head":"f0e1dff210a1378ac0e4028c4b0f4e38d98ab747","scope":"full","ran":40,"failed":0}
"#;
    let (f, summary) = read_as(&SensorEvidence, "issue-07/sensor-evidence.jsonl", text.as_bytes());
    let warned: Vec<_> = f.warnings.iter().map(|w| (w.kind.as_str(), w.source_line, w.detail.as_deref(), w.count)).collect();
    assert_eq!(warned, [("checksum_mismatch", Some(2), Some("green row of commit f0e1dff210a1"), 1)]);
    let ids: std::collections::BTreeSet<_> = f.gate_runs.iter().map(|g| &g.gate_run_id).collect();
    assert_eq!((summary.quarantined, f.gate_runs.len(), ids.len()), (0, 4, 4), "a borrowed checksum hides no row");
}

#[test]
fn a_conclusion_is_a_decision_on_the_last_pull_request_and_prose_is_none() {
    let text = "# Issue 9 progress\n\nConclusion: merged; review verdict: APPROVED.\n\n## Action Log\n\n\
                - [conductor] deviation - pass \u{2014} removed with FORCE=1\n- see https://h.example/o/r/pull/11 and /pull/12\n";
    let (f, summary) = read_as(&Progress, "issue-09/progress.md", text.as_bytes());
    assert_eq!(f.decisions.len(), 1);
    let d = &f.decisions[0];
    assert_eq!((d.kind, d.what.as_str(), d.target.as_deref()), (DecisionKind::Approval, "conclusion:merged:APPROVED", Some("pr:12")));
    assert_eq!((d.native_run_key.as_deref(), d.source_line), (Some("record:9"), 3));
    assert_eq!(f.warnings.iter().map(|w| (w.kind.as_str(), w.detail.as_deref())).collect::<Vec<_>>(), [("prose_waiver", Some("FORCE=1"))]);
    assert_eq!((summary.records, summary.quarantined), (1, 0));
}

#[test]
fn an_approval_marker_approves_one_commit() {
    let (sha, patch) = ("a".repeat(40), "b".repeat(40));
    let (f, _) = read_as(&ApprovalMarker, "review-gate/issue-09/approved-head", format!("{sha}\n{patch}\n").as_bytes());
    let d = &f.decisions[0];
    assert_eq!((d.kind, d.what.as_str(), d.target.as_deref()), (DecisionKind::Approval, "approved-head", Some(sha.as_str())));
    assert_eq!(d.native_run_key.as_deref(), Some("record:9"));
    let (shared, _) = read_as(&ApprovalMarker, "review-gate/approved-head", format!("{sha}\n").as_bytes());
    assert_eq!(shared.decisions[0].native_run_key, None);
}

const CONTRACT: &str = "version: 2\nreview_by: 2027-01-23\ngate_start:\n  - id: issue-worktree\n    mode: hard\n    owner: scripts/start.sh\n\
                        gate_review:\n  - id: trace-consistency\n    mode: warn\n  - id: independent-review\n    mode: hard\n  - mode: hard\n\
                        gate_notes:\n  - id: notes\n    mode: warn\nbypasses:\n  - id: FORCE\n";

#[test]
fn a_contract_declares_gates_and_clauses_with_their_lines() {
    let (f, summary) = read_as(&Contract, "docs/harness-contract.yml", CONTRACT.as_bytes());
    let gates: Vec<_> = f.gates.iter().map(|g| (g.gate_id.as_str(), g.mode, g.gate_order, g.source_line)).collect();
    assert_eq!(
        gates,
        [
            ("gate_start", Some(Mode::Block), Some(1), 3),
            ("gate_review", Some(Mode::Block), Some(2), 7),
            ("gate_notes", Some(Mode::Warn), Some(3), 13)
        ]
    );
    assert!(f.gates.iter().all(|g| g.declared_in.as_deref() == Some("docs/harness-contract.yml")));
    let rules: Vec<_> = f.rules.iter().map(|r| (r.rule_id.as_str(), r.gate_id.as_deref(), r.source_line)).collect();
    assert_eq!(rules[0], ("issue-worktree", Some("gate_start"), 4));
    assert_eq!(rules[2], ("independent-review", Some("gate_review"), 10));
    assert_eq!(f.rules[0].path.as_deref(), Some("scripts/start.sh"));
    assert_eq!((summary.records, summary.quarantined), (5, 1));
}

#[test]
fn version_1_of_the_contract_has_clauses_without_gates() {
    let text = "version: 1\nfailure_modes:\n  - id: dirty_tree\n    kind: hard\n    owner: scripts/create-pr.sh\n";
    let (f, _) = read_as(&Contract, "docs/harness-contract.yml", text.as_bytes());
    assert!(f.gates.is_empty());
    assert_eq!((f.rules[0].rule_id.as_str(), f.rules[0].gate_id.as_deref()), ("dirty_tree", None));
}

#[test]
fn a_broken_contract_is_one_quarantined_record() {
    let (f, summary) = read_as(&Contract, "docs/harness-contract.yml", b"gate_start:\n  - id: [\n");
    assert_eq!((summary.records, summary.quarantined, f.gates.len()), (1, 1, 0));
}

#[test]
fn each_file_is_claimed_by_its_own_source_and_look_alikes_by_none() {
    let claims = claimed;
    let sha = "a".repeat(40);
    assert_eq!(claims("issue-09/feature_list.json", LIST), Some("agent-delivery-harness-features"));
    assert_eq!(claims("issue-09/progress.md", "# Issue 9 progress\n"), Some("agent-delivery-harness-progress"));
    assert_eq!(claims("review-gate/approved-head", &sha), Some("agent-delivery-harness-approval"));
    assert_eq!(claims("docs/harness-contract.yml", CONTRACT), Some("agent-delivery-harness-contract"));
    assert_eq!(claims("x/sensor-evidence.jsonl", "{\"ran\":1,\"checksum\":\"\"}\n"), Some("agent-delivery-harness-evidence"));
    assert_eq!(claims("x/feature_list.json", "[{\"category\":\"ui\",\"passes\":false}]"), None);
    assert_eq!(claims("x/progress.md", "# Progress\n"), None);
    assert_eq!(claims("x/approved-head", &sha), None);
    assert_eq!(claims("review-gate/approved-head", "ref: refs/heads/main\n"), None);
    assert_eq!(claims("x/harness-contract.yml", "gates:\n  - id: a\n"), None);
    assert_eq!(claims("x/sensor-evidence.jsonl", "{}\n"), None);
}

#[test]
#[cfg_attr(not(mechanic_data), ignore)]
fn the_published_records_read_whole() {
    let root = PathBuf::from(std::env::var("MECHANIC_DATA").unwrap()).join("harnesses/agent-delivery-harness");
    let read = |place: &str| {
        let input = Input::new(&root.join(place)).unwrap();
        let source = claim(&input, &head_of(&input).unwrap()).unwrap();
        let mut sink = Collect::default();
        let summary = read_file(source, &input, &mut sink).unwrap();
        (sink.0, summary)
    };
    let (list, summary) = read("issue-374/7325c58__feature_list.json");
    assert_eq!((list.units.len(), summary.quarantined), (24, 0));
    assert_eq!(list.units.iter().filter(|u| u.passes == Some(true)).count(), 16);
    let (progress, summary) = read("issue-374/7325c58__progress.md");
    assert_eq!((progress.decisions.len(), summary.records, summary.quarantined), (0, 1, 0));
    let (contract, _) = read("harness-contract.yml");
    let gates: Vec<&str> = contract.gates.iter().map(|g| g.gate_id.as_str()).collect();
    assert_eq!(gates, ["gate_start", "gate_sensors", "gate_review", "gate_merge_closeout"]);
    assert_eq!(contract.rules.len(), 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_in_any_record_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let sources: [(&dyn Source, &str); 5] = [
            (&FeatureList, "issue-1/feature_list.json"),
            (&Progress, "issue-1/progress.md"),
            (&ApprovalMarker, "review-gate/issue-1/approved-head"),
            (&Contract, "docs/harness-contract.yml"),
            (&SensorEvidence, "issue-1/sensor-evidence.jsonl"),
        ];
        for (source, place) in sources {
            let (_, summary) = read_as(source, place, &bytes);
            prop_assert!(summary.quarantined <= summary.records);
            let input = Input::new(Path::new(place)).unwrap();
            let _ = source.claims(&Probe { input: &input, head: &bytes });
        }
    }
}
