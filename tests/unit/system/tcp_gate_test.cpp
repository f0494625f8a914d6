// What strangers can occupy at a TCP port, and that others still get in.
#include "backend/system/tcp_gate.h"

#include <cerrno>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/poll.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr milliseconds kLong{3'600'000};

/// Counts and keeps the connections that are passed on.
class Taken {
 public:
    void add(int fd) {
        MutexLock lock(mutex_);
        sockets_.emplace_back(fd);
        times_.push_back(steady_clock::now());
    }
    std::size_t size() const {
        MutexLock lock(mutex_);
        return sockets_.size();
    }
    char firstByte() const {
        MutexLock lock(mutex_);
        char byte = 0;
        EXPECT_EQ(::recv(sockets_.front().get(), &byte, 1, 0), 1);
        return byte;
    }
    steady_clock::duration span() const {
        MutexLock lock(mutex_);
        return times_.back() - times_.front();
    }

 private:
    mutable Mutex mutex_;
    std::vector<UniqueFd> sockets_ MR_GUARDED_BY(mutex_);
    std::vector<steady_clock::time_point> times_ MR_GUARDED_BY(mutex_);
};

class TcpGateTest : public ::testing::Test {
 protected:
    void open(const TcpGateOptions& options = {}) {
        auto gate = TcpGate::open("127.0.0.1", 0, [this](int fd) { taken.add(fd); }, options);
        ASSERT_TRUE(gate.ok()) << gate.status();
        gate_ = std::move(*gate);
    }
    UniqueFd comes(std::string_view says = "") const {
        UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_port = htons(static_cast<std::uint16_t>(gate_->port()));
        name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
        EXPECT_EQ(::send(socket.get(), says.data(), says.size(), 0),
                  static_cast<ssize_t>(says.size()));
        return socket;
    }
    static bool hasEnded(const UniqueFd& socket) {
        char byte = 0;
        const ssize_t n = ::recv(socket.get(), &byte, 1, MSG_DONTWAIT);
        return n == 0 || (n < 0 && errno != EAGAIN);
    }

    Taken taken;
    std::unique_ptr<TcpGate> gate_;
};

TEST_F(TcpGateTest, WhoSpeaksIsHandedOnWithAllItSaid) {
    open();
    const UniqueFd socket = comes("hello");
    ASSERT_TRUE(test::eventually([&] { return taken.size() == 1; }));
    EXPECT_EQ(taken.firstByte(), 'h');
}

TEST_F(TcpGateTest, WhoIsSilentIsEndedAndNotHandedOn) {
    TcpGateOptions options;
    options.silentTime = milliseconds(30);
    open(options);
    const UniqueFd socket = comes();
    EXPECT_TRUE(test::eventually([&] { return hasEnded(socket); }));
    EXPECT_EQ(taken.size(), 0U);
}

TEST_F(TcpGateTest, InACrowdTheOldestSilentOnesGoAndASpeakerComesIn) {
    TcpGateOptions options;
    options.silentMost = 2;
    options.silentTime = kLong;
    options.silentTimeInCrowd = milliseconds(10);
    open(options);
    std::vector<UniqueFd> crowd;
    for (int i = 0; i < 20; ++i) {
        crowd.push_back(comes());
    }
    const UniqueFd speaker = comes("x");
    EXPECT_TRUE(test::eventually([&] { return taken.size() == 1; }));
    EXPECT_TRUE(hasEnded(crowd.front()));
    EXPECT_FALSE(hasEnded(crowd.back())) << "there is room for it";
}

TEST_F(TcpGateTest, NoMoreAreHandedOnThanMayBeInTheirHandshake) {
    TcpGateOptions options;
    options.shakingMost = 2;
    options.handshakeTime = milliseconds(150);
    options.silentTime = milliseconds(1);  // a connection that waits its turn has sent something
    open(options);
    const UniqueFd first = comes("x"), second = comes("x"), third = comes("x");
    ASSERT_TRUE(test::eventually([&] { return taken.size() == 3; }));
    EXPECT_GE(taken.span(), options.handshakeTime);
}

TEST_F(TcpGateTest, TheLastDescriptorsAreForOtherDoors) {
    open();
    const tests::NoDescriptors few(2);  // one for this test's socket, and one that is reserved
    const UniqueFd socket = comes("x");
    ASSERT_TRUE(socket.isOpen());
    EXPECT_TRUE(test::eventually([&] { return hasEnded(socket); }));
    EXPECT_EQ(taken.size(), 0U);
}

TEST_F(TcpGateTest, AnAddressThatIsTakenOrUnknownIsASentence) {
    open();
    const auto again = TcpGate::open("127.0.0.1", gate_->port(), [](int) {});
    EXPECT_THAT(std::string(messageOf(again.status())),
                HasSubstr("cannot listen here: Address already in use; is the address"));
    EXPECT_THAT(std::string(messageOf(TcpGate::open("no.such.invalid", 0, [](int) {}).status())),
                HasSubstr("no.such.invalid:0: cannot listen here: "));
}

TEST_F(TcpGateTest, ANameWithTwoAddressesHasOnePort) {
    const auto gate = TcpGate::open("localhost", 0, [](int) {});
    ASSERT_TRUE(gate.ok()) << gate.status();
    EXPECT_GT((*gate)->port(), 0);
}

}  // namespace
}  // namespace millrace
