SELECT
  "t1"."o_orderkey",
  "t1"."o_clerk",
  "t1"."o_totalprice",
  SUM("t1"."o_totalprice") OVER (PARTITION BY "t1"."o_orderpriority" ORDER BY "t1"."o_orderkey" ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "before"
FROM (
  SELECT
    *
  FROM "orders" AS "t0"
  WHERE
    "t0"."o_orderkey" < 2000
) AS "t1"
