//! Owns reading TAP, the Test Anything Protocol: a plan that is not kept is no verdict.

use super::{Finding, Reading};
use crate::replay::words::Said;

pub fn read(text: &str) -> Result<Reading, String> {
    let (mut planned, mut skip_all) = (None, false);
    let (mut ran, mut skipped) = (0u64, 0u64);
    let mut findings = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(why) = line.strip_prefix("Bail out!") {
            let finding = Finding { message: Some(why.trim().to_owned()), ..Finding::default() };
            return Ok(Reading { said: Said::CouldNotRun, findings: vec![finding], substance: Some(ran) });
        }
        if let Some(rest) = line.strip_prefix("1..") {
            let (n, comment) = rest.split_once('#').unwrap_or((rest, ""));
            let n: u64 = n.trim().parse().map_err(|_| "its TAP plan is no number".to_owned())?;
            if planned.replace(n).is_some() {
                return Err("its TAP has two plans".to_owned());
            }
            skip_all = n == 0 && comment.trim().to_ascii_lowercase().starts_with("skip");
            continue;
        }
        let (failed, rest) = match (line.strip_prefix("not ok"), line.strip_prefix("ok")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => continue,
        };
        if !rest.is_empty() && !rest.starts_with(' ') {
            continue;
        }
        ran += 1;
        let (described, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
        let directive = directive.trim().to_ascii_lowercase();
        if directive.starts_with("skip") {
            skipped += 1;
        } else if failed && !directive.starts_with("todo") {
            let name = described.trim().trim_start_matches(|c: char| c.is_ascii_digit()).trim().trim_start_matches('-').trim();
            findings.push(Finding { rule: Some(name.to_owned()), fingerprint: None, message: Some(name.to_owned()) });
        }
    }
    let planned = planned.ok_or("its TAP has no plan: it may have ended early")?;
    if planned != ran {
        return Err(format!("its TAP plans {planned} tests and has {ran}"));
    }
    let said = match (findings.is_empty(), skip_all || ran > 0 && skipped == ran) {
        (false, _) => Said::Fail,
        (true, true) => Said::Skipped,
        (true, false) => Said::Pass,
    };
    // A skipped test read nothing; when all of it says so, that is what it says.
    let substance = if said == Said::Skipped { None } else { Some(ran - skipped) };
    Ok(Reading { said, findings, substance })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Result<(Said, Option<u64>), String> {
        read(text).map(|r| (r.said, r.substance))
    }

    #[test]
    fn a_plan_is_kept_or_there_is_no_verdict() {
        assert_eq!(said("TAP version 13\n1..2\nok 1 - a\nok 2 - b\n"), Ok((Said::Pass, Some(2))));
        assert_eq!(said("ok 1\nnot ok 2 - names it\n1..2\n"), Ok((Said::Fail, Some(2))));
        assert_eq!(said("1..2\nok 1 # SKIP no net\nok 2 # skip\n"), Ok((Said::Skipped, None)));
        assert_eq!(said("1..1\nnot ok 1 # TODO later\n"), Ok((Said::Pass, Some(1))));
        assert_eq!(said("1..0 # SKIP nothing here\n"), Ok((Said::Skipped, None)));
        assert_eq!(said("1..0\n"), Ok((Said::Pass, Some(0))));
        assert_eq!(said("1..3\nok 1\nBail out! no database\n").unwrap().0, Said::CouldNotRun);
        assert!(said("1..3\nok 1\n").unwrap_err().contains("plans 3 tests and has 1"));
        assert!(said("").unwrap_err().contains("no plan"));
        assert_eq!(read("1..1\nnot ok 1 - names it\n").unwrap().findings[0].rule.as_deref(), Some("names it"));
    }
}
