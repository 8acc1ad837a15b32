select count(*) as n from (select distinct l_shipdate, l_commitdate, l_receiptdate, l_returnflag, l_linestatus, l_shipmode from lineitem)
