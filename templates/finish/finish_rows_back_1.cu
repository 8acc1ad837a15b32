// Narrow rows of 1 word from their keys (finish_rows_back.cuh).
#define HDD_ROW_WIDTH 1
#include "hd/finish_rows_back.cuh"
