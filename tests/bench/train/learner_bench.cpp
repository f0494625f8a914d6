// A learner on batches in memory, one line of JSON. Not part of the default tests.
//
//   learner_bench [--device cpu|cuda] [--as-on-gpu] [--precision fp32|bf16|fp64] [--tf32]
//                 [--free-order]
//                 [--model dlrm|dcn_v2|mlp] [--optimizer sgd|adagrad|rowwise_adagrad|adamw]
//                 [--rows 4096] [--tables 26] [--table-rows 200000] [--dim 64] [--dense 13]
//                 [--bottom 512,256,64] [--top 512,256,1] [--lists 0] [--list-length 50]
//                 [--threads 1] [--ranks 1] [--seconds 5] [--steps 0] [--everything]
//
// Rows a second of training, and a hash of the weights. `--steps N` ends it after N steps;
// `--ranks N` runs N processes that share each step; `--as-on-gpu` makes the calls that a GPU gets;
// `--everything` adds clipping, dropout, a cosine schedule and weighted lists that rows share.
// Instead of training:
//   --calls           LibTorch's calls in one step, by operator
//   --evaluate N      processor time of an evaluation of N batches, shared out among the ranks
//   --checkpoint DIR  how long a step stands still for a checkpoint that is written beside it
//   --memory DIR      what the model takes while it trains and while checkpoints are written
// plain.py is the same model in PyTorch; README.md has the figures.
#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/train/measurements.h"

namespace millrace::train::bench {
namespace {

/// Forks the processes of the other ranks before any thread exists. Returns the number of this
/// rank.
int forkRanks(int ranks, std::vector<pid_t>& children) {
    for (int rank = 1; rank < ranks; ++rank) {
        const pid_t child = ::fork();
        if (child == 0) {
            children.clear();
            return rank;
        }
        children.push_back(child);
    }
    return 0;
}

Status run(const Arguments& arguments) {
    const int ranks = static_cast<int>(numberOf(arguments, "ranks"));
    char directory[] = "/tmp/mr-learner-XXXXXX";
    if (ranks > 1 && ::mkdtemp(directory) == nullptr) {
        return internalError("no directory for the ranks' socket");
    }
    std::vector<pid_t> children;
    SocketGroupOptions rendezvous{strCat(directory, "/ranks"), 0, ranks};
    rendezvous.rank = forkRanks(ranks, children);
    Status status = [&]() -> Status {
        ASSIGN_OR_RETURN(const std::unique_ptr<Group> group, makeSocketGroup(rendezvous));
        return measure(arguments, *group);
    }();
    for (const pid_t child : children) {
        int code = 0;
        ::waitpid(child, &code, 0);
        if (status.ok() && code != 0) {
            status = internalError("a rank ended with ", code);
        }
    }
    if (rendezvous.rank == 0 && ranks > 1) {
        ::rmdir(directory);
    }
    return status;
}

}  // namespace
}  // namespace millrace::train::bench

int main(int argc, char** argv) {
    namespace bench = millrace::train::bench;
    const millrace::Status status = bench::run(bench::argumentsOf(argc, argv));
    if (!status.ok()) {
        std::fprintf(stderr, "learner_bench: %s\n", std::string(status.message()).c_str());
        return 1;
    }
    return 0;
}
