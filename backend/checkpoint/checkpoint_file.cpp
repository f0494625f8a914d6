#include "backend/checkpoint/checkpoint_file.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "backend/checkpoint/checkpoint_header.h"
#include "backend/core/hash.h"
#include "backend/filesystem/files.h"

namespace millrace::checkpoint {
namespace {

constexpr std::string_view kFormat = "format", kChecksum = "checksum", kHashes = "tensor_hashes",
                           kWeights = "weights";
// JSON with unacknowledged lines above this size is stored as a tensor.
constexpr std::size_t kLinesInHeaderMax = std::size_t{16} << 20;
constexpr std::uint64_t kLengthBytes = 8;
/// Tensor (UTF-8) for unacknowledged lines that are too many for a header.
constexpr std::string_view kLinesTensor = "unacked";

/// Members of `meta` stored as plain text in the metadata; the others are stored as their JSON.
bool isPlainText(std::string_view member) {
    constexpr std::string_view kTexts[] = {"eval_hash", "state", "time"};
    return std::find(std::begin(kTexts), std::end(kTexts), member) != std::end(kTexts);
}

std::optional<Judgement> judgementOf(const Json& meta) {
    const Json& early = jsonMember(meta, "early_stop");
    const std::int64_t step = jsonInt(meta, "step");
    const Result<double> value =
        jsonDouble(jsonMember(jsonMember(meta, "values"), jsonString(early, "metric")));
    if (!early.is_object() || !value.ok() || std::isnan(*value) ||
        jsonInt(meta, "eval_step", -1) != step) {
        return std::nullopt;
    }
    return Judgement{*value, jsonBool(early, "higher_is_better"),
                     jsonInt(early, "best_step", -1) == step};
}

/// Everything except the hash.
CheckpointInfo factsOf(const Json& meta, const FileBytes& file) {
    const Json& identity = jsonMember(meta, "identity");
    CheckpointInfo facts;
    facts.step = jsonInt(meta, "step");
    facts.epoch = jsonInt(meta, "epoch");
    facts.attempt = jsonInt(meta, "attempt");
    facts.run = jsonString(identity, "run");
    facts.streamHash = jsonString(identity, "stream_hash");
    facts.state = jsonString(meta, "state");
    facts.judgement = judgementOf(meta);
    facts.bytes = static_cast<std::int64_t>(file.size());
    facts.timeMs = file.timeMs();
    return facts;
}

// The header's JSON, after verifying its length and its checksum.
Result<std::string> readHeader(const FileBytes& file) {
    std::uint64_t length = 0;
    if (file.size() < kLengthBytes + kFormatBeginning.size()) {
        return damaged(file.place(), "is not a checkpoint (", file.size(), " bytes)");
    }
    RETURN_IF_ERROR(file.read(0, &length, sizeof length));
    ASSIGN_OR_RETURN(std::string start, file.text(kLengthBytes, kFormatBeginning.size()));
    if (!start.starts_with(kFormatStem)) {
        return damaged(file.place(), "does not begin like a checkpoint");
    }
    if (start != kFormatBeginning) {
        const std::string rest = start.substr(kFormatStem.size());
        const std::string version = rest.substr(0, rest.find_first_not_of("0123456789"));
        if (version.empty() || version == "2" || rest[version.size()] != '"') {
            return damaged(file.place(), "does not begin like a checkpoint");
        }
        return failedPrecondition("checkpoint ", file.place(), ": has format version ", version,
                                  "; this program reads 2");
    }
    if (length > file.size() - kLengthBytes || length > kSafetensorsHeaderMax ||
        length % kSafetensorsAlignment != 0 || length < kFormatBeginning.size() + kChecksumDigits) {
        return damaged(file.place(), "is cut short, or its header cannot have ", length, " of its ",
                       file.size(), " bytes");
    }
    ASSIGN_OR_RETURN(std::string header, file.text(kLengthBytes, length));
    if (header.substr(kFormatBeginning.size(), kChecksumDigits) != headerChecksum(header)) {
        return damaged(file.place(), "its checksum does not fit its header");
    }
    return header;
}

Result<Json> parseText(const std::string& text, std::string_view name, const FileBytes& file) {
    Result<Json> value = parseBounded(text, file.place(), kMetaBounds);
    return value.ok() ? std::move(value) : damaged(file.place(), "its ", name, " cannot be read");
}

// All metadata, except the file's own.
Result<Json> metaOf(const SafetensorsHeader& header, const FileBytes& file) {
    Json meta = Json::object();
    for (const auto& [name, text] : header.metadata) {
        if (name == kFormat || name == kChecksum || name == kHashes || name == kWeights) {
            continue;
        }
        if (isPlainText(name)) {
            meta[name] = text;
            continue;
        }
        ASSIGN_OR_RETURN(meta[name], parseText(text, name, file));
    }
    return meta;
}

Result<Json> memberOf(const SafetensorsHeader& header, std::string_view name,
                      const FileBytes& file) {
    const auto found = header.metadata.find(std::string(name));
    if (found == header.metadata.end()) {
        return damaged(file.place(), "has no ", name);
    }
    return parseText(found->second, name, file);
}

Status checkValues(const SafetensorsHeader& header, std::uint64_t base, const FileBytes& file,
                   const ReadWatch& watch) {
    ASSIGN_OR_RETURN(const Json hashes, memberOf(header, kHashes, file));
    for (const SafetensorsEntry& tensor : header.tensors) {
        ASSIGN_OR_RETURN(const std::string hash,
                         file.hash(base + tensor.begin, base + tensor.end, watch));
        if (jsonString(hashes, tensor.name) != hash) {
            return damaged(file.place(), "the values of tensor ", tensor.name,
                           " do not fit their checksum");
        }
    }
    return okStatus();
}

Status takeLines(const StoredTensor& tensor, const FileBytes& file, Json& meta) {
    if (tensor.type != DType::kUint8 || tensor.bytes > kMetaBounds.bytes ||
        meta.contains(kLinesTensor)) {
        return damaged(file.place(), "tensor ", tensor.name, " holds no lines");
    }
    ASSIGN_OR_RETURN(const std::string text, file.text(tensor.begin, tensor.bytes));
    ASSIGN_OR_RETURN(meta[std::string(kLinesTensor)], parseText(text, kLinesTensor, file));
    return okStatus();
}

// `watch` null: reads only the header; ignores the values and their checksums.
Result<CheckpointContent> readFile(const FileBytes& file, const ReadWatch* watch) {
    ASSIGN_OR_RETURN(const std::string text, readHeader(file));
    const std::uint64_t base = kLengthBytes + text.size();
    ASSIGN_OR_RETURN(const SafetensorsHeader header,
                     parseSafetensors(text, file.size() - base, file.place()));
    CheckpointContent content;
    ASSIGN_OR_RETURN(content.meta, metaOf(header, file));
    content.facts = factsOf(content.meta, file);
    if (watch == nullptr) {
        return content;
    }
    RETURN_IF_ERROR(checkValues(header, base, file, *watch));
    ASSIGN_OR_RETURN(const Json weights, memberOf(header, kWeights, file));
    for (const SafetensorsEntry& entry : header.tensors) {
        StoredTensor tensor{entry.name, entry.type,         entry.shape,
                            false,      base + entry.begin, entry.end - entry.begin};
        tensor.isWeight = std::find(weights.begin(), weights.end(), entry.name) != weights.end();
        if (tensor.name == kLinesTensor) {
            RETURN_IF_ERROR(takeLines(tensor, file, content.meta));
        } else {
            content.tensors.push_back(std::move(tensor));
        }
    }
    content.facts.hash = header.metadata.at(std::string(kChecksum));
    return content;
}

// The metadata's members as JSON text, without the closing brace.
std::string metadataText(const Json& meta, const std::vector<TensorContent>& tensors) {
    Json metadata = Json::object(), hashes = Json::object(), weights = Json::array();
    for (const auto& [name, value] : meta.items()) {
        metadata[name] = isPlainText(name) && value.is_string() ? value : Json(dumpJson(value));
    }
    for (const TensorContent& tensor : tensors) {
        hashes[tensor.name] = hashHex({static_cast<const char*>(tensor.data), tensor.bytes});
        if (tensor.isWeight) {
            weights.push_back(tensor.name);
        }
    }
    metadata[std::string(kHashes)] = dumpJson(hashes);
    metadata[std::string(kWeights)] = dumpJson(weights);
    std::string text = dumpJson(metadata);
    text.pop_back();
    return text.substr(1);
}

std::string headerText(const Json& meta, const std::vector<TensorContent>& tensors) {
    std::string text = strCat(kFormatBeginning, std::string(kChecksumDigits, '0'), "\",",
                              metadataText(meta, tensors), "}");
    std::uint64_t at = 0;
    for (const TensorContent& tensor : tensors) {
        const Json entry = {{"dtype", safetensorsName(tensor.type)},
                            {"shape", tensor.shape},
                            {"data_offsets", {at, at + tensor.bytes}}};
        strAppend(&text, ",", dumpJson(tensor.name), ":", dumpJson(entry));
        at += tensor.bytes;
    }
    text += "}";
    text.resize(
        (text.size() + kSafetensorsAlignment - 1) / kSafetensorsAlignment * kSafetensorsAlignment,
        ' ');
    text.replace(kFormatBeginning.size(), kChecksumDigits, headerChecksum(text));
    return text;
}

}  // namespace

std::string headerChecksum(std::string_view header) {
    const std::uint64_t length = header.size();
    RunningHash hash;
    hash.add(&length, sizeof length);
    hash.add(header.substr(0, kFormatBeginning.size()));
    hash.add(std::string(kChecksumDigits, '0'));
    hash.add(header.substr(kFormatBeginning.size() + kChecksumDigits));
    return hash.hex();
}

Result<CheckpointContent> readContent(const FileBytes& file, const ReadWatch& watch) {
    return readFile(file, &watch);
}

Result<CheckpointInfo> readFacts(int fd, const std::string& place) {
    ASSIGN_OR_RETURN(const FileBytes file, FileBytes::ofFile(fd, place));
    ASSIGN_OR_RETURN(CheckpointContent content, readFile(file, nullptr));
    return std::move(content.facts);
}

Result<CheckpointInfo> verify(int fd, const std::string& place, const ReadWatch& watch) {
    ASSIGN_OR_RETURN(const FileBytes file, FileBytes::ofFile(fd, place));
    ASSIGN_OR_RETURN(CheckpointContent content, readFile(file, &watch));
    return std::move(content.facts);
}

Result<Written> writeCheckpointFile(const std::string& path, const Json& meta,
                                    std::vector<TensorContent> tensors) {
    Json shown = meta;
    const std::string lines = dumpJson(jsonMember(meta, kLinesTensor));
    if (lines.size() > kLinesInHeaderMax) {
        shown.erase(std::string(kLinesTensor));
        tensors.push_back({std::string(kLinesTensor),
                           DType::kUint8,
                           {static_cast<std::int64_t>(lines.size())},
                           false,
                           lines.data(),
                           lines.size()});
    }
    // Longest values first, so that each tensor is aligned for its type.
    std::ranges::sort(tensors, [](const TensorContent& a, const TensorContent& b) {
        const std::int64_t bytesA = -bytesOf(a.type), bytesB = -bytesOf(b.type);
        return std::tie(bytesA, a.name) < std::tie(bytesB, b.name);
    });
    const std::string header = headerText(shown, tensors);
    if (lines.size() > kMetaBounds.bytes || header.size() > kSafetensorsHeaderMax) {
        return resourceExhausted(
            "checkpoint ", path, ": has ", header.size(), " bytes of header and ", lines.size(),
            " of lines that the daemon has not acknowledged; at most ", kSafetensorsHeaderMax,
            " and ", kMetaBounds.bytes, " can be kept. Start the daemon (millrace up)");
    }
    ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::open(path));
    const std::uint64_t length = header.size();
    RETURN_IF_ERROR(out.write({reinterpret_cast<const char*>(&length), sizeof length}));
    RETURN_IF_ERROR(out.write(header));
    std::uint64_t bytes = sizeof length + header.size();
    for (const TensorContent& tensor : tensors) {
        RETURN_IF_ERROR(out.write({static_cast<const char*>(tensor.data), tensor.bytes}));
        bytes += tensor.bytes;
    }
    RETURN_IF_ERROR(out.commit());
    return Written{static_cast<std::int64_t>(bytes),
                   header.substr(kFormatBeginning.size(), kChecksumDigits)};
}

}  // namespace millrace::checkpoint
