#include "app/session/host_book.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/remote_place.h"
#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::session {
namespace {

using ::testing::HasSubstr;

class HostBookTest : public ::testing::Test {
 protected:
    Status put(const NamedHost& host) {
        return HostBook::change(path_, [&](HostBook& book) { return book.put(host); });
    }
    tests::TempDir dir_;
    std::string path_ = dir_ / "config/millrace/hosts.json";
};

TEST_F(HostBookTest, IsReadAsItWasWritten) {
    EXPECT_TRUE(HostBook::read(path_)->all().empty());
    ASSERT_TRUE(put({"gpu2", "ssh://gpu2:2222", ""}).ok());
    ASSERT_TRUE(put({"gpu1", "ssh://alice@gpu1", "work"}).ok());
    const Result<HostBook> book = HostBook::read(path_);
    ASSERT_TRUE(book.ok()) << book.status();
    ASSERT_EQ(book->all().size(), 2U);
    EXPECT_EQ(book->all()[0].name, "gpu1");
    EXPECT_EQ(book->find("gpu1")->remoteDir, "work");
    EXPECT_EQ(placeOf("gpu2", path_)->address.text(), "ssh://gpu2:2222");
    EXPECT_EQ(placeOf("gpu1", path_)->remoteDir, "work");
}

TEST_F(HostBookTest, ReplacesAndForgets) {
    ASSERT_TRUE(put({"a", "ssh://one", ""}).ok());
    ASSERT_TRUE(put({"a", "ssh://two", ""}).ok());
    EXPECT_EQ(HostBook::read(path_)->find("a")->address, "ssh://two");
    const auto remove = [&](const char* name) {
        return HostBook::change(path_, [&](HostBook& book) { return book.remove(name); });
    };
    EXPECT_THAT(std::string(messageOf(remove("b"))), HasSubstr("no host is named 'b'"));
    ASSERT_TRUE(remove("a").ok());
    EXPECT_TRUE(HostBook::read(path_)->all().empty());
}

TEST_F(HostBookTest, WhatCannotBeANameOrAnAddressIsRefusedAndNothingIsWritten) {
    for (const char* name : {"", "a:b", "a/b", "-a", "a b", "ssh://x"}) {
        EXPECT_FALSE(put({name, "ssh://x", ""}).ok()) << name;
    }
    EXPECT_FALSE(put({"a", "nonsense", ""}).ok());
    EXPECT_FALSE(readFile(path_).ok());
}

TEST_F(HostBookTest, ADamagedOrNewerFileIsNamedAndLeftAsItIs) {
    ASSERT_TRUE(makeDirectories(dir_ / "config/millrace").ok());
    for (const char* text :
         {"{", "[]", R"({"version": 2})", R"({"version": 1, "hosts": {"a": {"address": "?"}}})"}) {
        ASSERT_TRUE(writeFileAtomic(path_, text).ok());
        EXPECT_THAT(std::string(messageOf(HostBook::read(path_).status())), HasSubstr(path_))
            << text;
        EXPECT_FALSE(put({"b", "ssh://b", ""}).ok());
        EXPECT_EQ(readFile(path_).value(), text);
    }
}

TEST_F(HostBookTest, WritersAtOnceLoseNothing) {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 8; ++i) {
        writers.emplace_back(
            [this, i] { EXPECT_TRUE(put({strCat("host", i), "ssh://h", ""}).ok()); });
    }
    writers.clear();
    EXPECT_EQ(HostBook::read(path_)->all().size(), 8U);
}

TEST_F(HostBookTest, AnUnknownNameSaysHowToGoThere) {
    const Status status = placeOf("gpu9", path_).status();
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("ssh://gpu9 goes there without a name"));
    EXPECT_TRUE(placeOf("ssh://gpu9", path_).ok());
    EXPECT_TRUE(placeOf("gpu9:7443", path_).ok());
}

TEST(WithPath, ReplacesWholeScalarsAlone) {
    const std::string text =
        "path: a.csv # a.csv\njoin: {table: a.csv, on: x}\nb: my-a.csv\nc: \"a.csv\"\n";
    EXPECT_EQ(withPath(text, "a.csv", "/u/a.csv").value(),
              "path: /u/a.csv # /u/a.csv\njoin: {table: /u/a.csv, on: x}\nb: my-a.csv\nc: "
              "\"/u/a.csv\"\n");
    EXPECT_EQ(withPath(text, "x.csv", "/u").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millrace::session
