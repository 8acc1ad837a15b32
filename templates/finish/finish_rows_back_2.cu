// Narrow rows of 2 words from their keys (finish_rows_back.cuh).
#define HDD_ROW_WIDTH 2
#include "hd/finish_rows_back.cuh"
