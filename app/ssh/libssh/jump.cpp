#include "app/ssh/libssh/jump.h"

#include <fcntl.h>

#include "app/ssh/libssh/frames.h"
#include "app/ssh/libssh/pump.h"
#include "backend/core/thread.h"
#include "backend/system/pipe.h"

namespace millrace::libssh {
namespace {

// Ends when its one stream does, or when the pipe's other end is closed.
class OneStream : public PumpGuest {
 public:
    explicit OneStream(int stop) : stop_(stop) {}
    void wish(PollSet& fds) override { place_ = addTo(fds, stop_, POLLIN); }
    void act(const PollSet& fds) override { isOver_ = isOver_ || isReady(fds, place_); }
    bool isOver() const override { return isOver_; }
    void end() { isOver_ = true; }

 private:
    int stop_;
    int place_ = -1;
    bool isOver_ = false;
};

}  // namespace

Result<std::unique_ptr<Jump>> Jump::open(std::unique_ptr<Connection> connection,
                                         const Settings& settings, const std::string& host,
                                         int port) {
    UniqueFd near, far, stopped, stop;
    RETURN_IF_ERROR(makeSocketPair(near, far));
    RETURN_IF_ERROR(makePipe(stopped, stop));
    ::fcntl(far.get(), F_SETFL, O_NONBLOCK);
    std::unique_ptr<Jump> jump(new Jump(std::move(connection), std::move(near)));
    jump->stop_ = std::move(stop);
    Jump* self = jump.get();
    jump->thread_ =
        startThread("ssh-jump", [self, settings, host, port, far = std::move(far),
                                 stopped = std::move(stopped)](std::stop_token) mutable {
            self->pump(settings, host, port, std::move(far), stopped.get());
        });
    return jump;
}

Jump::Jump(std::unique_ptr<Connection> connection, UniqueFd socket)
    : connection_(std::move(connection)), socket_(std::move(socket)) {}

Jump::~Jump() {
    stop_.reset();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Jump::pump(const Settings& settings, const std::string& host, int port, UniqueFd far,
                int stop) {
    OneStream guest(stop);
    Pump pump(connection_->session(),
              {settings.hostName, settings.aliveInterval, settings.aliveCountMax});
    StreamEnds ends;
    ends.in = std::move(far);
    ends.isSocket = true;
    pump.add({StreamGoal::Kind::kTcp, host, port}, std::move(ends), [&](const StreamEnd& end) {
        if (!end.failure.empty()) {
            sayOnStderr(sentenceOf(0, end) + "\nstdio forwarding failed");
        }
        guest.end();
    });
    const Status status = pump.run(guest);
    if (!status.ok()) {
        sayOnStderr(std::string(messageOf(status)));
    }
}

}  // namespace millrace::libssh
