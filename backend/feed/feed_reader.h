#ifndef MILLRACE_FEED_READER_H
#define MILLRACE_FEED_READER_H
/* The reader of a rank's data: takes frames from a feed's shared-memory ring (library
 * millrace_feed).
 *
 * A C interface; the library contains its C++ runtime and needs only libc and libgcc_s.
 * Usage, with an example: docs/reference/feed-library.md. Every struct begins with its size, which
 * the caller sets before each call. The library reads and writes no more than that, so a program
 * that was built with an older header keeps working.
 * Threads: one feed belongs to one thread at a time; batches may be released from any thread, in
 * any order, even after the feed was closed. Do not use it in a forked child: there release and
 * close do nothing, and calls return MILLRACE_FEED_INVALID or NULL with an error message. The
 * memory of batches is not mapped there, so a child that reads an inherited batch gets SIGSEGV
 * instead of wrong rows. Owns: a batch borrows the ring's memory until it is released; its columns
 * may be written to in place (private to this batch). Failure: functions return a
 * millrace_feed_result below 0, and millrace_feed_error() returns the reason in one sentence. No
 * C++ exception leaves this library. It connects only to sockets of this user or of root.
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
    MILLRACE_FEED_BATCH = 0,         /* event.batch; event.epoch, event.number, event.rows */
    MILLRACE_FEED_END_OF_EPOCH = 1,  /* event.epoch, event.number = its total of micro-batches */
    MILLRACE_FEED_END_OF_STREAM = 2, /* nothing will follow */
    MILLRACE_FEED_TIMEOUT = 3,       /* nothing within timeout_ms */
    MILLRACE_FEED_ABORTED = 4,  /* the abort fd became readable or millrace_feed_abort called */
    MILLRACE_FEED_STEP = 5,     /* a step ended, here and in all other ranks; this rank may have
                                   received nothing of it. event.epoch, event.number: the first
                                   micro-batch behind it; event.batches, event.rows: the step's
                                   totals over all ranks; event.is_last: last step of its epoch;
                                   event.is_left_out */
    MILLRACE_FEED_NOTICE = 6,   /* millrace_feed_error() returns a message for the user, for example
                                   that batches were held too long and the feed switched to another
                                   ring. Continue with next() */
    MILLRACE_FEED_FAILED = -1,  /* the feed reported an error: do not retry. event.number is its
                                   exit code: 4 input or data, 5 other, 6 memory or disk. Also:
                                   this library ran out of memory or threads (event.number 6) */
    MILLRACE_FEED_LOST = -2,    /* the feed is gone: resume with millrace_feed_reopen() */
    MILLRACE_FEED_CORRUPT = -3, /* the ring or a frame is invalid */
    MILLRACE_FEED_INVALID = -4  /* wrong argument, or a state of another stream or plan */
} millrace_feed_result;

/* Treatment of an epoch's last step if it has fewer rows than a whole step. */
typedef enum {
    MILLRACE_LAST_KEEP = 0,
    MILLRACE_LAST_DROP = 1 /* in every rank: states contain neither its rows nor their hash */
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
    int32_t join;      /* 1: this rank gets its rows of a step as one batch. Its number is that of
                          its first micro-batch; rows are in the order of their numbers. A rank
                          without rows in a step gets only the STEP */
    int32_t last;      /* millrace_last, the same in all ranks of a stream */
    int32_t numa_node; /* node for the ring's memory; -1: wherever the feed runs */
} millrace_feed_options;

typedef struct {
    uint32_t struct_size; /* sizeof(millrace_feed_event) */
    millrace_batch* batch;
    uint32_t epoch;
    uint64_t number;  /* FAILED: the feed's exit code */
    uint64_t batches; /* STEP only */
    uint64_t rows;
    uint32_t is_last;
    uint32_t is_left_out; /* STEP, if `last` drops: batches since the previous STEP are not part
                             of the delivery; release them unread. If steps are joined there are
                             none */
} millrace_feed_event;

/* A column of a batch. Roles and dtypes: MILLRACE_ROLE_*, MILLRACE_DTYPE_*. */
typedef struct {
    uint32_t struct_size; /* sizeof(millrace_column) */
    const char* name;     /* not 0-terminated: name_bytes */
    uint32_t name_bytes;
    uint32_t role;
    uint32_t dtype;
    uint32_t width;          /* values per item (fixed columns) */
    uint64_t items;          /* rows; requests when inverse is set */
    uint64_t num_values;     /* in data */
    void* data;              /* 64-byte aligned; ids and lists: to the size of a value */
    const int64_t* offsets;  /* items + 1 for lists, else NULL */
    const float* weights;    /* num_values for weighted lists, else NULL */
    const uint32_t* inverse; /* rows: the item of each row; NULL: item = row */
    uint64_t is_list;        /* 1: lists (or texts), even if `offsets` is not known yet */
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

/* The feed's answer to the hello. */
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

/* Frees a text that this library returned. NULL is allowed. */
void millrace_free(void* text);

/* Connects and sends the hello. On failure *feed is NULL and `error` has the message. */
int millrace_feed_open(const char* socket_path, const millrace_feed_options* options,
                       millrace_feed** feed, char* error, size_t error_bytes);

/* The next event in order. timeout_ms < 0: no time limit; 0: does not block. */
int millrace_feed_next(millrace_feed* feed, int64_t timeout_ms, millrace_feed_event* event);

/* The columns of all future batches: name, role, dtype, width; items are 0, data is NULL. Valid
 * until close. Fills the first `max` (columns[0].struct_size is the size of each); *count is the
 * number of columns. Returns 0, or MILLRACE_FEED_TIMEOUT: the feed has not sent them yet. It sends
 * them once all its ranks have connected, before their first batch. Errors until then are returned
 * as by next(). */
int millrace_feed_schema(millrace_feed* feed, millrace_column* columns, size_t max, size_t* count);

/* The features of the batches, from the feed's answer to the hello: a JSON list with kind, name,
 * table and steps of each (docs/formats/checkpoint.md, `inputs`). Valid until close. "": not sent.
 */
const char* millrace_feed_inputs(const millrace_feed* feed);

/* After MILLRACE_FEED_LOST: waits until the feed is back and resumes with the next batch. Batches
 * returned before stay valid. If a feed hangs up, a thread of the library reconnects at once; once
 * it has, next() continues without LOST. */
int millrace_feed_reopen(millrace_feed* feed, int64_t timeout_ms);

/* From any thread: wakes a waiting next() or reopen(); it and all later calls return ABORTED. The
 * same happens once the abort fd is readable. */
void millrace_feed_abort(millrace_feed* feed);

/* Why the last call on this feed failed. Valid until the next call. */
const char* millrace_feed_error(const millrace_feed* feed);

/* The state at a step's end: that of a consumer that has taken every micro-batch of `epoch` below
 * `next_micro_batch`, whatever was read later. `next_micro_batch` is the event.number of a STEP
 * that was read, or the place where this feed was opened. The state has the cursor, the order hash
 * and rows of all ranks up to there, and summed segment records. It is complete, the same text in
 * every rank, and any number of ranks can resume from it. JSON text (docs/formats/cursor.md); free
 * it with millrace_free(). NULL with an error for any other place, and for a place before a state
 * that was returned here. The total of an epoch is the start of the next one. The
 * library forgets old steps, but keeps at least the last 32,768.
 */
char* millrace_feed_state(millrace_feed* feed, uint32_t epoch, uint64_t next_micro_batch);
/* The same, but forgets nothing: states at later and earlier steps remain available. */
char* millrace_feed_state_at(millrace_feed* feed, uint32_t epoch, uint64_t next_micro_batch);

/* Reports every mapped ring of this feed to `callback`: present rings at once, a new ring within
 * next() or reopen() (mapped = 1). Before a ring is unmapped it is reported with mapped = 0, in the
 * thread that releases the last batch in it, possibly after close. Every ring is reported before it
 * is unmapped. The callback may release batches, but call nothing else of this feed. A later call
 * replaces the callback, and reports each ring to the previous one as unmapped. NULL: none. */
typedef void (*millrace_ring_callback)(void* context, void* address, uint64_t bytes,
                                       int32_t mapped);
int millrace_feed_on_ring(millrace_feed* feed, millrace_ring_callback callback, void* context);

/* They fill nothing if struct_size is not one that this library knows. */
void millrace_feed_get_info(const millrace_feed* feed, millrace_feed_info* info);
void millrace_feed_get_stats(const millrace_feed* feed, millrace_feed_stats* stats);

/* Batches not yet released stay valid. */
void millrace_feed_close(millrace_feed* feed);

uint64_t millrace_batch_number(const millrace_batch* batch);
uint64_t millrace_batch_rows(const millrace_batch* batch);
/* The frame as it is in memory (docs/formats/frame.md): its size in bytes, and its address. One
   copy moves it to a device; the offset of a column from the frame's start stays the same. */
uint64_t millrace_batch_bytes(const millrace_batch* batch);
const void* millrace_batch_memory(const millrace_batch* batch);
size_t millrace_batch_columns(const millrace_batch* batch);
/* 0, or MILLRACE_FEED_INVALID: there is no such column, or struct_size is unknown. */
int millrace_batch_column(const millrace_batch* batch, size_t index, millrace_column* column);
/* The column of this role and name (0-terminated; NULL: the first of the role). */
int millrace_batch_find(const millrace_batch* batch, uint32_t role, const char* name,
                        millrace_column* column);
/* All columns, filled as by millrace_feed_schema(). */
int millrace_batch_all_columns(const millrace_batch* batch, millrace_column* columns, size_t max,
                               size_t* count);
/* Returns the memory to the feed once no tensor (feed_tensors.h) uses it. */
void millrace_batch_release(millrace_batch* batch);

#ifdef __cplusplus
}
#endif
#endif
