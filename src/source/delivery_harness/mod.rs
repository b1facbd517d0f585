//! Owns the records of the agent-delivery-harness: its lifecycle trace in every era, and the per-issue files beside it.
//!
//! Facts of one trace: every span is one `trace_spans` row; spans of gates are gate runs as [`composite`], [`single`] and [`review`]
//! say. What the harness's gates are comes from the built-in profile ([`crate::config::profile`]).

mod aggregate;
mod approval;
mod composite;
mod contract;
mod decisions;
mod declare;
mod feature_list;
mod ids;
mod progress;
mod review;
mod rows;
mod sensor_evidence;
mod single;
mod span;
mod trace;
pub(super) mod whole;

#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use super::Probe;
use crate::config::profile::{DELIVERY_HARNESS_NAME, Profile};
use crate::model::id::digest;

pub use approval::ApprovalMarker;
pub use contract::Contract;
pub use feature_list::FeatureList;
pub use progress::Progress;
pub use sensor_evidence::SensorEvidence;
pub use trace::LifecycleTrace;

/// Name of the format, and of the harness.
pub const FORMAT: &str = DELIVERY_HARNESS_NAME;

/// The built-in profile; a test keeps it readable.
static PROFILE: LazyLock<Option<Profile>> = LazyLock::new(|| Profile::builtin(FORMAT));

fn profile() -> anyhow::Result<&'static Profile> {
    PROFILE.as_ref().ok_or_else(|| anyhow::anyhow!("failed to read the built-in profile of {FORMAT}"))
}

/// Digest of the profile: a changed profile gives other rows, so files are then read again.
fn profile_digest() -> Option<String> {
    Profile::builtin_text(FORMAT).map(|text| digest(text.as_bytes()))
}

/// Whether the file is named `name`, alone or behind a prefix that ends in one of `separators`, compressed or not.
fn is_named(probe: &Probe<'_>, name: &str, separators: &[char]) -> bool {
    let file = probe.input.name();
    let file = file.strip_suffix(".gz").or_else(|| file.strip_suffix(".zst")).unwrap_or(file);
    match file.strip_suffix(name) {
        Some(prefix) => prefix.is_empty() || prefix.ends_with(separators),
        None => false,
    }
}
