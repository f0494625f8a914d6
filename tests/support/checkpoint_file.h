#pragma once
// Writes checkpoint files without a trainer.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "backend/checkpoint/checkpoint_file.h"

namespace millrace::tests {

struct CheckpointContent {
    std::int64_t step = 0, attempt = 1;
    std::string run, streamHash;
    std::size_t payloadBytes = 6'400;
    Json more = Json::object();  ///< more members of the header
};

/// Writes a whole file; makes its directory.
inline checkpoint::Written writeCheckpointFile(const std::string& path,
                                               const CheckpointContent& what) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    Json meta = {{"step", what.step},
                 {"attempt", what.attempt},
                 {"epoch", 1},
                 {"state", "{}"},
                 {"identity", {{"run", what.run}, {"stream_hash", what.streamHash}}}};
    meta.update(what.more);
    const std::string values(what.payloadBytes, 'w');
    const auto written =
        checkpoint::writeCheckpointFile(path, meta,
                                        {{"w",
                                          checkpoint::DType::kUint8,
                                          {static_cast<std::int64_t>(values.size())},
                                          true,
                                          values.data(),
                                          values.size()}});
    EXPECT_TRUE(written.ok()) << written.status();
    return *written;
}

}  // namespace millrace::tests
