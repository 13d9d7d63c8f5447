/* A baseline JPEG round trip without a file: ITU-T T.81 and JFIF, without the entropy coding, which is lossless.

   Steps: RGB to YCbCr in 16-bit fixed point; chroma subsampled both ways; the "slow" integer DCT of libjpeg
   (Loeffler, Ligtenberg and Moschytz 1989) in 13-bit fixed point; quantisation by the tables of Annex K scaled by
   quality; the inverse of each, with libjpeg's "fancy" upsampling: three parts of the nearer sample, one of the
   other. 16 rows (a row of MCUs) are processed at a time; output lags a row behind, because its last row needs the
   next chroma row.

   Bits: those of libjpeg-turbo, in integers.
   Law: tests/laws/test_hard_images.py (jpegs: every quality, and colours at the edge of rounding). */

#include "jpeg_colours.h"

enum { AREA = SIDE * SIDE, MCU = 2 * SIDE, WIDEST = 64, MARGIN = 32 };
enum { PARTS = 57, REST = 512 }; /* bytes of workspace for each column, and constant ones */
enum { LONGEST = 65500 };        /* px, the limit of JPEG */

/* The quantisation tables of T.81, Annex K, by row. */
static const uint8_t LUMA[AREA] = {16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,
                                   14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,
                                   18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,
                                   49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};
static const uint8_t CHROMA[AREA] = {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
                                     24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
                                     99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
                                     99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

/* Quantisation steps. A value v, scaled by eight, becomes (v + half) / (8 step): multiplying by 2^(15 + bits) / (8
   step), rounded up, is exact for all results of the DCT; `share` shifts the last bits out. */
typedef struct {
    Shorts half[SIDE], step[SIDE];
    Halves reciprocal[SIDE], share[SIDE];
} Steps;

static void prepare(Steps *steps, const uint8_t *table, int32_t quality) {
    int32_t percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
    for (int32_t i = 0; i < AREA; i++) {
        int32_t step = MIN(MAX((table[i] * percent + 50) / 100, 1), 255), bits = 3;
        while (1 << bits < 8 * step)
            bits++;
        for (int32_t k = i % SIDE; k < LANES; k += SIDE) {
            steps->step[i / SIDE][k] = (int16_t)step;
            steps->half[i / SIDE][k] = (int16_t)(4 * step);
            steps->reciprocal[i / SIDE][k] = (uint16_t)(((1 << (15 + bits)) + 8 * step - 1) / (8 * step));
            steps->share[i / SIDE][k] = (uint16_t)(1 << (17 - bits));
        }
    }
}

/* The odd half of the transform and of its inverse: a weighted sum of four values. */
static inline Sums odd(Two ab, Two cd, int32_t of_a, int32_t of_b, int32_t of_c, int32_t of_d) {
    return plus(weighed(ab, of_a, of_b), weighed(cd, of_c, of_d));
}

/* The DCT of eight values in each lane, scaled by sqrt(8), and four times more between the passes (`first`). */
static inline void forward(Shorts v[SIDE], int first) {
    const int bits = first ? 11 : 15;
    Shorts a = v[0] + v[7], b = v[1] + v[6], c = v[2] + v[5], d = v[3] + v[4];
    Two outer = both(v[3] - v[4], v[2] - v[5]), inner = both(v[1] - v[6], v[0] - v[7]), tilts = both(b - c, a - d);
    Shorts sum = a + d + b + c, difference = a + d - b - c;
    v[0] = first ? sum << 2 : (sum + 2) >> 2;
    v[4] = first ? difference << 2 : (difference + 2) >> 2;
    v[2] = narrowed(weighed(tilts, 4433, 10703), bits);
    v[6] = narrowed(weighed(tilts, -10704, 4433), bits);
    v[1] = narrowed(odd(outer, inner, 2260, 6437, 9633, 11363), bits);
    v[3] = narrowed(odd(outer, inner, -6436, -11362, -2259, 9633), bits);
    v[5] = narrowed(odd(outer, inner, 9633, 2261, -11362, 6437), bits);
    v[7] = narrowed(odd(outer, inner, -11363, 9633, -6436, 2260), bits);
}

/* The inverse DCT. */
static inline void backward(Shorts v[SIDE], int bits) {
    Two ends = both(v[0], v[4]), tilts = both(v[2], v[6]), outer = both(v[7], v[5]), inner = both(v[3], v[1]);
    Sums level = weighed(ends, 8192, 8192), slope = weighed(ends, 8192, -8192);
    Sums wide = weighed(tilts, 10703, 4433), narrow = weighed(tilts, 4433, -10704);
    Sums even[4] = {plus(level, wide), plus(slope, narrow), minus(slope, narrow), minus(level, wide)};
    Sums odds[4] = {odd(outer, inner, 2260, 6437, 9633, 11363), odd(outer, inner, -6436, -11362, -2259, 9633),
                    odd(outer, inner, 9633, 2261, -11362, 6437), odd(outer, inner, -11363, 9633, -6436, 2260)};
    for (int i = 0; i < 4; i++) {
        v[i] = narrowed(plus(even[i], odds[i]), bits);
        v[7 - i] = narrowed(minus(even[i], odds[i]), bits);
    }
}

static inline Shorts quantised(Shorts value, const Steps *steps, int row) {
    Shorts sign = value >> 15;
    Halves size = (Halves)(((value ^ sign) - sign) + steps->half[row]);
    Shorts times = (Shorts)high_product(high_product(size, steps->reciprocal[row]), steps->share[row]);
    return ((times ^ sign) - sign) * steps->step[row];
}

/* Transform, quantise and restore eight rows of a plane. */
static void compress_rows(uint8_t *plane, int64_t stride, int64_t columns, const Steps *steps) {
    for (int64_t x = 0; x < columns; x += LANES) {
        Shorts v[SIDE];
        for (int i = 0; i < SIDE; i++)
            v[i] = levels(plane + i * stride + x) - 128;
        transpose(v);
        forward(v, 1);
        transpose(v);
        forward(v, 0);
        for (int i = 0; i < SIDE; i++)
            v[i] = quantised(v[i], steps, i);
        backward(v, 11);
        transpose(v);
        backward(v, 18);
        transpose(v);
        for (int i = 0; i < SIDE; i++)
            put_levels(v[i] + 128, plane + i * stride + x);
    }
}

/* Copy a row, its last pixel repeated up to a multiple of the vector length. */
static void pad_row(const uint8_t *row, int64_t columns, int64_t wide, int64_t channels, uint8_t *to) {
    memcpy(to, row, (size_t)(columns * channels));
    for (int64_t i = columns * channels; i < wide * channels; i++)
        to[i] = to[i - channels];
}

static void compress_grey(const uint8_t *source, int64_t rows, int64_t columns, int64_t stride, const Steps *steps,
                 uint8_t *workspace, uint8_t *target) {
    int64_t wide = (columns + LANES - 1) / LANES * LANES;
    for (int64_t top = 0; top < rows; top += SIDE) {
        for (int64_t i = 0; i < SIDE; i++)
            pad_row(source + MIN(top + i, rows - 1) * stride, columns, wide, 1, workspace + i * wide);
        compress_rows(workspace, wide, columns, steps);
        for (int64_t i = 0; i < MIN(SIDE, rows - top); i++)
            memcpy(target + (top + i) * columns, workspace + i * wide, (size_t)columns);
    }
}

/* A ring buffer of the last `count` rows of a plane. */
typedef struct {
    uint8_t *rows;
    int64_t count, stride;
} Ring;

static uint8_t *row_of(Ring ring, int64_t y) { return ring.rows + y % ring.count * ring.stride; }

static void repeat_row(Ring ring, int64_t y) { memcpy(row_of(ring, y), row_of(ring, y - 1), (size_t)ring.stride); }

/* Workspace: luma and both subsampled chroma planes; two rows of chroma in full size; a row of pixels; a row of
   chroma mixed vertically. */
typedef struct {
    Ring luma, colours[2];
    uint8_t *whole[2], *pixels;
    int16_t *mixed[2];
} Workspace;

static Workspace split_workspace(uint8_t *workspace, int64_t wide) {
    Workspace result;
    result.mixed[0] = (int16_t *)(void *)workspace + MARGIN;
    result.mixed[1] = result.mixed[0] + wide / 2 + 2 * MARGIN;
    result.luma = (Ring){workspace + 2 * wide + 8 * MARGIN, 2 * MCU, wide};
    result.colours[0] = (Ring){result.luma.rows + 2 * MCU * wide, MCU, wide / 2};
    result.colours[1] = (Ring){result.colours[0].rows + MCU * wide / 2, MCU, wide / 2};
    result.whole[0] = result.colours[1].rows + MCU * wide / 2;
    result.whole[1] = result.whole[0] + 2 * wide;
    result.pixels = result.whole[1] + 2 * wide;
    return result;
}

/* Convert the 16 rows from `top` on. After the end of the image, its last rows of luma and of subsampled chroma are
   repeated. */
static void convert_rows(const uint8_t *source, int64_t rows, int64_t columns, int64_t stride, int64_t top, Workspace workspace) {
    int64_t pair = 2 * LANES, wide = (columns + pair - 1) / pair * pair;
    for (int64_t y = top; y < top + MCU; y += 2) {
        for (int64_t i = 0; i < 2; i++) {
            if (y + i >= rows) {
                repeat_row(workspace.luma, y + i);
                continue;
            }
            pad_row(source + (y + i) * stride, columns, wide, COLOURS, workspace.pixels);
            to_ycc(workspace.pixels, wide, row_of(workspace.luma, y + i), workspace.whole[0] + i * wide,
                 workspace.whole[1] + i * wide);
        }
        for (int k = 0; k < 2; k++) {
            uint8_t *upper = workspace.whole[k], *lower = y + 1 < rows ? upper + wide : upper;
            if (y < rows)
                halve(upper, lower, wide / 2, row_of(workspace.colours[k], y / 2));
            else
                repeat_row(workspace.colours[k], y / 2);
        }
    }
}

static void compress_colour(const uint8_t *source, int64_t rows, int64_t columns, int64_t stride, const Steps *of_luma,
                     const Steps *of_colour, Workspace workspace, uint8_t *target) {
    int64_t last = (rows - 1) / 2, half = (columns + 1) / 2, done = 0;
    int64_t reach = half > 2; /* in narrower images libjpeg does not mix chroma */
    for (int64_t top = 0; top < rows; top += MCU) {
        convert_rows(source, rows, columns, stride, top, workspace);
        for (int64_t y = top; y < MIN(top + MCU, rows); y += SIDE)
            compress_rows(row_of(workspace.luma, y), workspace.luma.stride, columns, of_luma);
        for (int k = 0; k < 2; k++)
            compress_rows(row_of(workspace.colours[k], top / 2), workspace.colours[k].stride, half, of_colour);
        for (int64_t ready = top + MCU < rows ? top + MCU - 1 : rows; done < ready; done++) {
            int64_t near = done / 2, other = MIN(MAX(near + (done % 2 ? reach : -reach), 0), last);
            for (int k = 0; k < 2; k++)
                mix(row_of(workspace.colours[k], near), row_of(workspace.colours[k], other), half, workspace.mixed[k]);
            uint8_t *to = target + COLOURS * done * columns;
            from_ycc(row_of(workspace.luma, done), workspace.mixed[0], workspace.mixed[1], columns, reach, to);
        }
    }
}

/* The image that a JPEG encoder and decoder would return.

   source: rows x columns x channels uint8, rows `stride` bytes apart; 3 channels (blue, green, red) or 1; up to 65500
           rows and columns
   quality: 1..100
   workspace: `size` bytes, aligned for int16: 57 for each column, rounded up to 64 columns, and 512
   target: the same shape without gaps; must not overlap source */
KERNEL(jpeg_round_trip)(const uint8_t *source, int64_t rows, int64_t columns, int64_t stride, int64_t channels,
                        int32_t quality, uint8_t *workspace, int64_t size, uint8_t *target) {
    if (rows < 1 || columns < 1 || rows > LONGEST || columns > LONGEST || (channels != 1 && channels != COLOURS) ||
        quality < 1 || quality > 100)
        return REFUSED;
    int64_t wide = (columns + WIDEST - 1) / WIDEST * WIDEST;
    if (size < PARTS * wide + REST)
        return REFUSED;
    Steps of_luma, of_colour;
    prepare(&of_luma, LUMA, quality);
    if (channels == 1) {
        compress_grey(source, rows, columns, stride, &of_luma, workspace, target);
        return DONE;
    }
    prepare(&of_colour, CHROMA, quality);
    compress_colour(source, rows, columns, stride, &of_luma, &of_colour, split_workspace(workspace, wide), target);
    return DONE;
}
