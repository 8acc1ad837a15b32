select l_partkey, bit_or(1::bigint << l_linenumber), bit_xor(l_orderkey & 65535) from lineitem group by l_partkey
