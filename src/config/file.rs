//! Owns `mechanic.toml`: what a user may set, how it is read and checked, and errors that say key, line and remedy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::{ConfigError, nearest};
use super::profile::Profile;
use crate::model::id::digest;
use crate::model::time::Ts;

/// Name of the file.
pub const FILE_NAME: &str = "mechanic.toml";

/// Prices of the models a pattern names, in integer nano-USD a token, over a span of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// Model id, `*` for any characters.
    pub pattern: String,
    /// First instant. `None`: since ever.
    pub from: Option<Ts>,
    /// First instant after. `None`: until further notice.
    pub until: Option<Ts>,
    pub input: i64,
    pub cache_read: i64,
    pub cache_write_5m: i64,
    pub cache_write_1h: i64,
    pub output: i64,
}

/// The configuration in force: the file's, else the defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file it was read from. `None`: there is none.
    pub file: Option<PathBuf>,
    /// What is read when no PATH is given; empty: what is found.
    pub paths: Vec<PathBuf>,
    /// IANA name of the time zone of weeks and days.
    pub timezone: String,
    /// Folder of the lake. `None`: not set.
    pub lake: Option<PathBuf>,
    /// Laid over the built-in prices.
    pub prices: Vec<Price>,
    /// Laid over the built-in profiles, by harness.
    pub profiles: BTreeMap<String, toml::Table>,
    digest: String,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            file: None,
            paths: Vec::new(),
            timezone: "UTC".to_owned(),
            lake: None,
            prices: Vec::new(),
            profiles: BTreeMap::new(),
            digest: digest(b""),
        }
    }
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    paths: Vec<String>,
    timezone: Option<toml::Spanned<String>>,
    lake: Option<String>,
    #[serde(default, rename = "price")]
    prices: Vec<toml::Spanned<WrittenPrice>>,
    #[serde(default, rename = "profile")]
    profiles: BTreeMap<String, toml::Spanned<toml::Table>>,
}

/// A price as written: US dollars a million tokens, as vendors state them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPrice {
    model: String,
    from: Option<String>,
    until: Option<String>,
    input: f64,
    cache_read: f64,
    cache_write_5m: f64,
    cache_write_1h: f64,
    output: f64,
}

impl Config {
    /// Reads the `mechanic.toml` of `folder`, or of the nearest folder above it in the same repository. The defaults where there is none.
    pub fn load(folder: &Path) -> Result<Config, ConfigError> {
        match Self::find(folder) {
            Some(file) => Self::read(&file),
            None => Ok(Config::default()),
        }
    }

    /// The file [`Config::load`] reads.
    pub fn find(folder: &Path) -> Option<PathBuf> {
        let folder = std::path::absolute(folder).ok()?;
        for at in folder.ancestors() {
            let file = at.join(FILE_NAME);
            if file.is_file() {
                return Some(file);
            }
            if at.join(".git").exists() {
                break;
            }
        }
        None
    }

    /// Reads one file.
    pub fn read(file: &Path) -> Result<Config, ConfigError> {
        let text = std::fs::read_to_string(file).map_err(|source| ConfigError::Read { file: file.to_owned(), source })?;
        Self::parse(&text, file)
    }

    /// Reads text as if it stood in `file`: its relative paths start at that file's folder.
    pub fn parse(text: &str, file: &Path) -> Result<Config, ConfigError> {
        let written: Written = toml::from_str(text).map_err(|e| ConfigError::toml(file, text, &e))?;
        let at =
            |span: std::ops::Range<usize>, key: &str, what: String, remedy: &str| ConfigError::value(file, text, span, key, what, remedy);
        let folder = file.parent().unwrap_or(Path::new(""));
        let timezone = match written.timezone {
            Some(zone) if jiff::tz::TimeZone::get(zone.get_ref()).is_err() => {
                let what = format!("`{}` is no time zone", zone.get_ref());
                return Err(at(zone.span(), "timezone", what, "write an IANA name such as \"UTC\" or \"Europe/Berlin\""));
            }
            Some(zone) => zone.into_inner(),
            None => "UTC".to_owned(),
        };
        let mut prices = Vec::new();
        for price in written.prices {
            let span = price.span();
            let read = resolve_price(price.into_inner());
            prices.push(read.map_err(|(key, what, remedy)| at(span, &format!("price.{key}"), what, remedy))?);
        }
        let mut profiles = BTreeMap::new();
        for (harness, table) in written.profiles {
            if let Err(e) = Profile::merged(&harness, table.get_ref()) {
                let remedy = "name a gate, rule, step or stage that the profile has, and only known keys";
                return Err(at(table.span(), &format!("profile.{harness}"), e.to_string(), remedy));
            }
            profiles.insert(harness, table.into_inner());
        }
        Ok(Config {
            file: Some(file.to_owned()),
            paths: written.paths.iter().map(|p| resolve_path(folder, p)).collect(),
            timezone,
            lake: written.lake.map(|p| resolve_path(folder, &p)),
            prices,
            profiles,
            digest: canonical_digest(text),
        })
    }

    /// The profile of a harness, the user's changes laid over the built-in one. `None`: nothing is known of it.
    pub fn profile(&self, harness: &str) -> Option<Profile> {
        match self.profiles.get(harness) {
            // Checked when it was read.
            Some(table) => Profile::merged(harness, table).ok(),
            None => Profile::builtin(harness),
        }
    }

    /// A digest of what is set; comments and layout do not change it.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// Keys sort and comments vanish when a table is written anew.
fn canonical_digest(text: &str) -> String {
    match text.parse::<toml::Table>() {
        Ok(table) if table.is_empty() => digest(b""),
        Ok(table) => digest(table.to_string().as_bytes()),
        Err(_) => digest(text.as_bytes()),
    }
}

/// Relative paths start at the file's folder, `~` is the home directory.
fn resolve_path(folder: &Path, text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if text == "~" => std::env::home_dir().unwrap_or_else(|| folder.join(text)),
        _ => folder.join(text),
    }
}

/// Key, what is wrong, remedy.
type BadValue = (&'static str, String, &'static str);

fn resolve_price(written: WrittenPrice) -> Result<Price, BadValue> {
    if written.model.trim().is_empty() {
        return Err(("model", "it is empty".to_owned(), "write a model id, `*` for any characters"));
    }
    let from = time("from", written.from)?;
    let until = time("until", written.until)?;
    if let (Some(from), Some(until)) = (from, until)
        && until <= from
    {
        return Err(("until", "it is not after `from`".to_owned(), "`until` is the first moment at which the price holds no more"));
    }
    Ok(Price {
        pattern: written.model.trim().to_lowercase(),
        from,
        until,
        input: nano_per_token("input", written.input)?,
        cache_read: nano_per_token("cache_read", written.cache_read)?,
        cache_write_5m: nano_per_token("cache_write_5m", written.cache_write_5m)?,
        cache_write_1h: nano_per_token("cache_write_1h", written.cache_write_1h)?,
        output: nano_per_token("output", written.output)?,
    })
}

/// A day (`2026-07-01`, its start in UTC) or an instant.
fn time(key: &'static str, text: Option<String>) -> Result<Option<Ts>, BadValue> {
    let Some(text) = text else { return Ok(None) };
    match Ts::parse(&text).or_else(|| Ts::parse(&format!("{text}T00:00:00Z"))) {
        Some(at) => Ok(Some(at)),
        None => {
            Err((key, format!("`{text}` is no time"), "write a day such as \"2026-07-01\" or an instant such as \"2026-07-01T10:00:00Z\""))
        }
    }
}

/// Dollars a million tokens are thousands of nano-dollars a token: three decimals at most, so that money stays integer.
fn nano_per_token(key: &'static str, usd_per_million: f64) -> Result<i64, BadValue> {
    const REMEDY: &str = "write US dollars a million tokens, from 0 upwards, with at most three decimals";
    let nano = usd_per_million * 1_000.0;
    let whole = nano.round();
    if !nano.is_finite() || !(0.0..1e12).contains(&nano) || (nano - whole).abs() > 1e-6 {
        return Err((key, format!("{usd_per_million} is no price"), REMEDY));
    }
    Ok(whole as i64)
}

/// The keys of the file, for errors that guess what was meant.
pub(super) const KEYS: &[&str] = &[
    "paths",
    "timezone",
    "lake",
    "price",
    "profile",
    "model",
    "from",
    "until",
    "input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "output",
];

/// The key that was probably meant.
pub(super) fn meant(key: &str) -> Option<&'static str> {
    nearest(key, KEYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::vocabulary::Mode;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("/srv/loom/mechanic.toml"))
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_says_what_no_file_says() {
        let empty = Config { file: None, ..parse("# nothing\n").unwrap() };
        assert_eq!(empty, Config::default());
    }

    #[test]
    fn everything_that_can_be_set_is_read() {
        let config = parse(
            "paths = [\"traces\", \"/var/log/agents\"]\ntimezone = \"Europe/Berlin\"\nlake = \"lake\"\n\
             [[price]]\nmodel = \"Loom-*\"\nfrom = \"2026-07-01\"\ninput = 3\ncache_read = 0.075\ncache_write_5m = 3.75\ncache_write_1h = 6\noutput = 15\n\
             [[profile.agent-delivery-harness.gate]]\nid = \"gate_review\"\nmode = \"warn\"\n",
        )
        .unwrap();
        assert_eq!(config.paths, [PathBuf::from("/srv/loom/traces"), PathBuf::from("/var/log/agents")]);
        assert_eq!((config.timezone.as_str(), config.lake.as_deref()), ("Europe/Berlin", Some(Path::new("/srv/loom/lake"))));
        let price = &config.prices[0];
        assert_eq!(
            (price.pattern.as_str(), price.input, price.cache_read, price.cache_write_5m, price.output),
            ("loom-*", 3_000, 75, 3_750, 15_000)
        );
        assert_eq!((price.from, price.until), (Ts::parse("2026-07-01T00:00:00Z"), None));
        let profile = config.profile("agent-delivery-harness").unwrap();
        assert_eq!(profile.gate("gate_review").unwrap().mode, Some(Mode::Warn));
        assert!(config.profile("unheard-of").is_none());
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_key_that_was_meant() {
        let text = error("timezone = \"UTC\"\n\ntimezon = \"UTC\"\n");
        assert!(text.contains("mechanic.toml:3") && text.contains("`timezon`") && text.contains("`timezone`"), "{text}");
        let text = error("[[price]]\nmodl = 3\n");
        assert!(text.contains(":2") && text.contains("modl") && text.contains("model"), "{text}");
    }

    #[test]
    fn wrong_values_are_refused_with_key_line_and_remedy() {
        for (text, parts) in [
            ("timezone = \"Mars/Olympus\"\n", ["mechanic.toml:1", "timezone", "IANA"]),
            ("paths = 3\n", ["mechanic.toml:1", "paths", "mechanic init"]),
            ("lake = \"a\nb\"\n", ["mechanic.toml:", "line", "TOML"]),
            (
                "[[price]]\nmodel = \"m\"\ninput = 0.0001\ncache_read = 0\ncache_write_5m = 0\ncache_write_1h = 0\noutput = 0\n",
                ["mechanic.toml:", "price.input", "three decimals"],
            ),
            (
                "[[profile.agent-delivery-harness.gate]]\nid = \"gate_review\"\nmoed = \"warn\"\n",
                ["mechanic.toml:", "profile.agent-delivery-harness", "moed"],
            ),
        ] {
            let message = error(text);
            for part in parts {
                assert!(message.contains(part), "`{part}` is not in: {message}");
            }
        }
    }

    #[test]
    fn comments_and_layout_do_not_change_the_digest_and_values_do() {
        let of = |text: &str| parse(text).unwrap().digest().to_owned();
        assert_eq!(of("lake = \"a\"\ntimezone = \"UTC\"\n"), of("# note\ntimezone   = 'UTC'\nlake = \"a\"\n"));
        assert_ne!(of("lake = \"a\"\n"), of("lake = \"b\"\n"));
    }

    #[test]
    fn the_file_of_the_nearest_folder_of_the_same_repository_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (repo, inner) = (dir.path().join("repo"), dir.path().join("repo/a/b"));
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(repo.join(".git")).unwrap();
        std::fs::write(dir.path().join(FILE_NAME), "").unwrap();
        assert_eq!(Config::find(&inner), None);
        std::fs::write(repo.join(FILE_NAME), "timezone = \"Asia/Tokyo\"\n").unwrap();
        assert_eq!(Config::load(&inner).unwrap().timezone, "Asia/Tokyo");
    }
}
