select count(*) as n from lineitem where l_partkey not in (select p_partkey from part where p_size < 40)
