#ifndef MILLRACE_RUN_LINK_H
#define MILLRACE_RUN_LINK_H
/* For a user's own program that runs as a rank: connects it to the daemon of its run, and agrees
 * with the other ranks on steps (docs/formats/rank-protocol.md). Part of the library millrace_feed.
 *
 * The library sends the hello and the lines, in order. It keeps lines until the daemon has stored
 * them, resends them after a reconnect, and reports once a second that the process lives. It does
 * so on its own thread, whatever the program's threads do. Threads: any, all calls. In a forked
 * child calls return MILLRACE_FEED_INVALID. Owns: socket, thread, the mapping of the page. Failure:
 * an absent daemon is not an error. No C++ exception leaves this library.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millrace_run millrace_run;

typedef struct {
    uint32_t struct_size; /* sizeof(millrace_run_options) */
    int32_t rank;
    int64_t attempt;
    const char* run;
    const char* socket_path; /* the attempt's rank socket */
    const char* page_path;   /* a file that the attempt's ranks share; created if it is missing */
    const char* spill_path;  /* a file of this rank for lines that wait for the daemon and do not
                                fit in memory, at most 512 MiB; removed at the end */
    uint64_t memory_bytes;   /* for lines that wait for the daemon; 0: 16 MiB */
    int32_t alive_ms;        /* between two signs of life; 0: 1000 */
} millrace_run_options;

/* Returns at once, connected or not. On failure *run is NULL and `error` has the message. */
int millrace_run_open(const millrace_run_options* options, millrace_run** run, char* error,
                      size_t error_bytes);
/* Drops lines that are not acknowledged. */
void millrace_run_close(millrace_run* run);

/* `line`: one JSON object without `seq`, `attempt` and `ended`, at most 1 MB. Returns the line's
 * seq, from 1, or MILLRACE_FEED_INVALID, or MILLRACE_FEED_FAILED with a message in `error`: the
 * backlog of lines is full. */
int64_t millrace_run_send(millrace_run* run, const char* line, char* error, size_t error_bytes);
/* Returns 0 once everything sent so far is stored, or MILLRACE_FEED_TIMEOUT. */
int millrace_run_wait(millrace_run* run, int64_t timeout_ms);

/* Asks to begin `step` (from 1; a rank begins its steps one after the other). The previous step has
 * then ended, and the next line reports that to the daemon. 0: begin.
 * MILLRACE_FEED_ABORTED: the run stops, and every rank ends with the same step, before this one.
 * MILLRACE_FEED_TIMEOUT, after 100 ms: ranks of several machines are agreeing on that step; handle
 * the program's signals, then ask again. */
int millrace_run_begin(millrace_run* run, int64_t step);
/* 1: a stop was requested, and `step` is behind the last step that any rank may begin. 0: continue.
 * For a rank that waits for the data of `step`, and so has ended the previous step. */
int millrace_run_is_over(const millrace_run* run, int64_t step);
/* Everything of this attempt up to this seq is stored; 0: nothing yet. */
int64_t millrace_run_acked(const millrace_run* run);
/* 1: `step`, a multiple of `every`, must end with a checkpoint; else 0. All ranks of this machine
 * get the same answer. `excess` counts for rank 0 only: the number of its checkpoints that the
 * daemon has not stored, less those that it keeps and those on their way. Each doubles the steps to
 * the next checkpoint. */
int millrace_run_checkpoint_due(millrace_run* run, int64_t step, int64_t every, int64_t excess);

typedef struct {
    uint32_t struct_size; /* sizeof(millrace_run_file) */
    const char* directory;
    const char* name;
    const char* facts; /* members of its metadata: a JSON object of texts */
    const void* data;  /* the content; NULL: that of the file `source` */
    uint64_t bytes;
    const char* source;
} millrace_run_file;

/* Writes a checkpoint file (docs/formats/checkpoint.md) with the lines that are not stored yet. The
 * file is complete and synced, or absent. `checksum` gets its 32 hex digits and a 0. Returns the
 * file's bytes, or MILLRACE_FEED_INVALID or MILLRACE_FEED_FAILED with a message in `error`. */
int64_t millrace_run_checkpoint(millrace_run* run, const millrace_run_file* file, char checksum[33],
                                char* error, size_t error_bytes);
/* Sends the lines that were not stored when the checkpoint `path`, from which the attempt resumes,
 * was written. Call before the first millrace_run_send(). Returns as millrace_checkpoint_read(). */
int millrace_run_preload(millrace_run* run, const char* path, char* error, size_t error_bytes);

/* Reads a checkpoint of a script or of the built-in trainer. *header is its header, a safetensors
 * JSON object, to be freed with millrace_free(); *values is the offset in the file at which the
 * tensors' values begin. Checks the header against its checksum, with `is_whole` every byte of the
 * file. Returns 0, or one of these with a message in `error`: MILLRACE_FEED_CORRUPT, it is damaged;
 * MILLRACE_FEED_INVALID, it is of another format; MILLRACE_FEED_FAILED, it cannot be read. */
int millrace_checkpoint_read(const char* path, int32_t is_whole, char** header, uint64_t* values,
                             char* error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif
