select count(*) as n, sum(p) as sp from (select l_partkey as p, l_suppkey as s from lineitem where l_quantity < 25 intersect all select l_partkey, l_suppkey from lineitem where l_quantity >= 35)
