#ifndef MILLRACE_RUN_LINK_H
#define MILLRACE_RUN_LINK_H
/* How a rank that is a program of the user's own speaks with the daemon of its run, and agrees with
 * its fellow ranks on steps (docs/formats/rank-protocol.md). Part of the library millrace_feed.
 *
 * The library says hello, sends lines in order, keeps them until the daemon has stored them, sends
 * them again after a reconnect, and says once a second that the process lives: from a thread of its
 * own, whatever the threads of the program do. Threads: any, all calls. Not in a forked child:
 * calls are MILLRACE_FEED_INVALID there. Owns: socket, thread, the mapping of the page. Failure: a
 * daemon that is away is no error. No C++ exception leaves this library.
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
    const char* page_path;   /* a file that the attempt's ranks share; made where it is not there */
    const char* spill_path;  /* a file of this rank for lines that wait for the daemon and have no
                                room in memory, 512 MiB of them at most; removed at the end */
    uint64_t memory_bytes;   /* of lines that wait for the daemon; 0: 16 MiB */
    int32_t alive_ms;        /* between two signs of life; 0: 1000 */
} millrace_run_options;

/* Returns at once, connected or not. On failure *run is NULL and `error` holds a sentence. */
int millrace_run_open(const millrace_run_options* options, millrace_run** run, char* error,
                      size_t error_bytes);
/* Gives up what is not acknowledged. */
void millrace_run_close(millrace_run* run);

/* `line`: one JSON object without `seq`, `attempt` and `ended`, at most 1 MB. The line's seq, from
 * 1, or MILLRACE_FEED_INVALID, or MILLRACE_FEED_FAILED with a sentence in `error`: so many lines
 * wait that no more is kept. */
int64_t millrace_run_send(millrace_run* run, const char* line, char* error, size_t error_bytes);
/* 0 once everything sent so far is stored; MILLRACE_FEED_TIMEOUT. */
int millrace_run_wait(millrace_run* run, int64_t timeout_ms);

/* The rank is about to begin `step` (from 1; each rank its steps one after the other), so it has
 * ended the one before, which the daemon is told with the next line. 0: it may.
 * MILLRACE_FEED_ABORTED: the run stops, and every rank ends with the same step, before this one.
 * MILLRACE_FEED_TIMEOUT, after 100 ms: ranks of several machines are agreeing on that step; ask
 * again, after a look at the program's signals. */
int millrace_run_begin(millrace_run* run, int64_t step);
/* 1: a stop was asked for, and `step` lies behind the last one that any rank may begin. 0: go on.
 * For who waits for the data of `step`, and so has ended the step before. */
int millrace_run_is_over(const millrace_run* run, int64_t step);
/* Everything of this attempt up to this seq is stored; 0: nothing yet. */
int64_t millrace_run_acked(const millrace_run* run);
/* 1: `step`, a multiple of `every`, is to end with a checkpoint; else 0. All ranks of this machine
 * get the same answer. `excess` counts for rank 0 alone: how many more of its checkpoints the
 * daemon has not stored than it keeps and are on their way; each doubles the steps to the next. */
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

/* Writes a checkpoint file (docs/formats/checkpoint.md), with the lines that are not stored yet:
 * whole or not there, synced. `checksum` gets its 32 hex digits and a 0. The file's bytes, or
 * MILLRACE_FEED_INVALID or MILLRACE_FEED_FAILED with a sentence in `error`. */
int64_t millrace_run_checkpoint(millrace_run* run, const millrace_run_file* file, char checksum[33],
                                char* error, size_t error_bytes);
/* Sends the lines that were not stored when the checkpoint `path` was written, which the attempt
 * goes on from; before the first millrace_run_send(). As millrace_checkpoint_read(). */
int millrace_run_preload(millrace_run* run, const char* path, char* error, size_t error_bytes);

/* Reads a checkpoint, of a script or of the built-in trainer. *header is its header, a JSON object
 * as safetensors files have one, to be given to millrace_free(); *values the offset in the file at
 * which the tensors' values begin. The header is held against its checksum, with `is_whole` every
 * byte of the file. 0; else `error` holds a sentence: MILLRACE_FEED_CORRUPT, it is damaged;
 * MILLRACE_FEED_INVALID, it is of another format; MILLRACE_FEED_FAILED, it cannot be read. */
int millrace_checkpoint_read(const char* path, int32_t is_whole, char** header, uint64_t* values,
                             char* error, size_t error_bytes);

#ifdef __cplusplus
}
#endif
#endif
