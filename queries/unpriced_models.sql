-- name: unpriced_models
-- title: Models without a price
-- doc: One row a model that calls name and the price table did not cover when they were made. Their price is unknown, not zero.
-- column: model Model id. NULL: the calls name none.
-- column: n_calls Calls without a price.
-- column: output_tokens Output tokens of them.
-- column: first_at Earliest of them, NULL where no time is known.
SELECT c.model, count(*) AS n_calls, big(sum(c.output_tokens)) AS output_tokens, min(m.ended_at) AS first_at
FROM call_costs c JOIN model_calls m ON m.call_id = c.call_id AND m.context_id = c.context_id AND m.source_id = c.source_id
WHERE NOT c.priced
GROUP BY c.model
ORDER BY n_calls DESC, c.model NULLS LAST
