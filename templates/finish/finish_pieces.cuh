// Bits of rows that are bits of packed keys (finish_rows.cuh).
#ifndef HDD_FINISH_PIECES_CUH
#define HDD_FINISH_PIECES_CUH

#include "hd/finish_grid.cuh"

HDD_DEVICE u64 hdd_packed_piece(const hdd_row_piece &piece, u64 word)
{
    return hdd_rotate(word, piece.left) & piece.mask;
}

HDD_DEVICE u64 hdd_unpacked_piece(const hdd_row_piece &piece, u64 key)
{
    return hdd_rotate(key & piece.mask, (64 - piece.left) % 64);
}

#endif
