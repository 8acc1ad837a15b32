select count(*) as n, sum(s_suppkey) as total from supplier, customer where s_suppkey <= 2000 and c_custkey <= 20000 and s_acctbal < c_acctbal
