select * from lineitem order by l_extendedprice desc, l_orderkey, l_linenumber limit 10
