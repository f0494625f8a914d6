#include "backend/job/job_file.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/text/json.h"
#include "tests/support/temp_dir.h"

namespace millrace::job {
namespace {

using ::testing::HasSubstr;

JobFile someJob() {
    JobFile job;
    job.run = "r-abc23";
    job.uid = "0f";
    job.attempt = 3;
    job.spec.name = "movielens";
    job.spec.batch.epochs = 4;
    job.specHash = "s";
    job.streamHash = "t";
    job.planHash = "p";
    job.planText = R"({"files":[{"path":"a,b}.parquet"}]})";
    job.resume = "/runs/r-abc23/checkpoints/step-00000005.a2.safetensors";
    job.checkpointDirectory = "/runs/r-abc23/checkpoints";
    job.rankSocket = "/runs/r-abc23/a3/rank.sock";
    job.feedSocket = "/runs/r-abc23/a3/feed.sock";
    return job;
}

Json someJson() {
    return Json::parse(someJob().toText());
}

Json specNamed(const std::string& name) {
    spec::RunSpec spec;
    spec.name = name;
    return spec.toJson();
}

std::string errorOf(const Json& json) {
    return std::string(messageOf(JobFile::fromText(json.dump()).status()));
}

TEST(JobFile, WhatIsWrittenIsRead) {
    const tests::TempDir directory;
    const std::string path = directory / "job.json";
    const JobFile written = someJob();
    ASSERT_TRUE(written.write(path).ok());
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    const Result<JobFile> read = JobFile::read(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->toText(), written.toText());
    EXPECT_EQ(read->planText, written.planText);
    EXPECT_EQ(read->attempt, 3);
    EXPECT_EQ(read->spec.batch.epochs, 4);
    EXPECT_EQ(read->resume, written.resume);
    EXPECT_EQ(read->initFrom, "");
}

TEST(JobFile, EveryMemberComesBack) {
    const Json json = someJson();
    for (const auto& [key, value] : json.items()) {
        if (key == "version") {
            continue;
        }
        Json other = json;
        other[key] = key == "attempt"    ? Json(9)
                     : key == "plan"     ? Json{{"other", 1}}
                     : value.is_object() ? specNamed("x")
                                         : Json("other");
        const Result<JobFile> read = JobFile::fromText(other.dump());
        ASSERT_TRUE(read.ok()) << key << ": " << read.status();
        EXPECT_EQ(Json::parse(read->toText())[key], other[key]) << key;
    }
}

TEST(JobFile, ARelaysMembersComeBackAndStandTogether) {
    JobFile lead = someJob();
    lead.followers = 2;
    const Result<JobFile> led = JobFile::fromText(lead.toText());
    ASSERT_TRUE(led.ok()) << led.status();
    EXPECT_EQ(led->followers, 2);
    JobFile relay = someJob();
    relay.spec.train.ranks = 4;
    relay.planText = "";
    relay.follow = "/slot/runs/r-abc23/a3/data.join";
    relay.ranks = {1, 3};
    relay.feed = 1;
    const Result<JobFile> read = JobFile::fromText(relay.toText());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->follow, relay.follow);
    EXPECT_EQ(read->ranks, relay.ranks);
    EXPECT_EQ(read->feed, 1);
    for (const auto& [key, wrong] :
         std::vector<std::pair<std::string, Json>>{{"ranks", {1, 4}},
                                                   {"ranks", {3, 1}},
                                                   {"ranks", {1, 1}},
                                                   {"ranks", Json::array()},
                                                   {"follow", ""},
                                                   {"feed", 0},
                                                   {"feed", -1},
                                                   {"followers", 100'000}}) {
        Json json = Json::parse(relay.toText());
        json[key] = wrong;
        EXPECT_THAT(errorOf(json), HasSubstr("'" + key + "'")) << wrong;
    }
}

TEST(JobFile, AnotherVersionIsRefusedByItsNumber) {
    Json json = someJson();
    json["version"] = 2;
    EXPECT_THAT(errorOf(json), HasSubstr("version 2; this program reads version 1"));
    json.erase("version");
    EXPECT_THAT(errorOf(json), HasSubstr("'version'"));
}

TEST(JobFile, WhatIsMissingOrWrongIsNamed) {
    for (const char* key :
         {"run", "attempt", "checkpoint_dir", "rank_socket", "feed_socket", "spec"}) {
        Json json = someJson();
        json[key] = Json::array();
        EXPECT_THAT(errorOf(json), HasSubstr(key));
    }
    EXPECT_FALSE(JobFile::fromText("{").ok());
    EXPECT_FALSE(JobFile::fromText("[]").ok());
    EXPECT_THAT(std::string(messageOf(JobFile::read("/nowhere/job.json").status())),
                HasSubstr("/nowhere/job.json"));
}

TEST(JobFile, WhatALaterProgramAddsIsLeftAside) {
    Json json = someJson();
    json["nodes"] = {{"lead", "10.0.0.1:7000"}};
    EXPECT_TRUE(JobFile::fromText(json.dump()).ok());
}

TEST(JobFile, ARunWithoutADatasetHasNoStreamHash) {
    Json json = someJson();
    json["spec"] = {{"command", {"python3", "script.py"}}};
    json["stream_hash"] = "";
    const Result<JobFile> read = JobFile::fromText(json.dump());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_FALSE(read->spec.hasDataset());
    EXPECT_EQ(read->streamHash, "");
}

TEST(JobFile, HashesThatAreNotGivenAreTheSpecs) {
    Json json = someJson();
    json.erase("spec_hash");
    json["stream_hash"] = "";
    const Result<JobFile> read = JobFile::fromText(json.dump(2));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->specHash, spec::specHash(read->spec));
    EXPECT_EQ(read->streamHash, spec::streamHash(read->spec));
    EXPECT_EQ(read->streamHash.size(), 32U);
    EXPECT_EQ(Json::parse(read->planText), Json::parse(someJob().planText));
}

}  // namespace
}  // namespace millrace::job
