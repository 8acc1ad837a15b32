select l_suppkey, stddev_samp(l_extendedprice) as s, var_pop(l_quantity) as v, corr(l_extendedprice, l_quantity) as c, regr_slope(l_extendedprice, l_quantity) as b from lineitem group by all
