#pragma once
// Checkpoint files without a trainer.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "backend/checkpoint/checkpoint_file.h"

namespace millrace::tests {

struct CheckpointContent {
    std::int64_t step = 0, attempt = 1;
    std::string run, streamHash;
    std::size_t payloadBytes = 6'400;
};

/// A whole file; its directory is made.
inline checkpoint::CheckpointWriter::Written writeCheckpointFile(const std::string& path,
                                                                 const CheckpointContent& what) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    const Json meta = {{"step", what.step},
                       {"attempt", what.attempt},
                       {"epoch", 1},
                       {"state", "{}"},
                       {"tensors", Json::array()},
                       {"identity", {{"run", what.run}, {"stream_hash", what.streamHash}}}};
    const std::string payload(checkpoint::aligned(what.payloadBytes), 'w');
    auto writer = checkpoint::CheckpointWriter::open(path, meta, payload.size());
    EXPECT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE(writer->write(payload.data(), payload.size()).ok());
    const auto written = writer->commit();
    EXPECT_TRUE(written.ok()) << written.status();
    return *written;
}

}  // namespace millrace::tests
