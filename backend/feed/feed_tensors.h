#ifndef MILLRACE_FEED_TENSORS_H
#define MILLRACE_FEED_TENSORS_H
/* Columns of a batch as tensors of other libraries (library millrace_feed).
 *
 * Threads: a batch belongs to one thread at a time, a tensor to any. Owns: a tensor keeps the
 * batch's memory by itself. Failure: NULL or MILLRACE_FEED_INVALID.
 */
#include "backend/feed/feed_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a column that can become tensors. */
enum {
    MILLRACE_PART_DATA = 0,    /* [items], blocks and vectors [items, width], lists [num_values] */
    MILLRACE_PART_OFFSETS = 1, /* int64 [items + 1] */
    MILLRACE_PART_WEIGHTS = 2, /* float32 [num_values] */
    MILLRACE_PART_INVERSE = 3, /* uint32 [rows] */
    /* Values of an id, list or weighted feature and of all such features behind it, contiguous in
     * memory: the input of one embedding lookup over many tables. */
    MILLRACE_PART_FEATURES = 4,       /* int64 [their values] */
    MILLRACE_PART_FEATURE_WEIGHTS = 5 /* float32 [values of weighted features] or NULL */
};

/* A part of a column as a DLManagedTensor of DLPack 0.x (dmlc.github.io/dlpack), without a copy;
 * texts as uint8. Its deleter may be called in any thread. Until then the batch's memory stays
 * valid, even after millrace_batch_release(). NULL: no such column or part, or no memory. */
void* millrace_batch_dlpack(millrace_batch* batch, size_t column, int32_t part);

/* Writes how many values each item of these columns has (1 if it is not a list), column by column.
 * *count is set to the total number; if that exceeds `max`, nothing is written. Returns 0, or
 * MILLRACE_FEED_INVALID: a column does not exist. */
int millrace_batch_lengths(const millrace_batch* batch, const uint32_t* columns, size_t num_columns,
                           int64_t* lengths, size_t max, size_t* count);

#ifdef __cplusplus
}
#endif
#endif
