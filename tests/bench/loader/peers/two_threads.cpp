// Measures how much faster two threads are than one on this machine. No program that runs on two
// of its cores gains more.
//
//   two_threads --json
//
// Three kinds of work run on the first core of the affinity mask alone, and on the first two at the
// same time. Each thread has its own memory. The kinds are arithmetic in registers; reading and
// writing 192 kB, which fit in a core's second-level cache; and copying 64 MB to 64 MB. Windows of
// a fifth of a second take turns, seven of each. A line of JSON has the median of their ratios for
// each kind. A thread's rate uses its processor time, so it counts what two threads share, and does
// not count the time in which another process had a core.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <time.h>

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWindow = std::chrono::milliseconds(200);
constexpr int kRounds = 7;
constexpr std::size_t kCacheWords = 192 * 1024 / 8, kCopyBytes = 64 << 20;

std::atomic<std::uint64_t> sink{0};  // results that the compiler must not remove

/// Four independent chains of multiplications and additions.
void compute() {
    std::uint64_t a = 1, b = 2, c = 3, d = 4;
    for (int i = 0; i < 200'000; ++i) {
        a = a * 6364136223846793005U + 1442695040888963407U;
        b = b * 6364136223846793005U + 1442695040888963407U;
        c = c * 6364136223846793005U + 1442695040888963407U;
        d = d * 6364136223846793005U + 1442695040888963407U;
    }
    sink.fetch_xor(a ^ b ^ c ^ d, std::memory_order_relaxed);
}

/// The thread that uses the memory allocates it and writes to it first.
std::function<void()> cacheWork() {
    return [words = std::vector<std::uint64_t>(kCacheWords, 1)]() mutable {
        std::uint64_t sum = 0;
        for (int pass = 0; pass < 8; ++pass) {
            for (std::uint64_t& word : words) {
                sum += word;
                word = sum;
            }
        }
        sink.fetch_xor(sum, std::memory_order_relaxed);
    };
}

std::function<void()> copyWork() {
    return [from = std::vector<char>(kCopyBytes, 1), to = std::vector<char>(kCopyBytes)]() mutable {
        std::memcpy(to.data(), from.data(), kCopyBytes);
        sink.fetch_xor(static_cast<std::uint64_t>(to[kCopyBytes / 2]), std::memory_order_relaxed);
    };
}

/// Processor seconds of this thread.
double used() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

using MakeWork = std::function<std::function<void()>()>;

/// Rounds of the work per second, by all threads together.
double rate(const std::vector<int>& cores, const MakeWork& make) {
    std::atomic<int> ready{0};
    std::vector<double> rates(cores.size());
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < cores.size(); ++t) {
        threads.emplace_back([&, t] {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(cores[t], &set);
            pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
            std::function<void()> work = make();
            work();
            ready.fetch_add(1);
            while (ready.load() < static_cast<int>(cores.size())) {
            }
            const auto begin = Clock::now();
            const double before = used();
            std::int64_t rounds = 0;
            do {
                work();
                ++rounds;
            } while (Clock::now() - begin < kWindow);
            rates[t] = static_cast<double>(rounds) / (used() - before);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    double sum = 0;
    for (const double r : rates) {
        sum += r;
    }
    return sum;
}

double scaling(const std::vector<int>& cores, const MakeWork& make) {
    std::vector<double> ratios;
    for (int round = 0; round < kRounds; ++round) {
        const double one = rate({cores[0]}, make);
        ratios.push_back(rate(cores, make) / one);
    }
    std::ranges::sort(ratios);
    return ratios[kRounds / 2];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 || std::strcmp(argv[1], "--json") != 0) {
        std::fprintf(stderr, "usage: two_threads --json\n");
        return 2;
    }
    cpu_set_t set;
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
            if (CPU_ISSET(core, &set)) {
                cores.push_back(core);
            }
        }
    }
    if (cores.size() < 2) {
        std::fprintf(stderr, "two_threads: two cores are needed\n");
        return 1;
    }
    const double registers = scaling(cores, [] { return std::function<void()>(compute); });
    const double cache = scaling(cores, cacheWork);
    const double copy = scaling(cores, copyWork);
    std::printf(
        "{\"system\": \"two_threads\", \"registers\": %.3f, \"cache\": %.3f, \"copy\": %.3f}\n",
        registers, cache, copy);
    return 0;
}
