//! The one integration-test binary: each module is one promise of the program, checked through the binary.

mod audit;
mod bug_log;
mod cli;
#[cfg(target_os = "linux")]
mod corpus_replay;
mod crash;
mod damage;
mod demo;
mod failure_corpus;
mod hand;
#[cfg(target_os = "linux")]
mod harvest;
mod input;
#[cfg(unix)]
mod links;
mod order;
mod overrides;
mod readers;
mod real;
mod record;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod replay_lake;
mod support;
mod truth;
