// Which rows of x, y and W the rows of a tile stand for.
#ifdef SLOTS
#define TILES 1
#include "matmul/matmul_parts.wgsl"
#define X_OF(m) x_row(pair_at(m, tile_rows.part))
#define Y_OF(m) pair_at(m, tile_rows.part)
#define W_ROW(n) (n + first_row)
#else
#define X_OF(m) m
#define Y_OF(m) m
#define W_ROW(n) n
#endif
