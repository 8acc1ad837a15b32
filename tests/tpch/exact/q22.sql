-- As the query, without a division: a > s / n is a * n > s.
select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal
from (
    select substring(c_phone from 1 for 2) as cntrycode, c_acctbal
    from customer, (
        select sum(c_acctbal) as total, count(*) as customers
        from customer
        where c_acctbal > 0.00
          and substring(c_phone from 1 for 2) in :codes
    ) as positive
    where substring(c_phone from 1 for 2) in :codes
      and c_acctbal * customers > total
      and not exists (select * from orders where o_custkey = c_custkey)
) as custsale
group by cntrycode
order by cntrycode
