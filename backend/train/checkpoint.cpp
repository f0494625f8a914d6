#include "backend/train/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/core/hash.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"

namespace millrace::train {
namespace {

void addDifferences(const std::string& path, const Json& was, const Json& is,
                    std::vector<std::string>& out) {
    if (was.is_object() && is.is_object()) {
        for (const auto& item : is.items()) {
            const std::string key = path.empty() ? item.key() : strCat(path, ".", item.key());
            addDifferences(key, jsonMember(was, item.key()), item.value(), out);
        }
    } else if (was != is) {
        out.push_back(strCat(path, " was ", dumpJson(was), ", is ", dumpJson(is)));
    }
}

}  // namespace

std::int64_t TensorRef::numElements() const {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) {
        n *= size;
    }
    return n;
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        strAppend(&text, i ? ", " : "", shape[i]);
    }
    return text + "]";
}

Result<CheckpointFile> writeCheckpoint(const std::string& directory,
                                       const checkpoint::CheckpointName& name, Json meta,
                                       const std::vector<TensorRef>& tensors) {
    meta["step"] = name.step;
    meta["attempt"] = name.attempt;
    std::vector<checkpoint::TensorContent> contents;
    for (const TensorRef& t : tensors) {
        contents.push_back({t.name, t.type, t.shape, t.isWeight, t.data,
                            static_cast<std::uint64_t>(t.numBytes())});
    }
    RETURN_IF_ERROR(makeDirectories(directory));
    ASSIGN_OR_RETURN(checkpoint::Written written,
                     checkpoint::writeCheckpointFile(strCat(directory, "/", name.text()), meta,
                                                     std::move(contents)));
    return CheckpointFile{name.text(), written.bytes, std::move(written.hash)};
}

Checkpoint::Checkpoint(Checkpoint&& other) noexcept
    : path_(std::move(other.path_)),
      meta_(std::move(other.meta_)),
      tensors_(std::move(other.tensors_)),
      mapped_(std::exchange(other.mapped_, nullptr)),
      size_(other.size_) {}

Checkpoint::~Checkpoint() {
    if (mapped_) {
        ::munmap(mapped_, size_);
    }
}

Result<Checkpoint> Checkpoint::open(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, strCat("checkpoint ", path));
    }
    ASSIGN_OR_RETURN(const auto file, checkpoint::FileBytes::ofFile(fd.get(), path));
    ASSIGN_OR_RETURN(checkpoint::CheckpointContent content, checkpoint::readContent(file));
    Checkpoint out;
    out.path_ = path;
    out.size_ = static_cast<std::size_t>(file.size());
    void* mapped = ::mmap(nullptr, out.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapped == MAP_FAILED) {
        return errnoStatus(errno, strCat("checkpoint ", path));
    }
    out.mapped_ = static_cast<unsigned char*>(mapped);
    out.meta_ = std::move(content.meta);
    for (checkpoint::StoredTensor& t : content.tensors) {
        out.tensors_.push_back(
            {std::move(t.name), t.type, std::move(t.shape), out.mapped_ + t.begin, t.isWeight});
    }
    std::ranges::sort(out.tensors_,
                      [](const TensorRef& a, const TensorRef& b) { return a.name < b.name; });
    return out;
}

const TensorRef* Checkpoint::find(std::string_view name) const {
    for (const TensorRef& t : tensors_) {
        if (t.name == name) {
            return &t;
        }
    }
    return nullptr;
}

std::string weightsHash(const std::vector<TensorRef>& tensors) {
    std::string bytes;
    for (const TensorRef& t : tensors) {
        if (t.isWeight) {
            const std::string_view data(static_cast<const char*>(t.data),
                                        static_cast<std::size_t>(t.numBytes()));
            strAppend(&bytes, t.name, shapeText(t.shape), hashHex(data));
        }
    }
    return hashHex(bytes);
}

std::vector<std::string> changedKeys(const Json& was, const Json& is) {
    std::vector<std::string> out;
    addDifferences("", was, is, out);
    return out;
}

Status copyTensors(const Checkpoint& checkpoint, const std::vector<TensorRef>& tensors) {
    for (const TensorRef& to : tensors) {
        const TensorRef* from = checkpoint.find(to.name);
        if (!from) {
            return failedPrecondition("checkpoint ", checkpoint.path(), ": has no ", to.name,
                                      ", which this model needs");
        }
        if (from->type != to.type || from->shape != to.shape) {
            return failedPrecondition("checkpoint ", checkpoint.path(), ": ", to.name, " is ",
                                      checkpoint::nameOf(from->type), shapeText(from->shape),
                                      "; this model needs ", checkpoint::nameOf(to.type),
                                      shapeText(to.shape));
        }
    }
    for (const TensorRef& from : checkpoint.tensors()) {
        const auto isSame = [&](const TensorRef& to) { return to.name == from.name; };
        if (std::ranges::none_of(tensors, isSame)) {
            return failedPrecondition("checkpoint ", checkpoint.path(), ": has ", from.name,
                                      ", which this model does not know");
        }
    }
    for (const TensorRef& to : tensors) {
        std::memcpy(to.data, checkpoint.find(to.name)->data,
                    static_cast<std::size_t>(to.numBytes()));
    }
    return okStatus();
}

}  // namespace millrace::train
