select count(m) as s from (select mode(l_partkey) over (order by l_orderkey, l_suppkey rows between 999 preceding and current row) as m from lineitem)
