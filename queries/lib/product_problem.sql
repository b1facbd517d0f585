-- kind: macro
-- doc: Whether a problem counts as one of the product. What a person rejected is unclassified until a person labels it: it stands in
-- `problems` and is in no yield.
CREATE OR REPLACE MACRO product_problem(about, human, label) AS about = 'product' AND (NOT human OR label IS NOT NULL)
