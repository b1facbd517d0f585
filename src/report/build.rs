//! Owns `build`: from the tables of a lake and a frame to a finished report, every file of it in memory.

use std::path::Path;

use super::audit::{Audit, Frame};
use super::files::Folder;
use super::gather::{GatherError, Gathered, gather};
use super::manifest::{FILE, FORMAT, Manifest, ids, marks, previous};
use super::pages::{self, PageError, TableFile};
use super::plot::{PlotError, plots};
use crate::config::prices::PriceTable;
use crate::sql::render::{self, Format};
use crate::sql::{SqlError, Tables};

/// A finished report.
pub struct Report {
    pub audit: Audit,
    pub folder: Folder,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Gather(#[from] GatherError),
    #[error(transparent)]
    Sql(#[from] SqlError),
    #[error(transparent)]
    Plot(#[from] PlotError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error("the manifest could not be written ({0}): this is a bug, please report it")]
    Manifest(#[from] serde_json::Error),
}

/// Makes the report that is to stand in `out`; what stands beside `out` is only looked at for an earlier one.
pub fn build(tables: &Tables, prices: &PriceTable, frame: Frame, out: &Path) -> Result<Report, ReportError> {
    let Gathered { answers, kept, queries } = gather(tables, prices, &frame)?;
    let before = previous(out, &frame.news);
    let compared_with = before.as_ref().and_then(|(path, _)| path.file_name()).map(|n| n.to_string_lossy().into_owned());
    let audit = Audit::new(frame, answers, before.map(|(_, manifest)| manifest));
    let plots = plots(&audit.answers)?;
    let mut folder = Folder::default();
    let files: Vec<TableFile> = kept.iter().map(|k| k.file.clone()).collect();
    for table in &kept {
        for (format, end) in [(Format::Csv, "csv"), (Format::Parquet, "parquet")] {
            let mut bytes = Vec::new();
            render::write(&table.answer, format, None, &mut bytes)?;
            folder.add(format!("tables/{}.{end}", table.file.stem), bytes);
        }
    }
    for plot in &plots {
        folder.add(format!("plots/{}.svg", plot.name), plot.svg.as_str());
    }
    folder.add("audit.md", pages::markdown(&audit, &plots, &files)?);
    folder.add("audit.html", pages::html(&audit, &plots, &files)?);
    let manifest = Manifest {
        format: FORMAT,
        tool: audit.frame.tool.clone(),
        now: audit.frame.now.clone(),
        tz: audit.frame.tz.clone(),
        news: (&audit.frame.news).into(),
        evidence: (&audit.frame.evidence).into(),
        lake_digest: audit.frame.lake_digest.clone(),
        config_digest: audit.frame.config_digest.clone(),
        queries,
        files: folder.digests(),
        compared_with,
        headline: audit.news.headline.clone(),
        gates: marks(&audit.answers.gates),
        todo: ids(&audit.todos),
    };
    let mut text = serde_json::to_string_pretty(&manifest)?;
    text.push('\n');
    folder.add(FILE, text);
    Ok(Report { audit, folder })
}
