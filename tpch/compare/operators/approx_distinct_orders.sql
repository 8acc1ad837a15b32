select approx_count_distinct(l_orderkey) from lineitem
