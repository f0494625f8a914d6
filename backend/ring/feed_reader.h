#ifndef MILLRACE_FEED_READER_H
#define MILLRACE_FEED_READER_H
/* How a rank gets its data: reads frames from a feed's shared-memory ring (library millrace_feed).
 *
 * A C interface; the library carries its C++ runtime inside and needs libc only. Threads: one feed
 * belongs to one thread at a time; batches may be released from any thread, in any order, also
 * after the feed was closed. Not in a forked child: there release and close touch nothing, calls
 * are MILLRACE_FEED_INVALID or NULL with one sentence, and the memory of batches is not mapped: who
 * reads an inherited one ends by SIGSEGV in the place of reading other rows. Owns: a batch borrows
 * the ring's memory until it is released; its columns may be written to in place (private to this
 * batch). Failure: functions return a millrace_feed_result below 0 and millrace_feed_error() says
 * why in one sentence. No C++ exception leaves this library. It speaks only to a socket of this
 * user or of root.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MILLRACE_FEED_ABI 2

typedef struct millrace_feed millrace_feed;
typedef struct millrace_batch millrace_batch;

typedef enum {
    MILLRACE_FEED_BATCH = 0,         /* event.batch, event.epoch, event.number */
    MILLRACE_FEED_END_OF_EPOCH = 1,  /* event.epoch, event.number = its total of micro-batches */
    MILLRACE_FEED_END_OF_STREAM = 2, /* nothing will follow */
    MILLRACE_FEED_TIMEOUT = 3,       /* nothing within timeout_ms */
    MILLRACE_FEED_ABORTED = 4,  /* the abort fd became readable or millrace_feed_abort called */
    MILLRACE_FEED_STEP = 5,     /* a step ended, here and in all other ranks; this rank may have got
                                   nothing of it. event.epoch, event.number: of the first
                                   micro-batch behind it, event.batches, event.rows: of the step
                                   over all ranks, event.is_last: of its epoch */
    MILLRACE_FEED_FAILED = -1,  /* the feed reported an error: do not retry. event.number is its
                                   exit code: 4 input or data, 5 other, 6 memory or disk. Also:
                                   this library ran out of memory or threads (event.number 6) */
    MILLRACE_FEED_LOST = -2,    /* the feed is gone: millrace_feed_reopen() goes on */
    MILLRACE_FEED_CORRUPT = -3, /* the ring or a frame holds what it must not */
    MILLRACE_FEED_INVALID = -4  /* wrong argument, or a state of another stream or plan */
} millrace_feed_result;

typedef struct {
    uint32_t struct_size; /* sizeof(millrace_feed_options) */
    int32_t rank;
    int32_t world_size;
    int32_t abort_fd; /* -1: none; readable = abort. Not closed, not read */
    int64_t attempt;
    const char* stream;         /* "train" or "eval" */
    const char* state;          /* text of millrace_feed_state(), NULL: the start. "eval": NULL */
    int32_t connect_timeout_ms; /* waits for the feed's socket to appear; 0: 30 s */
} millrace_feed_options;

typedef struct {
    millrace_batch* batch;
    uint32_t epoch;
    uint64_t number;  /* of FAILED: the feed's exit code */
    uint64_t batches; /* of STEP */
    uint64_t rows;
    uint32_t is_last;
} millrace_feed_event;

/* A column of a batch. Roles and dtypes: MILLRACE_ROLE_*, MILLRACE_DTYPE_*. */
typedef struct {
    const char* name; /* not 0-terminated: name_bytes */
    uint32_t name_bytes;
    uint32_t role;
    uint32_t dtype;
    uint32_t width;          /* values an item (fixed columns) */
    uint64_t items;          /* rows; requests when inverse is set */
    uint64_t num_values;     /* in data */
    void* data;              /* 64-byte aligned */
    const int64_t* offsets;  /* items + 1 for lists, else NULL */
    const float* weights;    /* num_values for weighted lists, else NULL */
    const uint32_t* inverse; /* rows: the item of each row; NULL: item = row */
} millrace_column;

enum {
    MILLRACE_ROLE_ROW_FILE = 1,
    MILLRACE_ROLE_ROW_NUMBER = 2,
    MILLRACE_ROLE_DENSE = 3,
    MILLRACE_ROLE_VECTOR = 4,
    MILLRACE_ROLE_ID = 5,
    MILLRACE_ROLE_LIST = 6,
    MILLRACE_ROLE_WEIGHTED = 7,
    MILLRACE_ROLE_SEQUENCE = 8,
    MILLRACE_ROLE_LABEL = 9,
    MILLRACE_ROLE_WEIGHT = 10,
    MILLRACE_ROLE_MASK = 11,
    MILLRACE_ROLE_CARRY = 12,
    MILLRACE_ROLE_INVERSE = 13
};
enum {
    MILLRACE_DTYPE_UINT8 = 1,
    MILLRACE_DTYPE_INT8 = 2,
    MILLRACE_DTYPE_UINT16 = 3,
    MILLRACE_DTYPE_INT16 = 4,
    MILLRACE_DTYPE_UINT32 = 5,
    MILLRACE_DTYPE_INT32 = 6,
    MILLRACE_DTYPE_UINT64 = 7,
    MILLRACE_DTYPE_INT64 = 8,
    MILLRACE_DTYPE_FLOAT32 = 9,
    MILLRACE_DTYPE_FLOAT64 = 10,
    MILLRACE_DTYPE_STRING = 11
};

typedef struct {
    uint64_t wait_ns; /* time spent in millrace_feed_next without a batch */
    uint64_t batches;
    uint64_t rows;
    uint64_t bytes;
    uint64_t held_batches; /* handed out, not yet released */
    uint64_t ring_bytes;   /* of the newest ring */
} millrace_feed_stats;

/* What the feed said at hello. */
typedef struct {
    uint64_t micro_rows;
    char stream_hash[33];
    char plan_hash[33];
} millrace_feed_info;

/* Connects and says hello. On failure *feed is NULL and `error` holds a sentence. */
int millrace_feed_open(const char* socket_path, const millrace_feed_options* options,
                       millrace_feed** feed, char* error, size_t error_bytes);

/* The next event in order. timeout_ms < 0: no time limit; 0: does not block. */
int millrace_feed_next(millrace_feed* feed, int64_t timeout_ms, millrace_feed_event* event);

/* After MILLRACE_FEED_LOST: connects again and goes on with the batch that was to come. Batches
 * handed out before stay valid. */
int millrace_feed_reopen(millrace_feed* feed, int64_t timeout_ms);

/* From any thread: wakes a next() or reopen() that waits; it and all later ones return ABORTED. */
void millrace_feed_abort(millrace_feed* feed);

/* Why the last call on this feed failed. Valid until the next call. */
const char* millrace_feed_error(const millrace_feed* feed);

/* The state at a step's end: of a consumer that has taken every micro-batch of `epoch` below
 * `next_micro_batch`, the event.number of a STEP that was read (or the place where this feed was
 * opened), whatever was read after it. Cursor, order hash and rows of all ranks up to there, summed
 * segment records: complete, and the same text in every rank, which any rank count goes on from.
 * JSON text (docs/formats/cursor.md); free() it. NULL with an error for any other place, and for
 * one before a state given out earlier. The total of an epoch is the start of the next one. */
char* millrace_feed_state(millrace_feed* feed, uint32_t epoch, uint64_t next_micro_batch);

void millrace_feed_get_info(const millrace_feed* feed, millrace_feed_info* info);
void millrace_feed_get_stats(const millrace_feed* feed, millrace_feed_stats* stats);

/* Batches not yet released stay valid. */
void millrace_feed_close(millrace_feed* feed);

uint64_t millrace_batch_number(const millrace_batch* batch);
uint32_t millrace_batch_epoch(const millrace_batch* batch);
uint64_t millrace_batch_rows(const millrace_batch* batch);
uint64_t millrace_batch_bytes(const millrace_batch* batch);
size_t millrace_batch_columns(const millrace_batch* batch);
/* 0, or MILLRACE_FEED_INVALID when there is no such column. */
int millrace_batch_column(const millrace_batch* batch, size_t index, millrace_column* column);
/* The column of this role and name (0-terminated; NULL: the first of the role). */
int millrace_batch_find(const millrace_batch* batch, uint32_t role, const char* name,
                        millrace_column* column);
/* Gives the memory back to the feed. */
void millrace_batch_release(millrace_batch* batch);

#ifdef __cplusplus
}
#endif
#endif
