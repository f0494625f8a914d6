// Workers on one machine share its cores.
#include <gtest/gtest.h>

#include "daemon/worker/data/data_worker.h"

namespace millrace::data {
namespace {

TEST(SharedThreads, WorkersThatARunStartsHaveTheCoresBetweenThem) {
    spec::RunSpec spec;
    EXPECT_EQ(sharedThreads(spec, 16), 16) << "one that somebody adds by hand";
    for (const auto& [workers, threads] : {std::pair{1, 16}, {2, 8}, {3, 5}, {16, 1}, {40, 1}}) {
        spec.resources.dataWorkersMin = workers;
        EXPECT_EQ(sharedThreads(spec, 16), threads) << workers;
    }
}

}  // namespace
}  // namespace millrace::data
