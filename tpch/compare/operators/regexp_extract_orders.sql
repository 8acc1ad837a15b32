select regexp_extract(o_comment, '[a-z]+ly') as w, count(*) as n from orders group by all
