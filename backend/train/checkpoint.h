#pragma once
// The trainer's state in a checkpoint file: tensors and their metadata, complete or absent
// (docs/formats/checkpoint.md; backend/checkpoint defines the file itself).
//
// Nothing here removes a file: the daemon does, once it has stored newer ones. Failure: a truncated
// or changed file is kDataLoss and the message names it; a full disk is kResourceExhausted and
// leaves earlier files alone.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/checkpoint_name.h"
#include "backend/checkpoint/safetensors.h"
#include "backend/core/status.h"
#include "backend/text/json.h"

namespace millrace::train {

using checkpoint::DType;

/// A tensor to write or to restore into: borrows `data`.
struct TensorRef {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    void* data = nullptr;
    bool isWeight = false;  ///< copied by init_from; other tensors are optimizer or input state

    std::int64_t numElements() const;
    std::int64_t numBytes() const { return numElements() * checkpoint::bytesOf(type); }
};

/// "[8192, 16]".
std::string shapeText(const std::vector<std::int64_t>& shape);

struct CheckpointFile {
    std::string name;  ///< relative to its directory
    std::int64_t bytes = 0;
    std::string hash;  ///< of the whole content, hex
};

/// Writes the file that `name` denotes. `meta` is any JSON object; step and attempt are added to
/// it.
Result<CheckpointFile> writeCheckpoint(const std::string& directory,
                                       const checkpoint::CheckpointName& name, Json meta,
                                       const std::vector<TensorRef>& tensors);

/// A checkpoint that was read and verified as a whole, memory-mapped; tensors are views into it.
class Checkpoint {
 public:
    static Result<Checkpoint> open(const std::string& path);
    Checkpoint(Checkpoint&& other) noexcept;
    Checkpoint& operator=(Checkpoint&& other) = delete;
    ~Checkpoint();

    const std::string& path() const { return path_; }
    const Json& meta() const { return meta_; }
    const std::vector<TensorRef>& tensors() const { return tensors_; }  ///< sorted by name
    /// Null if no tensor has that name.
    const TensorRef* find(std::string_view name) const;

 private:
    Checkpoint() = default;
    std::string path_;
    Json meta_;
    std::vector<TensorRef> tensors_;
    unsigned char* mapped_ = nullptr;
    std::size_t size_ = 0;
};

/// Hash of the names, shapes and values of the weights in `tensors`, hex.
std::string weightsHash(const std::vector<TensorRef>& tensors);

/// "train.threads was 1, is 2" for every leaf that differs.
std::vector<std::string> changedKeys(const Json& was, const Json& is);

/// Copies the tensors of `checkpoint` into `tensors`. Nothing is copied unless all match;
/// kFailedPrecondition names the first tensor that does not match.
Status copyTensors(const Checkpoint& checkpoint, const std::vector<TensorRef>& tensors);

}  // namespace millrace::train
