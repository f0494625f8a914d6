#include "tests/laws/line_laws.h"

namespace millrace::laws {
namespace {

LineLaw sleepLaw(Language language, std::vector<std::string> notIn, LinePattern pattern) {
    return {"a test that sleeps",
            language,
            {"tests/"},
            std::move(notIn),
            Keep::kCode,
            std::move(pattern),
            "a test sleeps: poll for a condition instead (eventually() of tests/support/poll.h, "
            "QTest::qWaitFor, wait_for() of tests/support/poll.py)",
            {}};
}

LineLaw portLaw(Language language, std::vector<Exception> exceptions) {
    return {"a fixed port",
            language,
            {"tests/"},
            {"tests/laws/"},
            Keep::kCodeAndTexts,
            {{"127.0.0.1", "localhost", "0.0.0.0", "::1]", "::]", "port", "bind"},
             std::regex("(127\\.0\\.0\\.1|localhost|0\\.0\\.0\\.0|\\[::1?\\]):[1-9]\\d|"
                        "\\bhtons\\(\\s*[1-9]|\\bsin6?_port\\s*=\\s*[1-9]|"
                        "\\b[Pp]ort[\"']?\\s*[=:,]\\s*[\"']?[1-9]\\d{2,4}\\b|"
                        "\\bbind\\(\\s*\\(?[\"'][^\"']*[\"'],\\s*[1-9]")},
            "a fixed port may be taken by another test or program: use port 0",
            std::move(exceptions)};
}

LineLaw pathLaw(Language language, std::vector<Exception> exceptions) {
    return {"a path of one machine",
            language,
            {"tests/"},
            {"tests/laws/"},
            Keep::kCodeAndTexts,
            machinePath({"\"/tmp/"}, "|\"/tmp/(?![\\w-]*XXXXXX)"),
            "a path of one machine: use a TempDir, or /srv for a path that does not exist",
            std::move(exceptions)};
}

}  // namespace

const std::vector<LineLaw>& testLaws() {
    static const std::vector<LineLaw> kLaws = {
        sleepLaw(Language::kCpp, {"tests/support/poll.h", "tests/support/gui_poll.h"},
                 {{"sleep", "Sleep", "qWait"},
                  std::regex("\\b(sleep_for|sleep_until|usleep|nanosleep|qSleep|qWait|msleep)"
                             "\\s*\\(|::sleep\\s*\\(|(^|[^\\w.>:])sleep\\s*\\(")}),
        sleepLaw(Language::kPython, {"tests/support/poll.py"},
                 {{"sleep"}, std::regex("\\bsleep\\s*\\(|import\\s+sleep\\b")}),
        sleepLaw(Language::kShell, {},
                 {{"sleep"}, std::regex("(^|[;&|(]|\\bdo|\\bthen)\\s*sleep\\s+[\\d.$]")}),
        portLaw(
            Language::kCpp,
            {{"tests/unit/filesystem/files_test.cpp", "tcp.port", "only parsed"},
             {"tests/unit/config/daemon_config_test.cpp", "7000", "only parsed"},
             {"tests/unit/objects/s3_signature_test.cpp", "9000", "a part of the signed text"}}),
        portLaw(Language::kPython, {}),
        portLaw(Language::kShell, {}),
        pathLaw(Language::kCpp, {}),
        pathLaw(Language::kPython, {}),
        pathLaw(Language::kShell, {}),
    };
    return kLaws;
}

}  // namespace millrace::laws
