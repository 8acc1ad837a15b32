SELECT
  "t1"."kind",
  COUNT(*) AS "n",
  COUNT(DISTINCT "t1"."o_custkey") AS "customers"
FROM (
  SELECT
    "t0"."o_orderkey",
    "t0"."o_custkey",
    "t0"."o_orderstatus",
    "t0"."o_totalprice",
    "t0"."o_orderdate",
    "t0"."o_orderpriority",
    "t0"."o_clerk",
    "t0"."o_shippriority",
    "t0"."o_comment",
    CASE
      WHEN "t0"."o_totalprice" > 200000
      THEN 'large'
      ELSE CASE
        WHEN "t0"."o_totalprice" BETWEEN 50000 AND 100000
        THEN 'medium'
        ELSE 'other'
      END
    END AS "kind"
  FROM "orders" AS "t0"
) AS "t1"
GROUP BY
  1
