select l_returnflag, approx_count_distinct(l_partkey) from lineitem group by l_returnflag
