SELECT
  *
FROM (
  SELECT
    "t0"."l_shipmode",
    "t0"."l_returnflag",
    COUNT(*) AS "n",
    MAX("t0"."l_extendedprice") AS "most",
    MIN("t0"."l_shipdate") AS "first"
  FROM "lineitem" AS "t0"
  GROUP BY
    1,
    2
) AS "t1"
WHERE
  "t1"."n" > 100
ORDER BY
  "t1"."n" DESC,
  "t1"."l_shipmode" ASC,
  "t1"."l_returnflag" ASC
LIMIT 7
