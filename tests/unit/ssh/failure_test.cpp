// Errors of OpenSSH 9.2, and our sentence for each.
#include "app/ssh/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::ssh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Ending endingOf(std::string_view words) {
    Ending ending;
    ending.host = "ssh://gpu1";
    ending.words = words;
    return ending;
}

TEST(Failure, AChangedKeyIsRefusedForAPersonToAct) {
    const Status status = failureOf(endingOf(
        "@@@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
        "The fingerprint for the ED25519 key sent by the remote host is\nSHA256:abcDEF123+/x.\r\n"
        "Offending ED25519 key in /srv/me/.ssh/known_hosts:7\r\n"
        "  remove with:\r\n  ssh-keygen -f \"/srv/me/.ssh/known_hosts\" -R \"gpu1\"\r\n"
        "Host key verification failed.\r\n"));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(messageOf(status)),
                AllOf(HasSubstr("SHA256:abcDEF123+/x"), HasSubstr("known_hosts:7"),
                      HasSubstr("ssh-keygen -f"), HasSubstr("nothing was sent")));
}

TEST(Failure, AnUnknownHostSaysWhyNobodyWasAsked) {
    Ending ending = endingOf("Host key verification failed.\r\n");
    EXPECT_THAT(std::string(messageOf(failureOf(ending))), HasSubstr("nobody to ask here"));
    ending.isStrict = true;
    EXPECT_THAT(std::string(messageOf(failureOf(ending))), HasSubstr("--ssh-strict asks nobody"));
    ending.wasGivenUp = true;
    EXPECT_THAT(std::string(messageOf(failureOf(ending))), HasSubstr("was not accepted"));
}

TEST(Failure, ARefusedUserIsNamedWithTheHostThatRefused) {
    Ending ending = endingOf(
        "me@jump.example: Permission denied (publickey,keyboard-interactive).\r\n"
        "Connection closed by UNKNOWN port 65535\r\n");
    const Status status = failureOf(ending);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(messageOf(status)),
                AllOf(HasSubstr("me@jump.example"), HasSubstr("publickey,keyboard-interactive"),
                      HasSubstr("nobody could be asked")));
    ending.wasAsked = true;
    EXPECT_THAT(std::string(messageOf(failureOf(ending))), Not(HasSubstr("nobody could be asked")));
}

TEST(Failure, ALongLineOfABannerIsReadThrough) {
    const std::string words =
        std::string(500'000, '#') + "\nme@gpu1: Permission denied (publickey).\n";
    EXPECT_THAT(std::string(messageOf(failureOf(endingOf(words)))), HasSubstr("lets me@gpu1 in"));
}

TEST(Failure, WhatMayPassIsTriedAgain) {
    for (const auto& [words, sentence] : {
             std::pair("ssh: Could not resolve hostname gpu1: Name or service not known",
                       "name is not known"),
             std::pair("ssh: connect to host gpu1 port 22: Connection refused",
                       "no SSH server answers"),
             std::pair("ssh: connect to host gpu1 port 22: Network is unreachable",
                       "the VPN is down"),
             std::pair("ssh: connect to host gpu1 port 22: No route to host", "the VPN is down"),
             std::pair("ssh: connect to host gpu1 port 22: Connection timed out",
                       "did not answer in time"),
             std::pair("Timeout, server gpu1 not responding.", "was cut"),
             std::pair("kex_exchange_identification: Connection closed by remote host",
                       "closed the connection"),
         }) {
        const Status status = failureOf(endingOf(words));
        EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << words;
        EXPECT_THAT(std::string(messageOf(status)), HasSubstr(sentence));
    }
}

TEST(Failure, SshsOwnLineStandsWhereASettingIsWrong) {
    const Status status =
        failureOf(endingOf("/srv/me/.ssh/config: line 3: Bad configuration option: colour\r\n"
                           "/srv/me/.ssh/config: terminating, 1 bad configuration options\r\n"));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("terminating, 1 bad configuration"));
}

TEST(Failure, AQuestionThatWasGivenUpOnTheWayInSaysNothingOfALaterEnd) {
    Ending ending = endingOf("");
    ending.wasGivenUp = true;
    EXPECT_EQ(failureOf(ending).code(), absl::StatusCode::kFailedPrecondition);
    ending.wasUp = true;
    EXPECT_EQ(failureOf(ending).code(), absl::StatusCode::kUnavailable);
}

TEST(Failure, UnknownWordsArePassedOn) {
    EXPECT_THAT(
        std::string(messageOf(failureOf(endingOf("first\nlast words\n")))),
        AllOf(HasSubstr("exit code 255"), HasSubstr("last words"), Not(HasSubstr("first"))));
    EXPECT_THAT(std::string(messageOf(failureOf(endingOf("")))),
                HasSubstr("failed (ssh: exit code 255)"));
}

}  // namespace
}  // namespace millrace::ssh
