#pragma once
// The checkpoint file (docs/formats/checkpoint.md): written atomically, and read only as a whole.
//
// It is a safetensors file with the checkpoint's metadata. backend/train defines the meaning of the
// tensors; a script's checkpoint has a single tensor, `content`, with the script's own data.
// Threads: any. Failure: kDataLoss names a damaged file and the damage, kFailedPrecondition names a
// file of another format version. Every other error means that the file could not be read, which
// proves nothing about it. A full disk is kResourceExhausted.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/checkpoint/file_bytes.h"
#include "backend/checkpoint/safetensors.h"
#include "backend/core/status.h"
#include "backend/text/json_bounds.h"

namespace millrace::checkpoint {

/// Limits of the JSON: it holds the lines that the daemon has not acknowledged (rank/line_queue.h
/// limits them to half of this). Longer JSON is neither written nor accepted.
inline constexpr JsonBounds kMetaBounds{.bytes = std::size_t{1} << 30};

/// A tensor to write; borrows `data`.
struct TensorContent {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    bool isWeight = false;
    const void* data = nullptr;
    std::uint64_t bytes = 0;  ///< must match type and shape
};

struct Written {
    std::int64_t bytes = 0;
    std::string hash;  ///< of the whole content, 32 hex digits
};

/// Writes a file aside, syncs it and renames it. `meta` is any JSON object.
Result<Written> writeCheckpointFile(const std::string& path, const Json& meta,
                                    std::vector<TensorContent> tensors);

/// The model's quality in a checkpoint of a run with train.early_stop.
struct Judgement {
    double value = 0;  ///< value of the metric, evaluated at the checkpoint's step
    bool isHigherBetter = false;
    bool wasBest = false;  ///< best of the run until then
};

/// Facts about a checkpoint from the file itself.
struct CheckpointInfo {
    std::int64_t step = 0, epoch = 0, attempt = 0;
    std::string run, streamHash;         ///< the run that it belongs to
    std::string state;                   ///< stream::StreamState text
    std::optional<Judgement> judgement;  ///< none: not evaluated at this step
    std::int64_t bytes = 0;
    std::string hash;         ///< as in Written; "" if only the header was read
    std::int64_t timeMs = 0;  ///< time of the last write, UTC
};

/// A tensor and its position in the file.
struct StoredTensor {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    bool isWeight = false;
    std::uint64_t begin = 0, bytes = 0;
};

/// Everything in a file except the tensors' values.
struct CheckpointContent {
    CheckpointInfo facts;
    Json meta;  ///< as written
    std::vector<StoredTensor> tensors;
};

/// Reads the facts from an open file's header; ignores the tensors' values.
Result<CheckpointInfo> readFacts(int fd, const std::string& place);
/// Reads a whole file: returns its content if it is intact. `place` names it in messages.
Result<CheckpointContent> readContent(const FileBytes& file, const ReadWatch& watch = {});
/// Reads a whole open file: returns its facts if it is intact.
Result<CheckpointInfo> verify(int fd, const std::string& place, const ReadWatch& watch = {});

}  // namespace millrace::checkpoint
