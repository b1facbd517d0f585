-- name: unpriced_models
-- title: Models without a price
-- doc: One row a model that calls name and the price table did not cover when they were made. Their price is unknown, not zero.
-- column: model Model id. NULL: the calls name none.
-- column: n_calls Calls without a price: of a model that the table does not list, or made at an unknown time.
-- column: output_tokens Output tokens of them.
-- column: first_at Earliest of them, NULL where no time is known.
SELECT model, big(sum(n_unpriced)) AS n_calls, big(sum(unpriced_output_tokens)) AS output_tokens, min(first_unpriced_at) AS first_at
FROM context_tokens
WHERE n_unpriced > 0
GROUP BY model
ORDER BY n_calls DESC, model NULLS LAST
