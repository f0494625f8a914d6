#include "backend/files/file_list.h"

#include <unistd.h>

#include <gmock/gmock.h>

#include "tests/unit/dataset/data_files.h"

namespace millrace::files {
namespace {

using test::DataDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> relative(const Result<std::vector<DataFile>>& files) {
    std::vector<std::string> names;
    EXPECT_TRUE(files.ok()) << files.status();
    for (const DataFile& file : files.ok() ? *files : std::vector<DataFile>()) {
        names.push_back(file.relativePath);
    }
    return names;
}

TEST(FileList, AFileIsItself) {
    DataDirectory dir;
    dir.text("a.csv", "x\n1\n");
    const auto files = listFiles({"a.csv"}, dir.path(), "csv");
    EXPECT_THAT(relative(files), ElementsAre("a.csv"));
    EXPECT_EQ(files->at(0).path, dir.at("a.csv"));
    EXPECT_EQ(files->at(0).bytes, 4);
}

TEST(FileList, ADirectoryGivesItsDataFilesInByteOrderWithoutHiddenOnes) {
    DataDirectory dir;
    for (const char* name : {"b.csv", "B.csv", "sub/a.csv", ".hidden.csv", "_tmp/x.csv", "n.md"}) {
        dir.text(name, "x\n");
    }
    EXPECT_THAT(relative(listFiles({dir.path()}, "/", "csv")),
                ElementsAre("B.csv", "b.csv", "sub/a.csv"));
}

TEST(FileList, WhatAFileSystemCheckFoundIsNoDataUnlessItIsAskedFor) {
    DataDirectory dir;
    for (const char* name : {"a.csv", "lost+found/b.csv", "sub/lost+found/c.csv"}) {
        dir.text(name, "x\n");
    }
    for (const std::string path : {".", "**/*.csv"}) {
        EXPECT_THAT(relative(listFiles({path}, dir.path(), "csv")), ElementsAre("a.csv")) << path;
    }
    EXPECT_THAT(relative(listFiles({"lost+found"}, dir.path(), "csv")), ElementsAre("b.csv"));
    EXPECT_THAT(relative(listFiles({"*/lost+found/*.csv"}, dir.path(), "csv")),
                ElementsAre("sub/lost+found/c.csv"));
}

TEST(FileList, ALostAndFoundThatMayNotBeEnteredIsPassedOver) {
    if (::geteuid() == 0) {
        GTEST_SKIP() << "root may enter every directory";
    }
    DataDirectory dir;
    dir.text("a.csv", "x\n");
    dir.text("lost+found/b.csv", "x\n");
    std::filesystem::permissions(dir.at("lost+found"), std::filesystem::perms::none);
    EXPECT_THAT(relative(listFiles({"."}, dir.path(), "csv")), ElementsAre("a.csv"));
    std::filesystem::permissions(dir.at("lost+found"), std::filesystem::perms::all);
}

TEST(FileList, AGlobIsRelativeToItsFixedPart) {
    DataDirectory dir;
    for (const char* name :
         {"log/day=2/b.csv", "log/day=1/a.csv", "log/day=10/a.csv", "log/c.csv"}) {
        dir.text(name, "x\n");
    }
    EXPECT_THAT(relative(listFiles({"log/day=*/?.csv"}, dir.path(), "csv")),
                ElementsAre("day=1/a.csv", "day=10/a.csv", "day=2/b.csv"));
}

TEST(FileList, TwoStarsGoToAnyDepth) {
    DataDirectory dir;
    for (const char* name : {"a.csv", "x/b.csv", "x/y/c.csv", "x/y/c.txt"}) {
        dir.text(name, "x\n");
    }
    EXPECT_THAT(relative(listFiles({"**/*.csv"}, dir.path(), "csv")),
                ElementsAre("a.csv", "x/b.csv", "x/y/c.csv"));
}

TEST(FileList, BracesAreAlternatives) {
    DataDirectory dir;
    for (const char* name : {"a1.csv", "b1.csv", "c1.csv"}) {
        dir.text(name, "x\n");
    }
    EXPECT_THAT(relative(listFiles({"{c,a}*.csv"}, dir.path(), "csv")),
                ElementsAre("a1.csv", "c1.csv"));
}

TEST(FileList, LinksThatLeadAroundInACircleAreNamed) {
    DataDirectory dir;
    dir.text("d/a.csv", "x\n");
    std::filesystem::create_directory_symlink(".", dir.at("d/loop"));
    for (const std::string path : {"d", "d/**/*.csv", "d/*/*/*.csv"}) {
        EXPECT_THAT(messageOf(listFiles({path}, dir.path(), "csv").status()),
                    HasSubstr("d/loop: a link to " + dir.at("d")))
            << path;
    }
    std::filesystem::remove(dir.at("d/loop"));
    std::filesystem::create_symlink("self.csv", dir.at("d/self.csv"));
    for (const std::string path : {"d", "d/*.csv", "d/self.csv"}) {
        const auto files = listFiles({path}, dir.path(), "csv");
        EXPECT_THAT(messageOf(files.status()), HasSubstr("d/self.csv: ")) << path;
    }
}

TEST(FileList, ALinkThatGivesTheSameRowsTwiceIsNamed) {
    DataDirectory dir;
    dir.text("d/x/a.csv", "x\n");
    std::filesystem::create_directory_symlink("x", dir.at("d/y"));
    EXPECT_THAT(messageOf(listFiles({"d"}, dir.path(), "csv").status()),
                HasSubstr("its rows would be read twice"));
    EXPECT_THAT(relative(listFiles({"d/y"}, dir.path(), "csv")), ElementsAre("a.csv"));
    EXPECT_THAT(messageOf(listFiles({"d/x", "d/y"}, dir.path(), "csv").status()),
                HasSubstr("are one file under two names"));
    std::filesystem::remove(dir.at("d/y"));
    std::filesystem::create_symlink("a.csv", dir.at("d/x/b.csv"));
    EXPECT_THAT(messageOf(listFiles({"d"}, dir.path(), "csv").status()),
                HasSubstr("are one file under two names"));
    EXPECT_THAT(relative(listFiles({"d/x/b.csv"}, dir.path(), "csv")), ElementsAre("b.csv"));
}

TEST(FileList, HardLinksAreFilesOfTheirOwnRight) {
    DataDirectory dir;
    dir.text("d/a.csv", "x\n");
    std::filesystem::create_hard_link(dir.at("d/a.csv"), dir.at("d/b.csv"));
    EXPECT_THAT(relative(listFiles({"d"}, dir.path(), "csv")), ElementsAre("a.csv", "b.csv"));
}

TEST(FileList, ADirectoryThatMayNotBeEnteredIsNamed) {
    if (::geteuid() == 0) {
        GTEST_SKIP() << "nothing is closed to root";
    }
    DataDirectory dir;
    dir.text("d/a.csv", "x\n");
    dir.text("d/closed/b.csv", "x\n");
    std::filesystem::permissions(dir.at("d/closed"), std::filesystem::perms::none);
    EXPECT_THAT(messageOf(listFiles({"d"}, dir.path(), "csv").status()), HasSubstr("d/closed"));
    std::filesystem::permissions(dir.at("d/closed"), std::filesystem::perms::owner_all);
}

TEST(FileList, APatternOfTooManyAlternativesIsRefused) {
    DataDirectory dir;
    std::string many;
    for (int i = 0; i < 30; ++i) {
        many += "{a,b}";
    }
    EXPECT_THAT(messageOf(listFiles({many}, dir.path(), "csv").status()),
                HasSubstr("more than 10000 alternatives"));
    std::string deep;
    for (int i = 0; i < 100'000; ++i) {
        deep += "{a}";
    }
    EXPECT_THAT(messageOf(listFiles({deep}, dir.path(), "csv").status()), HasSubstr("100 braces"));
}

TEST(FileList, AListKeepsItsOrder) {
    DataDirectory dir;
    dir.text("a.csv", "x\n");
    dir.text("b.csv", "x\n");
    EXPECT_THAT(relative(listFiles({"b.csv", "file://" + dir.at("a.csv")}, dir.path(), "csv")),
                ElementsAre("b.csv", "a.csv"));
}

TEST(FileList, FilesOfOneNameAreToldApartByThePathAsWritten) {
    DataDirectory dir;
    dir.text("x/a.csv", "x\n");
    dir.text("y/a.csv", "x\n");
    EXPECT_THAT(relative(listFiles({"x/a.csv", "y/a.csv"}, dir.path(), "csv")),
                ElementsAre("x/a.csv", "y/a.csv"));
}

TEST(FileList, MissingThingsAreNamed) {
    DataDirectory dir;
    std::filesystem::create_directories(dir.at("empty"));
    EXPECT_EQ(messageOf(listFiles({"no.csv"}, dir.path(), "csv").status()),
              "no.csv: no such file or directory");
    EXPECT_EQ(messageOf(listFiles({"*.parquet"}, dir.path(), "parquet").status()),
              "*.parquet: no file matches this pattern");
    EXPECT_EQ(messageOf(listFiles({"empty"}, dir.path(), "parquet").status()),
              "empty: the directory has no parquet files");
    dir.text("empty/a.csv", "x\n1\n");
    EXPECT_EQ(messageOf(listFiles({"empty"}, dir.path(), "parquet").status()),
              "empty: the directory has no parquet files; dataset.format: csv (--format csv) reads "
              "its csv files");
    EXPECT_THAT(messageOf(listFiles({"gs://x/y"}, dir.path(), "csv").status()),
                HasSubstr("only local paths"));
}

TEST(FileList, FilesOfTwoFormatsAreRefusedWithAGlobOfOne) {
    DataDirectory dir;
    for (const char* name : {"a.csv", "b.parquet", "c.data", "d.tsv.gz"}) {
        dir.text(name, "x\n");
    }
    const auto messageFor = [&dir](const std::vector<std::string>& paths, const char* format) {
        return std::string(messageOf(listFiles(paths, dir.path(), format).status()));
    };
    EXPECT_EQ(
        messageFor({"a.csv", "b.parquet"}, "csv"),
        strCat("dataset.path: ", dir.at("a.csv"), " is named like csv and ", dir.at("b.parquet"),
               " like parquet, but a dataset has one format: give it "
               "(dataset.format, --format) with a directory, or a glob such as *.csv"));
    EXPECT_THAT(messageFor({"b.parquet", "a.csv"}, "parquet"), HasSubstr("such as *.parquet"));
    EXPECT_THAT(messageFor({"*"}, "parquet"), HasSubstr("one format"));
    EXPECT_THAT(relative(listFiles({"."}, dir.path(), "parquet")), ElementsAre("b.parquet"));
    EXPECT_THAT(relative(listFiles({"[acd].*"}, dir.path(), "csv")),
                ElementsAre("a.csv", "c.data", "d.tsv.gz"));
}

TEST(FileList, AFileNamedTwiceIsRefused) {
    DataDirectory dir;
    dir.text("a.csv", "x\n");
    EXPECT_THAT(messageOf(listFiles({"a.csv", "*.csv"}, dir.path(), "csv").status()),
                HasSubstr("a.csv is named twice"));
}

TEST(FileList, GlobComponents) {
    EXPECT_TRUE(matchesGlob("a*c", "abbbc"));
    EXPECT_TRUE(matchesGlob("[a-c]?", "bz"));
    EXPECT_TRUE(matchesGlob("[!a]", "b"));
    EXPECT_FALSE(matchesGlob("[!a]", "a"));
    EXPECT_FALSE(matchesGlob("a*c", "abbb"));
    EXPECT_TRUE(matchesGlob("*", ""));
}

}  // namespace
}  // namespace millrace::files
