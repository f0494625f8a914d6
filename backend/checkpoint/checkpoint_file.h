#pragma once
// The checkpoint file (docs/formats/checkpoint.md): written whole or not at all, and read only as a
// whole.
//
// A safetensors file whose metadata is the checkpoint's. What the tensors mean is the train room's,
// in a script's there is one, `content`, which is the script's own. Threads: any. Failure:
// kDataLoss names a file that is damaged and what is wrong with it, kFailedPrecondition one of
// another format version; every other error means that the file could not be read, which says
// nothing about it. A full disk is kResourceExhausted.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/file_bytes.h"
#include "backend/checkpoint/safetensors.h"
#include "backend/core/json_bounds.h"
#include "backend/core/status.h"

namespace millrace::checkpoint {

/// What the JSON may be: it holds the lines that the daemon has not acknowledged (rank/line_queue.h
/// bounds them to half of this). A longer one is not written, and not taken.
inline constexpr JsonBounds kMetaBounds{.bytes = std::size_t{1} << 30};

/// A tensor to be written; borrows `data`.
struct TensorContent {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    bool isWeight = false;
    const void* data = nullptr;
    std::uint64_t bytes = 0;  ///< as type and shape make it
};

struct Written {
    std::int64_t bytes = 0;
    std::string hash;  ///< of all that it holds, 32 hex digits
};

/// Writes a file aside, syncs it and renames it. `meta` is any JSON object.
Result<Written> writeCheckpointFile(const std::string& path, const Json& meta,
                                    std::vector<TensorContent> tensors);

/// How good the model was that a checkpoint of a run with train.early_stop holds.
struct Judgement {
    double value = 0;  ///< of the metric, evaluated at the checkpoint's step
    bool isHigherBetter = false;
    bool wasBest = false;  ///< of the run, until then
};

/// What a checkpoint says of itself.
struct CheckpointFacts {
    std::int64_t step = 0, epoch = 0, attempt = 0;
    std::string run, streamHash;         ///< whose it is
    std::string state;                   ///< stream::StreamState text
    std::optional<Judgement> judgement;  ///< nothing: not evaluated at this step
    std::int64_t bytes = 0;
    std::string hash;         ///< as of Written; "" when only the header was read
    std::int64_t timeMs = 0;  ///< last written, UTC
};

/// A tensor and its place in the file.
struct StoredTensor {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    bool isWeight = false;
    std::uint64_t begin = 0, bytes = 0;
};

/// All that a file holds but the tensors' values.
struct CheckpointContent {
    CheckpointFacts facts;
    Json meta;  ///< as it was written
    std::vector<StoredTensor> tensors;
};

/// The facts in an open file's header; the tensors' values are not looked at.
Result<CheckpointFacts> readFacts(int fd, const std::string& place);
/// Reads all of a file: what it holds, if it is whole. `place` names it in messages.
Result<CheckpointContent> readContent(const FileBytes& file, const ReadWatch& watch = {});
/// Reads all of an open file: its facts, if it is whole.
Result<CheckpointFacts> verify(int fd, const std::string& place, const ReadWatch& watch = {});

}  // namespace millrace::checkpoint
