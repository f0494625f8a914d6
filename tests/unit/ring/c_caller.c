#include <inttypes.h>
#include <stdio.h>

#include "backend/feed/feed_reader.h"

/* Reads a stream to its end as rank 0 of 1. Returns 0, or the result that ended it. *state: the
 * state at the last step, from malloc(). */
int readStream(const char* socket_path, uint64_t* rows, char** state);

int readStream(const char* socket_path, uint64_t* rows, char** state) {
    millrace_feed_options options = {.struct_size = sizeof options,
                                     .rank = 0,
                                     .world_size = 1,
                                     .abort_fd = -1,
                                     .attempt = 1,
                                     .stream = "train",
                                     .state = *state,
                                     .join = 1,
                                     .last = MILLRACE_LAST_DROP,
                                     .numa_node = -1};
    char why[512];
    millrace_feed* feed = NULL;
    int result = millrace_feed_open(socket_path, &options, &feed, why, sizeof why);
    if (result != 0) {
        fprintf(stderr, "%s\n", why);
        return result;
    }
    millrace_feed_event event = {.struct_size = sizeof event};
    while ((result = millrace_feed_next(feed, -1, &event)) >= 0 &&
           result != MILLRACE_FEED_END_OF_STREAM) {
        if (result == MILLRACE_FEED_BATCH) {
            millrace_column label = {.struct_size = sizeof label};
            if (millrace_batch_find(event.batch, MILLRACE_ROLE_LABEL, "y", &label) == 0) {
                const float* labels = label.data; /* label.items of them: train on them here */
                *rows += labels != NULL ? label.items : 0;
            }
            millrace_batch_release(event.batch);
        } else if (result == MILLRACE_FEED_STEP) {
            millrace_free(*state);
            *state = millrace_feed_state(feed, event.epoch, event.number);
        } else if (result == MILLRACE_FEED_NOTICE) {
            fprintf(stderr, "%s\n", millrace_feed_error(feed));
        }
    }
    if (result != MILLRACE_FEED_END_OF_STREAM) {
        fprintf(stderr, "%s (%" PRIu64 ")\n", millrace_feed_error(feed), event.number);
    }
    millrace_feed_close(feed);
    return result == MILLRACE_FEED_END_OF_STREAM ? 0 : result;
}
