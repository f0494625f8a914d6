// Permissions: the table of methods, the roles of certificates, the owners of runs.
#include "daemon/rpc/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "millrace/v1/daemon.pb.h"
#include "millrace/v1/inspect.pb.h"
#include "millrace/v1/nodes.pb.h"
#include "millrace/v1/runs.pb.h"
#include "tests/support/temp_dir.h"

namespace millrace::rpc {
namespace {

using config::Role;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(AccessTable, EachMethodOfTheDaemonHasItsRole) {
    int numMethods = 0;
    for (const auto* file :
         {v1::SubmitRequest::descriptor()->file(), v1::HandshakeRequest::descriptor()->file(),
          v1::DownRequest::descriptor()->file(), v1::CheckSpecRequest::descriptor()->file()}) {
        ASSERT_EQ(file->service_count(), 1) << file->name();
        const auto* service = file->service(0);
        for (int i = 0; i < service->method_count(); ++i, ++numMethods) {
            const std::string path = "/" + service->full_name() + "/" + service->method(i)->name();
            EXPECT_NE(Access::needOf(path), std::nullopt)
                << path << " has no role: add it to kNeeds in daemon/rpc/access.cpp";
        }
    }
    EXPECT_GT(numMethods, 20);
}

TEST(AccessTable, WhatItDoesNotKnowNeedsNoRoleThatAnybodyHas) {
    for (const char* path : {"", "/", "/millrace.v1.Runs/Explode", "/grpc.health.v1.Health/Check",
                             "millrace.v1.Runs/List", "/millrace.v1.Runs/list"}) {
        EXPECT_EQ(Access::needOf(path), std::nullopt) << path;
    }
}

class AccessTest : public ::testing::Test {
 protected:
    AccessTest() {
        const std::string own = directory / "own.pem";
        EXPECT_TRUE(writeFileAtomic(
                        own, "# the chain\r\n-----BEGIN-----\r\nMIIown=\r\n-----END-----\n", 0600)
                        .ok());
        config.tls = config::TlsFiles{own, "", ""};
        config.configFile = "/state/millraced.yaml";
        config.clients.add("alice", Role::kAdmin);
        config.clients.add("bob", Role::kRun);
        config.clients.add("eve", Role::kView);
        access = Access::open(config).value();
    }
    Caller named(const std::string& name) const { return access.callerOf({name, "", "MIIother="}); }
    std::string refusal(const std::string& name, const std::string& method) const {
        const Status status = access.mayCall(named(name), "/millrace.v1." + method);
        EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kPermissionDenied);
        return std::string(messageOf(status));
    }

    tests::TempDir directory;
    config::DaemonConfig config;
    Access access;
};

TEST_F(AccessTest, EachRoleMayDoWhatTheOnesBeforeItMay) {
    EXPECT_EQ(refusal("eve", "Runs/List"), "");
    EXPECT_EQ(refusal("eve", "Runs/Submit"),
              "Runs/Submit: the certificate of 'eve' has the role view, which only reads; the line "
              "\"eve\": run under 'clients:' in /state/millraced.yaml would allow it, from the "
              "daemon's next start on");
    EXPECT_THAT(refusal("eve", "Inspect/Preview"), HasSubstr("\"eve\": run"))
        << "it reads files that the spec names";
    EXPECT_EQ(refusal("bob", "Runs/List"), "");
    EXPECT_EQ(refusal("bob", "Runs/Submit"), "");
    EXPECT_THAT(refusal("bob", "Daemon/Down"), HasSubstr("\"bob\": admin"));
    EXPECT_EQ(refusal("alice", "Daemon/Down"), "");
    EXPECT_THAT(refusal("mallory", "Runs/List"),
                AllOf(HasSubstr("'mallory' has no role"), HasSubstr("\"mallory\": view")));
}

TEST_F(AccessTest, AMethodThatTheTableDoesNotKnowIsRefusedToAllButTheUser) {
    EXPECT_THAT(refusal("alice", "Runs/Explode"),
                HasSubstr("Runs/Explode: this daemon has no rule"));
    EXPECT_TRUE(Access().mayCall({}, "/millrace.v1.Runs/Explode").ok());
}

TEST_F(AccessTest, ARunIsChangedByItsOwnerOrAnAdmin) {
    const agent::RunService::Owned run{"r-abc23", "bob"};
    EXPECT_TRUE(access.mayChange(named("bob"), run).ok());
    EXPECT_TRUE(access.mayChange(named("alice"), run).ok());
    EXPECT_EQ(std::string(messageOf(access.mayChange(named("bob"), {"r-xyz", "carol"}))),
              "run r-xyz of 'carol': the certificate of 'bob' has the role run, which changes its "
              "own runs only; the line \"bob\": admin under 'clients:' in /state/millraced.yaml "
              "would allow it, from the daemon's next start on");
    EXPECT_FALSE(access.mayChange(named("eve"), {"r-xyz", "eve"}).ok())
        << "it owns the run, but its role is view";
    EXPECT_TRUE(Access().mayChange({}, run).ok());
}

TEST_F(AccessTest, ACertificateIsCalledByItsCnOrElseItsFirstAltName) {
    EXPECT_EQ(access.callerOf({"bob", "alice", "MII="}).role, Role::kRun);
    EXPECT_EQ(access.callerOf({"", "alice", "MII="}).role, Role::kAdmin);
    for (const std::string& name : {std::string(), std::string("a\nb"), std::string("a\0b", 3),
                                    std::string("\xff"), std::string(201, 'a')}) {
        const Caller caller = access.callerOf({name, "", "MII="});
        EXPECT_EQ(caller.role, Role::kNone);
        EXPECT_THAT(caller.trouble, HasSubstr("no usable name"));
    }
}

TEST_F(AccessTest, TheDaemonsOwnCertificateIsNoClients) {
    const Caller caller =
        access.callerOf({"alice", "", "-----BEGIN-----\nMIIown=\n-----END-----\n"});
    EXPECT_EQ(caller.role, Role::kNone);
    EXPECT_THAT(std::string(messageOf(access.mayCall(caller, "/millrace.v1.Runs/List"))),
                HasSubstr("this certificate is the daemon's own"));
}

TEST_F(AccessTest, WithoutRulesACertificateMayView) {
    config.clients = {};
    EXPECT_EQ(refusal("eve", "Runs/List"), "");
    EXPECT_NE(refusal("eve", "Runs/Stop"), "");
}

}  // namespace
}  // namespace millrace::rpc
