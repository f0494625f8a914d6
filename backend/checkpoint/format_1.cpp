// Format 1: a header of 32 bytes, JSON, tensors at multiples of 64, and the XXH3-128 of it all.
#include <algorithm>
#include <cstring>

#include "backend/checkpoint/formats.h"
#include "backend/core/hash.h"

namespace millrace::checkpoint {
namespace {

// Magic, version u32, reserved u32, length of the JSON u64, length of the payload u64.
constexpr std::uint64_t kHeaderBytes = 32, kTrailerBytes = 16, kAlignment = 64;
constexpr std::uint32_t kVersion = 1;

struct Lengths {
    std::uint64_t json = 0, payload = 0;
};

constexpr std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Result<Lengths> readLengths(const FileBytes& file) {
    if (file.size() < kHeaderBytes + kTrailerBytes) {
        return damaged(file.place(), strCat("is no checkpoint (", file.size(), " bytes)"));
    }
    unsigned char header[kHeaderBytes] = {};
    RETURN_IF_ERROR(file.read(0, header, sizeof header));
    std::uint32_t version = 0;
    Lengths lengths;
    std::memcpy(&version, header + 8, 4);
    std::memcpy(&lengths.json, header + 16, 8);
    std::memcpy(&lengths.payload, header + 24, 8);
    if (version != kVersion) {
        return failedPrecondition("checkpoint ", file.place(), ": has format version ", version,
                                  "; this program reads 1 and 2");
    }
    const std::uint64_t room = file.size() - kHeaderBytes - kTrailerBytes;
    if (lengths.json > room || lengths.payload > room ||
        aligned(kHeaderBytes + lengths.json) + lengths.payload + kTrailerBytes != file.size()) {
        return damaged(file.place(), strCat("is cut short or too long (", file.size(), " bytes)"));
    }
    if (lengths.json > kMetaBounds.bytes) {
        return damaged(file.place(), strCat("has ", lengths.json, " bytes of JSON"));
    }
    return lengths;
}

// The hash of all before the trailer, if it is what the trailer says.
Result<std::string> checkTrailer(const FileBytes& file, const ReadWatch& watch) {
    const std::uint64_t end = file.size() - kTrailerBytes;
    ASSIGN_OR_RETURN(std::string hash, file.hash(0, end, watch));
    Sum128 trailer;
    static_assert(sizeof trailer == kTrailerBytes);
    RETURN_IF_ERROR(file.read(end, &trailer, sizeof trailer));
    if (trailer.hex() != hash) {
        return damaged(file.place(), "its checksum does not fit its content");
    }
    return hash;
}

// False where the entry is of no tensor that lies in a payload of so many bytes.
bool readTensor(const Json& entry, std::uint64_t payload, StoredTensor& t) {
    t.name = jsonString(entry, "name");
    t.isWeight = jsonBool(entry, "weight");
    const std::string type = jsonString(entry, "dtype");
    constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32};
    const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                     [&](DType known) { return nameOf(known) == type; });
    if (found == std::end(kTypes)) {
        return false;
    }
    t.type = *found;
    std::uint64_t elements = 1;
    for (const Json& size : jsonMember(entry, "shape")) {
        t.shape.push_back(size.is_number_unsigned() ? size.get<std::int64_t>() : -1);
        if (t.shape.back() < 0 || t.shape.back() > (INT64_C(1) << 40)) {
            return false;
        }
        elements *= static_cast<std::uint64_t>(t.shape.back());
        if (elements > payload) {
            return false;
        }
    }
    t.begin = static_cast<std::uint64_t>(jsonInt(entry, "offset", -1));
    t.bytes = elements * static_cast<std::uint64_t>(bytesOf(t.type));
    return t.begin <= payload && t.begin % kAlignment == 0 && t.bytes <= payload - t.begin;
}

}  // namespace

Result<CheckpointContent> readFormat1(const FileBytes& file, const ReadWatch* watch) {
    ASSIGN_OR_RETURN(const Lengths lengths, readLengths(file));
    CheckpointContent content;
    std::string hash;
    if (watch != nullptr) {
        ASSIGN_OR_RETURN(hash, checkTrailer(file, *watch));
    }
    ASSIGN_OR_RETURN(const std::string text, file.text(kHeaderBytes, lengths.json));
    Result<Json> meta = parseBounded(text, file.place(), kMetaBounds);
    if (!meta.ok() || !meta->is_object()) {
        return damaged(file.place(), "its JSON cannot be read");
    }
    content.facts = factsOf(*meta, file);
    content.facts.hash = std::move(hash);
    const std::uint64_t payload = file.size() - kTrailerBytes - lengths.payload;
    for (const Json& entry : jsonMember(*meta, "tensors")) {
        StoredTensor tensor;
        if (!readTensor(entry, lengths.payload, tensor)) {
            return damaged(file.place(), strCat("tensor ", tensor.name, " has no valid place"));
        }
        tensor.begin += payload;
        content.tensors.push_back(std::move(tensor));
    }
    meta->erase("tensors");
    content.meta = *std::move(meta);
    return content;
}

}  // namespace millrace::checkpoint
