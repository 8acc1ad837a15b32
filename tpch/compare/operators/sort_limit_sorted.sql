select l_orderkey, l_linenumber, l_quantity from lineitem order by l_orderkey, l_linenumber limit 1
