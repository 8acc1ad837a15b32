select l_orderkey, c_name from lineitem, orders, customer where l_orderkey = o_orderkey and o_custkey = c_custkey limit 10
