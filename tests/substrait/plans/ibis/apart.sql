SELECT
  *
FROM (
  SELECT
    "t0"."n_nationkey" AS "key"
  FROM "nation" AS "t0"
) AS "t2"
UNION
SELECT
  *
FROM (
  SELECT
    "t1"."r_regionkey" AS "key"
  FROM "region" AS "t1"
) AS "t3"
