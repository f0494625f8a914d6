// The range server of the tests as a program: bench_range_server ROOT LATENCY_MS. It prints its
// address and serves until its standard input ends.
#include <cstdio>
#include <cstdlib>

#include "tests/support/range_server.h"

int main(int argc, char** argv) {
    using millrace::test::RangeServer;
    if (argc != 3) {
        std::fputs("usage: bench_range_server ROOT LATENCY_MS\n", stderr);
        return 2;
    }
    const auto server = RangeServer::start(argv[1]);
    if (!server.ok()) {
        std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
        return 1;
    }
    RangeServer::Faults faults;
    faults.latency = std::chrono::milliseconds(std::atoi(argv[2]));
    (*server)->setFaults(faults);
    std::printf("%s\n", (*server)->endpoint().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    std::fprintf(stderr, "gets %lld, at a time %d, heads %lld\n",
                 static_cast<long long>((*server)->gets()), (*server)->gettingMost(),
                 static_cast<long long>((*server)->heads()));
}
