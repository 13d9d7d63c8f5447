/* The sink: writes the last image of a sample in the format of the recipe's output, in one pass.

   compiler/kernels/sink.py defines it: value * scale + shift in float32, rounded after each of the two operations,
   and once more for float16. */

#include "floats.h"
#include "planes.h"
#include "sampled.h"

enum { CHANNELS = 4, TURN = 64 };

/* Split pixels of a row into planes: workspace[c][x] = source[x * pixel + c]. */
static void take_planes(const uint8_t *restrict source, int64_t count, int32_t channels, int64_t pixel,
                        uint8_t (*restrict workspace)[ACROSS]) {
    if (channels == COLOURS && pixel == COLOURS) {
        take_apart(source, count, workspace);
    } else if (channels == COLOURS && pixel == -COLOURS) {
        take_apart_backwards(source + (count - 1) * pixel, count, workspace);
    } else if (channels == 1 && pixel == 1) {
        for (int64_t x = 0; x < count; x++)
            workspace[0][x] = source[x];
    } else if (channels == 1 && pixel == -1) {
        for (int64_t x = 0; x < count; x++)
            workspace[0][x] = source[-x];
    } else {
        for (int64_t x = 0; x < count; x++)
            for (int32_t c = 0; c < channels; c++)
                workspace[c][x] = source[x * pixel + c];
    }
}

static void copy_plane(const uint8_t *restrict values, int64_t count, int64_t apart, uint8_t *restrict out) {
    if (apart == 1)
        for (int64_t x = 0; x < count; x++)
            out[x] = values[x];
    else
        for (int64_t x = 0; x < count; x++)
            out[x * apart] = values[x];
}

/* Scale interleaved values to floats; `scales` and `shifts` repeat those of the channels over `turn` values.
   `streams`: by streaming stores, for complete cache lines only. */
static void scale_turns(const uint8_t *restrict values, int64_t count, int64_t turn, const float *restrict scales,
                        const float *restrict shifts, float *restrict out, int streams) {
    for (int64_t at = 0; at < count; at += turn, values += turn, out += turn) {
        int64_t some = MIN(turn, count - at), i = 0;
#ifdef __AVX2__
        for (; streams && i + 8 <= some; i += 8) {
            __m256i eight = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(values + i)));
            __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(eight), _mm256_loadu_ps(scales + i));
            _mm256_stream_ps(out + i, _mm256_add_ps(scaled, _mm256_loadu_ps(shifts + i)));
        }
#else
        (void)streams;
#endif
        for (; i < some; i++)
            out[i] = (float)values[i] * scales[i] + shifts[i];
    }
}

/* Write an image, some pixels of a row at a time: split into planes, and each of these scaled or copied. */
static void by_plane(const uint8_t *image, int64_t height, int64_t width, int32_t channels, int64_t row, int64_t pixel,
                     const float *scale, const float *shift, float *floats, uint8_t *bytes, int64_t down,
                     int64_t across, int64_t apart, int streams, const Ahead *ahead) {
    uint8_t workspace[CHANNELS][ACROSS];
    for (int64_t y = 0; y < height; y++) {
        prefetch_row(ahead, y, height);
        for (int64_t left = 0; left < width; left += ACROSS) {
            int64_t some = MIN(ACROSS, width - left);
            if (pixel == channels && y + 1 < height)
                prefetch_bytes(image + (y + 1) * row, left * pixel, (left + some) * pixel);
            take_planes(image + y * row + left * pixel, some, channels, pixel, workspace);
            for (int32_t c = 0; c < channels; c++) {
                int64_t to = y * down + left * across + c * apart;
                if (floats && across == 1)
                    scale_levels(workspace[c], some, scale[c], shift[c], floats + to, streams);
                else if (floats)
                    for (int64_t x = 0; x < some; x++)
                        floats[to + x * across] = (float)workspace[c][x] * scale[c] + shift[c];
                else
                    copy_plane(workspace[c], some, across, bytes + to);
            }
        }
    }
}

/* Write a uint8 image, H x W x C with C of 1 to 4, in any memory order.

   image:         its first pixel; row, pixel: its strides in bytes; channels are contiguous
   scale, shift:  one for each channel; a scale of 1 and a shift of -0.0 change nothing
   target:        float32, or uint8 for unscaled values
   type:          of the target: UINT8, FLOAT32 or FLOAT32_FAR
   down, across, apart: its strides from row to row, pixel to pixel and channel to channel, in elements
   ahead:         memory to prefetch meanwhile, or NULL */
KERNEL(sink)(const uint8_t *image, int64_t row, int64_t pixel, int64_t height, int64_t width, int32_t channels,
             const float *scale, const float *shift, void *target, int32_t type, int64_t down, int64_t across,
             int64_t apart, const Ahead *ahead) {
    int streams = type == FLOAT32_FAR;
    if (height < 0 || width < 0 || channels < 1 || channels > CHANNELS || (type != UINT8 && type != FLOAT32 && type != FLOAT32_FAR))
        return REFUSED;
    if (type != UINT8 && pixel == channels && across == channels && apart == 1) {
        float scales[TURN * CHANNELS], shifts[TURN * CHANNELS], *floats = (float *)target;
        for (int32_t i = 0; i < TURN; i++)
            for (int32_t c = 0; c < channels; c++)
                scales[i * channels + c] = scale[c], shifts[i * channels + c] = shift[c];
        streams &= !(((int64_t)(uintptr_t)target | 4 * (down | width)) & (LINE - 1));
        for (int64_t y = 0; y < height; y++) {
            prefetch_row(ahead, y, height);
            scale_turns(image + y * row, width * channels, TURN * channels, scales, shifts, floats + y * down, streams);
        }
    } else
        by_plane(image, height, width, channels, row, pixel, scale, shift, type != UINT8 ? (float *)target : NULL,
                 (uint8_t *)target, down, across, apart, streams, ahead);
    if (type == FLOAT32_FAR)
        store_fence();
    return DONE;
}
