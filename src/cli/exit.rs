//! Owns the exit codes (DESIGN §9) and the mapping of errors to them.

use std::fmt;
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

/// The exit code of an error.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(code_of(error))
}

fn code_of(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if cause.is::<Usage>() || cause.is::<ConfigError>() {
            return USAGE;
        }
    }
    ENVIRONMENT
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn each_kind_of_error_has_its_exit_code() {
        // Of a child's pipe, say: only our own output may end early.
        assert_eq!(code_of(&io::Error::from(io::ErrorKind::BrokenPipe).into()), ENVIRONMENT);
        assert_eq!(code_of(&anyhow::Error::from(Usage("no such table".into())).context("schema")), USAGE);
        assert_eq!(code_of(&io::Error::from(io::ErrorKind::PermissionDenied).into()), ENVIRONMENT);
        assert_eq!(code_of(&anyhow::anyhow!("something else")), ENVIRONMENT);
    }
}
