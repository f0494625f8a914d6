// With LD_PRELOAD it shifts a process's wall clock by MILLRACE_CLOCK_SHIFT_S seconds, as on a
// machine whose clock is wrong; monotonic clocks do not change.
#include <cstdlib>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

time_t shift() {
    static const time_t kSeconds = [] {
        const char* text = std::getenv("MILLRACE_CLOCK_SHIFT_S");
        return text == nullptr ? time_t{0} : static_cast<time_t>(std::atoll(text));
    }();
    return kSeconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* to) noexcept {
    const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, to));
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        to->tv_sec += shift();
    }
    return result;
}

int gettimeofday(timeval* to, void* /*zone*/) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    *to = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t* to) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (to != nullptr) {
        *to = now.tv_sec;
    }
    return now.tv_sec;
}

}  // extern "C"
