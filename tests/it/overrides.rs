//! Owns the check that what a user's `mechanic.toml` says of a gate holds everywhere: in facts as viewed, problems, figures and chains.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, body, csv_rows};

/// The binary in a folder whose `mechanic.toml` holds, on the lake of `scratch`.
fn mechanic(scratch: &Scratch, folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mechanic"));
    let output = command.current_dir(folder).args(args).arg("--lake").arg(scratch.lake()).env("NO_COLOR", "1").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn with_config(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mechanic.toml"), text).unwrap();
    folder
}

fn demo() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/shop").display().to_string()
}

/// A figure of one row of a query.
fn figure(csv: &str, row: (&str, &str), column: &str) -> i64 {
    let rows = csv_rows(csv);
    let found = rows.iter().find(|r| r[row.0] == row.1).unwrap_or_else(|| panic!("no {row:?} in\n{csv}"));
    found[column].parse().unwrap_or(0)
}

fn first_stops(csv: &str, row: (&str, &str)) -> i64 {
    figure(csv, row, "n_first_stops_enforced") + figure(csv, row, "n_first_stops_acted_on")
}

#[test]
fn a_rule_said_to_be_about_the_harness_leaves_every_yield_figure_and_nothing_else() {
    let scratch = Scratch::new();
    let plain = with_config("");
    let said = with_config("[[profile.agent-delivery-harness.rule]]\nid = \"independent-review\"\nabout = \"harness\"\n");
    mechanic(&scratch, plain.path(), &["ingest", &demo()]);
    let ask = |folder: &Path, args: &[&str]| mechanic(&scratch, folder, args);
    let sql = |folder: &Path, text: &str| ask(folder, &["sql", "--format", "csv", text]);
    let economics = |folder: &Path| ask(folder, &["query", "gate_economics", "--format", "csv"]);

    let digest = ask(plain.path(), &["lake", "digest"]);
    let problems =
        "select first_stop_rule_id, about, count(*) from problems where first_stop_rule_id is not null group by all order by all";
    let (before, gates) = (sql(plain.path(), problems), economics(plain.path()));
    let own = "select count(*) from problems where first_stop_rule_id = 'independent-review' and about = 'product'";
    let stopped: i64 = body(&sql(plain.path(), own))[0].parse().unwrap();
    assert!(stopped > 0, "{before}");

    assert_eq!(body(&sql(said.path(), own)), ["0"]);
    let rules = ask(said.path(), &["query", "rule_economics", "--format", "csv"]);
    assert_eq!(first_stops(&rules, ("rule_id", "independent-review")), 0);
    assert_eq!(figure(&rules, ("rule_id", "independent-review"), "n_stops_not_product"), stopped);
    let now = economics(said.path());
    let gate = ("gate_id", "gate_review");
    assert_eq!(first_stops(&now, gate), first_stops(&gates, gate) - stopped);
    assert_eq!(figure(&now, gate, "n_stops_not_product"), figure(&gates, gate, "n_stops_not_product") + stopped);
    assert_eq!(figure(&now, gate, "n_gate_runs"), figure(&gates, gate, "n_gate_runs"), "its cost stays");
    for table in ["gate_runs", "findings"] {
        let left = format!("select count(*) from {table} where rule_id = 'independent-review' and about = 'product'");
        assert_eq!(body(&sql(said.path(), &left)), ["0"], "{table}");
    }
    let others =
        |text: &str| body(text).into_iter().filter(|l| !l.starts_with("independent-review,")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(others(&sql(said.path(), problems)), others(&before), "no other rule is touched");
    let chain: serde_json::Value =
        serde_json::from_str(&ask(said.path(), &["explain", "gate", "gate_review", "--format", "json"])).unwrap();
    let product = chain["first_stops"].as_array().unwrap().iter().filter(|s| s["about"] == "product").count() as i64;
    assert_eq!(product, first_stops(&now, gate), "explain shows what the figure counts");

    // The same lake, facts and configuration: the same digest, whichever configuration the files were read under.
    let with_it = ask(said.path(), &["lake", "digest"]);
    assert_ne!(with_it, digest);
    assert_eq!(ask(plain.path(), &["lake", "digest"]), digest);
    let other = Scratch::new();
    mechanic(&other, said.path(), &["ingest", &demo()]);
    assert_eq!(mechanic(&other, said.path(), &["lake", "digest"]), with_it);
    assert_eq!(mechanic(&other, plain.path(), &["lake", "digest"]), digest);
}

#[test]
fn a_gate_said_to_warn_refuses_nothing_and_shows_what_was_said_of_it() {
    let scratch = Scratch::new();
    let plain = with_config("");
    let said = with_config(
        "[[profile.agent-delivery-harness.gate]]\nid = \"gate_review\"\nmode = \"warn\"\nkind = \"deterministic\"\norder = 9\nirreversible = true\n",
    );
    mechanic(&scratch, plain.path(), &["ingest", &demo()]);
    let sql = |folder: &Path, text: &str| mechanic(&scratch, folder, &["sql", "--format", "csv", text]);
    let gate = "select kind, mode, gate_order, irreversible from gates where gate_id = 'gate_review'";
    assert_eq!(body(&sql(plain.path(), gate)), ["model,block,3,false"]);
    assert_eq!(body(&sql(said.path(), gate)), ["deterministic,warn,9,true"]);
    let modes = "select distinct enforcement from gate_runs where rule_id = 'independent-review'";
    assert_eq!((body(&sql(plain.path(), modes)), body(&sql(said.path(), modes))), (vec!["block"], vec!["warn"]));
    let enforced = "select count(*) from problems where first_stop_rule_id = 'independent-review' and stop_basis = 'enforced'";
    assert_ne!(body(&sql(plain.path(), enforced)), ["0"]);
    assert_eq!(body(&sql(said.path(), enforced)), ["0"]);
    // Where the script ended, the record itself shows that the work stopped.
    let ended = "select count(*) from gate_runs where rule_id = 'push' and verdict = 'fail' and not stopped_work";
    assert_eq!(body(&sql(said.path(), ended)), ["0"]);
}
