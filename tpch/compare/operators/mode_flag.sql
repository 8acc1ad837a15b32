select l_returnflag, count(*) as n, mode(l_shipdate) as p from lineitem group by all
