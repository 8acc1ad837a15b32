select count(*) as n from (select cast(ps_supplycost as decimal(14,4)) as cost from partsupp) join part on cost = p_retailprice where p_partkey <= 20000
