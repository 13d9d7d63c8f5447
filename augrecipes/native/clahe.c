/* Contrast-limited adaptive histogram equalisation (CLAHE, Zuiderveld 1994) of grey images, or of L in CIE Lab.

   The histogram of each tile is clipped, the excess is redistributed, and the cumulative sum is the tile's table;
   each pixel is interpolated bilinearly between the tables of the four tiles around it. The first pass converts
   colours to Lab (lab.h), stores that in the target, and counts; the second looks each pixel up in four tables and
   converts back.

   Bits: those of OpenCV's createCLAHE: its redistribution of the remainder, float32 weights, tiles mirrored beyond
   the image.
   Law: tests/laws/test_hard_images.py (lab: every colour in the soak), tests/laws/test_native_points.py. */

#include "lab.h"
#include "sampled.h"

enum { COUNTS = 2 };

/* An image, its tiles, and the caller's memory.

   counts: for each tile of a row two histograms, used in turn: equal neighbours would otherwise wait for each other
   tables: for each tile 256 levels; cells: for each gap between the tiles of a row 256 words
   starts, shares: for each column the start of its cell, and the position between the cell's ends */
typedef struct {
    int64_t rows, columns, channels, down, across, height, width;
    int32_t most;   /* the limit of a count */
    float scale;    /* from a cumulative count to a level */
    uint32_t *counts, *cells;
    int32_t *starts;
    float *shares;
    uint8_t *tables;
} Tiles;

/* Count levels, `apart` bytes from one to the next, of which the first is in column x. */
static void count_some(const Tiles *tiles, const uint8_t *levels, int64_t apart, int64_t x, int64_t some) {
    while (some > 0) {
        int64_t tile = x / tiles->width, here = MIN(some, (tile + 1) * tiles->width - x), k = 0;
        uint32_t *one = tiles->counts + COUNTS * LEVELS * tile, *other = one + LEVELS;
        for (; k + COUNTS <= here; k += COUNTS) {
            one[levels[k * apart]]++;
            other[levels[(k + 1) * apart]]++;
        }
        if (k < here)
            one[levels[k * apart]]++;
        levels += here * apart, x += here, some -= here;
    }
}

/* Count the columns that are mirrored beyond the right end of a row. */
static void count_beyond(const Tiles *tiles, const uint8_t *row) {
    for (int64_t x = tiles->columns; x < tiles->across * tiles->width; x++)
        count_some(tiles, row + fold((int32_t)x, (int32_t)tiles->columns, BORDER_REFLECT_101) * tiles->channels, 1, x, 1);
}

/* Clip the counts of a tile, redistribute the excess, and make the table. */
static void clip_histogram(const Tiles *tiles, const uint32_t *counts, uint8_t *table) {
    int32_t each[LEVELS], clipped = 0, sum = 0;
    for (int32_t v = 0; v < LEVELS; v++) {
        int32_t count = (int32_t)(counts[v] + counts[LEVELS + v]), over = count - tiles->most;
        clipped += MAX(over, 0);
        each[v] = MIN(count, tiles->most);
    }
    int32_t rest = clipped % LEVELS, step = rest ? MAX(LEVELS / rest, 1) : LEVELS;
    for (int32_t v = 0; v < LEVELS; v++)
        each[v] += clipped / LEVELS;
    for (int32_t v = 0; v < LEVELS && rest > 0; v += step, rest--)
        each[v]++;
    for (int32_t v = 0; v < LEVELS; v++)
        each[v] = sum += each[v];
    for (int32_t v = 0; v < LEVELS; v += LANES) {
        Ints sums;
        memcpy(&sums, each + v, sizeof sums);
        Ints level = nearest(floats(sums) * tiles->scale), over = level > LEVELS - 1;
        to_bytes((level & ~over) | ((LEVELS - 1) & over), table + v);
    }
}

/* Make the tables of a row of tiles, and reset its counts. */
static void finish_tiles(const Tiles *tiles, int64_t at) {
    for (int64_t tile = 0; tile < tiles->across; tile++) {
        uint32_t *counts = tiles->counts + COUNTS * LEVELS * tile;
        clip_histogram(tiles, counts, tiles->tables + LEVELS * (at * tiles->across + tile));
        memset(counts, 0, COUNTS * LEVELS * sizeof *counts);
    }
}

static void count_all(const Tiles *tiles, const Lab *lab, const uint8_t *source, uint8_t *target) {
    uint8_t planes[COLOURS][ACROSS] = {{0}};
    int64_t length = tiles->columns * tiles->channels;
    memset(tiles->counts, 0, (size_t)tiles->across * COUNTS * LEVELS * sizeof *tiles->counts);
    for (int64_t y = 0; y < tiles->down * tiles->height; y++) {
        const uint8_t *row = source + y * length;
        if (y >= tiles->rows || tiles->channels == 1) {
            row = (tiles->channels == 1 ? source : target) + fold((int32_t)y, (int32_t)tiles->rows, BORDER_REFLECT_101) * length;
            count_some(tiles, row, tiles->channels, 0, tiles->columns);
        } else {
            for (int64_t x = 0; x < tiles->columns; x += ACROSS) {
                int64_t some = MIN(ACROSS, tiles->columns - x);
                take_apart(row + COLOURS * x, some, planes);
                to_lab(lab, some, planes);
                count_some(tiles, planes[0], 1, x, some);
                put_together(planes, some, target + y * length + COLOURS * x);
            }
            row = target + y * length;
        }
        count_beyond(tiles, row);
        if ((y + 1) % tiles->height == 0)
            finish_tiles(tiles, y / tiles->height);
    }
}

/* The number of tile centres before a row or column, and its position between the last of them and the next. */
static inline int64_t cell_position(int64_t place, int64_t length, float *along) {
    float at = (float)place * (1.0f / (float)length) - 0.5f;
    int64_t last = at < 0 ? -1 : (int64_t)at;
    *along = at - (float)last;
    return last + 1;
}

static void begin_columns(const Tiles *tiles) {
    for (int64_t x = 0; x < tiles->columns; x++)
        tiles->starts[x] = (int32_t)(LEVELS * cell_position(x, tiles->width, tiles->shares + x));
    for (int64_t x = tiles->columns; x % LANES; x++)
        tiles->starts[x] = 0, tiles->shares[x] = 0;
}

/* Make the cells after so many rows of tiles: the words of four tables each. */
static void make_cells(const Tiles *tiles, int64_t row) {
    const uint8_t *upper = tiles->tables + LEVELS * tiles->across * MAX(row - 1, 0);
    const uint8_t *lower = tiles->tables + LEVELS * tiles->across * MIN(row, tiles->down - 1);
    for (int64_t cell = 0; cell <= tiles->across; cell++) {
        int64_t left = MAX(cell - 1, 0), right = MIN(cell, tiles->across - 1);
        uint32_t *words = tiles->cells + LEVELS * cell;
        for (int32_t v = 0; v < LEVELS; v++)
            words[v] = (uint32_t)upper[LEVELS * left + v] | (uint32_t)upper[LEVELS * right + v] << 8 |
                       (uint32_t)lower[LEVELS * left + v] << 16 | (uint32_t)lower[LEVELS * right + v] << 24;
    }
}

/* Interpolate some levels of a row, from column x on, between their tables. */
static inline void interpolate(const Tiles *tiles, int64_t x, int64_t count, float along, uint8_t *levels) {
    uint32_t words[ACROSS] = {0};
    int32_t places[ACROSS];
    for (int64_t k = 0; k < count; k++)
        places[k] = tiles->starts[x + k] + levels[k];
    LOOK_UP(uint32_t, tiles->cells, places, count, words);
    for (int64_t k = 0; k < count; k += LANES) {
        Words word;
        Floats share;
        memcpy(&word, words + k, sizeof word);
        memcpy(&share, tiles->shares + x + k, sizeof share);
        Floats left = floats((Ints)(word & 255)), right = floats((Ints)(word >> 8 & 255));
        Floats above = left * (1.0f - share) + right * share;
        left = floats((Ints)(word >> 16 & 255)), right = floats((Ints)(word >> 24));
        Floats below = left * (1.0f - share) + right * share;
        to_bytes(nearest(above * (1.0f - along) + below * along), levels + k);
    }
}

static void look_up_all(const Tiles *tiles, const Lab *lab, const uint8_t *source, uint8_t *target) {
    uint8_t planes[COLOURS][ACROSS] = {{0}};
    int64_t laid = -1, length = tiles->columns * tiles->channels;
    begin_columns(tiles);
    for (int64_t y = 0; y < tiles->rows; y++) {
        float along;
        int64_t row = cell_position(y, tiles->height, &along);
        if (row != laid)
            make_cells(tiles, laid = row);
        for (int64_t x = 0; x < tiles->columns; x += ACROSS) {
            int64_t some = MIN(ACROSS, tiles->columns - x);
            uint8_t *to = target + y * length + tiles->channels * x;
            if (tiles->channels == 1) {
                memcpy(planes[0], source + y * length + x, (size_t)some);
                interpolate(tiles, x, some, along, planes[0]);
                memcpy(to, planes[0], (size_t)some);
            } else {
                take_apart(to, some, planes);
                interpolate(tiles, x, some, along, planes[0]);
                from_lab(lab, some, planes);
                put_together(planes, some, to);
            }
        }
    }
}

/* Equalise the contrast of an image tile by tile.

   source, target: rows x columns x channels uint8 without gaps; one channel, or red, green and blue
   down, across: numbers of tiles; clip: the limit, as a multiple of the mean count
   lab: see lab.h
   workspace: `size` bytes for 3072 numbers of 4 bytes for each tile of a row, 256 for each tile, 8 for each column,
              and 1280 more */
KERNEL(clahe)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, int64_t down, int64_t across,
              double clip, const Lab *lab, uint8_t *workspace, int64_t size, uint8_t *target) {
    if (rows < 1 || columns < 1 || (channels != 1 && channels != COLOURS) || down < 1 || across < 1 || !(clip > 0))
        return REFUSED;
    if (rows > INT32_MAX / columns || down > 4096 || across > 4096)
        return REFUSED;
    int whole = rows % down == 0 && columns % across == 0;
    Tiles tiles = {rows, columns, channels, down, across, .height = whole ? rows / down : rows / down + 1};
    tiles.width = whole ? columns / across : columns / across + 1;
    int64_t area = tiles.height * tiles.width;
    double most = clip * (double)area / LEVELS;
    if (size < 3072 * across + 256 * across * down + 8 * columns + 1280 || !(most < INT32_MAX) || area > INT32_MAX)
        return REFUSED;
    tiles.most = MAX((int32_t)most, 1);
    tiles.scale = (float)(LEVELS - 1) / (float)area;
    int64_t padded = columns + LANES - columns % LANES;
    tiles.counts = (uint32_t *)workspace;
    tiles.cells = tiles.counts + COUNTS * LEVELS * across;
    tiles.starts = (int32_t *)(tiles.cells + LEVELS * (across + 1));
    tiles.shares = (float *)(tiles.starts + padded);
    tiles.tables = (uint8_t *)(tiles.shares + padded);
    count_all(&tiles, lab, source, target);
    look_up_all(&tiles, lab, source, target);
    return DONE;
}
