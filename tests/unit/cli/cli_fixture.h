#pragma once
// Runs `millrace` words against a fake daemon and keeps what they print.
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/cli/cli.h"
#include "tests/unit/session/fake_client.h"

namespace millrace::cli {

/// Lends the fake to the command, which owns a client.
class Lent final : public client::DaemonClient {
 public:
    explicit Lent(client::FakeClient& fake) : fake_(fake) {}
    void cancelAll() override { fake_.cancelAll(); }
    std::string address() const override { return fake_.address(); }
    Result<client::Handshake> handshake() override { return fake_.handshake(); }
    Result<client::DaemonStatus> status() override { return fake_.status(); }
    Result<client::DownReport> down(int s) override { return fake_.down(s); }
    Result<client::StoreCheck> checkStore(bool isWhole) override {
        return fake_.checkStore(isWhole);
    }
    Result<client::SubmitReply> submit(const client::SubmitRequest& r) override {
        return fake_.submit(r);
    }
    Result<client::RunPage> list(const client::ListRequest& r) override { return fake_.list(r); }
    Result<client::RunDetail> get(const std::string& run) override { return fake_.get(run); }
    Result<std::string> document(const std::string& run, client::LargeDocument which) override {
        return fake_.document(run, which);
    }
    Result<std::vector<client::MetricSeries>> metricRange(
        const client::MetricRangeRequest& r) override {
        return fake_.metricRange(r);
    }
    Result<client::RunSummary> stop(const std::string& run, int s, const std::string& t) override {
        return fake_.stop(run, s, t);
    }
    Result<client::RunSummary> resume(const std::string& run, std::int64_t step) override {
        return fake_.resume(run, step);
    }
    Result<client::RemovedRun> remove(const std::string& run, bool isForGood) override {
        return fake_.remove(run, isForGood);
    }
    Result<client::RunSummary> restore(const std::string& run) override {
        return fake_.restore(run);
    }
    Result<client::RunSummary> setNote(const std::string& run, const std::string& t) override {
        return fake_.setNote(run, t);
    }
    Result<client::RunSummary> setTags(const std::string& run,
                                       const std::map<std::string, std::string>& set,
                                       const std::vector<std::string>& remove) override {
        return fake_.setTags(run, set, remove);
    }
    Result<client::FilterCheck> parseFilter(const std::string& filter) override {
        return fake_.parseFilter(filter);
    }
    Result<client::CheckReply> check(const client::CheckRequest& r) override {
        return fake_.check(r);
    }
    Result<client::DatasetReply> dataset(const client::DatasetRequest& r) override {
        return fake_.dataset(r);
    }
    Result<client::StepsReply> steps(const client::StepsRequest& r) override {
        return fake_.steps(r);
    }
    Result<client::PreviewReply> preview(const client::PreviewRequest& r,
                                         std::stop_token stop) override {
        return fake_.preview(r, std::move(stop));
    }
    Result<std::vector<client::NodeInfo>> nodes() override { return fake_.nodes(); }
    std::unique_ptr<client::Subscription> watchRuns(
        const std::vector<std::string>& runs, client::StreamHandler<client::RunUpdate> h) override {
        return fake_.watchRuns(runs, std::move(h));
    }
    std::unique_ptr<client::Subscription> watchMetrics(
        const client::MetricsRequest& r, client::StreamHandler<client::MetricChunk> h) override {
        return fake_.watchMetrics(r, std::move(h));
    }
    std::unique_ptr<client::Subscription> logs(const client::LogsRequest& r,
                                               client::StreamHandler<client::LogChunk> h) override {
        return fake_.logs(r, std::move(h));
    }
    std::unique_ptr<client::Subscription> watchTelemetry(
        const std::string& node, client::StreamHandler<client::NodeSample> h) override {
        return fake_.watchTelemetry(node, std::move(h));
    }

 private:
    client::FakeClient& fake_;
};

class CliTest : public ::testing::Test {
 protected:
    int run(const std::vector<std::string>& words) {
        out.str("");
        err.str("");
        CliContext context{out,
                           err,
                           terminal,
                           terminal,
                           [this](const char* name) { return environment[name]; },
                           clock,
                           programs,
                           [this](const Address& address) {
                               connectedTo = address.text();
                               return std::make_unique<Lent>(fake);
                           },
                           [] { return failedPrecondition("no screen in a test"); },
                           interrupts};
        context.isInputTty = !typed.empty();
        context.readLine = [this] { return typed; };
        return runCli(context, words);
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

    client::FakeClient fake;
    SystemClock clock;
    std::atomic<int> interrupts{0};
    std::string programs = "/no/programs/here";
    std::map<std::string, std::string> environment;
    Terminal terminal{false, 100, 0, true};
    std::ostringstream out, err;
    std::string typed;  ///< what somebody at the terminal answers; "": nobody is there
    std::string connectedTo;
};

}  // namespace millrace::cli
