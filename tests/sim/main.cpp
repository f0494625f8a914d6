// millrace-sim: whole clusters in virtual time, one a seed (README.md).
//
//   millrace-sim --seeds A:B [--trace]   these seeds; --first: to the first that breaks a law
//   millrace-sim --kept FILE             plans that broke a law once: SEED: PLAN # what it was
//   millrace-sim --repeats A:B           each seed twice: the same course
//   millrace-sim --scale N               N nodes with 4 ranks and 16 data workers each: what the
//                                        head's turns cost
// Exit 0: all laws held; 1: one did not, its trace is printed; 2: usage.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "tests/sim/cluster.h"
#include "tests/sim/plan.h"

namespace millrace::sim {
namespace {

struct Outcome {
    std::vector<std::string> problems, trace;
    std::int64_t numEvents = 0;
    double seconds = 0;
};

/// One course: a seed and its plan.
struct Course {
    std::uint64_t seed = 0;
    Plan plan;
};

Outcome runOne(const Course& course, const std::string& root) {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
    Cluster cluster(course.seed, course.plan, root);
    cluster.run();
    std::filesystem::remove_all(root);
    return {cluster.problems(), cluster.world.trace(), cluster.world.numEvents(),
            static_cast<double>(cluster.world.nowNs()) / kSecond};
}

/// Removes the faults that do not matter for the failure.
Course shrunk(Course course, const std::string& root) {
    for (std::size_t i = 0; i < course.plan.faults.size();) {
        Course fewer = course;
        fewer.plan.faults.erase(fewer.plan.faults.begin() + static_cast<std::ptrdiff_t>(i));
        if (runOne(fewer, root).problems.empty()) {
            ++i;
        } else {
            course = std::move(fewer);
        }
    }
    return course;
}

void show(const Course& course, const Outcome& outcome, bool isTold) {
    if (!outcome.problems.empty() || isTold) {
        for (const std::string& line : outcome.trace) {
            std::printf("  %s\n", line.c_str());
        }
    }
    std::printf("seed %s: %s, %s events, %.0f simulated seconds\n", strCat(course.seed).c_str(),
                outcome.problems.empty() ? "well" : outcome.problems.front().c_str(),
                strCat(outcome.numEvents).c_str(), outcome.seconds);
    std::fflush(stdout);
}

/// Runs all courses; returns how many broke a law.
int runAll(const std::vector<Course>& courses, const std::string& root, std::string_view how) {
    const bool isTold = how == "--trace";
    int wrong = 0;
    for (const Course& course : courses) {
        Outcome outcome = runOne(course, root);
        if (outcome.problems.empty()) {
            show(course, outcome, isTold);
            continue;
        }
        ++wrong;
        if (how == "--first") {
            show(course, outcome, false);
            break;
        }
        const Course least = shrunk(course, root);
        outcome = runOne(least, root);
        show(least, outcome, true);
        std::printf("to be kept: %s: %s # %s\n", strCat(least.seed).c_str(),
                    least.plan.text().c_str(), outcome.problems.front().c_str());
    }
    std::printf("%s courses, %d of them wrong\n", strCat(courses.size()).c_str(), wrong);
    return wrong;
}

int repeat(const std::vector<Course>& courses, const std::string& root) {
    int wrong = 0;
    for (const Course& course : courses) {
        const Outcome first = runOne(course, root), second = runOne(course, root);
        const bool isSame = first.numEvents == second.numEvents && first.trace == second.trace;
        std::printf("seed %s: %s\n", strCat(course.seed).c_str(),
                    isSame ? "the same course twice" : "ANOTHER COURSE THE SECOND TIME");
        wrong += isSame ? 0 : 1;
        const auto [one, other] = std::ranges::mismatch(first.trace, second.trace);
        if (one != first.trace.end() && other != second.trace.end()) {
            std::printf("  %s\n  %s\n", one->c_str(), other->c_str());
        }
    }
    return wrong;
}

int scale(int nodes, const std::string& root) {
    constexpr std::int64_t kBeginsNs = 20 * kSecond, kEndsNs = 30 * kSecond;
    Plan plan;
    plan.nodes = plan.trainNodes = nodes;
    plan.trainsHere = false;
    plan.ranks = 4 * nodes;
    plan.dataWorkers = 16 * nodes;
    plan.steps = 10'000;
    plan.checkpointEvery = 100;
    std::filesystem::create_directories(root);
    Cluster cluster(1, plan, root);
    cluster.runUntil(kBeginsNs);
    const std::int64_t before = cluster.headCpuNs(), numBefore = cluster.world.numEvents();
    cluster.runUntil(kEndsNs);
    const double seconds = static_cast<double>(kEndsNs - kBeginsNs) / kSecond;
    for (const std::string& line : cluster.problems()) {
        std::printf("  %s\n", line.c_str());
    }
    std::printf(
        "%d nodes, %d ranks, %d data workers: begun with %.2f s of the head's processor "
        "time; then %.1f ms and %.0f events a simulated second\n",
        nodes, plan.ranks, plan.dataWorkers, static_cast<double>(before) / kSecond,
        static_cast<double>(cluster.headCpuNs() - before) / kMs / seconds,
        static_cast<double>(cluster.world.numEvents() - numBefore) / seconds);
    return cluster.problems().empty() ? 0 : 1;
}

std::vector<Course> between(const char* text) {
    unsigned long long first = 1, last = 0;
    std::vector<Course> courses;
    if (std::sscanf(text, "%llu:%llu", &first, &last) == 2) {
        for (std::uint64_t seed = first; seed <= last; ++seed) {
            courses.push_back({seed, Plan::drawn(seed)});
        }
    }
    return courses;
}

/// The plans in a file; empty if a line is not a plan.
std::vector<Course> keptIn(const std::string& path) {
    std::vector<Course> courses;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        line.erase(std::min(line.find('#'), line.size()));
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        const auto plan = Plan::of(std::string_view(line).substr(colon + 1));
        if (!plan.has_value()) {
            std::fprintf(stderr, "%s: no plan: %s\n", path.c_str(), line.c_str());
            return {};
        }
        courses.push_back({std::strtoull(line.c_str(), nullptr, 10), *plan});
    }
    return courses;
}

int run(int argc, char** argv) {
    const std::string_view what = argc > 2 ? argv[1] : "";
    const std::string_view how = argc > 3 ? argv[3] : "";
    const std::vector<Course> courses = what == "--kept" ? keptIn(argv[2])
                                        : argc > 2       ? between(argv[2])
                                                         : std::vector<Course>();
    const bool isScale = what == "--scale" && argc == 3 && std::atoi(argv[2]) > 0;
    if (!isScale &&
        (courses.empty() || (what != "--seeds" && what != "--kept" && what != "--repeats"))) {
        std::fprintf(stderr,
                     "usage: millrace-sim --seeds A:B [--trace | --first] | --kept FILE | "
                     "--repeats A:B | --scale N\n");
        return 2;
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "millrace-sim-XXXXXX").string();
    const char* made = ::mkdtemp(pattern.data());
    if (made == nullptr) {
        std::perror("millrace-sim");
        return 2;
    }
    const std::string root = strCat(made, "/world");
    const int wrong = isScale               ? scale(std::atoi(argv[2]), root)
                      : what == "--repeats" ? repeat(courses, root)
                                            : runAll(courses, root, how);
    std::filesystem::remove_all(made);
    return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace millrace::sim

int main(int argc, char** argv) {
    ::setenv("MILLRACE_LOG", "error", 0);  // level of the product's log; info reports each course
    return millrace::sim::run(argc, argv);
}
