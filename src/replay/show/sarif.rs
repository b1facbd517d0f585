//! Owns results as SARIF 2.1.0: one result an issue, at the fixture's file.

use serde_json::{Value, json};

use super::super::results::Results;
use super::super::weigh::{Issue, Kind};
use super::about;
use crate::plain::visible;

/// `corpus`: the folder of fixtures as it is named from the repository's top.
pub fn sarif(results: &Results, corpus: &str) -> String {
    let rules: Vec<Value> = Kind::ALL.iter().map(|k| json!({ "id": k.as_str(), "name": k.as_str() })).collect();
    let found: Vec<Value> = results.issues.iter().map(|issue| result(issue, corpus)).collect();
    let driver = json!({
        "name": "mechanic replay",
        "version": results.mechanic,
        "rules": rules,
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "invocations": [{ "executionSuccessful": results.exit != 3, "exitCode": results.exit }],
            "properties": { "isolation": &results.isolation },
            "results": found,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

/// A path as a relative URI reference (RFC 3986).
fn reference(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn result(issue: &Issue, corpus: &str) -> Value {
    let level = match issue.kind {
        _ if issue.fails() || issue.kind == Kind::NoVerdict => "error",
        Kind::OnNothing | Kind::Outside | Kind::Unruly | Kind::Degraded | Kind::Differs | Kind::ExpiredWaiver => "warning",
        _ => "note",
    };
    let uri = match &issue.fixture {
        Some(id) => reference(&format!("{}/{id}/fixture.toml", corpus.trim_end_matches('/'))),
        None => reference(corpus),
    };
    let mut result = json!({
        "ruleId": issue.kind.as_str(),
        "level": level,
        "message": { "text": format!("{}: {}", visible(&about(issue)), visible(&issue.text)) },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri } } }],
        "partialFingerprints": { "mechanic/v1": crate::model::id::stable_id(&[issue.kind.as_str(), &about(issue)]) },
    });
    if let (Some(waived), Some(object)) = (&issue.waived, result.as_object_mut()) {
        object.insert("suppressions".to_owned(), json!([{ "kind": "external", "justification": visible(waived) }]));
    }
    result
}
