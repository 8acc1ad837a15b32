select count(*) as n, sum(c_custkey) as total from supplier, customer where c_custkey <= 20000 and c_acctbal between s_acctbal - 1 and s_acctbal + 1
