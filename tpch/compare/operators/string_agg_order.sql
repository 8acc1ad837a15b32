select max(m) as hi, sum(length(m))::bigint as n from (select string_agg(l_shipmode, ',' order by l_linenumber) as m from lineitem group by l_orderkey)
