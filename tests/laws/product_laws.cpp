#include "tests/laws/line_laws.h"

namespace millrace::laws {
namespace {

const std::vector<std::string>& products() {
    static const std::vector<std::string> kProducts = {"backend/", "daemon/", "proto/", "app/"};
    return kProducts;
}

LineLaw operatorsInOrder() {
    return {"an operator whose result depends on a GPU's order",
            Language::kCpp,
            {"backend/train/torch/"},
            {"backend/train/torch/ordered_sums."},
            Keep::kCode,
            {{"index_", "scatter", "embedding_bag", "bincount", "histc", "put_(", "cumsum"},
             std::regex("\\b(index_(add|copy|put|reduce)\\w*|\\w*scatter\\w*|"
                        "_?embedding_bag\\w*|bincount|histc|put_|cumsum)\\s*\\(")},
            "a GPU may add or write in any order there: OrderedSums has the calls with one result",
            {}};
}

}  // namespace

const std::vector<LineLaw>& productLaws() {
    static const std::vector<LineLaw> kLaws = {
        {"a call that only Linux has in app",
         Language::kCpp,
         {"app/"},
         {},
         Keep::kCodeAndTexts,
         {{"2(",      "4(",       "3(",       "epoll",        "eventfd", "signalfd",
           "timerfd", "inotify",  "prctl",    "memfd",        "gettid",  "pidfd",
           "syscall", "statx",    "SOCK_",    "MSG_NOSIGNAL", "O_",      "SO_PEERCRED",
           "sched_",  "pthread_", "sendfile", "\"/proc",      "\"/sys/", "getrandom"},
          std::regex("\\b(pipe2|accept4|dup3|renameat2|epoll_\\w+|eventfd|signalfd|timerfd_\\w+|"
                     "inotify_\\w+|prctl|memfd_create|gettid|pidfd_\\w+|syscall|statx|sendfile|"
                     "getrandom|sched_setaffinity|pthread_setname_np)\\s*\\(|\\bSOCK_(CLOEXEC|"
                     "NONBLOCK)\\b|\\bMSG_NOSIGNAL\\b|\\bO_(TMPFILE|PATH)\\b|\\bSO_PEERCRED\\b|"
                     "\"/(proc|sys)/")},
         "app/ must stay portable, and only Linux has this: use pipe() and fcntl(), or add a "
         "function to backend/core",
         {}},
        {"a product that sleeps",
         Language::kCpp,
         products(),
         {},
         Keep::kCode,
         {{"sleep"},
          std::regex("\\b(sleep_for|sleep_until|usleep|nanosleep)\\s*\\(|::sleep\\s*\\(")},
         "products wait for events, they do not sleep",
         {{"app/cli/daemon_commands.cpp", "kPollMs", "up and down poll another process"},
          {"app/session/submission.cpp", "200 * round", "the pause between two attempts"}}},
        {"a umask",
         Language::kCpp,
         products(),
         {},
         Keep::kCode,
         {{"umask"}, std::regex("\\bumask\\s*\\(")},
         "a umask changes every thread and every child: set the mode of the file (fchmod before "
         "bind)",
         {}},
        {"JSON without bounds",
         Language::kCpp,
         products(),
         {"backend/text/json.cpp"},
         Keep::kCode,
         {{"son::parse"}, std::regex("\\b(Json|json)::parse\\s*\\(")},
         "parse JSON within bounds: parseBounded() or parseJson()",
         {}},
        {"bytes in powers of two",
         Language::kCpp,
         products(),
         {},
         Keep::kCodeAndTexts,
         {{"iB", "ibyte"}, std::regex("\"[^\"]*\\b[KMGT]i(B|bytes?)\\b")},
         "show bytes in powers of ten: formatBytes()",
         {}},
        operatorsInOrder(),
        {"a path of one machine in a product",
         Language::kCpp,
         products(),
         {},
         Keep::kCodeAndTexts,
         machinePath(),
         "a path of one machine: take it from the environment or the configuration",
         {}},
    };
    return kLaws;
}

}  // namespace millrace::laws
