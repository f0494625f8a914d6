#pragma once
// An inspector with a fixed answer, and a resolved spec for it.
#include <string>

#include "daemon/agent/inspector.h"

namespace millrace::agent {

class FakeInspector final : public Inspector {
 public:
    Result<InspectReply> resolve(const InspectRequest& request, const IsUnwanted&) override {
        ++numCalls;
        last = request;
        return reply;
    }
    Result<std::string> ask(const Json& question, const std::string& about,
                            const IsUnwanted&) override {
        ++numCalls;
        asked = question;
        askedAbout = about;
        return answer;
    }
    Result<InspectReply> reply = InspectReply{};
    Result<std::string> answer = std::string("{}");
    Json asked;
    std::string askedAbout;
    InspectRequest last;
    int numCalls = 0;
};

inline Json someSpec(int maxRestarts = 2) {
    return {{"name", "movielens"},
            {"recipe", {{{"kind", "filter"}, {"name", "filter"}, {"enabled", true}}}},
            {"batch", {{"rows", 1024}, {"epochs", 3}, {"seed", 7}}},
            {"model", {{"type", "dlrm"}}},
            {"dataset", {{"path", {"ratings.csv"}}}},
            {"train",
             {{"ranks", 1},
              {"threads", 1},
              {"max_restarts", maxRestarts},
              {"checkpoint", {{"keep", 2}}}}},
            {"resources", {{"memory_limit_mb", 512}}}};
}

inline InspectedRun someInspected(const std::string& variation = "", int maxRestarts = 2) {
    InspectedRun run;
    run.variation = variation;
    run.name = "movielens";
    run.spec = someSpec(maxRestarts);
    run.specHash = "spec";
    run.streamHash = "stream";
    run.plan = std::make_shared<const std::string>(R"({"files":[]})");
    run.planHash = "plan";
    return run;
}

}  // namespace millrace::agent
