//! Owns reading JUnit XML: test cases are counted themselves, whatever the totals of the file say.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{Finding, Reading};
use crate::replay::words::Said;

#[derive(Default)]
struct Case {
    name: String,
    failed: Option<String>,
    skipped: bool,
}

pub fn read(text: &str) -> Result<Reading, String> {
    let mut reader = Reader::from_str(text);
    let (mut cases, mut skipped) = (0u64, 0u64);
    let mut findings = Vec::new();
    let mut open: Option<Case> = None;
    let mut any = false;
    let mut outside = None;
    let mut depth = 0usize;
    let mut close = |case: Case| {
        cases += 1;
        skipped += u64::from(case.skipped);
        if let Some(message) = case.failed {
            findings.push(Finding { rule: Some(case.name), fingerprint: None, message: Some(message) });
        }
    };
    loop {
        let event = reader.read_event().map_err(|e| format!("its JUnit report is no XML: {e}"))?;
        match event {
            Event::Start(tag) => {
                depth += 1;
                any |= suite(&tag);
                element(&tag, &mut open, &mut outside);
            }
            Event::Empty(tag) => {
                any |= suite(&tag);
                element(&tag, &mut open, &mut outside);
                if tag.local_name().as_ref() == b"testcase"
                    && let Some(case) = open.take()
                {
                    close(case);
                }
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                if tag.local_name().as_ref() == b"testcase"
                    && let Some(case) = open.take()
                {
                    close(case);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if !any || depth != 0 {
        return Err("its JUnit report is cut off or holds no test suite".to_owned());
    }
    if let Some(message) = outside {
        findings.push(Finding { rule: None, fingerprint: None, message: Some(message) });
    }
    let said = match (findings.is_empty(), cases > 0 && skipped == cases) {
        (false, _) => Said::Fail,
        (true, true) => Said::Skipped,
        (true, false) => Said::Pass,
    };
    let substance = if said == Said::Skipped { None } else { Some(cases - skipped) };
    Ok(Reading { said, findings, substance })
}

fn suite(tag: &BytesStart<'_>) -> bool {
    matches!(tag.local_name().as_ref(), b"testsuite" | b"testsuites")
}

fn element(tag: &BytesStart<'_>, open: &mut Option<Case>, outside: &mut Option<String>) {
    match tag.local_name().as_ref() {
        b"testcase" => {
            let name = [attribute(tag, "classname"), attribute(tag, "name")].into_iter().flatten().collect::<Vec<_>>().join(".");
            *open = Some(Case { name, ..Case::default() });
        }
        b"failure" | b"error" => {
            let message = attribute(tag, "message").unwrap_or_default();
            match open {
                Some(case) => case.failed = Some(message),
                // A suite that could not be set up says so outside any case.
                None => *outside = Some(message),
            }
        }
        b"skipped" => {
            if let Some(case) = open {
                case.skipped = true;
            }
        }
        _ => {}
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).ok()??;
    let raw = String::from_utf8_lossy(&attribute.value).into_owned();
    Some(quick_xml::escape::unescape(&raw).map(|t| t.into_owned()).unwrap_or(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_and_what_is_cut_off_is_no_verdict() {
        let said = |text: &str| read(text).map(|r| (r.said, r.substance));
        assert_eq!(said("<testsuites><testsuite tests='9'><testcase name='a'/></testsuite></testsuites>"), Ok((Said::Pass, Some(1))));
        assert_eq!(said("<testsuite tests='5'/>"), Ok((Said::Pass, Some(0))));
        assert_eq!(said("<testsuite><testcase name='a'><skipped/></testcase></testsuite>"), Ok((Said::Skipped, None)));
        let text = "<testsuite><testcase classname='m' name='a'><failure message='1 &lt; 2'>x</failure></testcase></testsuite>";
        let found = read(text).unwrap();
        assert_eq!(
            (found.said, found.findings[0].rule.as_deref(), found.findings[0].message.as_deref()),
            (Said::Fail, Some("m.a"), Some("1 < 2"))
        );
        assert!(said("<testsuite><testcase name='a'/>").is_err());
        assert!(said("").is_err());
        assert!(said("<html/>").is_err());
    }
}
