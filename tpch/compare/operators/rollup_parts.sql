select count(*) as n, sum(q) as q from (select l_suppkey, l_partkey, sum(l_quantity) as q from lineitem group by rollup (l_suppkey, l_partkey))
