#ifndef MILLRACE_FEED_PYTHON_H
#define MILLRACE_FEED_PYTHON_H
/* Batches as objects of the Python interpreter that this process has (library millrace_feed): what
 * the module `millrace` calls through ctypes. The library is no extension of Python: it finds the
 * interpreter's functions by their names.
 *
 * Threads: the caller holds the interpreter's lock. Owns: nothing; what is returned is a new
 * reference. Failure: NULL, where there is no interpreter, or with its error set.
 */
#include "backend/ring/feed_tensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t column;
    int32_t part; /* MILLRACE_PART_* */
} millrace_part;

/* A capsule that owns `batch` and releases it. Its end runs no Python: no interrupt can come
 * between. */
void* millrace_python_batch(millrace_batch* batch);

/* A list with a "dltensor" capsule of millrace_batch_dlpack() for each part; None where there is no
 * such. */
void* millrace_python_tensors(millrace_batch* batch, const millrace_part* parts, size_t count);

#ifdef __cplusplus
}
#endif
#endif
