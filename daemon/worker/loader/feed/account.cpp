#include "daemon/worker/loader/feed/account.h"

#include "backend/core/log.h"

namespace millrace::loader {

Json accountJson(const SegmentsElsewhere::Account& account, const frame::FrameLayout& layout) {
    Json columns = Json::array();
    for (std::size_t c = 0; c < account.codecs.size(); ++c) {
        columns.push_back(
            {{"name", layout.columns()[c].name}, {"codec", account.codecs[c].text()}});
    }
    return {
        {"segments", account.segments},
        {"cpu_seconds", account.cpuSeconds},
        {"frame_bytes", account.frameBytes},
        {"network_bytes", account.networkBytes},
        {"link",
         {{"mb_per_second", account.linkBytesPerSecond / 1e6}, {"columns", std::move(columns)}}}};
}

void logAccount(const SegmentsElsewhere::Account& account) {
    logDebug("feed: data workers", {{"segments", account.segments},
                                    {"cpuSeconds", account.cpuSeconds},
                                    {"frameBytes", account.frameBytes},
                                    {"networkBytes", account.networkBytes}});
}

}  // namespace millrace::loader
