// The systems on which the programs run: their symbol versions and needed libraries, read with
// objdump. The files of packaging/wheel must run on every system with glibc 2.34 and GCC 11's
// runtime (the platform tag manylinux_2_34), without Debian's packages.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "backend/system/subprocess.h"

namespace millrace::laws {
namespace {

const std::string kBin = MILLRACE_BIN_DIR;

using Version = std::vector<int>;

/// The newest symbol version of each kind that a file may need.
const std::map<std::string, Version> kFloors{
    {"GLIBC", {2, 34}}, {"GLIBCXX", {3, 4, 29}}, {"CXXABI", {1, 3, 13}}, {"GCC", {7, 0, 0}}};

/// Libraries that every system with these versions has.
const std::set<std::string> kRuntime{"libc.so.6",      "libm.so.6",     "libpthread.so.0",
                                     "libdl.so.2",     "librt.so.1",    "ld-linux-x86-64.so.2",
                                     "libstdc++.so.6", "libgcc_s.so.1", "libatomic.so.1"};

Version parsed(const std::string& text) {
    Version version;
    const std::regex number("[0-9]+");
    for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
        version.push_back(std::stoi(it->str()));
    }
    return version;
}

/// The versions in `dump`'s "Version References" that are newer than the floors.
std::string aboveFloors(const std::string& dump) {
    std::string above;
    const std::regex reference("\\b(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)");
    const std::string references =
        dump.substr(std::min(dump.find("Version References"), dump.size()));
    for (std::sregex_iterator it(references.begin(), references.end(), reference), end; it != end;
         ++it) {
        if (parsed((*it)[2]) > kFloors.at((*it)[1])) {
            above += it->str() + " ";
        }
    }
    return above;
}

/// The needed libraries in `dump` that are neither the runtime's nor match `own`.
std::string foreignLibraries(const std::string& dump, const std::string& own) {
    std::string foreign;
    const std::regex needed("NEEDED +([^\\s]+)"), allowed(own);
    for (std::sregex_iterator it(dump.begin(), dump.end(), needed), end; it != end; ++it) {
        const std::string name = (*it)[1];
        if (!kRuntime.contains(name) && !std::regex_match(name, allowed)) {
            foreign += name + " ";
        }
    }
    return foreign;
}

std::string dumpOf(const std::string& path) {
    SubprocessOptions options;
    options.argv = {"objdump", "-p", path};
    options.timeout = std::chrono::seconds(60);
    const Result<SubprocessOutput> output = Subprocess::run(options);
    EXPECT_TRUE(output.ok()) << output.status();
    const std::string dump = output.ok() ? output->out : "";
    EXPECT_NE(dump.find("Version References"), std::string::npos) << path;
    return dump;
}

struct File {
    std::string path;
    std::string own = "";  ///< libraries that are packed with it (a regular expression)
};

class ElfFloors : public testing::TestWithParam<File> {};

TEST_P(ElfFloors, AsksForNoNewerSymbols) {
    EXPECT_EQ(aboveFloors(dumpOf(GetParam().path)), "") << GetParam().path;
}

TEST_P(ElfFloors, NeedsNoLibraryOfDebians) {
    EXPECT_EQ(foreignLibraries(dumpOf(GetParam().path), GetParam().own), "") << GetParam().path;
}

INSTANTIATE_TEST_SUITE_P(
    Files, ElfFloors,
    testing::Values(File{kBin + "/millrace"}, File{kBin + "/millraced"},
                    File{kBin + "/millrace-exec"},
                    File{kBin + "/millrace-loader",
                         "lib(arrow|arrow_compute|arrow_s3|parquet)"
                         "\\.so\\.[0-9]+|libsleef\\.so\\.3"},
                    File{kBin + "/millrace-data",
                         "lib(arrow|arrow_compute|arrow_s3|parquet)"
                         "\\.so\\.[0-9]+|libsleef\\.so\\.3"},
                    File{kBin + "/millrace-trainer", "lib(torch_cpu|c10)\\.so"},
#ifdef MILLRACE_CONSOLE
                    File{kBin + "/millrace-console", "libQt6[A-Za-z]+\\.so\\.6"},
#endif
                    File{kBin + "/../lib/libmillrace_feed.so"}),
    [](const testing::TestParamInfo<File>& info) {
        std::string name = info.param.path.substr(info.param.path.rfind('/') + 1);
        std::erase_if(name,
                      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
        return name;
    });

constexpr char kDump[] =
    "Dynamic Section:\n  NEEDED               libcurl.so.4\n  NEEDED               libc.so.6\n"
    "Version References:\n  required from libstdc++.so.6:\n    0x02297f89 0x00 09 GLIBCXX_3.4.30\n"
    "    0x02297f89 0x00 08 GLIBCXX_3.4.9\n    0x09691a75 0x00 07 GLIBC_2.34\n";

TEST(ElfFloorsThemselves, WhatLiesAboveIsSeen) {
    EXPECT_EQ(aboveFloors(kDump), "GLIBCXX_3.4.30 ");
    EXPECT_EQ(foreignLibraries(kDump, ""), "libcurl.so.4 ");
    EXPECT_EQ(foreignLibraries(kDump, "libcurl\\.so\\.4"), "");
}

}  // namespace
}  // namespace millrace::laws
