//! Owns the exit codes (DESIGN §9) and the mapping of errors to them.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::config::ConfigError;

/// Done, and nothing failed the check.
pub const DONE: u8 = 0;
/// The check failed.
pub const CHECK_FAILED: u8 = 1;
/// Usage or configuration is wrong: the user can mend it.
pub const USAGE: u8 = 2;
/// The environment failed: never read as a pass.
pub const ENVIRONMENT: u8 = 3;

/// An error the user can mend by another command line or configuration.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The exit code of an error; `None` where the reader of our output went away, which is no error at all.
pub fn exit_code(error: &anyhow::Error) -> Option<ExitCode> {
    match code_of(error) {
        DONE => None,
        code => Some(ExitCode::from(code)),
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            return DONE;
        }
        if cause.is::<Usage>() || cause.is::<ConfigError>() {
            return USAGE;
        }
    }
    ENVIRONMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_its_exit_code() {
        assert_eq!(code_of(&io::Error::from(io::ErrorKind::BrokenPipe).into()), DONE);
        assert_eq!(code_of(&anyhow::Error::from(Usage("no such table".into())).context("schema")), USAGE);
        assert_eq!(code_of(&io::Error::from(io::ErrorKind::PermissionDenied).into()), ENVIRONMENT);
        assert_eq!(code_of(&anyhow::anyhow!("something else")), ENVIRONMENT);
    }
}
