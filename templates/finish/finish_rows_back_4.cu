// Narrow rows of 4 words from their keys (finish_rows_back.cuh).
#define HDD_ROW_WIDTH 4
#include "hd/finish_rows_back.cuh"
