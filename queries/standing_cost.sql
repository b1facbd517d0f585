-- name: standing_cost
-- title: Standing cost of instruction files
-- doc: One row an instruction file and the folder it holds for: its tokens times the contexts that loaded it. No record shows the loading: counted
-- doc: are root contexts of the agent that worked in the folder or below it. Tokens are those of the file as it was read last, bytes divided by four.
-- doc: It is in no other cost column: never add it to them.
-- param: since timestamp null Runs that ended at or after this time.
-- param: until timestamp null Runs that ended before this time.
-- param: sessions boolean true Whether runs that are no more than one agent session count too.
-- column: rule_id The file, by the agent that loads it.
-- column: loaded_by Format of the sessions that load it.
-- column: folder Folder it holds for.
-- column: path The file, from there.
-- column: load always or on_demand.
-- column: tokens Tokens it takes when loaded, bytes divided by four. NULL: it is imported, and its size not known.
-- column: n_contexts Root contexts that loaded it. NULL: it is loaded on demand, and no record shows when.
-- column: standing_tokens Tokens times contexts. NULL: one of the two is not known.
-- column: n_unplaced Root contexts of the agent whose folder is not known: in no row's contexts.
-- column: n_sub_agents Contexts of sub-agents there: whether they load it is not known, and they are not counted.
WITH held AS (
    -- A file's own row tells its folder; what it imports holds for the same.
    SELECT r.source_id, r.loaded_by, min(left(s.path, length(s.path) - length(r.path) - 1)) AS folder
    FROM rules_copies r JOIN source_paths s ON s.source_id = r.source_id
    WHERE r.loaded_by IS NOT NULL AND r.source_line = 1 AND ends_with(s.path, '/' || r.path)
    GROUP BY r.source_id, r.loaded_by
), files AS (
    SELECT r.rule_id, r.loaded_by, h.folder, r.path, r.load, max(r.tokens) AS tokens
    FROM rules_copies r JOIN held h ON h.source_id = r.source_id AND h.loaded_by = r.loaded_by
    GROUP BY r.rule_id, r.loaded_by, h.folder, r.path, r.load
), place AS (
    SELECT c.context_id, s.format, c.cwd, c.parent_context_id IS NULL AS is_root
    FROM contexts c JOIN sources s ON s.source_id = c.source_id JOIN run_of_context k ON k.context_id = c.context_id
    SEMI JOIN runs_between($since, $until, $sessions) w ON w.run_id = k.run_id
), unplaced AS (
    SELECT format, count(*) AS n FROM place WHERE is_root AND cwd IS NULL GROUP BY format
), met AS (
    SELECT r.rule_id, r.folder, count(*) FILTER (WHERE p.is_root) AS n_roots, count(*) FILTER (WHERE NOT p.is_root) AS n_subs
    FROM files r JOIN place p ON p.format = r.loaded_by AND (p.cwd = r.folder OR starts_with(p.cwd, r.folder || '/'))
    GROUP BY r.rule_id, r.folder
)
SELECT r.rule_id, r.loaded_by, r.folder, r.path, r.load, r.tokens,
    CASE WHEN r.load = 'always' THEN coalesce(m.n_roots, 0) END AS n_contexts,
    big(r.tokens::HUGEINT * n_contexts) AS standing_tokens,
    coalesce(u.n, 0) AS n_unplaced, coalesce(m.n_subs, 0) AS n_sub_agents
FROM files r LEFT JOIN met m ON m.rule_id = r.rule_id AND m.folder = r.folder
LEFT JOIN unplaced u ON u.format = r.loaded_by
ORDER BY standing_tokens DESC NULLS LAST, r.rule_id, r.folder
