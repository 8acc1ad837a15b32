select l_shipdate, l_commitdate, l_receiptdate, l_orderkey, l_linenumber from lineitem
order by l_shipdate, l_commitdate, l_receiptdate, l_orderkey, l_linenumber limit 100
