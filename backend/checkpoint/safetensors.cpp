#include "backend/checkpoint/safetensors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "backend/text/json.h"

namespace millrace::checkpoint {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

struct TypeNames {
    DType type;
    std::int64_t bytes;
    std::string_view name, inFile;
};
constexpr TypeNames kTypes[] = {
    {DType::kFloat32, 4, "float32", "F32"},    {DType::kFloat64, 8, "float64", "F64"},
    {DType::kInt64, 8, "int64", "I64"},        {DType::kInt32, 4, "int32", "I32"},
    {DType::kBFloat16, 2, "bfloat16", "BF16"}, {DType::kFloat16, 2, "float16", "F16"},
    {DType::kUint8, 1, "uint8", "U8"},
};

const TypeNames& namesOf(DType type) {
    return *std::find_if(std::begin(kTypes), std::end(kTypes),
                         [&](const TypeNames& names) { return names.type == type; });
}

// Reads the header's JSON as a stream: discards unknown content at once, so that no header uses
// more memory than its own length.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
    SafetensorsHeader header;
    std::string why;

    bool null() override { return unexpected(); }
    bool boolean(bool) override { return unexpected(); }
    bool number_integer(number_integer_t) override { return unexpected(); }
    bool number_float(number_float_t, const string_t&) override { return unexpected(); }
    bool binary(binary_t&) override { return unexpected(); }

    bool number_unsigned(number_unsigned_t value) override {
        if (value > INT64_MAX) {
            return unexpected();
        }
        if (place_ == Place::kShape) {
            tensor_.shape.push_back(static_cast<std::int64_t>(value));
        } else if (place_ == Place::kOffsets) {
            offsets_.push_back(value);
        } else {
            return unexpected();
        }
        return true;
    }

    bool string(string_t& value) override {
        if (place_ == Place::kMetadata) {
            return header.metadata.emplace(field_, std::move(value)).second || twice(field_);
        }
        if (place_ != Place::kTensor || field_ != "dtype") {
            return unexpected();
        }
        for (const TypeNames& names : kTypes) {
            if (names.inFile == value) {
                tensor_.type = names.type;
                return true;
            }
        }
        return fail("tensor ", tensor_.name, " is of type ", value.substr(0, kMostShown),
                    ", which is not known");
    }

    bool start_object(std::size_t) override {
        if (place_ == Place::kStart) {
            place_ = Place::kTop;
        } else if (place_ == Place::kTop) {
            place_ = field_ == kMetadata ? Place::kMetadata : Place::kTensor;
            tensor_ = {};
            tensor_.name = field_;
            fields_.clear();
        } else {
            return unexpected();
        }
        return true;
    }

    bool key(string_t& name) override {
        field_ = std::move(name);
        if (place_ == Place::kTop) {
            return names_.insert(field_).second || twice(field_);
        }
        return place_ == Place::kMetadata || fields_.insert(field_).second || twice(field_);
    }

    bool end_object() override {
        if (place_ == Place::kTop) {
            place_ = Place::kEnd;
            return true;
        }
        const bool isTensor = place_ == Place::kTensor;
        place_ = Place::kTop;
        return !isTensor || takeTensor();
    }

    bool start_array(std::size_t) override {
        if (place_ != Place::kTensor || (field_ != "shape" && field_ != "data_offsets")) {
            return unexpected();
        }
        place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
        offsets_.clear();
        return true;
    }

    bool end_array() override {
        if (place_ == Place::kOffsets) {
            if (offsets_.size() != 2) {
                return fail("tensor ", tensor_.name, " has no two offsets");
            }
            std::tie(tensor_.begin, tensor_.end) = std::tie(offsets_[0], offsets_[1]);
        }
        place_ = Place::kTensor;
        return true;
    }

    bool parse_error(std::size_t at, const std::string&, const Json::exception&) override {
        return fail("its header is not JSON at byte ", at);
    }

 private:
    enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };
    static constexpr std::size_t kMostShown = 40;

    template <class... P>
    bool fail(const P&... parts) {
        why = strCat(parts...);
        return false;
    }
    bool unexpected() {
        return fail("its header has something else than is due",
                    field_.empty() ? "" : strCat(" behind '", field_, "'"));
    }
    bool twice(const std::string& name) { return fail("its header names '", name, "' twice"); }
    bool takeTensor() {
        if (fields_ != std::set<std::string>{"data_offsets", "dtype", "shape"}) {
            return fail("tensor ", tensor_.name, " has not dtype, shape and data_offsets");
        }
        header.tensors.push_back(std::move(tensor_));
        return true;
    }

    Place place_ = Place::kStart;
    std::string field_;
    SafetensorsEntry tensor_;
    std::vector<std::uint64_t> offsets_;
    std::set<std::string> names_, fields_;
};

// Nothing if the number overflows.
std::optional<std::uint64_t> lengthOf(const SafetensorsEntry& tensor) {
    auto bytes = static_cast<std::uint64_t>(bytesOf(tensor.type));
    for (const std::int64_t size : tensor.shape) {
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
            return std::nullopt;
        }
    }
    return bytes;
}

// Checks that each tensor begins where the previous one ended, and that the last ends with the
// file.
std::string whyMisplaced(const std::vector<SafetensorsEntry>& tensors, std::uint64_t dataBytes) {
    std::uint64_t end = 0;
    for (const SafetensorsEntry& tensor : tensors) {
        const std::string which = strCat("tensor ", tensor.name);
        if (tensor.end < tensor.begin || lengthOf(tensor) != tensor.end - tensor.begin) {
            return which + " is not as long as its shape makes it";
        }
        if (tensor.begin != end) {
            return which + (tensor.begin < end ? " overlaps the tensor before it"
                                               : " has a hole before it");
        }
        if (tensor.end > dataBytes) {
            return which + " ends behind the file";
        }
        if (tensor.begin % static_cast<std::uint64_t>(bytesOf(tensor.type)) != 0) {
            return which + " is not aligned to its values";
        }
        end = tensor.end;
    }
    return end == dataBytes ? "" : strCat("has ", dataBytes - end, " bytes behind its last tensor");
}

}  // namespace

std::int64_t bytesOf(DType type) {
    return namesOf(type).bytes;
}

std::string_view nameOf(DType type) {
    return namesOf(type).name;
}

std::string_view safetensorsName(DType type) {
    return namesOf(type).inFile;
}

Result<SafetensorsHeader> parseSafetensors(std::string_view json, std::uint64_t dataBytes,
                                           const std::string& place) {
    if (json.size() > kSafetensorsHeaderMax) {
        return damaged(place, "has a header of ", json.size(), " bytes");
    }
    HeaderReader reader;
    if (!Json::sax_parse(json, &reader)) {
        return damaged(place, reader.why);
    }
    SafetensorsHeader header = std::move(reader.header);
    std::ranges::sort(header.tensors, [](const auto& a, const auto& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    if (const std::string why = whyMisplaced(header.tensors, dataBytes); !why.empty()) {
        return damaged(place, why);
    }
    return header;
}

}  // namespace millrace::checkpoint
