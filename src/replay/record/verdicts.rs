//! Owns the reading of an exit status as a verdict.

use std::collections::BTreeMap;

use super::Ended;
use crate::model::vocabulary::Verdict;

/// Which status means what where the default (0 is a pass, anything else a fail) is not what the command means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts(BTreeMap<u8, Verdict>);

impl Verdicts {
    /// From words like `77=skipped`. An error says which word is wrong and what is possible.
    pub fn parse(words: &[String]) -> Result<Verdicts, String> {
        let mut map = BTreeMap::new();
        for word in words {
            let parsed = word.split_once('=').and_then(|(code, verdict)| Some((code.parse().ok()?, Verdict::parse(verdict)?)));
            let Some((code, verdict)) = parsed else {
                let known: Vec<&str> = Verdict::ALL.iter().map(|v| v.as_str()).collect();
                return Err(format!("`--exit {word}`: expected STATUS=VERDICT, a status of 0 to 255 and one of {}", known.join(", ")));
            };
            map.insert(code, verdict);
        }
        Ok(Verdicts(map))
    }

    /// A signal is no verdict of the gate; neither is a command that was not found (127) or may not be run (126).
    pub(super) fn of(&self, ended: &Ended) -> Verdict {
        match ended {
            Ended::NeverStarted { .. } => Verdict::CouldNotRun,
            Ended::Killed { .. } => Verdict::Crashed,
            Ended::Exited { status, .. } => {
                self.0.get(status).copied().unwrap_or(match status {
                    0 => Verdict::Pass,
                    126 | 127 => Verdict::CouldNotRun,
                    // What a shell says of a child that died by a signal.
                    129..=159 => Verdict::Crashed,
                    _ => Verdict::Fail,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(status: u8) -> Ended {
        Ended::Exited { status, input: None }
    }

    #[test]
    fn a_status_is_a_pass_a_fail_or_no_verdict_at_all() {
        let plain = Verdicts::default();
        let cases = [
            (0, Verdict::Pass),
            (1, Verdict::Fail),
            (2, Verdict::Fail),
            (126, Verdict::CouldNotRun),
            (127, Verdict::CouldNotRun),
            (137, Verdict::Crashed),
        ];
        for (status, verdict) in cases {
            assert_eq!(plain.of(&exited(status)), verdict, "{status}");
        }
        assert_eq!(plain.of(&Ended::Killed { signal: 9, input: None }), Verdict::Crashed);
    }

    #[test]
    fn a_command_can_mean_its_own_statuses() {
        let own = Verdicts::parse(&["77=skipped".into(), "2=could_not_run".into()]).unwrap();
        assert_eq!((own.of(&exited(77)), own.of(&exited(2)), own.of(&exited(1))), (Verdict::Skipped, Verdict::CouldNotRun, Verdict::Fail));
        for wrong in ["77", "x=pass", "300=pass", "1=bad"] {
            assert!(Verdicts::parse(&[wrong.into()]).unwrap_err().contains("STATUS=VERDICT"), "{wrong}");
        }
    }
}
