select count(*) as n, max(q) as most from (select l_partkey, l_suppkey, sum(l_quantity) as q from lineitem group by all)
