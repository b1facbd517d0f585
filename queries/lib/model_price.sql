-- kind: view
-- doc: The price of each model that calls name, in spans that do not overlap: of the prices whose pattern fits it in a span the configuration's own
-- come first, then the longest pattern, then the latest start.
WITH fits AS (
    SELECT m.model, p.own, p.pattern, coalesce(p.from_us, -9000000000000000000) AS from_us, coalesce(p.until_us, 9000000000000000000) AS until_us,
        p.nano_usd_input, p.nano_usd_cache_read, p.nano_usd_cache_write_5m, p.nano_usd_cache_write_1h, p.nano_usd_output
    FROM (SELECT DISTINCT model FROM model_calls WHERE model IS NOT NULL) m
    JOIN price_rows p ON lower(m.model) GLOB p.pattern
), bounds AS (
    SELECT model, from_us AS t FROM fits UNION SELECT model, until_us FROM fits
), spans AS (
    SELECT model, t AS from_us, lead(t) OVER (PARTITION BY model ORDER BY t) AS until_us FROM bounds
)
SELECT s.model, f.pattern, s.from_us, s.until_us,
    f.nano_usd_input, f.nano_usd_cache_read, f.nano_usd_cache_write_5m, f.nano_usd_cache_write_1h, f.nano_usd_output
FROM spans s JOIN fits f ON f.model = s.model AND f.from_us <= s.from_us AND f.until_us >= s.until_us
QUALIFY row_number() OVER (PARTITION BY s.model, s.from_us ORDER BY f.own DESC, length(f.pattern) DESC, f.from_us DESC, f.pattern) = 1
