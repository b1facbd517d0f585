//! Owns `model_calls`: each API call once, whatever number of lines and files repeat it.

use std::collections::HashMap;

use crate::model::derived::ModelCall;
use crate::model::sessions::ModelCallCopy;

/// Merges copies by id. Counters come from the copy greatest by (output, end, source path, line), the context from the earliest
/// copy. Copies with other input or cache counters *and* no shared session are no copies: they stay apart, two calls of one id
/// (`id_collision` in the query `warnings_summary`).
pub fn merge(copies: &[ModelCallCopy], paths: &HashMap<&str, &str>, run_of_context: &HashMap<String, String>) -> Vec<ModelCall> {
    let mut by_id: HashMap<&str, Vec<&ModelCallCopy>> = HashMap::new();
    for copy in copies {
        by_id.entry(&copy.call_id).or_default().push(copy);
    }
    let mut ids: Vec<&str> = by_id.keys().copied().collect();
    ids.sort_unstable();
    let calls_of = |id: &&str| same_call(&by_id[*id]).iter().filter_map(|group| merged(group, paths, run_of_context)).collect::<Vec<_>>();
    ids.iter().flat_map(calls_of).collect()
}

/// Splits copies of one id into calls: copies belong together when they share a session or all input counters.
fn same_call<'a>(copies: &[&'a ModelCallCopy]) -> Vec<Vec<&'a ModelCallCopy>> {
    let inputs = |c: &ModelCallCopy| (c.input_tokens, c.cache_read_tokens, c.cache_write_5m_tokens, c.cache_write_1h_tokens);
    let mut groups: Vec<Vec<&ModelCallCopy>> = Vec::new();
    for &copy in copies {
        let belongs = |group: &Vec<&ModelCallCopy>| {
            group.iter().any(|other| inputs(other) == inputs(copy) || (copy.session.is_some() && other.session == copy.session))
        };
        let (mut together, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(belongs);
        let mut group: Vec<&ModelCallCopy> = together.drain(..).flatten().collect();
        group.push(copy);
        groups = apart;
        groups.push(group);
    }
    groups
}

fn merged(group: &[&ModelCallCopy], paths: &HashMap<&str, &str>, run_of_context: &HashMap<String, String>) -> Option<ModelCall> {
    let path = |c: &ModelCallCopy| paths.get(c.source_id.as_str()).copied().unwrap_or("");
    let greatest = group.iter().max_by_key(|c| (c.output_tokens, c.ended_at, path(c), c.source_line))?;
    let earliest = group.iter().min_by_key(|c| (c.ended_at.is_none(), c.ended_at, path(c), c.source_line))?;
    Some(ModelCall {
        call_id: greatest.call_id.clone(),
        run_id: run_of_context.get(&earliest.context_id).cloned(),
        call_kind: greatest.call_kind,
        context_id: earliest.context_id.clone(),
        ended_at: greatest.ended_at,
        duration_ms: greatest.duration_ms,
        model: greatest.model.clone(),
        input_tokens: greatest.input_tokens,
        cache_read_tokens: greatest.cache_read_tokens,
        cache_write_5m_tokens: greatest.cache_write_5m_tokens,
        cache_write_1h_tokens: greatest.cache_write_1h_tokens,
        output_tokens: greatest.output_tokens,
        reasoning_tokens: greatest.reasoning_tokens,
        input_quality: greatest.input_quality,
        cache_read_quality: greatest.cache_read_quality,
        cache_write_quality: greatest.cache_write_quality,
        output_quality: greatest.output_quality,
        stop_reason: greatest.stop_reason.clone(),
        n_copies: group.len() as i64,
        source_id: greatest.source_id.clone(),
        source_line: greatest.source_line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::Ts;
    use crate::model::vocabulary::{CallKind, Quality};

    fn copy(id: &str, session: &str, input: i64, output: i64, end: i64, source: &str) -> ModelCallCopy {
        ModelCallCopy {
            call_id: id.into(),
            call_kind: CallKind::Message,
            context_id: format!("ctx-{session}"),
            session: Some(session.into()),
            ended_at: Some(Ts(end)),
            duration_ms: None,
            model: None,
            input_tokens: Some(input),
            cache_read_tokens: None,
            cache_write_5m_tokens: None,
            cache_write_1h_tokens: None,
            output_tokens: Some(output),
            reasoning_tokens: None,
            input_quality: Quality::Exact,
            cache_read_quality: Quality::Unknown,
            cache_write_quality: Quality::Unknown,
            output_quality: Quality::Exact,
            output_chars: None,
            stop_reason: None,
            source_id: source.into(),
            source_line: 1,
        }
    }

    #[test]
    fn a_fork_copy_counts_once_with_the_greatest_output_and_the_earliest_context() {
        let copies = [copy("m", "fork", 3, 310, 20, "b"), copy("m", "main", 3, 8, 10, "a")];
        let merged = merge(&copies, &HashMap::new(), &HashMap::from([("ctx-main".to_owned(), "run".to_owned())]));
        assert_eq!(merged.len(), 1);
        assert_eq!((merged[0].output_tokens, merged[0].n_copies), (Some(310), 2));
        assert_eq!((merged[0].context_id.as_str(), merged[0].run_id.as_deref()), ("ctx-main", Some("run")));
    }

    #[test]
    fn one_id_with_other_inputs_in_another_session_is_a_collision_and_both_stay() {
        let copies = [copy("m", "one", 3, 10, 10, "a"), copy("m", "two", 4, 10, 10, "b")];
        let merged = merge(&copies, &HashMap::new(), &HashMap::new());
        assert_eq!(merged.len(), 2);
    }

    #[test]
    fn other_inputs_in_the_same_session_are_one_call() {
        let copies = [copy("m", "one", 3, 10, 10, "a"), copy("m", "one", 4, 12, 11, "b")];
        assert_eq!(merge(&copies, &HashMap::new(), &HashMap::new()).len(), 1);
    }

    #[test]
    fn the_order_of_copies_does_not_matter() {
        let mut copies = vec![copy("m", "a", 3, 10, 10, "a"), copy("m", "b", 4, 10, 12, "b"), copy("m", "b", 3, 9, 11, "c")];
        let forward = merge(&copies, &HashMap::new(), &HashMap::new());
        copies.reverse();
        assert_eq!(forward, merge(&copies, &HashMap::new(), &HashMap::new()));
    }
}
