// The service Inspect of a real daemon with a real loader.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <millrace/v1/inspect.grpc.pb.h>

#include <gmock/gmock.h>

#include "tests/integration/daemon/daemon_place.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> namesOf(const google::protobuf::RepeatedPtrField<v1::ColumnInfo>& list) {
    std::vector<std::string> names;
    for (const v1::ColumnInfo& column : list) {
        names.push_back(column.name());
    }
    return names;
}

class InspectDaemon : public DaemonPlace {
 protected:
    void SetUp() override {
        if (!std::filesystem::exists(std::string(MILLRACE_BIN_DIR) + "/millrace-loader")) {
            GTEST_SKIP() << "needs millrace-loader";
        }
        std::filesystem::create_directories(data());
        std::ofstream out(data() + "/rows.csv");
        out << "user,value,label,word\n";
        for (int r = 0; r < 300; ++r) {
            out << r % 7 << ',' << r << ',' << r % 2 << ',' << (r % 3 == 0 ? "" : "w") << '\n';
        }
        out.close();
        up();
        inspect = v1::Inspect::NewStub(
            grpc::CreateChannel("unix:" + socketPath(), grpc::InsecureChannelCredentials()));
    }

    std::string data() const { return home_.path("data"); }
    v1::SpecSource source(const std::string& step = "value % 3 = 0") const {
        v1::SpecSource spec;
        spec.set_spec_text(
            "name: small\n"
            "dataset: {path: rows.csv, where: value >= 10, csv_split_rows: 100}\n"
            "recipe:\n"
            "  - {name: some, filter: \"" +
            step +
            "\"}\n"
            "  - {name: off, enabled: false, filter: \"false\"}\n"
            "  - derive: {half: value / 2.0}\n"
            "labels: {label: label}\n"
            "features: {dense: [half], ids: [user]}\n"
            "embeddings: {user: {rows: 16}}\n"
            "model: {type: mlp, hidden: [4]}\n"
            "batch: {rows: 64, micro_rows: 16, seed: 7}\n"
            "variations:\n  - {name: more, set: {recipe.some.filter: \"value % 2 = 0 or user > "
            "0\"}}\n");
        spec.set_file_name("small.yaml");
        spec.set_base_dir(data());
        return spec;
    }
    grpc::Status check(const v1::SpecSource& spec, v1::CheckSpecResponse& response,
                       bool isAll = false) {
        v1::CheckSpecRequest request;
        *request.mutable_spec() = spec;
        request.set_all_variations(isAll);
        grpc::ClientContext context;
        return inspect->Check(&context, request, &response);
    }
    grpc::Status steps(const v1::SampleStepsRequest& request, v1::SampleStepsResponse& response) {
        grpc::ClientContext context;
        return inspect->Steps(&context, request, &response);
    }
    grpc::Status dataset(const v1::DescribeDatasetRequest& request,
                         v1::DescribeDatasetResponse& response) {
        grpc::ClientContext context;
        return inspect->Dataset(&context, request, &response);
    }
    grpc::Status preview(const v1::PreviewSpecRequest& request, v1::PreviewSpecResponse& response) {
        grpc::ClientContext context;
        return inspect->Preview(&context, request, &response);
    }
    void replaceLoader(const std::string& script) {
        const std::string path = home_.path("bin/millrace-loader");
        std::filesystem::remove(path);
        std::ofstream(path) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }

    std::unique_ptr<v1::Inspect::Stub> inspect;
};

TEST_F(InspectDaemon, TheHandshakeSaysThatItCan) {
    v1::HandshakeRequest request;
    request.set_protocol_version(1);
    v1::HandshakeResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(nodes->Handshake(&context, request, &response).ok());
}

TEST_F(InspectDaemon, AGoodSpecHasItsRunsAndColumns) {
    v1::CheckSpecResponse response;
    const grpc::Status status = check(source(), response, true);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.errors_size(), 0) << response.errors(0).message();
    ASSERT_EQ(response.runs_size(), 2);
    EXPECT_EQ(response.runs(0).variation(), "");
    EXPECT_EQ(response.runs(1).variation(), "more");
    EXPECT_EQ(response.runs(0).rows(), 300);
    EXPECT_EQ(response.runs(0).splits(), 3u);
    EXPECT_EQ(response.runs(0).files(), 1u);
    EXPECT_EQ(response.runs(0).spec_hash().size(), 32u);
    EXPECT_NE(response.runs(0).stream_hash(), response.runs(1).stream_hash());
    EXPECT_THAT(response.runs(1).resolved_spec(), HasSubstr("value % 2 = 0 or user > 0"));
    EXPECT_THAT(namesOf(response.columns()), ElementsAre("user", "value", "label", "word"));
    ASSERT_THAT(namesOf(response.derived()), ElementsAre("half"));
    EXPECT_EQ(response.derived(0).type(), "double");
}

TEST_F(InspectDaemon, AMistakeHasItsPlaceAndTheColumnsBesideIt) {
    v1::CheckSpecResponse response;
    ASSERT_TRUE(check(source("vlue > 3"), response).ok());
    ASSERT_EQ(response.errors_size(), 1);
    EXPECT_EQ(response.errors(0).line(), 4u);
    EXPECT_EQ(response.errors(0).file(), "small.yaml");
    EXPECT_THAT(response.errors(0).message(), HasSubstr("did you mean 'value'"));
    EXPECT_EQ(response.runs_size(), 0);
    EXPECT_EQ(response.columns_size(), 4);
}

TEST_F(InspectDaemon, GarbageForASpecIsAnErrorWithAPlace) {
    for (const char* text : {"", "[", "a: b: c", "\x01\x02", "dataset: 7\n"}) {
        v1::SpecSource spec = source();
        spec.set_spec_text(text);
        v1::CheckSpecResponse response;
        const grpc::Status status = check(spec, response);
        ASSERT_TRUE(status.ok()) << status.error_message();
        ASSERT_GT(response.errors_size(), 0) << text;
        EXPECT_NE(response.errors(0).message(), "");
    }
}

TEST_F(InspectDaemon, ADatasetHasItsFilesAndColumns) {
    v1::DescribeDatasetRequest request;
    request.add_paths("rows.csv");
    request.set_base_dir(data());
    v1::DescribeDatasetResponse response;
    ASSERT_TRUE(dataset(request, response).ok());
    EXPECT_EQ(response.errors_size(), 0);
    EXPECT_EQ(response.format(), "csv");
    EXPECT_EQ(response.rows(), 300);
    ASSERT_EQ(response.files_size(), 1);
    EXPECT_EQ(response.files(0).path(), data() + "/rows.csv");
    EXPECT_EQ(response.files(0).row_groups_size(), 1);
    EXPECT_EQ(response.files(0).row_groups(0).rows(), 300);
    EXPECT_EQ(response.columns_size(), 4);
    EXPECT_FALSE(response.columns(0).has_nulls());

    v1::DescribeDatasetRequest ofSpec;
    *ofSpec.mutable_spec() = source();
    v1::DescribeDatasetResponse same;
    ASSERT_TRUE(dataset(ofSpec, same).ok());
    EXPECT_EQ(same.rows(), 300);
    EXPECT_EQ(same.row_groups(), 3u);
}

TEST_F(InspectDaemon, StepsShowTheRowsBeforeAndAfter) {
    v1::SampleStepsRequest request;
    *request.mutable_spec() = source();
    request.set_rows(6);
    v1::SampleStepsResponse response;
    const grpc::Status status = steps(request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.errors_size(), 0) << response.errors(0).message();
    EXPECT_EQ(response.splits(), 3);
    EXPECT_EQ(response.split_rows(), 100);
    ASSERT_EQ(response.stages_size(), 4);
    EXPECT_THAT(response.stages(0).row_ids(), ElementsAre(10, 11, 12, 13, 14, 15));
    EXPECT_EQ(response.stages(0).text(), "where: value >= 10");
    EXPECT_THAT(response.stages(1).row_ids(), ElementsAre(12, 15));
    EXPECT_EQ(response.stages(1).rows_in(), 6);
    EXPECT_EQ(response.stages(1).kind(), "filter");
    EXPECT_FALSE(response.stages(2).is_enabled());
    EXPECT_EQ(response.stages(2).rows_out(), 2);
    const v1::SampleColumn& half = response.stages(3).columns(4);
    EXPECT_EQ(half.name(), "half");
    EXPECT_THAT(half.values(), ElementsAre("6", "7.5"));
    const v1::SampleColumn& word = response.stages(0).columns(3);
    EXPECT_THAT(word.is_null(), ElementsAre(false, false, true, false, false, true));
    request.set_variation("more");
    request.set_split(2);
    request.set_first_row(97);
    ASSERT_TRUE(steps(request, response).ok());
    EXPECT_THAT(response.stages(0).row_ids(), ElementsAre(97, 98, 99));
}

TEST_F(InspectDaemon, ADatasetThatVanishedIsNamed) {
    v1::CheckSpecResponse before;
    ASSERT_TRUE(check(source(), before).ok());
    std::filesystem::remove(data() + "/rows.csv");
    v1::CheckSpecResponse response;
    ASSERT_TRUE(check(source(), response).ok());
    ASSERT_EQ(response.errors_size(), 1);
    EXPECT_THAT(response.errors(0).message(), HasSubstr("rows.csv"));
    EXPECT_EQ(response.errors(0).line(), 2u);
    v1::SampleStepsRequest request;
    *request.mutable_spec() = source();
    v1::SampleStepsResponse sampled;
    ASSERT_TRUE(steps(request, sampled).ok());
    ASSERT_EQ(sampled.errors_size(), 1);
    EXPECT_THAT(sampled.errors(0).message(), HasSubstr("rows.csv"));
}

TEST_F(InspectDaemon, QuestionsThatCannotBeAskedAreInvalidArguments) {
    v1::CheckSpecResponse checked;
    v1::SpecSource large = source();
    large.set_spec_text(std::string(10 << 20, '#'));
    const grpc::Status tooLarge = check(large, checked);
    EXPECT_EQ(tooLarge.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(tooLarge.error_message(), HasSubstr("at most"));
    v1::SpecSource relative = source();
    relative.set_base_dir("data");
    EXPECT_EQ(check(relative, checked).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    v1::SampleStepsRequest request;
    *request.mutable_spec() = source();
    request.set_rows(100'000);
    v1::SampleStepsResponse sampled;
    EXPECT_EQ(steps(request, sampled).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    v1::DescribeDatasetResponse described;
    EXPECT_EQ(dataset({}, described).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    request.set_rows(10);
    request.set_split(99);
    ASSERT_TRUE(steps(request, sampled).ok());
    ASSERT_EQ(sampled.errors_size(), 1);
    EXPECT_THAT(sampled.errors(0).message(), HasSubstr("split 99"));
}

TEST_F(InspectDaemon, ACrashOfTheWorkerIsOneSentenceAndTheDaemonGoesOn) {
    const int pid = daemonPid();
    replaceLoader("kill -SEGV $$\n");
    v1::CheckSpecResponse response;
    const grpc::Status status = check(source(), response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
    const std::string sentence = status.error_message();
    EXPECT_THAT(sentence, HasSubstr("was ended by signal 11"));
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    replaceLoader("echo 'not json'\n");
    const grpc::Status garbage = check(source(), response);
    EXPECT_EQ(garbage.error_code(), grpc::StatusCode::INTERNAL);
    EXPECT_THAT(garbage.error_message(), HasSubstr("cannot be read"));
    EXPECT_EQ(this->status().pid(), pid);
}

/// Submits whose loader never finishes reading the dataset.
class EndlessSubmits : public InspectDaemon {
 protected:
    void begin(int count) {
        replaceLoader("echo $$ >> " + pidFile() + "\nexec sleep 1000\n");
        for (int i = 0; i < count; ++i) {
            contexts.push_back(std::make_unique<grpc::ClientContext>());
            clients.emplace_back([this, context = contexts.back().get()] {
                v1::SubmitRequest request;
                request.set_spec_text(source().spec_text());
                request.set_base_dir(data());
                v1::SubmitResponse response;
                numGood += runs->Submit(context, request, &response).ok() ? 1 : 0;
            });
        }
        ASSERT_TRUE(waitUntil([&] { return loaders().size() == 2; }));
    }
    void TearDown() override {
        for (std::thread& client : clients) {
            client.join();
        }
        EXPECT_EQ(numGood, 0);
        EXPECT_TRUE(waitUntil([&] { return living() == 0; })) << "no loader is left";
    }
    std::string pidFile() const { return home_.path("loaders"); }
    std::vector<int> loaders() const {
        std::ifstream in(pidFile());
        return {std::istream_iterator<int>(in), std::istream_iterator<int>()};
    }
    int living() const {
        const std::vector<int> pids = loaders();
        return static_cast<int>(
            std::count_if(pids.begin(), pids.end(), [](int pid) { return ::kill(pid, 0) == 0; }));
    }
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    std::vector<std::thread> clients;
    std::atomic<int> numGood{0};
};

TEST_F(EndlessSubmits, HoldUpNeitherDownNorTheEnd) {
    begin(5);
    const int pid = daemonPid();
    const auto start = std::chrono::steady_clock::now();
    const grpc::Status answer = down(5);
    EXPECT_TRUE(answer.ok()) << answer.error_message();
    EXPECT_TRUE(waitUntil([&] { return ::kill(pid, 0) != 0; }, 30));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
}

TEST_F(EndlessSubmits, EndWithADaemonThatIsKilled) {
    begin(2);
    ::kill(daemonPid(), SIGKILL);
    EXPECT_TRUE(waitUntil([&] { return living() == 0; })) << "no loader outlives its daemon";
}

TEST_F(EndlessSubmits, EndWithTheirClients) {
    begin(2);
    for (const auto& context : contexts) {
        context->TryCancel();
    }
    EXPECT_TRUE(waitUntil([&] { return living() == 0; }, 30));
    EXPECT_GT(status().pid(), 0) << "the daemon goes on";
}

// 96 of the rows 10 to 299 are divisible by 3, every other one has label 1; all splits are read.
TEST_F(InspectDaemon, APreviewCountsWhatAVariationKeeps) {
    v1::CheckSpecResponse checked;
    ASSERT_TRUE(check(source(), checked, true).ok());
    v1::PreviewSpecRequest request;
    *request.mutable_spec() = source();
    v1::PreviewSpecResponse response;
    const grpc::Status status = preview(request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.errors_size(), 0) << response.errors(0).message();
    EXPECT_EQ(response.rows(), 300);
    EXPECT_EQ(response.splits(), 3);
    EXPECT_EQ(response.splits_sampled(), 3);
    EXPECT_EQ(response.rows_kept().value(), 96);
    EXPECT_TRUE(response.rows_kept().exact());
    EXPECT_EQ(response.rows_kept().low(), 96);
    EXPECT_NEAR(response.keep_share().value(), 96 / 300., 1e-12);
    ASSERT_EQ(response.heads_size(), 1);
    EXPECT_EQ(response.heads(0).name(), "label");
    EXPECT_EQ(response.heads(0).positives().value(), 48);
    EXPECT_NEAR(response.heads(0).positive_share().value(), 0.5, 1e-12);
    EXPECT_GT(response.epoch_seconds().value(), 0);
    EXPECT_GE(response.threads(), 1);
    EXPECT_EQ(response.stream_hash(), checked.runs(0).stream_hash());
    EXPECT_EQ(response.plan_hash(), checked.runs(0).plan_hash());
    EXPECT_EQ(response.plan_hash().size(), 32u);
    request.set_variation("more");
    v1::PreviewSpecResponse more;
    ASSERT_TRUE(preview(request, more).ok());
    EXPECT_GT(more.rows_kept().value(), 96);
    EXPECT_EQ(more.stream_hash(), checked.runs(1).stream_hash());
}

TEST_F(InspectDaemon, APreviewOfABrokenSpecSaysWhereAndOfAnImpossibleQuestionWhy) {
    v1::PreviewSpecRequest request;
    *request.mutable_spec() = source("vlue > 3");
    v1::PreviewSpecResponse response;
    ASSERT_TRUE(preview(request, response).ok());
    ASSERT_EQ(response.errors_size(), 1);
    EXPECT_EQ(response.errors(0).line(), 4u);
    *request.mutable_spec() = source();
    request.set_variation("mor");
    ASSERT_TRUE(preview(request, response).ok());
    ASSERT_GE(response.errors_size(), 1);
    EXPECT_THAT(response.errors(0).message(), HasSubstr("mor"));
    request.set_variation("");
    request.mutable_spec()->add_sets("resources.memory_limit_mb=64");
    ASSERT_TRUE(preview(request, response).ok());
    ASSERT_GE(response.errors_size(), 1);
    EXPECT_THAT(response.errors(0).message(), HasSubstr("memory_limit_mb"));
    request.set_seconds(1e9);
    EXPECT_EQ(preview(request, response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

/// Previews that never end; the real loader answers all other questions.
class EndlessPreviews : public EndlessSubmits {
 protected:
    void beginPreviews(int count) {
        replaceLoader(
            "question=$(cat)\ncase \"$question\" in\n*'\"op\":\"preview\"'*) echo $$ >> " +
            pidFile() + "\nexec sleep 1000;;\nesac\n" +
            "printf '%s' \"$question\" | " MILLRACE_BIN_DIR "/millrace-loader \"$@\"\n");
        for (int i = 0; i < count; ++i) {
            contexts.push_back(std::make_unique<grpc::ClientContext>());
            clients.emplace_back([this, context = contexts.back().get()] {
                v1::PreviewSpecRequest request;
                *request.mutable_spec() = source();
                v1::PreviewSpecResponse response;
                numGood += inspect->Preview(context, request, &response).ok() ? 1 : 0;
            });
        }
        ASSERT_TRUE(waitUntil([&] { return loaders().size() == 1; }));
    }
};

TEST_F(EndlessPreviews, AreCountedOneAtATimeAndEndWithTheirClientsWhileChecksGoOn) {
    beginPreviews(3);
    v1::CheckSpecResponse response;
    const grpc::Status status = check(source(), response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.runs_size(), 1) << "a check is not held up";
    EXPECT_EQ(loaders().size(), 1u) << "the others wait";
    for (const auto& context : contexts) {
        context->TryCancel();
    }
    EXPECT_TRUE(waitUntil([&] { return living() == 0; }, 30));
}

TEST_F(InspectDaemon, ManyAtOnceAreAnsweredInTurn) {
    std::vector<std::thread> clients;
    std::atomic<int> numGood{0};
    for (int i = 0; i < 6; ++i) {
        clients.emplace_back([&] {
            v1::CheckSpecResponse response;
            numGood += check(source(), response).ok() && response.runs_size() == 1 ? 1 : 0;
        });
    }
    for (std::thread& client : clients) {
        client.join();
    }
    EXPECT_EQ(numGood, 6);
}

}  // namespace
}  // namespace millrace
