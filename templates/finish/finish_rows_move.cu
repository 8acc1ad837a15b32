// Passes of a radix sort over rows of one word that are nothing but sort keys: the first one packs them as it loads them,
// the last one unpacks keys as it stores them (finish_rows.cuh).
#define HDD_CHOSEN_WARPS 8
#include "hd/finish_move.cuh"
#include "hd/finish_pieces.cuh"

struct hdd_row_keys {
    static constexpr bool numbered = false;
    static constexpr u32 each = HDD_MOVE_KEYS / HDD_BLOCK, items = HDD_MOVE_KEYS;
    const hdd_row_move_args &p;

    HDD_MEMBER u64 key_of(u64 word) const
    {
        return p.pack ? packed(word ^ p.base) : word;
    }

    HDD_MEMBER u64 word_of(u64 key) const
    {
        return p.unpack ? unpacked(key) ^ p.base : key;
    }

  private:
    HDD_MEMBER u64 packed(u64 word) const
    {
        u64 key = 0;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.npieces; k++)
            key |= hdd_packed_piece(p.piece[k], word);
        return key;
    }

    HDD_MEMBER u64 unpacked(u64 key) const
    {
        u64 word = 0;
        HDD_NO_UNROLL
        for (u32 k = 0; k < p.npieces; k++)
            word |= hdd_unpacked_piece(p.piece[k], key);
        return word;
    }
};

HDD_KERNEL_FOR(HDD_RADIX_BLOCKS, hdd_rows_move)(HDD_PARAMETER(hdd_row_move_args, p))
{
    HDD_SHARED(hdd_radix_shared<hdd_row_keys>, s);
    hdd_radix_move_tiles(s, p.move, hdd_row_keys{p});
}
