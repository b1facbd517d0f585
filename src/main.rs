//! Owns the entry: parse, run one command, map the error to an exit code.

use std::process::ExitCode;

use clap::Parser;
use harness_mechanic::{cli, plain};

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            // It may quote a log, a path or a configuration.
            let told: Vec<String> = format!("{error:#}").lines().map(plain::escape).collect();
            eprintln!("mechanic: {}", told.join("\n"));
            cli::exit_code(&error)
        }
    }
}
