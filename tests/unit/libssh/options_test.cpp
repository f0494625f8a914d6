#include "app/ssh/libssh/options.h"

#include <gtest/gtest.h>

#include "app/ssh/libssh/stream.h"

namespace millrace::libssh {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
    const Result<Invocation> made = parseInvocation(arguments);
    return made.ok() ? "taken" : std::string(messageOf(made.status()));
}

TEST(Options, AMasterIsReadAsSshReadsIt) {
    const Result<Invocation> made =
        parseInvocation({"-M", "-S", "/run/c", "-Tax", "-F", "none", "-p47", "-l", "ada", "-o",
                         "BatchMode=yes", "-oConnectTimeout 5", "host", "echo", "-n", "x; cat"});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->mode, Mode::kMaster);
    EXPECT_EQ(made->controlPath, "/run/c");
    EXPECT_EQ(made->configFile, "none");
    EXPECT_EQ(made->port, 47);
    EXPECT_EQ(made->user, "ada");
    EXPECT_EQ(made->host, "host");
    EXPECT_EQ(made->command, "echo -n x; cat");
    ASSERT_EQ(made->options.size(), 2u);
    EXPECT_EQ(made->options[0].key, "batchmode");
    EXPECT_EQ(made->options[1].key, "connecttimeout");
    EXPECT_EQ(made->options[1].value, "5");
}

TEST(Options, WhatIsAskedOfAMasterIsRead) {
    const Result<Invocation> forward =
        parseInvocation({"-S", "c", "-O", "forward", "-L", "/a/b\\:c:/d", "h"});
    ASSERT_TRUE(forward.ok()) << forward.status();
    EXPECT_EQ(forward->mode, Mode::kForward);
    EXPECT_EQ(forward->local, "/a/b:c");
    EXPECT_EQ(forward->remote, "/d");
    EXPECT_EQ(parseInvocation({"-S", "c", "-O", "check", "h"})->mode, Mode::kCheck);
    EXPECT_EQ(parseInvocation({"-S", "c", "-O", "exit", "h"})->mode, Mode::kExit);
    const Result<Invocation> exec = parseInvocation({"-S", "c", "-T", "u@h", "--", "ls"});
    ASSERT_TRUE(exec.ok()) << exec.status();
    EXPECT_EQ(exec->mode, Mode::kExec);
    EXPECT_EQ(exec->user, "u");
    EXPECT_EQ(exec->command, "-- ls");
}

TEST(Options, WhatIsMissingOrWrongIsSaid) {
    EXPECT_EQ(refusal({"-S", "c"}), "no host is named");
    EXPECT_EQ(refusal({"host", "ls"}), "no control socket is named (-S PATH)");
    EXPECT_EQ(refusal({"-S", "c", "host"}),
              "no command is named: there is no terminal to give to a shell");
    EXPECT_EQ(refusal({"-S"}), "option requires an argument -- S");
    EXPECT_EQ(refusal({"-A", "-S", "c", "host", "ls"}), "unknown option -- A");
    EXPECT_EQ(refusal({"-p", "0", "h"}), "bad port '0'");
    EXPECT_EQ(refusal({"-p", "70000", "h"}), "bad port '70000'");
    EXPECT_EQ(refusal({"-S", "c", "-O", "forward", "-L", "80:host:80", "h"}),
              "bad local forwarding specification '80:host:80': LOCAL:REMOTE, two paths of unix "
              "sockets");
    EXPECT_EQ(refusal({"-S", "c", "-O", "forward", "h"}),
              "-L goes with -O forward, and with nothing else");
    EXPECT_EQ(refusal({"-S", "c", "-O", "stop", "h"}),
              "unknown control command 'stop': forward, check or exit");
}

TEST(Options, ANameThatIsAnOptionOrAShellsWordIsRefused) {
    for (const char* host : {"-oProxyCommand=x", "a b", "a;b", "$(x)", "a|b", "", "a\nb"}) {
        EXPECT_FALSE(isHostName(host)) << host;
    }
    for (const char* host : {"host", "10.0.0.1", "fe80::1%eth0", "a_b-c.d", "h\xc3\xb6st"}) {
        EXPECT_TRUE(isHostName(host)) << host;
    }
    for (const char* user : {"-l", "a b", "a`b", "a$b", ""}) {
        EXPECT_FALSE(isUserName(user)) << user;
    }
    EXPECT_TRUE(isUserName("ada.l+x@corp"));
    EXPECT_FALSE(parseInvocation({"-S", "c", "-l", "-x", "h", "ls"}).ok());
}

TEST(Options, OnlyWhatIsHeededOrSaysWhatIsSoAnywayIsTaken) {
    for (const char* option :
         {"StrictHostKeyChecking=accept-new", "ServerAliveInterval=2", "ForwardAgent=no",
          "forwardagent = no", "RemoteCommand=none", "ControlPersist=no", "ProxyJump=a,b",
          "ExitOnForwardFailure=yes", "StreamLocalBindMask=0177", "TCPKeepAlive=yes"}) {
        EXPECT_TRUE(parseOption(option).ok()) << option;
    }
    for (const char* option : {"ForwardAgent=yes", "ForwardX11=yes", "RequestTTY=force",
                               "RemoteCommand=x", "ControlPersist=yes", "ProxyCommand=x",
                               "LocalForward=a b", "Unheard=1", "BatchMode", "BatchMode="}) {
        EXPECT_FALSE(parseOption(option).ok()) << option;
    }
    EXPECT_EQ(messageOf(parseOption("ForwardAgent=yes").status()),
              "-o ForwardAgent=yes: this program never does that; only no is taken");
}

TEST(Options, ADestinationHasManyForms) {
    const auto is = [](const char* text, bool hasPort, const char* user, const char* host,
                       int port) {
        const Result<Destination> made = parseDestination(text, hasPort);
        return made.ok() && made->user == user && made->host == host && made->port == port;
    };
    EXPECT_TRUE(is("host", false, "", "host", 0));
    EXPECT_TRUE(is("ada@host:22", true, "ada", "host", 22));
    EXPECT_TRUE(is("ssh://ada@host:48/", true, "ada", "host", 48));
    EXPECT_TRUE(is("a@b@host", false, "a@b", "host", 0));
    EXPECT_TRUE(is("[fe80::1]:48", true, "", "fe80::1", 48));
    EXPECT_TRUE(is("::1", true, "", "::1", 0));
    EXPECT_FALSE(parseDestination("host:", true).ok());
    EXPECT_FALSE(parseDestination("host:x", true).ok());
    EXPECT_FALSE(parseDestination("@host", true).ok());
}

TEST(Options, LibsshsWordsOfAChannelAreSshs) {
    EXPECT_EQ(openFailureOf("Channel opening failure: channel 43 error (2) open failed"),
              "connect failed: open failed");
    EXPECT_EQ(openFailureOf("Channel opening failure: channel 43 error (1) "),
              "administratively prohibited");
    EXPECT_EQ(openFailureOf("Channel opening failure: channel 43 error (77) x"),
              "unknown reason: x");
    EXPECT_EQ(openFailureOf("Socket error"), "Socket error");
}

}  // namespace
}  // namespace millrace::libssh
