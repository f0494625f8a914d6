#include "backend/system/secrets.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Secrets, AProcessThatHoldsThemIsInNoDump) {
    const pid_t child = ::fork();
    if (child == 0) {
        rlimit limit{1, 1};
        bool isKept = keepOutOfDumps().ok() && ::getrlimit(RLIMIT_CORE, &limit) == 0 &&
                      limit.rlim_cur == 0 && limit.rlim_max == 0;
#if !defined(__SANITIZE_ADDRESS__)
        isKept = isKept && ::prctl(PR_GET_DUMPABLE) == 0;
#endif
        ::_exit(isKept ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Secrets, AMovedSecretLeavesNothingBehind) {
    Secret one;
    ASSERT_TRUE(one.append("open sesame"));
    const char* place = one.text();
    const Secret two = std::move(one);
    EXPECT_EQ(two.view(), "open sesame");
    EXPECT_EQ(two.text(), place);  // the page itself was moved
    EXPECT_EQ(one.view(), "");     // NOLINT(bugprone-use-after-move)
    EXPECT_FALSE(one.append("x"));
}

TEST(Secrets, WhatIsCutIsWiped) {
    Secret secret;
    ASSERT_TRUE(secret.append("answer\nmore"));
    secret.cutAt('\n');
    EXPECT_EQ(secret.view(), "answer");
    EXPECT_EQ(std::string(secret.text() + 6, 5), std::string(5, '\0'));
}

TEST(Secrets, MoreThanFitsIsDropped) {
    Secret secret;
    EXPECT_TRUE(secret.append(std::string(Secret::kMax, 'x')));
    EXPECT_FALSE(secret.append("y"));
    EXPECT_EQ(secret.view(), std::string(Secret::kMax, 'x'));
}

}  // namespace
}  // namespace millrace
