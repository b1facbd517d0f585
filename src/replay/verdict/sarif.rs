//! Owns reading SARIF: errors and warnings that nobody suppressed are findings.

use serde_json::Value;

use super::{Finding, Reading};
use crate::replay::words::Said;

pub fn read(text: &str) -> Result<Reading, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("its SARIF is no JSON: {e}"))?;
    let runs = value.get("runs").and_then(Value::as_array).ok_or("its SARIF has no runs")?;
    let mut findings = Vec::new();
    let mut artifacts: Option<u64> = runs.is_empty().then_some(0);
    for run in runs {
        let invocations = run.get("invocations").and_then(Value::as_array).into_iter().flatten();
        if invocations.filter_map(|i| i.get("executionSuccessful").and_then(Value::as_bool)).any(|done| !done) {
            return Ok(Reading { said: Said::CouldNotRun, findings: Vec::new(), substance: None });
        }
        if let Some(list) = run.get("artifacts").and_then(Value::as_array) {
            artifacts = Some(artifacts.unwrap_or(0) + list.len() as u64);
        }
        // A run that has no list of results looked for none (SARIF 2.1.0, 3.14.23).
        if !run.get("results").is_some_and(Value::is_array) {
            return Ok(Reading { said: Said::CouldNotRun, findings: Vec::new(), substance: None });
        }
        for result in run.get("results").and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| result.get(key).and_then(Value::as_str);
            let suppressed = result.get("suppressions").and_then(Value::as_array).is_some_and(|s| !s.is_empty());
            let failing = text("kind").is_none_or(|k| k == "fail");
            if suppressed || !failing || !matches!(level(run, result), "error" | "warning") {
                continue;
            }
            let rule = text("ruleId").or_else(|| result.pointer("/rule/id").and_then(Value::as_str)).map(str::to_owned);
            let message = result.pointer("/message/text").and_then(Value::as_str).map(str::to_owned);
            let prints = result.get("partialFingerprints").or_else(|| result.get("fingerprints")).and_then(Value::as_object);
            let mut prints: Vec<String> = prints.into_iter().flatten().filter_map(|(_, v)| v.as_str()).map(str::to_owned).collect();
            let first = if prints.is_empty() { None } else { Some(prints.remove(0)) };
            findings.push(Finding { rule: rule.clone(), fingerprint: first, message: message.clone() });
            findings.extend(prints.into_iter().map(|p| Finding { rule: rule.clone(), fingerprint: Some(p), message: message.clone() }));
        }
    }
    let said = if findings.is_empty() { Said::Pass } else { Said::Fail };
    // A finding is a subject read, whatever the list of artifacts says.
    let substance = if findings.is_empty() { artifacts } else { None };
    Ok(Reading { said, findings, substance })
}

/// The result's level, else its rule's, else the format's default.
fn level<'a>(run: &'a Value, result: &'a Value) -> &'a str {
    if let Some(level) = result.get("level").and_then(Value::as_str) {
        return level;
    }
    let rules = run.pointer("/tool/driver/rules").and_then(Value::as_array);
    let id = result.get("ruleId").and_then(Value::as_str);
    let by_index = result.get("ruleIndex").and_then(Value::as_u64).and_then(|i| rules?.get(i as usize));
    let rule = by_index.or_else(|| rules?.iter().find(|r| r.get("id").and_then(Value::as_str) == id && id.is_some()));
    rule.and_then(|r| r.pointer("/defaultConfiguration/level")).and_then(Value::as_str).unwrap_or("warning")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_suppressions_and_failed_invocations_are_heeded() {
        let read = |results: &str| {
            super::read(&format!(
                r#"{{"runs":[{{"tool":{{"driver":{{"rules":[{{"id":"soft","defaultConfiguration":{{"level":"note"}}}}]}}}},"artifacts":[{{}}],"results":{results}}}]}}"#
            ))
        };
        let said = |results: &str| read(results).map(|r| r.said);
        assert_eq!(said("[]"), Ok(Said::Pass));
        assert_eq!(read("[]").unwrap().substance, Some(1));
        assert_eq!(said(r#"[{"ruleId":"a"}]"#), Ok(Said::Fail));
        assert_eq!(said(r#"[{"ruleId":"a","level":"note"}]"#), Ok(Said::Pass));
        assert_eq!(said(r#"[{"ruleId":"soft"}]"#), Ok(Said::Pass));
        assert_eq!(said(r#"[{"ruleId":"a","suppressions":[{"kind":"inSource"}]}]"#), Ok(Said::Pass));
        assert_eq!(said(r#"[{"ruleId":"a","kind":"pass"}]"#), Ok(Said::Pass));
        let found = read(r#"[{"ruleId":"a","partialFingerprints":{"x/v1":"p"},"message":{"text":"m"}}]"#).unwrap().findings;
        assert_eq!(found, [Finding { rule: Some("a".into()), fingerprint: Some("p".into()), message: Some("m".into()) }]);
        assert_eq!(super::read(r#"{"runs":[{"invocations":[{"executionSuccessful":false}]}]}"#).unwrap().said, Said::CouldNotRun);
        assert_eq!(super::read(r#"{"runs":[]}"#).unwrap().substance, Some(0));
        assert!(super::read("{}").is_err());
    }
}
