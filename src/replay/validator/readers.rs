//! Owns how a verdict is to be read, from what `validators.toml` says of it: exit codes, a JSON pointer, JUnit, SARIF, TAP or patterns.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;

use super::super::fixture::first_line;
use super::super::place;
use super::super::words::Said;
use super::super::wrong::{Result, Wrong};
use super::written::{WrittenFile, WrittenReader, WrittenSubstance, WrittenTap};
use super::{Patterns, Reader, Substance};

pub(super) fn read_reader(written: WrittenReader) -> Result<Reader> {
    let n = [
        written.exit.is_some(),
        written.json.is_some(),
        written.junit.is_some(),
        written.sarif.is_some(),
        written.tap.is_some(),
        written.regex.is_some(),
    ]
    .iter()
    .filter(|given| **given)
    .count();
    if n != 1 {
        return Err(Wrong::one(format!("verdict: give exactly one of exit, json, junit, sarif, tap, regex ({n} are given)")));
    }
    let path = |file: WrittenFile| match &file.path {
        Some(p) => place::inside(Path::new(""), p).map(|_| file.path.clone()).map_err(|e| Wrong::one(format!("verdict.path: {e}"))),
        None => Ok(None),
    };
    if let Some(exit) = written.exit {
        let mut table = BTreeMap::new();
        for (said, codes) in
            [(Said::Pass, exit.pass), (Said::Fail, exit.fail), (Said::Skipped, exit.skipped), (Said::CouldNotRun, exit.could_not_run)]
        {
            for code in codes {
                if !(0..=255).contains(&code) {
                    return Err(Wrong::one(format!("verdict.exit: {code} is no exit code (0 to 255)")));
                }
                if let Some(other) = table.insert(code, said)
                    && other != said
                {
                    return Err(Wrong::one(format!("verdict.exit: {code} means both {other} and {said}")));
                }
            }
        }
        if !table.values().any(|s| *s == Said::Fail) || !table.values().any(|s| *s == Said::Pass) {
            return Err(Wrong::one("verdict.exit: name at least one code for pass and one for fail"));
        }
        return Ok(Reader::Exit(table));
    }
    if let Some(json) = written.json {
        if let Some(p) = &json.path {
            place::inside(Path::new(""), p).map_err(|e| Wrong::one(format!("verdict.path: {e}")))?;
        }
        if json.pass.is_empty() || json.fail.is_empty() {
            return Err(Wrong::one("verdict.json: give the values of `pass` and of `fail`"));
        }
        for pointer in [Some(&json.pointer), json.findings.as_ref(), json.rule.as_ref(), json.fingerprint.as_ref(), json.message.as_ref()]
            .into_iter()
            .flatten()
        {
            pointer_form(pointer)?;
        }
        return Ok(Reader::Json(json));
    }
    if let Some(file) = written.junit {
        return Ok(Reader::Junit { path: path(file)? });
    }
    if let Some(file) = written.sarif {
        return Ok(Reader::Sarif { path: path(file)? });
    }
    if let Some(WrittenTap {}) = written.tap {
        return Ok(Reader::Tap);
    }
    let Some(patterns) = written.regex else { return Err(Wrong::one("verdict: nothing is given")) };
    let compiled = |name: &str, text: Option<String>| match text {
        None => Ok(None),
        Some(text) => Regex::new(&text)
            .map(Some)
            .map_err(|e| Wrong::one(format!("verdict.regex.{name}: no regular expression: {}", first_line(&e.to_string())))),
    };
    let patterns = Patterns {
        pass: compiled("pass", patterns.pass)?,
        fail: compiled("fail", patterns.fail)?,
        skipped: compiled("skipped", patterns.skipped)?,
        rule: compiled("rule", patterns.rule)?,
        fingerprint: compiled("fingerprint", patterns.fingerprint)?,
    };
    if patterns.pass.is_none() || patterns.fail.is_none() {
        return Err(Wrong::one("verdict.regex: give a pattern for `pass` and one for `fail` (silence is no verdict)"));
    }
    Ok(Reader::Regex(patterns))
}

fn pointer_form(pointer: &str) -> Result<()> {
    match pointer.is_empty() || pointer.starts_with('/') {
        true => Ok(()),
        false => Err(Wrong::one(format!("`{}` is no JSON pointer: it begins with `/`", crate::plain::escape(pointer)))),
    }
}

pub(super) fn read_substance(written: WrittenSubstance) -> Result<Substance> {
    match (written.regex, written.json) {
        (Some(text), None) => {
            let regex = Regex::new(&text)
                .map_err(|e| Wrong::one(format!("substance.regex: no regular expression: {}", first_line(&e.to_string()))))?;
            if regex.captures_len() < 2 {
                return Err(Wrong::one("substance.regex: put the number in a group, as in (\\d+) checked"));
            }
            Ok(Substance::Regex(regex))
        }
        (None, Some(pointer)) => {
            pointer_form(&pointer)?;
            if let Some(p) = &written.path {
                place::inside(Path::new(""), p).map_err(|e| Wrong::one(format!("substance.path: {e}")))?;
            }
            Ok(Substance::Json { pointer, path: written.path })
        }
        _ => Err(Wrong::one("substance: give either regex or json")),
    }
}
