// Measures what a segment costs stream::StreamMaster, from add() to delivered(). The argument is
// the number of workers (32), each of which reports twice a second. Prints microseconds per segment
// as JSON.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include "backend/stream/stream_master.h"

int main(int argc, char** argv) {
    using namespace millrace::stream;
    const int workers = argc > 1 ? std::atoi(argv[1]) : 32;
    constexpr std::int64_t kSegments = 100'000;
    constexpr int kPlaces = 6, kFiles = 8;
    constexpr std::int64_t kSegmentNs = 20'000'000 / 32;
    StreamMaster master{StreamMaster::Options{}};
    std::vector<WorkerId> ids;
    std::int64_t nowNs = 0;
    for (int w = 0; w < workers; ++w) {
        ids.push_back(master.join("w", kPlaces, 2, nowNs));
    }
    std::deque<StreamMaster::Hand> computing;
    std::int64_t added = 0, delivered = 0;
    const auto start = std::chrono::steady_clock::now();
    while (delivered < kSegments) {
        nowNs += kSegmentNs;
        if (delivered % 800 == 0) {
            for (const WorkerId id : ids) {
                master.report(id, kPlaces, nowNs);
            }
        }
        while (added < kSegments && master.room() > 0) {
            std::uint32_t files[kFiles];
            for (int f = 0; f < kFiles; ++f) {
                files[f] = static_cast<std::uint32_t>((added * 31 + f * 7) % 1000);
            }
            master.add(added++, files);
        }
        for (const StreamMaster::Hand& hand : master.decide(nowNs).orders) {
            master.started(hand);
            computing.push_back(hand);
        }
        if (!master.done(computing.front(), nowNs)) {
            return EXIT_FAILURE;
        }
        computing.pop_front();
        master.delivered(delivered++);
    }
    const std::chrono::duration<double, std::micro> passed =
        std::chrono::steady_clock::now() - start;
    std::printf("{\"workers\": %d, \"segments\": %lld, \"us_a_segment\": %.2f}\n", workers,
                static_cast<long long>(kSegments), passed.count() / static_cast<double>(kSegments));
    return EXIT_SUCCESS;
}
