//! Owns results as JUnit XML: a test case a cell, and one suite for what concerns the corpus itself.

use super::super::results::Results;
use super::super::weigh::{Issue, Kind};
use super::super::words::Outcome;
use super::about;
use crate::plain::html as xml;

pub fn junit(results: &Results) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mechanic replay\">\n");
    let mut told = vec![false; results.issues.len()];
    for v in &results.validators {
        let cells: Vec<_> = results.cells.iter().filter(|c| c.validator == v.id).collect();
        let mut body = String::new();
        let (mut failures, mut errors, mut skipped) = (0, 0, 0);
        for cell in &cells {
            body.push_str(&format!("    <testcase classname=\"{}\" name=\"{}\"", xml(&v.id), xml(&cell.fixture)));
            let mut inner = String::new();
            for (issue, told) in results.issues.iter().zip(&mut told) {
                if issue.fixture.as_deref() != Some(&cell.fixture) || issue.validator.as_deref() != Some(&v.id) {
                    continue;
                }
                let tag = match issue.kind {
                    Kind::NoVerdict => "error",
                    _ if issue.fails() => "failure",
                    _ => continue,
                };
                *told = true;
                let count = if tag == "error" { &mut errors } else { &mut failures };
                *count += 1;
                inner.push_str(&format!("      <{tag} type=\"{}\" message=\"{}\"/>\n", issue.kind, xml(&issue.text)));
            }
            let kept_in = properties(&[("outside", &cell.outside), ("degraded", &cell.degraded)], "      ");
            if inner.is_empty() && matches!(cell.outcome, Outcome::Unsupported | Outcome::Skipped) {
                skipped += 1;
                inner.push_str(&format!("      <skipped message=\"{}\"/>\n", xml(&cell.why)));
            }
            inner.insert_str(0, &kept_in);
            match inner.is_empty() {
                true => body.push_str("/>\n"),
                false => body.push_str(&format!(">\n{inner}    </testcase>\n")),
            }
        }
        out.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n{body}  </testsuite>\n",
            xml(&v.id),
            cells.len()
        ));
    }
    // What belongs to no single cell.
    let rest: Vec<&Issue> =
        results.issues.iter().zip(&told).filter(|(i, told)| !**told && (i.fails() || i.kind == Kind::NoVerdict)).map(|(i, _)| i).collect();
    let n = rest.len();
    out.push_str(&format!("  <testsuite name=\"corpus\" tests=\"{n}\" failures=\"{n}\" errors=\"0\" skipped=\"0\">\n"));
    let isolation = &results.isolation;
    let level = std::slice::from_ref(&isolation.level);
    let rows = [("isolation", level), ("isolation.in_force", &isolation.in_force), ("isolation.missing", &isolation.missing)];
    out.push_str(&properties(&rows, "    "));
    for issue in rest {
        out.push_str(&format!(
            "    <testcase classname=\"corpus\" name=\"{}\">\n      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
            xml(&about(issue)),
            issue.kind,
            xml(&issue.text)
        ));
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Names and lists of values; nothing where all are empty.
fn properties(rows: &[(&str, &[String])], indent: &str) -> String {
    let row = |(name, list): &(&str, &[String])| {
        (!list.is_empty()).then(|| format!("{indent}  <property name=\"{name}\" value=\"{}\"/>\n", xml(&list.join(", "))))
    };
    let rows: String = rows.iter().filter_map(row).collect();
    if rows.is_empty() { rows } else { format!("{indent}<properties>\n{rows}{indent}</properties>\n") }
}
