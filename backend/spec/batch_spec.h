#pragma once
// `batch` and `resources`: how rows become batches, and what a run may use. Threads: values.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/spec/key_table.h"

namespace millrace::spec {

struct BatchSpec {
    std::int64_t rows = 1024;
    std::int64_t microRows = 128;
    std::int64_t epochs = 1;
    std::uint64_t seed = 0;
    std::string shuffle;             ///< "" until binding sets it
    std::string order = "permuted";  ///< "by": the values of `orderBy`
    std::string orderBy;
    std::int64_t segmentSplits = 0;  ///< 0: the plan chooses, and inspect writes the number here

    static void listKeys(auto& a) {
        using S = BatchSpec;
        a("rows", &S::rows, "rows of a step, over all ranks",
          {.min = 1, .max = 1e9, .unit = "rows"});
        a("micro_rows", &S::microRows,
          "rows of a micro-batch, which must divide `rows`; default: rows / N, with the largest N "
          "up to 8 that divides them; below 8, preferably one that `train.ranks` divides",
          {.min = 1, .max = 1e9, .isDerived = true, .unit = "rows"});
        a("epochs", &S::epochs, "passes over the dataset", {.min = 1, .max = 1e6});
        a("seed", &S::seed, "seed of the order, the draws and the model's initial weights");
        a("shuffle", &S::shuffle,
          "what is shuffled within a segment: rows, whole requests (needs `features.request`, a "
          "column of the files), or none; default: requests if such a column is named, else rows",
          {.choices = {"rows", "requests", "none"}});
        a.order("order", &S::order, &S::orderBy,
                "order of the splits: permuted in each epoch, as_is, or {by: column}, which takes "
                "the values of a column in ascending order and permutes the splits of each value");
        a("segment_splits", &S::segmentSplits,
          "splits shuffled together; 0: at most 131,072 rows and 256 MB decoded, fixed by the plan",
          {.min = 0, .max = 1e6});
    }
};

struct ResourcesSpec {
    std::int64_t memoryLimitMb = 4096, loaderThreads = 0;
    std::int64_t dataWorkersMin = 0, dataWorkersMax = 0;
    std::optional<std::int64_t> besideRanks;  ///< threads of a worker; absent: the spare cores
    std::int64_t gpusPerRank = 0;

    static void listKeys(auto& a) {
        using S = ResourcesSpec;
        a("memory_limit_mb", &S::memoryLimitMb, "memory limit of a loader process",
          {.min = 64, .max = 1e9, .isOfStream = true, .unit = "MB"});
        a("loader_threads", &S::loaderThreads, "threads of the loader; 0: one for each core",
          {.min = 0, .max = 1024, .isOfStream = true});
        a.yaml("data_workers", KeyType::kSection,
               "processes that compute segments for the feed, on this machine or others",
               {.isOfStream = true});
        a("data_workers.min", &S::dataWorkersMin,
          "workers that a run starts, and restarts if they are lost", {.min = 0, .max = 65536});
        a("data_workers.max", &S::dataWorkersMax,
          "upper limit of the recommended number of workers, including those added by hand; 0: no "
          "worker may join, except those beside ranks",
          {.min = 0, .max = 65536});
        a("data_workers.beside_ranks", &S::besideRanks,
          "computing threads of the data worker that runs on each node with ranks except the "
          "feed's; auto: one for each core of the node that is not reserved, and no worker if all "
          "are or if the nodes are one machine; 0: no such worker",
          {.min = 0, .max = 1024, .isSparse = true, .word = "auto", .unit = "threads"});
        a("gpus_per_rank", &S::gpusPerRank,
          "GPUs of a rank: reserved for the run, in CUDA_VISIBLE_DEVICES of all its ranks; at most "
          "1 for the built-in trainer",
          {.min = 0, .max = 64});
    }
};

}  // namespace millrace::spec
