#pragma once
// The trainer's state in a checkpoint file: tensors and what goes with them, whole or not there
// (docs/formats/checkpoint.md; the file itself is backend/checkpoint's).
//
// Nothing here removes a file: the daemon does, once it has stored newer ones. Failure: a truncated
// or changed file is kDataLoss naming it; a full disk is kResourceExhausted and leaves earlier
// files alone.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/checkpoint_name.h"
#include "backend/checkpoint/safetensors.h"
#include "backend/core/json.h"
#include "backend/core/status.h"

namespace millrace::train {

using checkpoint::DType;

/// A tensor to be written or taken: borrows `data`.
struct TensorRef {
    std::string name;
    DType type = DType::kFloat32;
    std::vector<std::int64_t> shape;
    void* data = nullptr;
    bool isWeight = false;  ///< taken by init_from; else state of the optimizer or the input

    std::int64_t numElements() const;
    std::int64_t numBytes() const { return numElements() * checkpoint::bytesOf(type); }
};

/// "[8192, 16]".
std::string shapeText(const std::vector<std::int64_t>& shape);

struct CheckpointFile {
    std::string name;  ///< in its directory
    std::int64_t bytes = 0;
    std::string hash;  ///< of all that it holds, hex
};

/// Writes the file of that name. `meta` is any JSON object; step and attempt are put into it.
Result<CheckpointFile> writeCheckpoint(const std::string& directory,
                                       const checkpoint::CheckpointName& name, Json meta,
                                       const std::vector<TensorRef>& tensors);

/// A checkpoint that was read whole and found to be so, mapped; tensors are views into it.
class Checkpoint {
 public:
    static Result<Checkpoint> open(const std::string& path);
    Checkpoint(Checkpoint&& other) noexcept;
    Checkpoint& operator=(Checkpoint&& other) = delete;
    ~Checkpoint();

    const std::string& path() const { return path_; }
    const Json& meta() const { return meta_; }
    const std::vector<TensorRef>& tensors() const { return tensors_; }  ///< sorted by name
    /// Null when there is none of that name.
    const TensorRef* find(std::string_view name) const;

 private:
    Checkpoint() = default;
    std::string path_;
    Json meta_;
    std::vector<TensorRef> tensors_;
    unsigned char* mapped_ = nullptr;
    std::size_t size_ = 0;
};

/// Of the names, shapes and values of the weights among them, hex.
std::string weightsHash(const std::vector<TensorRef>& tensors);

/// "train.threads was 1, is 2" for every leaf that differs.
std::vector<std::string> changedKeys(const Json& was, const Json& is);

/// Copies the tensors of `checkpoint` into `tensors`. Nothing is copied unless all match;
/// kFailedPrecondition names the first that does not.
Status copyTensors(const Checkpoint& checkpoint, const std::vector<TensorRef>& tensors);

}  // namespace millrace::train
