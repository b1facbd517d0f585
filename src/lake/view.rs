//! Owns the view of a table: which of several copies of a row is shown, and in which order (DESIGN §4).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array};
use arrow::compute::{concat_batches, take, take_record_batch};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};

use crate::model::cell::{Cell, Column, Kind};
use crate::model::gates::{GATE_MERGE, Gate, Merge};
use crate::model::record::{Layer, Record, TableDef};
use crate::model::sessions::{CONTEXT_TOLD_TOGETHER, Context};

/// One row a key: of copies the one with the least (source path, line). Rows are sorted by key, then path, line, source and content, so
/// that the result depends on the rows alone, never on the order they came in.
pub(crate) fn view(table: &'static TableDef, batches: &[RecordBatch], paths: &HashMap<&str, &str>) -> Result<RecordBatch, ArrowError> {
    let all = concat_batches(&table.arrow_schema(), batches)?;
    let keys = all.column_by_name(table.key).cloned();
    let mut sort_by: Vec<ArrayRef> = keys.iter().cloned().collect();
    if table.layer == Layer::Fact {
        if let Some(ids) = all.column_by_name("source_id").and_then(|c| c.as_any().downcast_ref::<StringArray>()) {
            let paths: StringArray = ids.iter().map(|id| id.map(|id| paths.get(id).copied().unwrap_or(id))).collect();
            sort_by.push(Arc::new(paths));
        }
        sort_by.extend(all.column_by_name("source_line").cloned());
        // A log that was rewritten is several sources of one path.
        sort_by.extend(all.column_by_name("source_id").cloned());
    }
    sort_by.extend(all.columns().iter().cloned());
    let order = rows_of(&sort_by)?;
    let mut sorted: Vec<u32> = (0..u32::try_from(all.num_rows()).map_err(|_| ArrowError::ComputeError("too many rows".into()))?).collect();
    sorted.sort_unstable_by(|a, b| order.row(*a as usize).cmp(&order.row(*b as usize)));
    let Some(keys) = keys else { return take_record_batch(&all, &UInt32Array::from(sorted)) };

    let keys = rows_of(&[keys])?;
    let same = |a: &u32, b: &u32| keys.row(*a as usize) == keys.row(*b as usize);
    let copies: Vec<&[u32]> = sorted.chunk_by(same).collect();
    let first = UInt32Array::from_iter_values(copies.iter().filter_map(|c| c.first().copied()));
    let shown = take_record_batch(&all, &first)?;
    match table.name {
        name if name == Context::TABLE.name => merge_contexts(shown, &all, &copies),
        name if name == Gate::TABLE.name => merge_gates(shown, &all, &copies),
        _ => Ok(shown),
    }
}

fn rows_of(columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
    let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
    RowConverter::new(fields)?.convert_columns(columns)
}

/// Copies of a context are windows on one thing: it began with the earliest and ended with the latest; its role, its total and its
/// compactions are what the first copy says that says anything.
fn merge_contexts(shown: RecordBatch, all: &RecordBatch, copies: &[&[u32]]) -> Result<RecordBatch, ArrowError> {
    let times = |name: &str| all.column_by_name(name).and_then(|c| c.as_any().downcast_ref::<TimestampMicrosecondArray>());
    let of = |array: &TimestampMicrosecondArray, rows: &[u32]| -> Vec<i64> {
        rows.iter().filter(|r| !array.is_null(**r as usize)).map(|r| array.value(*r as usize)).collect()
    };
    let mut columns = shown.columns().to_vec();
    let mut replace = |name: &str, array: ArrayRef| {
        if let Ok(at) = shown.schema().index_of(name)
            && let Some(column) = columns.get_mut(at)
        {
            *column = array;
        }
    };
    if let Some(starts) = times("started_at") {
        let merged: TimestampMicrosecondArray = copies.iter().map(|c| of(starts, c).into_iter().min()).collect();
        replace("started_at", Arc::new(merged.with_timezone("UTC")));
    }
    if let Some(ends) = times("ended_at") {
        let merged: TimestampMicrosecondArray = copies.iter().map(|c| of(ends, c).into_iter().max()).collect();
        replace("ended_at", Arc::new(merged.with_timezone("UTC")));
    }
    for (told_by, names) in CONTEXT_TOLD_TOGETHER {
        let Some(telling) = all.column_by_name(told_by) else { continue };
        let said = |c: &&[u32]| c.iter().copied().find(|r| !telling.is_null(*r as usize)).or(c.first().copied());
        let from: UInt32Array = copies.iter().map(said).collect();
        for name in names {
            if let Some(column) = all.column_by_name(name) {
                replace(name, take(column, &from, None)?);
            }
        }
    }
    RecordBatch::try_new(shown.schema(), columns)
}

/// Each column of a gate as [`GATE_MERGE`] says; `queries/base/gates.sql` is built on the same list.
fn merge_gates(shown: RecordBatch, all: &RecordBatch, copies: &[&[u32]]) -> Result<RecordBatch, ArrowError> {
    let schema = shown.schema();
    let mut columns = shown.columns().to_vec();
    for (name, merge) in GATE_MERGE {
        let (at, column) = (schema.index_of(name)?, all.column(all.schema().index_of(name)?));
        let rank: ArrayRef = match merge {
            Merge::Place => continue,
            Merge::Union => {
                columns[at] = union(column, copies);
                continue;
            }
            Merge::Least => column.clone(),
            Merge::FirstOf(words) => Arc::new(ranks(column, words)),
            Merge::Any => Arc::new(Int64Array::from_iter(
                column.as_any().downcast_ref::<BooleanArray>().into_iter().flatten().map(|said| said.map(|yes| i64::from(!yes))),
            )),
        };
        let order = rows_of(std::slice::from_ref(&rank))?;
        let best = |rows: &&[u32]| {
            let known = rows.iter().copied().filter(|row| !rank.is_null(*row as usize));
            known.min_by(|a, b| order.row(*a as usize).cmp(&order.row(*b as usize))).or(rows.first().copied())
        };
        columns[at] = take(column, &copies.iter().map(best).collect::<UInt32Array>(), None)?;
    }
    RecordBatch::try_new(schema, columns)
}

/// Place of each word in the list; NULL for a word that is none of them.
fn ranks(column: &ArrayRef, words: &[&str]) -> Int64Array {
    let texts = column.as_any().downcast_ref::<StringArray>();
    texts.into_iter().flatten().map(|text| words.iter().position(|word| Some(*word) == text).map(|at| at as i64)).collect()
}

/// The items of all copies, sorted; NULL where none knows any.
fn union(column: &ArrayRef, copies: &[&[u32]]) -> ArrayRef {
    let mut out = Column::new(Kind::ListUtf8);
    for rows in copies {
        let known = rows.iter().filter_map(|row| Option::<Vec<String>>::read(column, *row as usize).flatten());
        let items = known.fold(None, |items: Option<BTreeSet<String>>, more| Some(items.into_iter().flatten().chain(more).collect()));
        items.map(|items| items.into_iter().collect::<Vec<String>>()).append(&mut out);
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::sources::Warning;
    use crate::model::time::Ts;
    use crate::model::vocabulary::TokenBasis;

    fn context(id: &str, source: &str, line: i64, span: (i64, i64), role: Option<&str>) -> Context {
        Context {
            context_id: id.into(),
            parent_context_id: None,
            native_run_key: "session:x".into(),
            role: role.map(str::to_owned),
            role_basis: None,
            agent_name: None,
            model: None,
            started_at: Some(Ts(span.0)),
            ended_at: Some(Ts(span.1)),
            token_basis: None,
            producer_total_tokens: None,
            tool_version: None,
            cwd: None,
            git_branch: None,
            repo: None,
            n_compactions: None,
            source_id: source.into(),
            source_line: line,
        }
    }

    fn shown(rows: &[Context]) -> Vec<Context> {
        let paths = HashMap::from([("s1", "b.jsonl"), ("s2", "a.jsonl")]);
        let batches: Vec<RecordBatch> = rows.iter().map(|r| Context::to_batch(std::slice::from_ref(r)).unwrap()).collect();
        Context::from_batch(&view(Context::TABLE, &batches, &paths).unwrap()).unwrap()
    }

    #[test]
    fn of_copies_the_least_path_and_line_is_shown_and_times_and_role_are_merged() {
        let rows = [
            context("c", "s1", 1, (10, 20), Some("reviewer")),
            context("c", "s2", 7, (12, 40), None),
            context("c", "s2", 9, (5, 6), Some("other")),
            context("d", "s1", 2, (1, 2), None),
        ];
        let seen = shown(&rows);
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].source_id.as_str(), seen[0].source_line), ("s2", 7));
        assert_eq!((seen[0].started_at, seen[0].ended_at), (Some(Ts(5)), Some(Ts(40))));
        assert_eq!(seen[0].role.as_deref(), Some("other"));
        let turned: Vec<Context> = rows.iter().rev().cloned().collect();
        assert_eq!(shown(&turned), seen);
    }

    #[test]
    fn a_sub_agents_total_comes_from_its_parents_file_and_its_compactions_from_its_own_in_any_order_of_paths() {
        let mut parents = context("c", "s2", 7, (5, 40), Some("reviewer"));
        (parents.producer_total_tokens, parents.token_basis) = (Some(900), Some(TokenBasis::LastCallOnly));
        let mut own = context("c", "s1", 1, (10, 20), None);
        (own.n_compactions, own.token_basis) = (Some(2), Some(TokenBasis::SumOfCalls));
        for swapped in [false, true] {
            let (a, b) = if swapped { ("s2", "s1") } else { ("s1", "s2") };
            let rows = [Context { source_id: a.into(), ..own.clone() }, Context { source_id: b.into(), ..parents.clone() }];
            let seen = shown(&rows);
            assert_eq!(seen.len(), 1);
            let told = (seen[0].producer_total_tokens, seen[0].token_basis, seen[0].n_compactions);
            assert_eq!(told, (Some(900), Some(TokenBasis::LastCallOnly), Some(2)));
        }
    }

    #[test]
    fn rows_without_a_key_all_stay() {
        let row = |line| Warning { source_id: "s1".into(), source_line: line, kind: "k".into(), detail: None, count: 1 };
        let batch = Warning::to_batch(&[row(Some(3)), row(Some(3)), row(None)]).unwrap();
        assert_eq!(view(Warning::TABLE, &[batch], &HashMap::new()).unwrap().num_rows(), 3);
        assert_eq!(view(Warning::TABLE, &[], &HashMap::new()).unwrap().num_rows(), 0);
    }
}
