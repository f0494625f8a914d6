// Output that a descriptor does not accept.
#include "backend/core/standard_output.h"

#include <csignal>
#include <ostream>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/core/unique_fd.h"

namespace millrace {
namespace {

class OutputBufferTest : public ::testing::Test {
 protected:
    void SetUp() override {
        std::signal(SIGPIPE, SIG_IGN);
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        read_.reset(ends[0]);
        write_.reset(ends[1]);
    }
    UniqueFd read_, write_;
};

TEST_F(OutputBufferTest, WhatIsPrintedArrivesWhole) {
    const std::string text(40'000, 'x');
    {
        OutputBuffer buffer(write_.get());
        std::ostream out(&buffer);
        out << text << '\n';
        EXPECT_FALSE(buffer.hasNoReader());
    }
    write_.reset();
    std::string read(50'000, ' ');
    read.resize(static_cast<std::size_t>(::read(read_.get(), read.data(), read.size())));
    EXPECT_EQ(read, text + "\n");
}

TEST_F(OutputBufferTest, AFullDiskIsAnErrorAndEndsTheStream) {
    const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    OutputBuffer buffer(full.get());
    std::ostream out(&buffer);
    out << "text" << std::flush;
    EXPECT_FALSE(out.good());
    EXPECT_TRUE(buffer.hasNoReader());
    out.clear();
    out << std::string(40'000, 'x');
    EXPECT_FALSE(out.good()) << "output after a gap is not written";
    EXPECT_EQ(messageOf(buffer.status()), "standard output: No space left on device");
}

TEST_F(OutputBufferTest, AReaderThatHasGoneIsSeenBeforeAWriteAndIsNoError) {
    OutputBuffer buffer(write_.get());
    std::ostream out(&buffer);
    read_.reset();
    EXPECT_TRUE(buffer.hasNoReader());
    out << "text" << std::flush;
    EXPECT_FALSE(out.good());
    EXPECT_TRUE(buffer.status().ok()) << buffer.status();
}

TEST_F(OutputBufferTest, APipeThatSomebodyMadeNonBlockingIsWaitedFor) {
    ASSERT_EQ(::fcntl(write_.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string text(1 << 20, 'x');  // more than a pipe holds
    std::size_t arrived = 0;
    const pid_t reader = ::fork();
    if (reader == 0) {
        write_.reset();
        char bytes[4096];
        for (ssize_t n = 0; (n = ::read(read_.get(), bytes, sizeof bytes)) > 0;) {
            arrived += static_cast<std::size_t>(n);
        }
        ::_exit(arrived == text.size() ? 0 : 1);
    }
    {
        OutputBuffer buffer(write_.get());
        std::ostream out(&buffer);
        out << text << std::flush;
        EXPECT_TRUE(out.good());
    }
    write_.reset();
    int status = 0;
    ::waitpid(reader, &status, 0);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace millrace
