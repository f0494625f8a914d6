// The libraries that the built programs link, read with ldd and the dynamic loader's trace.
#include <filesystem>
#include <regex>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"

namespace millrace::laws {
namespace {

std::string program(const std::string& name) {
    return std::string(MILLRACE_BIN_DIR) + "/" + name;
}

SubprocessOutput runCommand(std::vector<std::string> argv, std::vector<std::string> env = {}) {
    SubprocessOptions options;
    options.argv = std::move(argv);
    options.environment = std::move(env);
    options.timeout = std::chrono::seconds(60);
    const Result<SubprocessOutput> output = Subprocess::run(options);
    EXPECT_TRUE(output.ok()) << output.status();
    return output.ok() ? *output : SubprocessOutput{};
}

// The libraries (all levels) of `name` that match `pattern`.
std::string linked(const std::string& name, const std::string& pattern) {
    const SubprocessOutput output = runCommand({"ldd", program(name)});
    EXPECT_NE(output.out.find("libc.so.6"), std::string::npos) << output.out << output.err;
    std::string found;
    const std::regex wanted("lib(" + pattern + ")[^ ]*\\.so[^ ]*");
    for (std::sregex_iterator it(output.out.begin(), output.out.end(), wanted), end; it != end;
         ++it) {
        found += it->str() + " ";
    }
    return found;
}

constexpr char kTorch[] = "torch|c10";
constexpr char kArrow[] = "arrow|parquet";
constexpr char kQt[] = "Qt";
constexpr char kRpc[] = "grpc|protobuf";
// libssh and the libraries that it links.
constexpr char kSsh[] = "ssh\\.|gssapi|krb5";

TEST(ElfLaws, TheDaemonLinksNoTorchArrowOrQt) {
    EXPECT_EQ(linked("millraced", std::string(kTorch) + "|" + kArrow + "|" + kQt), "");
}

TEST(ElfLaws, TheCommandLineLinksNoTorchArrowOrQt) {
    EXPECT_EQ(linked("millrace", std::string(kTorch) + "|" + kArrow + "|" + kQt), "");
}

TEST(ElfLaws, TheLoaderLinksNoTorchOrQt) {
    EXPECT_EQ(linked("millrace-loader", std::string(kTorch) + "|" + kQt), "");
    EXPECT_EQ(linked("millrace-data", std::string(kTorch) + "|" + kQt), "");
}

// The start of a program with gRPC takes longer than a small stream.
TEST(ElfLaws, TheLoaderHasNoRpcAndItsProgramForDataWorkersHas) {
    constexpr char kName[] = "chttp2_transport";
    EXPECT_EQ(readFile(program("millrace-loader"))->find(kName), std::string::npos);
    EXPECT_NE(readFile(program("millrace-data"))->find(kName), std::string::npos);
}

TEST(ElfLaws, TheTrainerLinksNoRpcArrowOrQt) {
    EXPECT_EQ(linked("millrace-trainer", std::string(kRpc) + "|" + kArrow + "|" + kQt), "");
}

TEST(ElfLaws, TheShimLinksNoneOfThem) {
    EXPECT_EQ(linked("millrace-exec", std::string(kTorch) + "|" + kArrow + "|" + kQt + "|" + kRpc),
              "");
}

TEST(ElfLaws, LibsshIsInItsOwnProgramAlone) {
    for (const char* name : {"millrace", "millraced", "millrace-loader", "millrace-exec"}) {
        EXPECT_EQ(linked(name, kSsh), "") << name;
    }
#ifdef MILLRACE_CONSOLE
    EXPECT_EQ(linked("millrace-console", "ssh\\."), "");
#endif
#ifdef MILLRACE_LIBSSH
    EXPECT_NE(linked("millrace-ssh", kSsh), "");
    EXPECT_EQ(linked("millrace-ssh", std::string(kTorch) + "|" + kArrow + "|" + kQt + "|" + kRpc),
              "");
#endif
}

#ifdef MILLRACE_CONSOLE
TEST(ElfLaws, TheConsoleLinksNoTorchOrArrow) {
    EXPECT_EQ(linked("millrace-console", std::string(kTorch) + "|" + kArrow), "");
    EXPECT_NE(linked("millrace-console", kQt), "");
}

TEST(ElfLaws, QtChartsIsInTheConsoleAlone) {
    for (const char* name : {"millrace", "millraced", "millrace-loader", "millrace-trainer"}) {
        EXPECT_EQ(linked(name, "Qt6Charts"), "") << name;
    }
    EXPECT_NE(linked("millrace-console", "Qt6Charts"), "");
}
#endif

TEST(ElfLaws, AProgramThatLinksWhatItMustNotIsSeen) {
    EXPECT_NE(linked("millrace-trainer", kTorch), "");
    EXPECT_NE(linked("millrace-loader", kArrow), "");
    EXPECT_NE(linked("millrace-loader", "sleef"), "");
}

// docs/decisions/0045-malloc-of-the-loader.md
TEST(ElfLaws, WhatReadsDataHasAMallocOfItsOwnForItsLibrariesToo) {
    for (const char* name : {"millrace-loader", "millrace-data"}) {
        const SubprocessOutput told =
            runCommand({program(name), "--version"}, {"MALLOC_CONF=stats_print:true"});
        EXPECT_NE(told.err.find("opt.background_thread: true"), std::string::npos) << name;
        const SubprocessOutput output =
            runCommand({program(name), "--version"}, {"LD_DEBUG=bindings", "LD_BIND_NOW=1"});
        const std::regex wanted("binding file [^ ]*libarrow\\.so[^ ]* \\[0\\] to [^ ]*" +
                                std::string(name) + " \\[0\\]: [^`]*`(malloc|free)'");
        EXPECT_TRUE(std::regex_search(output.err, wanted)) << name;
    }
    const SubprocessOutput other =
        runCommand({program("millraced"), "--version"}, {"MALLOC_CONF=stats_print:true"});
    EXPECT_EQ(other.err, "");
}

// Lines "binding file FROM [0] to TO [0]: ... symbol `NAME'" of OpenSSL's functions between a
// program and libparquet, which carries an OpenSSL of another version.
int tlsBindingsWithParquet(const std::string& trace) {
    const std::regex wanted(
        "binding file [^ ]*(millrace-(loader|data)[^ ]* \\[0\\] to [^ ]*libparquet"
        "|libparquet[^ ]* \\[0\\] to [^ "
        "]*millrace-(loader|data))[^`]*`(SSL|EVP|X509|BIO|CRYPTO|OPENSSL)_");
    return static_cast<int>(std::distance(std::sregex_iterator(trace.begin(), trace.end(), wanted),
                                          std::sregex_iterator()));
}

TEST(ElfLaws, TheLoadersOpenSslAndLibparquetsStayApart) {
    for (const char* name : {"millrace-loader", "millrace-data"}) {
        EXPECT_EQ(linked(name, "ssl|crypto|curl"), "") << name;
        const SubprocessOutput output =
            runCommand({program(name), "--version"}, {"LD_DEBUG=bindings", "LD_BIND_NOW=1"});
        ASSERT_NE(output.err.find("binding file"), std::string::npos) << name;
        EXPECT_EQ(tlsBindingsWithParquet(output.err), 0) << name;
    }
}

TEST(ElfLaws, ABindingOfOpenSslToLibparquetIsSeen) {
    EXPECT_EQ(tlsBindingsWithParquet("  12: binding file /x/bin/millrace-loader [0] to "
                                     "/x/libparquet.so.2600 [0]: normal symbol `EVP_sha1'\n"),
              1);
    EXPECT_EQ(tlsBindingsWithParquet("  12: binding file /x/libparquet.so.2600 [0] to "
                                     "/x/bin/millrace-loader [0]: normal symbol `SSL_new'\n"),
              1);
}

}  // namespace
}  // namespace millrace::laws
