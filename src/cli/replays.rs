//! Owns where results of replays are kept for the lake: one file for each different result, read into the lake at once.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::lake::ingest::{Options, Silent, ingest};
use crate::lake::{Lake, LakeError};
use crate::model::time::Ts;
use crate::replay::{Results, write_whole};
use crate::source::replay_results::FOLDER;

/// Keeps the results and reads them into the lake. A replay that finds what an earlier one found takes its place: it says the same, of
/// a later time; one that ran nothing, for all is remembered, leaves it as it is. `asked`: the lake was named on the command line, so it is begun where there is none; else no lake means nothing to do.
pub fn keep(lake: &Path, asked: bool, results: &Results) -> anyhow::Result<Option<PathBuf>> {
    let lake = match Lake::open(lake) {
        Ok(lake) => lake,
        Err(LakeError::NotFound(_)) if asked => Lake::open_or_create(lake)?,
        Err(LakeError::NotFound(_)) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let digest = results.digest();
    let short = digest.strip_prefix("sha256:").and_then(|d| d.get(..16)).unwrap_or("results");
    let file = Path::new(FOLDER).join(format!("{short}.json"));
    std::fs::create_dir_all(FOLDER).with_context(|| format!("make the folder {FOLDER}"))?;
    // What ran nothing and says what was kept last has nothing to add.
    if results.measured.runs > 0 || newest().as_deref() != Some(file.as_path()) {
        write_whole(&file, results.json().as_bytes())?;
    }
    let now = Ts(jiff::Timestamp::now().as_microsecond());
    ingest(&lake, std::slice::from_ref(&file), &Options::at(now), &Silent)
        .with_context(|| format!("the results are kept in {0}; read them later with `mechanic ingest {0}`", file.display()))?;
    Ok(Some(file))
}

/// The file that was kept last.
fn newest() -> Option<PathBuf> {
    let entries = std::fs::read_dir(FOLDER).ok()?.flatten();
    entries.filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path()))).max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::measure::known_replays::{matrix, world};
    use crate::model::vocabulary::ReplayOutcome;
    use crate::replay::subsume::{Catches, worth};
    use crate::sql::params::Param;
    use crate::sql::testing::lines;

    /// One number, one definition: what a validator is worth is computed in Rust by replay and in SQL over the lake.
    #[test]
    fn sql_over_the_lake_and_replay_give_every_validator_the_same_worth() {
        let mut world = world();
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut replays = Vec::new();
        for n in 0..12 {
            let (n_validators, n_fixtures, density) = (1 + random(9) as usize, random(30) as usize, 1 + random(4));
            let names: Vec<String> = (0..n_validators).map(|v| format!("v{v}")).collect();
            let fixtures: Vec<(String, String)> = (0..n_fixtures)
                .map(|f| {
                    let letter = |_| {
                        let at = random(10) as usize;
                        if (at as u64) < density * 2 { 'C' } else { ReplayOutcome::ALL[1 + at % 9].letter() }
                    };
                    (format!("f{f:02}"), (0..n_validators).map(letter).collect())
                })
                .collect();
            let rows: Vec<(&str, &str)> = fixtures.iter().map(|(f, letters)| (f.as_str(), letters.as_str())).collect();
            let id = format!("r{n:02}");
            world.put(1, &matrix(&id, &names.iter().map(String::as_str).collect::<Vec<_>>(), &rows));
            let catches = names.iter().enumerate().map(|(v, name)| Catches {
                validator: name.clone(),
                problems: (0..n_fixtures).filter(|f| fixtures[*f].1.chars().nth(v) == Some('C')).collect(),
                cost: 1.0,
            });
            replays.push((id, n_fixtures, catches.collect::<Vec<_>>()));
        }
        let engine = world.engine();
        let mut pairs = 0;
        for (id, n_fixtures, catches) in replays.iter().filter(|r| r.1 > 0) {
            let ask = |query: &str, columns: &[&str]| {
                lines(&engine.query(query, &BTreeMap::from([("replay".to_owned(), Param::Text(id.clone()))])).unwrap(), columns)
            };
            let said = ask("replay_validators", &["validator_id", "n_caught", "n_alone", "share"]);
            let computed = worth(catches, &vec![1.0; *n_fixtures]);
            assert_eq!(said.len(), computed.len());
            for (said, computed) in said.iter().zip(&computed) {
                let (counts, share) = said.rsplit_once('|').unwrap();
                assert_eq!(counts, format!("{}|{}|{}", computed.validator, computed.catches, computed.unique), "{id}");
                assert!((share.parse::<f64>().unwrap() - computed.shapley).abs() < 1e-9, "{id}: {said} {computed:?}");
            }
            let dominated: Vec<String> =
                computed.iter().flat_map(|w| w.dominated_by.iter().map(|by| format!("{}|{by}", w.validator))).collect();
            assert_eq!(ask("replay_dominance", &["validator_id", "by_validator_id"]), dominated, "{id}");
            pairs += dominated.len();
        }
        assert!(pairs > 0, "some validator is dominated");
    }
}
