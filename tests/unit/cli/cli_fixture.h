#pragma once
// Runs `millrace` commands against a fake daemon and keeps their output.
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/cli/cli.h"
#include "tests/support/fake_client.h"

namespace millrace::cli {

class CliTest : public ::testing::Test {
 protected:
    int run(const std::vector<std::string>& words) {
        out.str("");
        err.str("");
        CliContext context = makeContext();
        return runCli(context, words);
    }
    CliContext makeContext() {
        CliContext context{out,
                           err,
                           terminal,
                           terminal,
                           [this](const char* name) { return environment[name]; },
                           clock,
                           programs,
                           [this](const Address& address) {
                               connectedTo = address.text();
                               return std::make_unique<client::FakeClient>(fake);
                           },
                           [] { return failedPrecondition("no screen in a test"); },
                           interrupts};
        context.isInputTty = !typed.empty();
        context.readLine = [this] { return typed; };
        return context;
    }
    Json json() {
        const Result<Json> document = parseJson(out.str(), "stdout");
        EXPECT_TRUE(document.ok()) << document.status() << "\n" << out.str();
        return document.ok() ? *document : Json();
    }
    std::vector<Json> jsonLines() {
        std::vector<Json> all;
        std::istringstream lines(out.str());
        for (std::string line; std::getline(lines, line);) {
            const Result<Json> one = parseJson(line, "line");
            EXPECT_TRUE(one.ok()) << line;
            all.push_back(one.ok() ? *one : Json());
        }
        return all;
    }

    client::FakeAnswers fake;
    SystemClock clock;
    std::atomic<int> interrupts{0};
    std::string programs = "/no/programs/here";
    std::map<std::string, std::string> environment;
    Terminal terminal{false, 100, 0, true};
    std::ostringstream out, err;
    std::string typed;  ///< answers typed at the terminal; "": nobody types
    std::string connectedTo;
};

}  // namespace millrace::cli
