#ifndef MILLRACE_FEED_PYTHON_H
#define MILLRACE_FEED_PYTHON_H
/* Batches as objects of this process's Python interpreter (library millrace_feed), for the module
 * `millrace`, which calls these functions through ctypes. The library is not a Python extension: it
 * looks up the interpreter's functions by name.
 *
 * Threads: the caller holds the interpreter's lock. Owns: nothing; results are new references.
 * Failure: NULL without an interpreter, or with the interpreter's error set.
 */
#include "backend/feed/feed_tensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t column;
    int32_t part; /* MILLRACE_PART_* */
} millrace_part;

/* A capsule that owns `batch` and releases it. Its destructor runs no Python code, so it cannot be
 * interrupted. */
void* millrace_python_batch(millrace_batch* batch);

/* A list with a "dltensor" capsule of millrace_batch_dlpack() for each part; None for a part that
 * does not exist. */
void* millrace_python_tensors(millrace_batch* batch, const millrace_part* parts, size_t count);

#ifdef __cplusplus
}
#endif
#endif
