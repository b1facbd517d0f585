//! Owns reading a verdict: what a validator said, what it named, and how much it read. Silence and what cannot be read are no verdict.

mod junit;
mod named;
mod sarif;
mod tap;

use serde::{Deserialize, Serialize};

pub use named::names;

use super::isolate::{Captured, Ran};
use super::validator::{Json, Patterns, Reader, Substance, Validator};
use super::words::Said;

/// One thing a validator named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What one run says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub said: Said,
    pub findings: Vec<Finding>,
    /// Subjects it read; `None`: it does not say.
    pub substance: Option<u64>,
}

/// More findings than this of one run say nothing more.
const MOST_FINDINGS: usize = 1000;

/// The files of the place that a validator's verdict is read from, in the order [`read`] takes them.
pub fn wanted(validator: &Validator) -> Vec<String> {
    let report = match &validator.reader {
        Reader::Json(Json { path, .. }) | Reader::Junit { path } | Reader::Sarif { path } => path.clone(),
        _ => None,
    };
    let substance = match &validator.substance {
        Some(Substance::Json { path, .. }) => path.clone(),
        _ => None,
    };
    [report, substance].into_iter().flatten().map(|p| in_place(&p)).collect()
}

/// `{out}/x` lies beside the copy, everything else in it.
fn in_place(path: &str) -> String {
    match path.strip_prefix("{out}/") {
        Some(rest) => format!("out/{rest}"),
        None => format!("stimulus/{path}"),
    }
}

/// Reads the verdict of a run that ended with an exit code. An error says why there is none.
pub fn read(validator: &Validator, code: i32, ran: &Ran) -> Result<Reading, String> {
    let wanted = wanted(validator);
    let file = |path: &Option<String>| -> Result<String, String> {
        let Some(path) = path else {
            return match ran.out.lost() {
                0 => Ok(ran.out.text()),
                lost => Err(format!("its report is too long to be read ({lost} bytes left out)")),
            };
        };
        let at = wanted.iter().position(|w| *w == in_place(path));
        let bytes = at.and_then(|i| ran.wanted.get(i)).and_then(Option::as_ref);
        let bytes = bytes.ok_or_else(|| format!("its report `{}` is not there", crate::plain::escape(path)))?;
        String::from_utf8(bytes.clone()).map_err(|_| "its report is not UTF-8".to_owned())
    };
    let mut reading = match &validator.reader {
        Reader::Exit(table) => {
            let said = table.get(&code).ok_or_else(|| format!("exit code {code} means nothing in its table"))?;
            Reading { said: *said, findings: Vec::new(), substance: None }
        }
        Reader::Json(json) => read_json(json, &file(&json.path)?)?,
        Reader::Junit { path } => junit::read(&file(path)?)?,
        Reader::Sarif { path } => sarif::read(&file(path)?)?,
        Reader::Tap => tap::read(&file(&None)?)?,
        Reader::Regex(patterns) => read_patterns(patterns, &both(&ran.out, &ran.err))?,
        Reader::Transcript => return Err("a judge is not run".to_owned()),
    };
    reading.findings.truncate(MOST_FINDINGS);
    match &validator.substance {
        None => {}
        Some(Substance::Regex(regex)) => {
            let text = both(&ran.out, &ran.err);
            reading.substance = regex.captures_iter(&text).last().and_then(|c| c.get(1)).and_then(|m| m.as_str().parse().ok());
        }
        Some(Substance::Json { pointer, path }) => {
            let value: Option<serde_json::Value> = file(path).ok().and_then(|t| serde_json::from_str(&t).ok());
            reading.substance = value.as_ref().and_then(|v| v.pointer(pointer)).and_then(|v| match v {
                serde_json::Value::Array(list) => Some(list.len() as u64),
                other => other.as_u64(),
            });
        }
    }
    Ok(reading)
}

/// Both streams of a run.
pub fn both(out: &Captured, err: &Captured) -> String {
    let mut text = out.text();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&err.text());
    text
}

fn read_json(json: &Json, text: &str) -> Result<Reading, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| format!("its report is no JSON: {e}"))?;
    let at = value.pointer(&json.pointer).ok_or_else(|| format!("its report has nothing at {}", crate::plain::escape(&json.pointer)))?;
    // Exact: "2" and 2 are two values.
    let lists =
        [(&json.fail, Said::Fail), (&json.could_not_run, Said::CouldNotRun), (&json.skipped, Said::Skipped), (&json.pass, Said::Pass)];
    let said = lists.into_iter().find(|(list, _)| list.contains(at)).map(|(_, said)| said);
    let said = said
        .ok_or_else(|| format!("its report says {}, which means nothing", crate::plain::cut(&crate::plain::escape(&at.to_string()), 60)))?;
    let items = json.findings.as_ref().and_then(|p| value.pointer(p)).and_then(serde_json::Value::as_array);
    let text_at = |item: &serde_json::Value, pointer: &Option<String>| {
        pointer.as_ref().and_then(|p| item.pointer(p)).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
    };
    let findings = items.into_iter().flatten().map(|item| Finding {
        rule: text_at(item, &json.rule),
        fingerprint: text_at(item, &json.fingerprint),
        message: text_at(item, &json.message),
    });
    Ok(Reading { said, findings: findings.collect(), substance: None })
}

fn read_patterns(patterns: &Patterns, text: &str) -> Result<Reading, String> {
    let says = |p: &Option<regex::Regex>| p.as_ref().is_some_and(|r| r.is_match(text));
    let said = if says(&patterns.fail) {
        Said::Fail
    } else if says(&patterns.skipped) {
        Said::Skipped
    } else if says(&patterns.pass) {
        Said::Pass
    } else {
        return Err("its output matches none of its patterns".to_owned());
    };
    let captured = |p: &Option<regex::Regex>| -> Vec<String> {
        let group = |c: regex::Captures<'_>| c.get(1).or_else(|| c.get(0)).map(|m| m.as_str().to_owned());
        p.as_ref().map_or_else(Vec::new, |r| r.captures_iter(text).take(MOST_FINDINGS).filter_map(group).collect())
    };
    let rules = captured(&patterns.rule).into_iter().map(|rule| Finding { rule: Some(rule), ..Finding::default() });
    let prints = captured(&patterns.fingerprint).into_iter().map(|f| Finding { fingerprint: Some(f), ..Finding::default() });
    Ok(Reading { said, findings: rules.chain(prints).collect(), substance: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Result<Reading, String> {
        let json: Json = serde_json::from_value(serde_json::json!({
            "pointer": "/v", "pass": ["ok", 2], "fail": ["bad"], "findings": "/f", "rule": "/r", "message": "/m"
        }))
        .unwrap();
        read_json(&json, text)
    }

    #[test]
    fn json_values_are_compared_exactly_and_what_is_unknown_is_no_verdict() {
        assert_eq!(json(r#"{"v": 2}"#).unwrap().said, Said::Pass);
        assert!(json(r#"{"v": "2"}"#).unwrap_err().contains("means nothing"));
        assert!(json(r#"{"w": 2}"#).unwrap_err().contains("nothing at /v"));
        assert!(json("").unwrap_err().contains("no JSON"));
        let read = json(r#"{"v": "bad", "f": [{"r": "x", "m": "text"}, {}]}"#).unwrap();
        assert_eq!((read.said, read.findings.len(), read.findings[0].rule.as_deref()), (Said::Fail, 2, Some("x")));
    }

    #[test]
    fn with_patterns_a_fail_outranks_a_pass_and_silence_is_no_verdict() {
        let r = |t: &str| Some(regex::Regex::new(t).unwrap());
        let patterns = Patterns { pass: r("PASS"), fail: r("FAIL"), skipped: r("SKIP"), rule: r(r"rule: (\S+)"), fingerprint: None };
        let said = |t: &str| read_patterns(&patterns, t).map(|r| r.said);
        assert_eq!(said("PASS then FAIL"), Ok(Said::Fail));
        assert_eq!(said("SKIP PASS"), Ok(Said::Skipped));
        assert!(said("").is_err());
        let read = read_patterns(&patterns, "FAIL rule: a\nrule: b").unwrap();
        assert_eq!(read.findings.iter().filter_map(|f| f.rule.as_deref()).collect::<Vec<_>>(), ["a", "b"]);
    }
}
