#include "backend/train/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/core/files.h"
#include "backend/core/unique_fd.h"

namespace millrace::train {
namespace {

Json directoryOf(const std::vector<TensorRef>& tensors, std::uint64_t& payload) {
    Json directory = Json::array();
    payload = 0;
    for (const TensorRef& t : tensors) {
        directory.push_back({{"name", t.name},
                             {"dtype", std::string(nameOf(t.type))},
                             {"shape", t.shape},
                             {"weight", t.isWeight},
                             {"offset", payload},
                             {"bytes", t.numBytes()}});
        payload = checkpoint::aligned(payload + static_cast<std::uint64_t>(t.numBytes()));
    }
    return directory;
}

}  // namespace

std::int64_t bytesOf(DType type) {
    return type == DType::kFloat32 || type == DType::kInt32 ? 4 : 8;
}

std::string_view nameOf(DType type) {
    switch (type) {
        case DType::kFloat32:
            return "float32";
        case DType::kFloat64:
            return "float64";
        case DType::kInt64:
            return "int64";
        case DType::kInt32:
            return "int32";
    }
    return "";
}

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
    std::uint64_t payload = 0;
    meta["step"] = name.step;
    meta["attempt"] = name.attempt;
    meta["tensors"] = directoryOf(tensors, payload);
    RETURN_IF_ERROR(makeDirectories(directory));
    ASSIGN_OR_RETURN(auto out, checkpoint::CheckpointWriter::open(
                                   strCat(directory, "/", name.text()), meta, payload));
    for (const TensorRef& t : tensors) {
        RETURN_IF_ERROR(out.write(t.data, static_cast<std::size_t>(t.numBytes())));
    }
    ASSIGN_OR_RETURN(checkpoint::CheckpointWriter::Written written, out.commit());
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
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) {
        return errnoStatus(errno, strCat("checkpoint ", path));
    }
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) {
        return errnoStatus(errno, strCat("checkpoint ", path));
    }
    Checkpoint out;
    out.path_ = path;
    out.size_ = static_cast<std::size_t>(info.st_size);
    if (!S_ISREG(info.st_mode) ||
        out.size_ < checkpoint::kHeaderBytes + checkpoint::kTrailerBytes) {
        return checkpoint::damaged(path, strCat("is no checkpoint (", out.size_, " bytes)"));
    }
    void* mapped = ::mmap(nullptr, out.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapped == MAP_FAILED) {
        return errnoStatus(errno, strCat("checkpoint ", path));
    }
    out.mapped_ = static_cast<unsigned char*>(mapped);
    RETURN_IF_ERROR(out.read());
    return out;
}

Status Checkpoint::read() {
    ASSIGN_OR_RETURN(const checkpoint::Lengths lengths,
                     checkpoint::parseHeader(mapped_, size_, path_));
    checkpoint::RunningHash hash;
    unsigned char digest[checkpoint::kTrailerBytes];
    hash.add(mapped_, size_ - sizeof digest);
    hash.digest(digest);
    if (std::memcmp(digest, mapped_ + size_ - sizeof digest, sizeof digest) != 0) {
        return checkpoint::damaged(path_, "its checksum does not fit its content");
    }
    const std::string_view text(reinterpret_cast<char*>(mapped_) + checkpoint::kHeaderBytes,
                                lengths.json);
    ASSIGN_OR_RETURN(meta_, parseBounded(text, path_, checkpoint::kMetaBounds));
    if (!jsonMember(meta_, "tensors").is_array()) {
        return checkpoint::damaged(path_, "lists no tensors");
    }
    const Json directory = meta_["tensors"];
    meta_.erase("tensors");
    return readTensors(directory, lengths.payload);
}

Status Checkpoint::readTensors(const Json& directory, std::uint64_t payload) {
    unsigned char* base = mapped_ + (size_ - checkpoint::kTrailerBytes - payload);
    for (const Json& entry : directory) {
        TensorRef t;
        t.name = jsonString(entry, "name");
        t.isWeight = jsonBool(entry, "weight");
        const std::string type = jsonString(entry, "dtype");
        bool isKnown = false;
        for (const DType d : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32}) {
            if (nameOf(d) == type) {
                t.type = d;
                isKnown = true;
            }
        }
        std::uint64_t elements = 1;
        for (const Json& size : jsonMember(entry, "shape")) {
            t.shape.push_back(size.is_number_unsigned() ? size.get<std::int64_t>() : -1);
            isKnown = isKnown && t.shape.back() >= 0 && t.shape.back() <= (INT64_C(1) << 40);
            elements *= static_cast<std::uint64_t>(t.shape.back());
            isKnown = isKnown && elements <= payload;
        }
        const auto offset = static_cast<std::uint64_t>(jsonInt(entry, "offset", -1));
        if (!isKnown || offset > payload || offset % checkpoint::kAlignment != 0 ||
            static_cast<std::uint64_t>(t.numBytes()) > payload - offset) {
            return checkpoint::damaged(path_, strCat("tensor ", t.name, " has no valid place"));
        }
        t.data = base + offset;
        tensors_.push_back(std::move(t));
    }
    std::sort(tensors_.begin(), tensors_.end(),
              [](const TensorRef& a, const TensorRef& b) { return a.name < b.name; });
    return okStatus();
}

const TensorRef* Checkpoint::find(std::string_view name) const {
    for (const TensorRef& t : tensors_) {
        if (t.name == name) {
            return &t;
        }
    }
    return nullptr;
}

Status copyTensors(const Checkpoint& checkpoint, const std::vector<TensorRef>& tensors,
                   bool weightsOnly) {
    for (const TensorRef& to : tensors) {
        if (weightsOnly && !to.isWeight) {
            continue;
        }
        const TensorRef* from = checkpoint.find(to.name);
        if (!from) {
            return failedPrecondition("checkpoint ", checkpoint.path(), ": has no ", to.name,
                                      ", which this model needs");
        }
        if (from->type != to.type || from->shape != to.shape) {
            return failedPrecondition("checkpoint ", checkpoint.path(), ": ", to.name, " is ",
                                      nameOf(from->type), shapeText(from->shape),
                                      "; this model needs ", nameOf(to.type), shapeText(to.shape));
        }
    }
    for (const TensorRef& from : checkpoint.tensors()) {
        const auto isSame = [&](const TensorRef& to) { return to.name == from.name; };
        if ((from.isWeight || !weightsOnly) &&
            std::none_of(tensors.begin(), tensors.end(), isSame)) {
            return failedPrecondition("checkpoint ", checkpoint.path(), ": has ", from.name,
                                      ", which this model does not know");
        }
    }
    for (const TensorRef& to : tensors) {
        if (!weightsOnly || to.isWeight) {
            std::memcpy(to.data, checkpoint.find(to.name)->data,
                        static_cast<std::size_t>(to.numBytes()));
        }
    }
    return okStatus();
}

}  // namespace millrace::train
