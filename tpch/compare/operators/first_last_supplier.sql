select l_suppkey, first(l_orderkey order by l_shipdate, l_orderkey, l_linenumber) as f, last(l_orderkey order by l_shipdate, l_orderkey, l_linenumber) as l from lineitem group by all
