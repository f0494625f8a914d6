#include "daemon/worker/loader/feed/events.h"

#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace millrace::loader {

FeedEvents::FeedEvents() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void FeedEvents::push(FeedEvent event) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

std::vector<FeedEvent> FeedEvents::wait(int timeoutMs, int otherFd) {
    pollfd fds[3] = {{wake_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {otherFd, POLLIN, 0}};
    ::poll(fds, 3, timeoutMs);
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) > 0) {
        isSignalled_ = true;
    }
    MutexLock lock(mutex_);
    return std::exchange(events_, {});
}

}  // namespace millrace::loader
