#pragma once
// Fakes for tests of the agent: a real store in a temporary directory, an engine and listeners that
// follow the test, an inspector with a fixed answer.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "backend/core/clock.h"
#include "backend/job/log_files.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/membership/own_node.h"
#include "daemon/agent/run/rank_listener.h"
#include "daemon/agent/run_controller.h"
#include "daemon/agent/run_service.h"
#include "tests/support/checkpoint_file.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/agent/fake_engine.h"
#include "tests/unit/agent/fake_inspector.h"

namespace millrace::agent {

/// The messages that one door received, and a way to send messages of the test's workers.
struct FakeDoorState {
    RankCallbacks listener;
    std::map<std::pair<std::int64_t, rank::ConnectionId>, std::uint64_t> acks;
    std::vector<rank::ConnectionId> stops, closed;
    std::vector<rank::Stop> stopWords;  ///< of `stops`
    bool isOpen = true;
};

class FakeDoors final : public ListenerMaker {
 public:
    Result<std::unique_ptr<RankListener>> open(const std::string&, const std::string& run,
                                               int attempt, RankCallbacks listener) override {
        if (!openError.ok()) {
            return openError;
        }
        auto state = std::make_shared<FakeDoorState>();
        state->listener = std::move(listener);
        listeners[strCat(run, ".a", attempt)] = state;
        return std::unique_ptr<RankListener>(new Door(state));
    }
    std::map<std::string, std::shared_ptr<FakeDoorState>> listeners;
    Status openError;

 private:
    class Door final : public RankListener {
     public:
        explicit Door(std::shared_ptr<FakeDoorState> state) : state_(std::move(state)) {}
        ~Door() override { state_->isOpen = false; }
        void ack(rank::ConnectionId id, std::int64_t attempt, std::uint64_t seq) override {
            state_->acks[{attempt, id}] = seq;
        }
        void stop(rank::ConnectionId id, const rank::Stop& how) override {
            state_->stops.push_back(id);
            state_->stopWords.push_back(how);
        }
        void close(rank::ConnectionId id) override { state_->closed.push_back(id); }

     private:
        std::shared_ptr<FakeDoorState> state_;
    };
};

class AgentTest : public ::testing::Test {
 protected:
    AgentTest() {
        char pattern[] = "/tmp/millrace-agent-XXXXXX";
        root = ::mkdtemp(pattern);
        logs = std::make_unique<job::FileLogs>(root + "/runs");
        table = std::make_unique<NodeTable>(
            NodeTableOptions{"head", std::chrono::milliseconds(20'000)}, clock, *logs);
        store = std::move(runs::RunStore::open(root + "/runs.sqlite", clock).value());
        makeController();
    }
    ~AgentTest() override {
        service.reset();
        deleted.reset();
        controller.reset();
        store.reset();
        std::filesystem::remove_all(root);
    }
    /// Starts a daemon (again) over the present state.
    void makeController() {
        service.reset();
        controller.reset();
        ControllerOptions options;
        options.runsDir = root + "/runs";
        options.noTrainer = noTrainer;
        options.countValues = countValues;
        nodes = std::make_unique<AllNodes>(
            OwnNode({"", options.runsDir, "/opt/bin", trainsHere}, engine, [] {}), *table);
        controller = std::make_unique<RunController>(
            options, ControllerParts{*store, engine, listeners, live, clock, *logs, [] {}, *nodes});
        service.reset();
        deleted =
            std::make_unique<DeletedRuns>(root + "/runs", *store, clock, std::chrono::days(30));
        service = std::make_unique<RunService>(
            ServiceOptions{root + "/runs", "node1", 1 << 20, "0.1.0", R"({"cores":2})", noTrainer},
            *store, live, inspector, *controller, *deleted);
    }
    values::SubmitRequest order(const std::string& key = "") const {
        values::SubmitRequest order;
        order.specText = "name: movielens\n";
        order.fileName = "spec.yaml";
        order.baseDir = "/data";
        order.owner = "ann";
        order.key = key;
        return order;
    }
    std::string submit(int maxRestarts = 2) {
        inspector.reply->runs = {someInspected("", maxRestarts)};
        const Result<values::SubmitReply> outcome = service->submit(order());
        EXPECT_TRUE(outcome.ok()) << outcome.status();
        controller->drain();
        return outcome->runs.at(0).id;
    }
    std::shared_ptr<FakeDoorState> door(const std::string& id, int attempt = 1) {
        return listeners.listeners.at(strCat(id, ".a", attempt));
    }
    void hello(const std::string& id, int attempt = 1, rank::ConnectionId connection = 1) {
        door(id, attempt)->listener.onHello(connection, sender(id, attempt));
        controller->drain();
    }
    void say(const std::string& id, std::uint64_t seq, rank::Body body, int attempt = 1) {
        rank::RankLine line;
        line.seq = seq;
        line.attempt = attempt;
        line.body = std::move(body);
        EXPECT_TRUE(door(id, attempt)->listener.onLine(1, sender(id, attempt), line));
        clock.advanceMs(50);
        controller->drain();
    }
    void leave(const std::string& id, int attempt = 1) {
        door(id, attempt)->listener.onClosed(1, sender(id, attempt), "");
        controller->drain();
    }
    void endGang(const std::string& id, int attempt, int code, int feedCode = 0) {
        const std::string key = strCat(id, ".a", attempt);
        controller->post(key, engine.end(key, code, feedCode));
        clock.advanceMs(50);
        controller->drain();
    }
    static rank::Sender sender(const std::string& id, int attempt) {
        return {id, attempt, "rank", 0, 100};
    }
    runs::RunRecord record(const std::string& id) const { return store->get(id).value(); }
    /// Writes into the store's file as another program would.
    void sql(const std::string& text) {
        sqlite3* db = nullptr;
        ::sqlite3_open((root + "/runs.sqlite").c_str(), &db);
        EXPECT_EQ(::sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << ::sqlite3_errmsg(db);
        ::sqlite3_close(db);
    }
    std::string checkpointPath(const std::string& id, std::int64_t step, int attempt = 1) const {
        return strCat(root, "/runs/", id, "/checkpoints/",
                      checkpoint::CheckpointName{step, attempt}.text());
    }
    /// Writes a whole checkpoint without reporting it.
    void writeCheckpoint(const std::string& id, std::int64_t step, int attempt = 1) const {
        tests::writeCheckpointFile(checkpointPath(id, step, attempt),
                                   {step, attempt, id, record(id).streamHash});
    }
    /// Writes a checkpoint and reports it.
    void checkpoint(const std::string& id, std::uint64_t seq, std::int64_t step, int attempt = 1) {
        writeCheckpoint(id, step, attempt);
        const checkpoint::CheckpointName name{step, attempt};
        say(id, seq, rank::Checkpoint{step, name.text(), 7, "h", "{}"}, attempt);
    }
    std::string resumeOf(const std::string& id, int attempt) const {
        const Json job =
            Json::parse(std::ifstream(strCat(root, "/runs/", id, "/a", attempt, "/job.json")));
        return jsonString(job, "resume");
    }
    std::string history(const std::string& id) const {
        std::string text;
        for (const values::RunEvent& event : RunDirectory(root + "/runs", id).readEvents()) {
            text += event.text + "\n";
        }
        return text;
    }

    std::string root, noTrainer;
    CountValues countValues;
    FakeClock clock;
    LiveTable live;
    bool trainsHere = true;
    FakeEngine engine;
    FakeDoors listeners;
    FakeInspector inspector;
    std::unique_ptr<job::FileLogs> logs;
    std::unique_ptr<NodeTable> table;
    std::unique_ptr<AllNodes> nodes;
    std::unique_ptr<runs::RunStore> store;
    std::unique_ptr<RunController> controller;
    std::unique_ptr<DeletedRuns> deleted;
    std::unique_ptr<RunService> service;
};

}  // namespace millrace::agent
