// Narrow rows of 3 words from their keys (finish_rows_back.cuh).
#define HDD_ROW_WIDTH 3
#include "hd/finish_rows_back.cuh"
