// libFuzzer target: a job.json, as a daemon or a site's script writes it. A job that is read must
// be written as text that can be read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "backend/job/job_file.h"
#include "backend/text/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using millrace::job::JobFile;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto job = JobFile::fromText(text);
    if (!job.ok()) {
        return 0;
    }
    // JobFile keeps the plan as text and does not parse it; its users do.
    const bool isPlan = job->planText.empty() || millrace::parseJson(job->planText, "plan").ok();
    const auto again = JobFile::fromText(job->toText());
    if (isPlan && (!again.ok() || again->run != job->run || again->attempt != job->attempt)) {
        std::abort();
    }
    return 0;
}
