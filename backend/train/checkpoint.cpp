#include "backend/train/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "backend/core/files.h"
#include "backend/core/hash.h"
#include "backend/core/log.h"
#include "backend/core/unique_fd.h"

namespace millrace::train {
namespace {

// Header: magic, version u32, reserved u32, length of the JSON u64, length of the payload u64.
constexpr char kMagic[8] = {'M', 'L', 'R', 'C', 'K', 'P', 'T', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kTrailerBytes = 16;
constexpr std::size_t kAlignment = 64;
constexpr char kExtension[] = ".ckpt";

std::uint64_t aligned(std::uint64_t size) {
    return (size + kAlignment - 1) / kAlignment * kAlignment;
}

struct HashState {
    HashState() : state(XXH3_createState()) { XXH3_128bits_reset(state); }
    ~HashState() { XXH3_freeState(state); }
    HashState(const HashState&) = delete;
    HashState& operator=(const HashState&) = delete;
    Sum128 digest() const {
        const XXH128_hash_t h = XXH3_128bits_digest(state);
        return {h.low64, h.high64};
    }
    XXH3_state_t* state;
};

/// Writes and hashes at once.
class HashingWriter {
 public:
    explicit HashingWriter(AtomicFile& file) : file_(file) {}
    Status write(const void* data, std::size_t size) {
        XXH3_128bits_update(hash_.state, data, size);
        bytes_ += size;
        return file_.write({static_cast<const char*>(data), size});
    }
    Status pad() {
        static constexpr char kZeros[kAlignment] = {};
        return write(kZeros, static_cast<std::size_t>(aligned(bytes_) - bytes_));
    }
    Sum128 digest() const { return hash_.digest(); }
    std::uint64_t bytes() const { return bytes_; }

 private:
    AtomicFile& file_;
    HashState hash_;
    std::uint64_t bytes_ = 0;
};

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
        payload = aligned(payload + static_cast<std::uint64_t>(t.numBytes()));
    }
    return directory;
}

std::string fileName(std::int64_t step) {
    char name[48];
    std::snprintf(name, sizeof name, "step-%08lld%s", static_cast<long long>(step), kExtension);
    return name;
}

Status writeAll(HashingWriter& out, const Json& meta, const std::vector<TensorRef>& tensors,
                std::uint64_t payload) {
    const std::string text = dumpJson(meta);
    unsigned char header[kHeaderBytes] = {};
    const std::uint64_t jsonBytes = text.size();
    std::memcpy(header, kMagic, sizeof kMagic);
    std::memcpy(header + 8, &kVersion, 4);
    std::memcpy(header + 16, &jsonBytes, 8);
    std::memcpy(header + 24, &payload, 8);
    RETURN_IF_ERROR(out.write(header, sizeof header));
    RETURN_IF_ERROR(out.write(text.data(), text.size()));
    RETURN_IF_ERROR(out.pad());
    for (const TensorRef& t : tensors) {
        RETURN_IF_ERROR(out.write(t.data, static_cast<std::size_t>(t.numBytes())));
        RETURN_IF_ERROR(out.pad());
    }
    return okStatus();
}

Status corrupt(const std::string& path, std::string_view why) {
    return dataLoss("checkpoint ", path, ": ", why, "; it cannot be used");
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

Result<CheckpointFile> writeCheckpoint(const std::string& directory, std::int64_t step, Json meta,
                                       const std::vector<TensorRef>& tensors) {
    const std::string path = strCat(directory, "/", fileName(step));
    std::uint64_t payload = 0;
    meta["step"] = step;
    meta["tensors"] = directoryOf(tensors, payload);
    RETURN_IF_ERROR(makeDirectories(directory));
    ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::open(path));
    HashingWriter out(file);
    RETURN_IF_ERROR(writeAll(out, meta, tensors, payload));
    const Sum128 digest = out.digest();
    RETURN_IF_ERROR(file.write({reinterpret_cast<const char*>(&digest), kTrailerBytes}));
    RETURN_IF_ERROR(file.commit());
    return CheckpointFile{path, static_cast<std::int64_t>(out.bytes() + kTrailerBytes),
                          digest.hex(), step};
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
    if (!S_ISREG(info.st_mode) || out.size_ < kHeaderBytes + kTrailerBytes) {
        return corrupt(path, strCat("is no checkpoint (", out.size_, " bytes)"));
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
    std::uint32_t version = 0;
    std::uint64_t jsonBytes = 0, payload = 0;
    std::memcpy(&version, mapped_ + 8, 4);
    std::memcpy(&jsonBytes, mapped_ + 16, 8);
    std::memcpy(&payload, mapped_ + 24, 8);
    if (std::memcmp(mapped_, kMagic, sizeof kMagic) != 0) {
        return corrupt(path_, "does not begin like a checkpoint");
    }
    if (version != kVersion) {
        return failedPrecondition("checkpoint ", path_, ": has format version ", version,
                                  "; this program reads ", kVersion);
    }
    const std::uint64_t room = size_ - kHeaderBytes - kTrailerBytes;
    if (jsonBytes > room || payload > room ||
        aligned(kHeaderBytes + jsonBytes) + payload + kTrailerBytes != size_) {
        return corrupt(path_, strCat("is cut short or too long (", size_, " bytes)"));
    }
    const XXH128_hash_t hash = XXH3_128bits(mapped_, size_ - kTrailerBytes);
    const Sum128 digest{hash.low64, hash.high64};
    if (std::memcmp(&digest, mapped_ + size_ - kTrailerBytes, kTrailerBytes) != 0) {
        return corrupt(path_, "its checksum does not fit its content");
    }
    const std::string_view text(reinterpret_cast<char*>(mapped_) + kHeaderBytes, jsonBytes);
    ASSIGN_OR_RETURN(meta_, parseJson(text, path_));
    if (!jsonMember(meta_, "tensors").is_array()) {
        return corrupt(path_, "lists no tensors");
    }
    const Json directory = meta_["tensors"];
    meta_.erase("tensors");
    return readTensors(directory, payload);
}

Status Checkpoint::readTensors(const Json& directory, std::uint64_t payload) {
    unsigned char* base = mapped_ + (size_ - kTrailerBytes - payload);
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
        if (!isKnown || offset > payload || offset % kAlignment != 0 ||
            static_cast<std::uint64_t>(t.numBytes()) > payload - offset) {
            return corrupt(path_, strCat("tensor ", t.name, " has no valid place"));
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

std::vector<CheckpointFile> listCheckpoints(const std::string& directory) {
    std::vector<CheckpointFile> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
        long long step = 0;
        const std::string name = entry.path().filename().string();
        if (std::sscanf(name.c_str(), "step-%lld", &step) == 1 && name == fileName(step)) {
            std::error_code ignored;
            found.push_back({entry.path().string(),
                             static_cast<std::int64_t>(entry.file_size(ignored)), "", step});
        }
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.step < b.step; });
    return found;
}

namespace {

/// Files that a killed writer left aside. One rank writes at a time: none is being written now.
void removeAsides(const std::string& directory) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("step-", 0) == 0 && name.find(".ckpt.tmp-") != std::string::npos) {
            ::unlink(entry.path().c_str());
        }
    }
}

}  // namespace

void retainCheckpoints(const std::string& directory, std::int64_t keep) {
    removeAsides(directory);
    const std::vector<CheckpointFile> files = listCheckpoints(directory);
    const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
    for (std::size_t i = 0; i + kept < files.size(); ++i) {
        if (::unlink(files[i].path.c_str()) != 0 && errno != ENOENT) {
            logWarn("train: an old checkpoint stays",
                    {{"path", files[i].path}, {"error", std::strerror(errno)}});
        }
    }
}

}  // namespace millrace::train
