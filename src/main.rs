//! Owns the entry: parse, run one command, map the error to an exit code.

use std::process::ExitCode;

use clap::Parser;
use harness_mechanic::cli;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => match cli::exit_code(&error) {
            None => ExitCode::SUCCESS,
            Some(code) => {
                anstream::eprintln!("mechanic: {error:#}");
                code
            }
        },
    }
}
