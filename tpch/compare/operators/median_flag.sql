select l_returnflag, median(l_extendedprice::double) as m from lineitem group by all
