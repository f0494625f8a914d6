#include "daemon/transport/socket_pump.h"

#include <deque>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/core/mutex.h"
#include "tests/support/poll.h"

namespace millrace::transport {
namespace {

/// A link whose other end is the test.
class FakeLink final : public ByteLink {
 public:
    void send(std::string bytes) override {
        MutexLock lock(mutex_);
        sent_ += bytes;
        ++numWaiting_;
        news_.notifyAll();
    }
    bool takesMore() const override {
        MutexLock lock(mutex_);
        return numWaiting_ < 2;
    }
    void readNext() override {
        MutexLock lock(mutex_);
        ++numAsked_;
        news_.notifyAll();
    }
    void finish() override {
        MutexLock lock(mutex_);
        isFinished_ = true;
    }
    void close() override {
        MutexLock lock(mutex_);
        isClosed_ = true;
        news_.notifyAll();
    }
    void waitDone() override {}

    std::string awaitSent(std::size_t bytes) {
        MutexLock lock(mutex_);
        while (sent_.size() < bytes) {
            news_.wait(mutex_);
        }
        return sent_;
    }
    void awaitAsked(int times) {
        MutexLock lock(mutex_);
        while (numAsked_ < times) {
            news_.wait(mutex_);
        }
    }
    void awaitClosed() {
        MutexLock lock(mutex_);
        while (!isClosed_) {
            news_.wait(mutex_);
        }
    }
    bool isClosed() const {
        MutexLock lock(mutex_);
        return isClosed_;
    }
    bool isFinished() const {
        MutexLock lock(mutex_);
        return isFinished_;
    }
    void goOut() {
        MutexLock lock(mutex_);
        numWaiting_ = 0;
    }

 private:
    mutable Mutex mutex_;
    CondVar news_;
    std::string sent_ MR_GUARDED_BY(mutex_);
    int numWaiting_ MR_GUARDED_BY(mutex_) = 0, numAsked_ MR_GUARDED_BY(mutex_) = 0;
    bool isClosed_ MR_GUARDED_BY(mutex_) = false, isFinished_ MR_GUARDED_BY(mutex_) = false;
};

class SocketPumpTest : public ::testing::Test {
 protected:
    SocketPumpTest() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        worker = UniqueFd(ends[0]);
        port = pump->open(UniqueFd(ends[1]));
        pump->attach(*port, link);
    }
    /// The next `bytes` bytes at the worker; fewer at the end of the stream.
    std::string receive(std::size_t bytes) {
        std::string got(bytes, '\0');
        const ssize_t n = ::recv(worker.get(), got.data(), bytes, MSG_WAITALL);
        got.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return got;
    }
    void say(const std::string& bytes) {
        ASSERT_EQ(::send(worker.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }

    std::shared_ptr<FakeLink> link = std::make_shared<FakeLink>();
    std::unique_ptr<SocketPump> pump = std::move(SocketPump::start().value());
    UniqueFd worker;
    std::shared_ptr<const SocketPump::Port> port;
};

TEST_F(SocketPumpTest, BytesGoBothWays) {
    say("hello\n");
    EXPECT_EQ(link->awaitSent(6), "hello\n");
    link->awaitAsked(1);
    port->received("{\"ack\":1}\n");
    EXPECT_EQ(receive(10), "{\"ack\":1}\n");
    link->awaitAsked(2);
}

TEST_F(SocketPumpTest, ASocketIsReadOnlyWhileItsLinkTakesMore) {
    say("a");
    link->awaitSent(1);
    say("b");
    EXPECT_EQ(link->awaitSent(2), "ab");
    say("c");  // two bytes wait to leave, so this one stays
    link->awaitAsked(1);
    for (const char* const round : {"x", "y", "z"}) {  // the pump's thread runs once in between
        port->received(round);
        EXPECT_EQ(receive(1), round);
    }
    EXPECT_EQ(link->awaitSent(2), "ab");
    link->goOut();
    port->written();
    EXPECT_EQ(link->awaitSent(3), "abc");
}

TEST_F(SocketPumpTest, ALinkIsAskedAgainOnlyWhenItsSocketHasTakenWhatCame) {
    const std::string much(std::size_t{8} << 20, 'm');
    link->awaitAsked(1);
    port->received(much);
    EXPECT_EQ(receive(1 << 20).size(), std::size_t{1} << 20);
    EXPECT_EQ(receive(7 << 20).size(), std::size_t{7} << 20);
    link->awaitAsked(2);
}

TEST_F(SocketPumpTest, TheEndOfASocketIsItsLinksBehindWhatItSaid) {
    say("last words");
    EXPECT_FALSE(link->isFinished());
    worker = UniqueFd();
    EXPECT_TRUE(test::eventually([this] { return link->isFinished(); }));
    EXPECT_EQ(link->awaitSent(10), "last words");
    port->received("nobody is there to read it");
    link->awaitAsked(2);
    EXPECT_FALSE(link->isClosed()) << "the other side reads what was said";
    port->closed();
    EXPECT_TRUE(test::eventually([this] { return link.use_count() == 1; })) << "let go of";
    EXPECT_FALSE(link->isClosed());
}

TEST_F(SocketPumpTest, ALinkThatDoesNotEndIsClosedWithThePump) {
    worker = UniqueFd();
    EXPECT_TRUE(test::eventually([this] { return link->isFinished(); }));
    pump.reset();
    EXPECT_TRUE(link->isClosed());
}

TEST_F(SocketPumpTest, TheEndOfALinkIsItsSockets) {
    link->awaitAsked(1);
    port->closed();
    char byte = 0;
    EXPECT_EQ(::recv(worker.get(), &byte, 1, 0), 0) << "the stream's end";
}

TEST_F(SocketPumpTest, WhatALinkSaidBeforeItsEndComesOut) {
    link->awaitAsked(1);
    port->received("last words");
    port->closed();
    EXPECT_EQ(receive(100), "last words");
}

TEST_F(SocketPumpTest, APortOutlivesThePump) {
    pump.reset();
    link->awaitClosed();
    EXPECT_EQ(receive(1), "");
    port->received("nobody hears it");
    port->closed();
}

}  // namespace
}  // namespace millrace::transport
