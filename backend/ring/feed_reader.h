#ifndef MILLRACE_FEED_READER_H
#define MILLRACE_FEED_READER_H
/* How a rank gets its data: reads frames from a feed's shared-memory ring (library millrace_feed).
 *
 * A C interface; the library carries its C++ runtime inside and needs libc and libgcc_s only.
 * How it is used, with an example: docs/reference/feed-library.md. Every struct begins with its
 * size, which the caller sets before each call: the library reads and writes no more than that, so
 * a program that was built with an older header goes on working.
 * Threads: one feed belongs to one thread at a time; batches may be released from any thread, in
 * any order, also after the feed was closed. Not in a forked child: there release and close touch
 * nothing, calls are MILLRACE_FEED_INVALID or NULL with one sentence, and the memory of batches is
 * not mapped: who reads an inherited one ends by SIGSEGV in the place of reading other rows. Owns:
 * a batch borrows the ring's memory until it is released; its columns may be written to in place
 * (private to this batch). Failure: functions return a millrace_feed_result below 0 and
 * millrace_feed_error() says why in one sentence. No C++ exception leaves this library. It speaks
 * only to a socket of this user or of root.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MILLRACE_FEED_ABI 3

typedef struct millrace_feed millrace_feed;
typedef struct millrace_batch millrace_batch;

typedef enum {
    MILLRACE_FEED_BATCH = 0, /* event.batch, event.epoch, event.number, event.rows: its own */
    MILLRACE_FEED_END_OF_EPOCH = 1,  /* event.epoch, event.number = its total of micro-batches */
    MILLRACE_FEED_END_OF_STREAM = 2, /* nothing will follow */
    MILLRACE_FEED_TIMEOUT = 3,       /* nothing within timeout_ms */
    MILLRACE_FEED_ABORTED = 4,  /* the abort fd became readable or millrace_feed_abort called */
    MILLRACE_FEED_STEP = 5,     /* a step ended, here and in all other ranks; this rank may have got
                                   nothing of it. event.epoch, event.number: of the first
                                   micro-batch behind it, event.batches, event.rows: of the step
                                   over all ranks, event.is_last: of its epoch,
                                   event.is_left_out */
    MILLRACE_FEED_NOTICE = 6,   /* millrace_feed_error() holds a sentence for the user, as that
                                   batches are kept so long that the feed went over to another ring.
                                   Go on with next() */
    MILLRACE_FEED_FAILED = -1,  /* the feed reported an error: do not retry. event.number is its
                                   exit code: 4 input or data, 5 other, 6 memory or disk. Also:
                                   this library ran out of memory or threads (event.number 6) */
    MILLRACE_FEED_LOST = -2,    /* the feed is gone: millrace_feed_reopen() goes on */
    MILLRACE_FEED_CORRUPT = -3, /* the ring or a frame holds what it must not */
    MILLRACE_FEED_INVALID = -4  /* wrong argument, or a state of another stream or plan */
} millrace_feed_result;

/* What becomes of an epoch's last step where its rows are fewer than those of a whole one. */
typedef enum {
    MILLRACE_LAST_KEEP = 0,
    MILLRACE_LAST_DROP = 1 /* in every rank alike: neither its rows nor their hash are in a state */
} millrace_last;

typedef struct {
    uint32_t struct_size; /* sizeof(millrace_feed_options) */
    int32_t rank;
    int32_t world_size;
    int32_t abort_fd; /* -1: none; readable = abort. Not closed, not read */
    int64_t attempt;
    const char* stream;         /* "train" or "eval" */
    const char* state;          /* text of millrace_feed_state(), NULL: the start. "eval": NULL */
    int32_t connect_timeout_ms; /* waits for the feed's socket to appear; 0: 30 s */
    int32_t join;      /* 1: this rank's rows of a step come as one batch. Its number is that of its
                          first micro-batch, its rows are in the order of their numbers. A rank
                          without rows in a step gets its STEP only */
    int32_t last;      /* millrace_last, the same in all ranks of a stream */
    int32_t numa_node; /* where the ring's memory is to lie; -1: wherever the feed runs */
} millrace_feed_options;

typedef struct {
    uint32_t struct_size; /* sizeof(millrace_feed_event) */
    millrace_batch* batch;
    uint32_t epoch;
    uint64_t number;  /* of FAILED: the feed's exit code */
    uint64_t batches; /* of STEP */
    uint64_t rows;
    uint32_t is_last;
    uint32_t is_left_out; /* of STEP, where `last` drops: what came since the STEP before is not
                             part of what is delivered; release it unread. Where steps are joined
                             nothing came */
} millrace_feed_event;

/* A column of a batch. Roles and dtypes: MILLRACE_ROLE_*, MILLRACE_DTYPE_*. */
typedef struct {
    uint32_t struct_size; /* sizeof(millrace_column) */
    const char* name;     /* not 0-terminated: name_bytes */
    uint32_t name_bytes;
    uint32_t role;
    uint32_t dtype;
    uint32_t width;          /* values an item (fixed columns) */
    uint64_t items;          /* rows; requests when inverse is set */
    uint64_t num_values;     /* in data */
    void* data;              /* 64-byte aligned; of ids and lists to the size of a value */
    const int64_t* offsets;  /* items + 1 for lists, else NULL */
    const float* weights;    /* num_values for weighted lists, else NULL */
    const uint32_t* inverse; /* rows: the item of each row; NULL: item = row */
    uint64_t is_list;        /* 1: lists (or texts), also where `offsets` is not told yet */
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
    uint32_t struct_size; /* sizeof(millrace_feed_stats) */
    uint64_t wait_ns;     /* time spent in millrace_feed_next without a batch */
    uint64_t batches;
    uint64_t rows;
    uint64_t bytes;
    uint64_t held_batches; /* handed out, not yet released */
    uint64_t ring_bytes;   /* of the newest ring */
} millrace_feed_stats;

/* What the feed said at hello. */
typedef struct {
    uint32_t struct_size; /* sizeof(millrace_feed_info) */
    uint64_t micro_rows;
    char stream_hash[33];
    char plan_hash[33];
    uint64_t step_batches; /* micro-batches of a step, over all ranks */
} millrace_feed_info;

/* MILLRACE_FEED_ABI of the library, and its version as "0.1.0". */
uint32_t millrace_feed_abi(void);
const char* millrace_feed_version(void);

/* Of the texts that this library gives out. NULL is fine. */
void millrace_free(void* text);

/* Connects and says hello. On failure *feed is NULL and `error` holds a sentence. */
int millrace_feed_open(const char* socket_path, const millrace_feed_options* options,
                       millrace_feed** feed, char* error, size_t error_bytes);

/* The next event in order. timeout_ms < 0: no time limit; 0: does not block. */
int millrace_feed_next(millrace_feed* feed, int64_t timeout_ms, millrace_feed_event* event);

/* The columns of all batches to come: name, role, dtype, width; items are 0, data is NULL. Valid
 * until close. The first `max` are filled (columns[0].struct_size is the size of each), *count is
 * how many there are. 0, or MILLRACE_FEED_TIMEOUT: the feed has not told them yet. It does so when
 * it begins, which it does once all its ranks have come, before their first batch. What keeps it
 * from that is answered as by next(). */
int millrace_feed_schema(millrace_feed* feed, millrace_column* columns, size_t max, size_t* count);

/* What the features of the batches are, as the feed said at hello: a JSON list with kind, name,
 * table and steps of each (docs/formats/checkpoint.md, `inputs`). Valid until close. "": it did not
 * say.
 */
const char* millrace_feed_inputs(const millrace_feed* feed);

/* After MILLRACE_FEED_LOST: waits until the feed is back and goes on with the batch that was to
 * come. Batches handed out before stay valid. A feed that hangs up is connected to again from a
 * thread of the library, at once; a next() that finds that done goes on without LOST. */
int millrace_feed_reopen(millrace_feed* feed, int64_t timeout_ms);

/* From any thread: wakes a next() or reopen() that waits; it and all later ones return ABORTED. So
 * they do once the abort fd was seen readable. */
void millrace_feed_abort(millrace_feed* feed);

/* Why the last call on this feed failed. Valid until the next call. */
const char* millrace_feed_error(const millrace_feed* feed);

/* The state at a step's end: of a consumer that has taken every micro-batch of `epoch` below
 * `next_micro_batch`, the event.number of a STEP that was read (or the place where this feed was
 * opened), whatever was read after it. Cursor, order hash and rows of all ranks up to there, summed
 * segment records: complete, and the same text in every rank, which any rank count goes on from.
 * JSON text (docs/formats/cursor.md); millrace_free() it. NULL with an error for any other place,
 * and for one before a state that was given out here or forgotten. The total of an epoch is the
 * start of the next one. Steps far back are forgotten unasked: at least the last 32,768 are kept.
 */
char* millrace_feed_state(millrace_feed* feed, uint32_t epoch, uint64_t next_micro_batch);
/* The same, and nothing is forgotten: states of later and of earlier batches can still be had. */
char* millrace_feed_state_at(millrace_feed* feed, uint32_t epoch, uint64_t next_micro_batch);
/* What lies before that place is not asked for any more. 0 or MILLRACE_FEED_INVALID. */
int millrace_feed_forget(millrace_feed* feed, uint32_t epoch, uint64_t next_micro_batch);

/* `callback` is told of every ring of this feed that is mapped: of those that are, at once, of a
 * new one within next() or reopen() (mapped = 1), and before one is unmapped (mapped = 0), in the
 * thread that lets go of the last batch in it, which may be after close. Never is a ring unmapped
 * that was not told of. It may release batches, and call nothing else of this feed. A later call
 * replaces the callback: the one before is told that each is unmapped. NULL: nobody is told. */
typedef void (*millrace_ring_callback)(void* context, void* address, uint64_t bytes,
                                       int32_t mapped);
int millrace_feed_on_ring(millrace_feed* feed, millrace_ring_callback callback, void* context);

/* They fill nothing where struct_size is none that this library knows. */
void millrace_feed_get_info(const millrace_feed* feed, millrace_feed_info* info);
void millrace_feed_get_stats(const millrace_feed* feed, millrace_feed_stats* stats);

/* Batches not yet released stay valid. */
void millrace_feed_close(millrace_feed* feed);

uint64_t millrace_batch_number(const millrace_batch* batch);
uint32_t millrace_batch_epoch(const millrace_batch* batch);
uint64_t millrace_batch_rows(const millrace_batch* batch);
/* The frame as it lies in memory (docs/formats/frame.md): its bytes, and the first of them. One
   copy takes it to a device whole; a column lies as far behind its start there as here. */
uint64_t millrace_batch_bytes(const millrace_batch* batch);
const void* millrace_batch_memory(const millrace_batch* batch);
size_t millrace_batch_columns(const millrace_batch* batch);
/* 0, or MILLRACE_FEED_INVALID: there is no such column, or struct_size is none that is known. */
int millrace_batch_column(const millrace_batch* batch, size_t index, millrace_column* column);
/* The column of this role and name (0-terminated; NULL: the first of the role). */
int millrace_batch_find(const millrace_batch* batch, uint32_t role, const char* name,
                        millrace_column* column);
/* All of them, as millrace_feed_schema() fills them. */
int millrace_batch_all_columns(const millrace_batch* batch, millrace_column* columns, size_t max,
                               size_t* count);
/* Gives the memory back to the feed, once no tensor of it (feed_tensors.h) views it. */
void millrace_batch_release(millrace_batch* batch);

#ifdef __cplusplus
}
#endif
#endif
